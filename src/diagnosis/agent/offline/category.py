"""The kind of fault that an error's own words suggest."""

from __future__ import annotations

import re

from diagnosis.contracts.draft import FaultCategory

# The first that fits decides: what is said most exactly stands first.
_SIGNS: dict[FaultCategory, str] = {
    FaultCategory.SECURITY: r"authenticat|certificate|x509|permission|denied|forbidden"
    r"|认证|证书|权限",
    FaultCategory.CAPACITY: r"out ?of ?memory|\boom\b|heap|no space|disk full|exhausted"
    r"|too many|quota"
    r"|内存|磁盘|耗尽|溢出",
    FaultCategory.DATABASE: r"\bsql|jdbc|\bcolumn\b|\btable\b|constraint|deadlock|database"
    r"|数据库|字段|死锁",
    FaultCategory.CONFIGURATION: r"config|propert(y|ies)|\bsetting|\bflag\b|missing key"
    r"|配置|参数",
    FaultCategory.NETWORK: r"connection|unreachable|refused|reset by|no route|\bdns\b|resolve"
    r"|网络|连接",
    FaultCategory.DEPENDENCY: r"upstream|downstream|timed? ?out|timeout|unavailable|contacting"
    r"|\b50[234]\b|超时|上游|下游",
    FaultCategory.DATA: r"corrupt|checksum|malformed|invalid (data|record|format)|损坏|格式错误",
    FaultCategory.CODE: r"exception|nullpointer|traceback|panic|assert|undefined|异常|空指针",
}
_PATTERNS = tuple((kind, re.compile(signs, re.IGNORECASE)) for kind, signs in _SIGNS.items())


def category_of(*texts: str) -> FaultCategory:
    """The kind of the first text that has signs of one; OTHER where none has."""
    for text in texts:
        for kind, pattern in _PATTERNS:
            if pattern.search(text):
                return kind
    return FaultCategory.OTHER
