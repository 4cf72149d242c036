"""Lines that state no level and still clearly tell of an error, in English and Chinese."""

from __future__ import annotations

import re

# One of these is in every English line of the kind: looking for words is quicker than the search.
_STEMS = (
    "error", "exception", "fatal", "panic", "traceback", "fail", "killed", "memory", "oom",
    "segfault", "segmentation", "core dumped", "bug:", "no space", "denied", "refused", "timed",
    "timeout", "unreachable", "cannot allocate", "crash",
)  # fmt: skip

_NONE_BEFORE = r"(?<!(?<!\d)0 )(?<!\bno )(?<!\bnot )(?<!without )"
_NONE_AFTER = (
    r"(?![\"']?\s?[=:]\s?[\"']?(?:0|none|null|nil|false)\b(?!\.\d))"
    r"(?!\s(?:count|rate)s?\b[\"']?(?:\s?[=:]|\sis)?\s?0\b(?!\.\d*[1-9]))"
)
# the name of a page or a file: GET /error, nginx/error.log
_NO_PATH = r"(?<!/)"
_NO_FILE = r"(?!\.(?:log|html?|jsp|php|txt)\b)"
_ENGLISH = re.compile(
    rf"(?i:{_NONE_BEFORE}(?:{_NO_PATH}(?:error|exception)s?{_NO_FILE}"
    rf"|\b(?:fatal|panic|traceback|failed|failure))\b{_NONE_AFTER})"
    r"|(?i:\bkilled process|\boom[-_ ]?kill|\bsegfault|\bsegmentation fault|\bcore dumped"
    r"|(?<!\bnot )\bcrashed\b|\bcrash report\b)"
    rf"|(?i:{_NONE_BEFORE}\b(?:out of memory|no space left|permission denied|connection refused"
    rf"|timed out|cannot allocate|unreachable)\b{_NONE_AFTER})"
    # a limit that is named or set is no event
    r"|(?i:(?<![\w.-])(?<!\bno )(?<!\bset )(?<!\bwith )(?<!\bidle )(?<!default )(?<!without )"
    r"timeout\b(?![\w-]|[\"']?\s?=|[\"']?\s?:\s?[\"']?\d|\s(?:is|set|to|value|settings?)\b|\s\d))"
    r"|\bBUG:"
    # an access log's status
    r"|\" 5\d\d\b"
)
_CHINESE = re.compile(
    r"(?<![无未没零])(?<!没有)(?<!未发现)(?<!(?<!\d)0[个次条])(?<!(?<!\d)0 [个次条])(?<!(?<!\d)0 )"
    r"(?:失败|错误|异常|超时|拒绝|内存不足|崩溃)"
    r"(?!时间|时长|阈值|上限|设置|设定|配置|参数|策略|重试|检测|处理器"
    r"|[数码率次]?[数量]?\s?[=:：为]\s?(?:0|无)(?![\d.]))"
)


def clearly_an_error(text: str) -> bool:
    """Whether a record without a level tells of an error, a crash, a refusal or a timeout.

    Words for it count, and a status 5xx of an access log; that there were none, and a timeout that
    is only set, do not.
    """
    lowered = text.lower()
    if ('" 5' in text or any(stem in lowered for stem in _STEMS)) and _ENGLISH.search(text):
        return True
    return not text.isascii() and _CHINESE.search(text) is not None
