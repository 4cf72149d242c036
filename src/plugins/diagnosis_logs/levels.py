"""Log levels: their order, their many names, and where a line says one."""

from __future__ import annotations

import re
from enum import IntEnum

from pydantic import JsonValue

_HEAD_CHARACTERS = 120


class Level(IntEnum):
    """How severe a record says it is; a higher number is worse."""

    TRACE = 0
    DEBUG = 1
    INFO = 2
    WARN = 3
    ERROR = 4
    FATAL = 5


_NAMES = {
    Level.TRACE: ("trace", "verbose", "finest", "finer", "trc", "vrb", "trce", "trac", "跟踪"),
    Level.DEBUG: ("debug", "fine", "dbg", "dbug", "debu", "debug1", "debug2", "debug5", "调试"),
    Level.INFO: (
        "info", "information", "informational", "notice", "inf", "note", "hinweis", "infos", "信息",
        "通知", "提示", "日志", "注意", "情報",
    ),
    Level.WARN: (
        "warn", "warning", "wrn", "warnung", "avertissement", "advertencia", "avvertenza", "aviso",
        "警告", "告警",
    ),
    # 严重, 重大 and so on are SEVERE of java.util.logging
    Level.ERROR: (
        "error", "err", "severe", "eror", "erro", "fail", "failure", "fehler", "schwerwiegend",
        "erreur", "grave", "errore", "错误", "严重", "錯誤", "重大", "エラー",
    ),
    Level.FATAL: (
        "fatal", "critical", "crit", "alert", "emerg", "emergency", "panic", "dpanic", "ftl",
        "fata", "致命", "致命错误", "严重错误", "紧急",
    ),
}  # fmt: skip
LEVEL_OF_NAME = {name: level for level, names in _NAMES.items() for name in names}
_LETTERS = {
    "T": Level.TRACE, "V": Level.TRACE, "D": Level.DEBUG, "I": Level.INFO, "N": Level.INFO,
    "W": Level.WARN, "E": Level.ERROR, "F": Level.FATAL, "C": Level.FATAL, "A": Level.FATAL,
}  # fmt: skip
# Levels only where nothing else can be meant: a key that says levels, a column after the time.
_NAMES_IN_COLUMNS = {
    "log": Level.INFO, "system": Level.INFO, "config": Level.DEBUG, "success": Level.INFO,
    "debug3": Level.DEBUG, "debug4": Level.DEBUG, "silly": Level.TRACE, "default": Level.INFO,
    "normal": Level.INFO,
}  # fmt: skip
_COLUMN_NAMES = ("LOG", "CONFIG", "SUCCESS", "[System]")  # Nest, Java, loguru, MySQL
_LEVEL_OF_POSTGRES = {
    "LOG": Level.INFO, "DEBUG1": Level.DEBUG, "DEBUG2": Level.DEBUG, "DEBUG3": Level.DEBUG,
    "DEBUG4": Level.DEBUG, "DEBUG5": Level.DEBUG, "日志": Level.INFO, "注意": Level.INFO,
    "警告": Level.WARN, "错误": Level.ERROR, "致命错误": Level.FATAL, "СООБЩЕНИЕ": Level.INFO,
    "ЗАМЕЧАНИЕ": Level.INFO, "ПРЕДУПРЕЖДЕНИЕ": Level.WARN, "ОШИБКА": Level.ERROR,
    "ВАЖНО": Level.FATAL, "ПАНИКА": Level.FATAL, "ATTENTION": Level.WARN,
}  # fmt: skip
_MARKS = {".": Level.DEBUG, "-": Level.DEBUG, "*": Level.INFO, "#": Level.WARN}  # Redis

# One of these is in every name.
_STEMS = (
    "info", "warn", "err", "debug", "notice", "inf", "dbg", "wrn", "note", "trace", "fatal",
    "crit", "fine", "verbose", "severe", "alert", "emerg", "panic", "trc", "vrb", "ftl", "dbug",
    "eror", "fail", "fehler", "schwer", "grave", "avert", "advert", "avvert", "aviso", "hinweis",
    "fata", "debu", "trac",
)  # fmt: skip

