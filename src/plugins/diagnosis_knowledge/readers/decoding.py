"""Bytes to text: UTF-8 and UTF-16 as they say they are, GB18030 where it reads as Chinese."""

from __future__ import annotations

import codecs
import re

from diagnosis_knowledge.readers.sections import DocumentUnreadable

# the longer mark first: that of UTF-32 begins like that of UTF-16
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(
    rb"<(?:meta\b[^>]{0,500}?\bcharset|\?xml\b[^>]{0,200}?\bencoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})",
    re.IGNORECASE,
)
_DECLARED_WITHIN = 4096
_TEXT_CODEC = re.compile(
    r"utf-?8|gb\w*|hz|big5\w*|shift_?jis\w*|euc_\w+|iso2022_\w+|iso8859-\d+|cp\d+|koi8-\w+|latin-1"
    r"|ascii|johab|ptcp154|mac-\w+|tis-620"
)
# A quarter to a half of what any Chinese text consists of. Korean and Russian bytes give characters
# of the same rows of GB 2312, but hardly these.
_FREQUENT = frozenset(
    "的一是不在了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种"
    "面而方后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本"
    "去把性好应开它合还因由其些然前外日那相全表间样与关各重新线内数正心反你明看原又利比或但质气第向道此变"
    "条只没结解问意建月无系情者最立代想已通并提题程展果料员位入常文总次品式设及管特件求基资边流路级少图接"
    "知较将组见计手角期根论运指几服务器日志内存磁盘查询错误告警连接超时请求步骤处理检查执行恢复重启排查原因"
    "配置数据库命令默认文件名称參數據務器間時處錯誤連線檢查執行復啟來說這為會個們對問題無與應開關經過後發現"
)
_GB2312_SHARE = 0.7
_FREQUENT_SHARE = 0.15


def decoded(content: bytes) -> str:
    """The text of a file, its line ends as line feeds.

    Raises:
        DocumentUnreadable: it is binary, or its encoding is none of those that can be told.
    """
    text = _by_byte_order_mark(content)
    if text is None:
        text = _undeclared(content)
    return _clean(text)


def decoded_html(content: bytes) -> str:
    """As `decoded`; without a byte order mark the encoding that the page declares goes first."""
    text = _by_byte_order_mark(content)
    if text is None:
        text = _as_declared(content)
    if text is None:
        text = _undeclared(content)
    return _clean(text)


def _by_byte_order_mark(content: bytes) -> str | None:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            try:
                return content.decode(encoding)
            except UnicodeDecodeError as error:
                name = encoding.removesuffix("-sig").upper()
                raise DocumentUnreadable(f"is not the {name} text it begins as") from error
    return None


def _as_declared(content: bytes) -> str | None:
    declared = _DECLARED.search(content[:_DECLARED_WITHIN])
    if declared is None:
        return None
    try:
        encoding = codecs.lookup(declared[1].decode("ascii")).name
    except LookupError:
        return None
    # as the HTML standard maps them
    encoding = {"gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252"}.get(
        encoding, encoding
    )
    if not _TEXT_CODEC.fullmatch(encoding):
        return None
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None


def _undeclared(content: bytes) -> str:
    if b"\0" in content:
        raise DocumentUnreadable("is a binary file")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        text = content.decode("gb18030")
    except UnicodeDecodeError:
        text = ""
    if not text or not _reads_as_chinese(text):
        raise DocumentUnreadable("is neither UTF-8 nor GB18030 text", "Save the document as UTF-8.")
    return text


def _reads_as_chinese(text: str) -> bool:
    """Whether text that decodes as GB18030 is Chinese: most Latin-1 and Cyrillic decodes too."""
    foreign = [character for character in text if not character.isascii()]
    frequent = sum(character in _FREQUENT for character in foreign)
    common = sum(map(_in_common_rows, foreign))
    few = len(foreign) < 20  # too few to count on
    # traditional characters stand outside GB 2312, but the frequent ones are known
    return frequent >= _FREQUENT_SHARE * len(foreign) or (
        few and common >= _GB2312_SHARE * len(foreign)
    )


def _in_common_rows(character: str) -> bool:
    """Punctuation or one of the 3,755 characters of GB 2312's level 1."""
    pair = character.encode("gb18030")
    return (
        len(pair) == 2 and (0xA1 <= pair[0] <= 0xA3 or 0xB0 <= pair[0] <= 0xD7) and pair[1] > 0xA0
    )


def _clean(text: str) -> str:
    if "\0" in text:
        raise DocumentUnreadable("is a binary file")
    return text.replace("\r\n", "\n").replace("\r", "\n")