_latin = [name for name in LEVEL_OF_NAME if name.isascii()]
_any = "|".join(sorted(_latin, key=len, reverse=True))
_chinese = "|".join(sorted(set(LEVEL_OF_NAME) - set(_latin), key=len, reverse=True))
_upper = _any.upper()
_plain = "debug|info|notice|warn|warning|err|error|crit|critical|fatal|panic|alert|emerg"
# A level stands in brackets (any case), after `level=` (any case), or alone in capitals.
_STATED = re.compile(
    rf"[\[(<|]\s?(?P<bracket>(?i:{_any}))\s{{0,3}}[\])>|]"
    rf"|\b(?i:level|lvl|severity|loglevel)[\"']?\s?[=:]\s?[\"']?(?P<key>(?i:{_any}))\b"
    rf"|(?:(?<![\w.$/-])|(?<=\dm))(?P<alone>{_upper})(?![\w$/-]|\.\w)"
    # Apache 2.4 names the module first: [core:error]
    rf"|\[\w+:(?P<module>(?i:{_any}))\d?\]"
    # between a host and a program: `lb1 err tmm[7]:`
    rf"|\s(?P<between>{_plain}) [A-Za-z_][\w./-]{{0,63}}\[\d{{1,7}}\]:"
    # after a thread: [main/INFO]
    rf"|/(?P<slashed>{_upper})\]"
    # Monolog names the channel first, PHP itself, Celery the process after it
    rf"|\b\w{{1,64}}\.(?P<channel>{_upper}):"
    rf"|\bPHP (?:(?:Parse|Recoverable|Catchable) )?(?P<php>(?i:{_any}))[ :]"
    rf"|: (?P<process>{_upper})/"
    # Icinga: before the facility; Heroku: as a pair
    rf"|\] (?P<facility>{_plain}|information)/[A-Za-z]\w{{0,64}}:"
    r"|: at=(?P<at>info|warning|error)\s"
    # after a program or a category, with a colon of its own: `sshd[7]: error: x`
    rf"|(?:: |\w\[[\d:]{{1,16}}\] )(?P<tagged>(?i:{_plain})):\s"
)
_CHINESE_STATED = re.compile(
    rf"(?:\A|[\s\[(<|【:：=])\s?(?P<chinese>{_chinese})(?=[\s\])>|】:：]|\Z)"
)
# Words of a sentence directly before a name in capitals: it is part of the sentence.
_PROSE = re.compile(r"(?:(?<![\w.-])[a-z]{2,20}[,;]?|(?<![\w=:.-])\w{1,20}[,;]) [a-z]{1,20} \Z")
# The usual places, tried first because they are quick: right after the time (and a process id),
# or after one bracketed thread name.
_USUAL = tuple(
    re.compile(rf"[\]\s:|,-]*{skipped}([\[<]?)([A-Za-z]{{3,13}})([\]>]?)(?=[\s:|,\]])")
    for skipped in (r"(?:\d{1,8}\s+)?", r"\[[^\]]{0,80}\]\s+")
)
# Capitalised right after the time: a level where a column, a colon or a bracket follows.
_COLUMN = re.compile(r"(?:\s{2}|\s?[:|\t\]])")
# PostgreSQL in its languages
_POSTGRES = re.compile(r"\s([^\W\d_]{2,20}[1-5]?):  ")
_FIRST_WORD = re.compile(r"[\]\s:|,-]*([A-Za-z]{3,13})(?=[\s:|,\]])|\s+([diwef])(?=\s)")
# Where one letter says the level.
_LETTER = re.compile(
    r"\]?\s+(?:"
    r"(?P<mongo>[TDIWEFC])\d?\s{1,2}[A-Z]{3,12}\s"  # MongoDB before 4.4
    r"|(?P<android>[VDIWEFA])/[\w.$-]{1,64}\s{0,20}\("
    r"|(?P<etcd>[DIWECNT])\s\||(?P<telegraf>[DIWE])!\s|(?P<bracket>[DIWEF])\s\["
    r"|\d{1,7}\s+\d{1,7}\s+(?P<logcat>[VDIWEFA])\s)"
)
_LEADING_LETTER = re.compile(
    r"[\x1b\[\dm]{0,16}([VIWEFDA])"
    r"(?=\d{4} \d\d:|(?:\d\d)?\d{6} \d\d:|,? \[\d|/[\w.$-]{1,64}\s{0,20}\(\s{0,8}\d+\):)"
)
_REDIS = re.compile(r"\d+:[XCSM] .{10,40} ([.*#-]) |\[\d+\] \d.{10,40} ([.*#-]) ")
# What network devices write, with syslog's severity: %LINK-3-UPDOWN:, %%01IFNET/4/LINK_STATE(l)[7]:
_FACILITY = re.compile(
    r"%[A-Z][A-Z0-9_]*(?:-[A-Z0-9_]+)*?-([0-7])-[A-Z0-9_]+:"
    r"|(?:%%\d\d|\s)[A-Z][A-Z0-9_]{1,31}/([0-7])/[A-Za-z_]\w{0,63}(?:\([a-z]\)|:)"
)
# IBM's message numbers end with their level: WSVR0001I:, AMQ9999E:
_IBM = re.compile(r"(?<!\w)[A-Z]{3,5}\d{4,5}([IWES]): ")
# ArcSight's CEF: version, vendor, product, version, id and name before the severity.
_CEF = re.compile(r"CEF:\d\|(?:(?:[^|\\]|\\.)*\|){5}([\w-]{1,9})\|")
_CEF_NAMES = {
    "low": Level.INFO, "medium": Level.WARN, "high": Level.ERROR, "very-high": Level.FATAL,
}  # fmt: skip
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
# RFC 5424 and 3164; behind the length of the message, as RFC 6587 frames it in a stream
_PRIORITY = re.compile(r"(?:\d{1,5} )?<(\d{1,3})>(?=\d )|<(\d{1,3})>")
# RFC 5424, 6.2.1: the numerical severities 0 to 7
SYSLOG_SEVERITIES = (
    Level.FATAL,
    Level.FATAL,
    Level.FATAL,
    Level.ERROR,
    Level.WARN,
    Level.INFO,
    Level.INFO,
    Level.DEBUG,
)


def level_of_text(line: str, body: int = 0) -> Level | None:
    """The level that the beginning of a line states, or None.

    Args:
        line: the line.
        body: where its time ends.
    """
    if "<" in line[:7] and (found := _PRIORITY.match(line)):
        priority = SYSLOG_SEVERITIES[int(found[1] or found[2]) & 7]
        # what passes a program's output on gives all of it one priority, often `info`
        stated = _stated(line, body) if priority <= Level.INFO else None
        return priority if stated is None else max(priority, stated)
    return _stated(line, body)


def _stated(line: str, body: int) -> Level | None:
    if "\x1b" in line:
        head = line[: body + 3 * _HEAD_CHARACTERS]
        line, body = _COLOUR.sub("", head), len(_COLOUR.sub("", head[:body]))
    for usual in _USUAL:
        if found := usual.match(line, body):
            opened, name, closed = found.groups()
            level = LEVEL_OF_NAME.get(name.lower())
            if level is None and body and found[0].endswith(_COLUMN_NAMES):
                return _NAMES_IN_COLUMNS[name.lower()]
            if level is not None and (
                name.isupper() or (opened and closed) or _COLUMN.match(line, found.end())
            ):
                return level
    if found := _LEADING_LETTER.match(line):
        return _LETTERS[found[1]]
    if body and (found := _LETTER.match(line, body)):
        return _LETTERS[found[found.lastgroup or 0]]
    head = line[: body + _HEAD_CHARACTERS]
    level = _searched(head, body)
    if level is None:
        level = _by_mark(line, head)
    if level is None and not head.isascii() and (found := _CHINESE_STATED.search(head)):
        return LEVEL_OF_NAME[found[1]]
    return level


def _by_mark(line: str, head: str) -> Level | None:
    """The level that a number or a mark states in the formats of certain systems."""
    if "%" in head and (found := _FACILITY.search(head)):
        return SYSLOG_SEVERITIES[int(found[1] or found[2])]
    if "CEF:" in head and (found := _CEF.search(line)):
        return level_of_severity(found[1])
    if ": " in head and (found := _IBM.search(head)):
        return Level.ERROR if found[1] in "SE" else _LETTERS[found[1]]
    if line[:1] == "[" or line[:1].isdigit():
        found = _REDIS.match(line)
        return _MARKS[found[1] or found[2]] if found else None
    return None


def level_of_severity(word: str) -> Level | None:
    """The level of a security event's severity: 0 to 10, or low to very high."""
    word = word.lower()
    if not word.isdecimal():
        return _CEF_NAMES.get(word)
    number = int(word[:3])  # 0 to 3 low, 4 to 6 medium, 7 and 8 high, 9 and 10 very high
    return Level.INFO if number < 4 else Level(min(5, 3 + (number >= 7) + (number >= 9)))


def _searched(head: str, body: int) -> Level | None:
    if ":  " in head and (found := _POSTGRES.search(head, body)):
        level = _LEVEL_OF_POSTGRES.get(found[1])
        if level is not None:
            return level
    lowered = head.lower()
    # looking for words is many times quicker than the search, and many logs have no levels
    if not any(stem in lowered for stem in _STEMS):
        return None
    for found in _STATED.finditer(head):
        kind = found.lastgroup or ""
        if kind == "alone" and _PROSE.search(head, max(body, found.start() - 50), found.start()):
            return None
        if (level := LEVEL_OF_NAME.get(found[kind].lower())) is not None:
            return level
    return None


def level_of_first_word(line: str, body: int) -> Level | None:
    """The level that the first word after a time names, in whatever case."""
    found = _FIRST_WORD.match(line, body)
    if found is None:
        return None
    return LEVEL_OF_NAME.get(found[1].lower()) if found[1] else _LETTERS[found[2].upper()]


def begins_with_level(line: str) -> bool:
    """Whether a line without a time begins with a level: in capitals, in brackets, or `info:`."""
    found = _USUAL[0].match(line)
    if found is None or found[2].lower() not in LEVEL_OF_NAME:
        return False
    return bool(found[2].isupper() or (found[1] and found[3]) or _COLUMN.match(line, found.end()))


def level_in_column(value: JsonValue) -> Level | None:
    """The same of a field that is known to say levels; it may use more names."""
    level = level_of_name(value)
    if level is None and isinstance(value, str):
        return _NAMES_IN_COLUMNS.get(value.strip().lower())
    return level


def level_of_name(value: JsonValue) -> Level | None:
    """The level that a field states by its name or letter."""
    if not isinstance(value, str):
        return None
    name = value.strip()
    level = LEVEL_OF_NAME.get(name.lower())
    if level is None and name[-2:-1] in "+-" and name[-1:].isdecimal():
        level = LEVEL_OF_NAME.get(name[:-2].lower())  # Go's slog: INFO+2
    if (
        level is None
        and len(name) <= 2
        and name[:1] in _LETTERS
        and name[1:].isdecimal() | (len(name) == 1)
    ):
        return _LETTERS[name[0]]
    return level
