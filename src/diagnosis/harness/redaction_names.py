"""Secrets that a name gives away: `password=x`, `"api_key": "x"`, `--token x`, `密码：x`.

Names are searched in a lower-cased copy of the text (of the same
length), so that the search is for plain literals, which is fast; values are taken from the text
itself. No pattern nests quantifiers, and what follows a name is looked at a bounded way ahead or
consumed for good, so that no text, however hostile, costs more than a constant per character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple


class SecretKind(StrEnum):
    """What was masked, as the model is told."""

    PASSWORD = "password"  # noqa: S105 - the name of a kind
    BEARER_TOKEN = "bearer_token"  # noqa: S105 - the name of a kind
    API_TOKEN = "api_token"  # noqa: S105 - the name of a kind
    PRIVATE_KEY = "private_key"
    JWT = "jwt"
    CLOUD_KEY = "cloud_key"
    URL_CREDENTIALS = "url_credentials"
    COOKIE = "cookie"


Span = tuple[int, int, SecretKind]
Finder = Callable[[str, str], Iterator[Span]]


class Named(NamedTuple):
    """What a name says of its value; a weak name is an ordinary word too ("token", "secret")."""

    kind: SecretKind
    weak: bool = False


MASK = re.compile(r"\[REDACTED:[a-z_]{1,20}\]")

# A value without quotes ends at white space, at a quote, and at a separator or closing bracket
# unless more of the value follows it.
# Of a value that may turn out to be none only this much is looked at; the rest follows once it is
# one, and is then passed for good.
_JUDGED = 300
_VALUE_PART = r"""(?:\[REDACTED:[a-z_]{1,20}\]
         |[^\s"'`,;&)\]}<，。；、）】」\\]
         |\\(?!\\{0,8}["'`])
         |<(?!/)
         |["'`](?=[A-Za-z0-9])
         |[,;](?!\s|\Z|[A-Za-z][\w.\- ]{1,40}[=:])
         |&(?!\s|\Z|[A-Za-z][^\s=&]{0,40}=)
         |[)\]}](?![\s,;.:)\]}"'`\\]|\Z)
        )"""
_VALUE = re.compile(_VALUE_PART + "+", re.VERBOSE)
_VALUE_START = re.compile(f"{_VALUE_PART}{{1,{_JUDGED}}}", re.VERBOSE)
OPENING = re.compile(r"(\\{0,15})([\"'`])")
_STOPS = {quote: re.compile(rf"[{quote}\n]") for quote in "\"'`"}
_ABSENT = re.compile(
    r"(?:null|none|nil|true|false|undefined|unset|n/a|\*+|x{3,}|\.{3,})\Z", re.IGNORECASE
)
_REFERENCE = re.compile(r"\$\{?\w|\$\(|\{\{|%\(|<[\w .\-]{1,40}>?\Z|@Microsoft\.KeyVault")
_PATH = re.compile(
    r"(?:~?/|\.{1,2}/|[A-Za-z]:\\)"
    r"(?:(?:etc|var|run|home|opt|usr|tmp|root|mnt|srv|app|secrets?|data|proc|dev)(?:/|\Z)"
    r"|[^\s=+]{0,200}\.[A-Za-z]{2,5}\Z|\Z)"
)
STATUS = re.compile(
    r"(?:incorrect|invalid|wrong|expired|required|missing|empty|failed|failure|mismatch|rejected"
    r"|denied|accepted|changed|yes|no|ok|not|must|is|was|has|for|the|too|cannot|should|unknown"
    r"|authentication|disabled|enabled|hidden|masked|unauthorized|revoked|valid|error)\Z",
    re.IGNORECASE,
)
_SWITCH = re.compile(
    r"(?:on|off|default|auto|force|require|low|medium|strong|string|text)\Z", re.IGNORECASE
)
_DIGITS = re.compile(r"[\d.,]{1,5}\Z")
_CHUNK = re.compile(r"[A-Za-z0-9]{8,}")
_BLOCK_SCALAR = re.compile(r"[|>][-+0-9]{0,2}\Z")
_NEXT_PAIR = re.compile(r"[\w.\-]{1,40}[=:]")


def looks_random(value: str) -> bool:
    """Whether a value mixes letters and digits as generated secrets do, and words do not."""
    return any(
        any(map(str.isdigit, chunk)) and any(map(str.isalpha, chunk))
        for chunk in _CHUNK.findall(value)
    )


def is_plain(value: str) -> bool:
    """Whether a value is no secret: absent, masked, a remark, a count, a path or a reference."""
    return not value or any(
        pattern.match(value)
        for pattern in (_ABSENT, MASK, STATUS, _SWITCH, _DIGITS, _PATH, _REFERENCE)
    )


def lowered(text: str) -> str:
    """A lower-cased copy of the same length (one Turkish letter would grow)."""
    low = text.lower()
    return low if len(low) == len(text) else text.replace("\u0130", "i").lower()


# --- names and their values ------------------------------------------------------------------

_QUALIFIER = re.compile(
    r"(?P<cloud>access|accesskey|secret|account|storage)[-_. ]?\Z"
    r"|(?P<private>private|ssh)[-_. ]?\Z"
    r"|(?P<token>api|auth|app|client|consumer|subscription|encryption|encrypt|signing|master"
    r"|shared|license)[-_. ]?\Z"
)
_NOT_A_SECRET_TOKEN = re.compile(
    r"(?:page|next|continuation|sync|sequence|max|min|input|output|prompt|completion|cached"
    r"|eos|bos|pad|unk|sep|cls|mask|special|cancel|cancellation|unexpected)[-_ .]?\Z"
)
_ACCESS_KEY = re.compile(r"access[-_ ]?key[-_ ]?\Z")
_OWNER = re.compile(
    r"(?:[-_.]|access|auth|api|refresh|session|id|bearer|client|user|bot|app|service|consumer"
    r"|oauth|csrf|xsrf|security|device|deploy|jwt|webhook|hmac|signing|shared)[ ]?\Z"
)


def _judge(word: str, before: str) -> Named | None:
    """What a word of a name means after what stands before it (both lower-cased)."""
    match word[:3]:
        case "pwd":
            return Named(SecretKind.PASSWORD)
        case "pas" if word != "pass":
            return Named(SecretKind.PASSWORD)
        case "pas":  # an ordinary word, unless something in front makes it the end of a name
            if before[-1:].isalpha() and not before.endswith(("user", "db", "require", "admin")):
                return None
            return Named(SecretKind.PASSWORD, weak=not before.endswith(("_", "-", "user", "db")))
        case "aut":
            return Named(SecretKind.PASSWORD)
        case "key":
            found = _QUALIFIER.search(before)
            if found is None:
                return None
            if found["private"]:
                return Named(SecretKind.PRIVATE_KEY)
            return Named(SecretKind.CLOUD_KEY if found["cloud"] else SecretKind.API_TOKEN)
        case "tok" if _NOT_A_SECRET_TOKEN.search(before):
            return None
        case "sec" if _ACCESS_KEY.search(before):
            return Named(SecretKind.CLOUD_KEY)
        case _:
            return Named(SecretKind.API_TOKEN, weak=_OWNER.search(before) is None)


# The words by which names end, and what a text that holds one has in it for certain.
WORDS = (
    (r"pass", r"pass(?:(?:word|wd|phrase|code)(?:s|\d|_?hash)?)?"),
    (r"w(?<=pw)d|w(?<=psw)d", r"pwd\d?|pswd"),
    (r"secret", r"secrets?"),
    (r"k(?<=tok)en", r"token"),
    (r"key", r"key(?:_base)?"),
    (r"cred", r"credentials?"),
    (r"n_string", r"authentication_string"),
)
_TAIL = (
    r"""(?P<quote>\\{0,8}["'`])?[)）\]]?"""
    r"""(?:[ \t]{0,4}(?P<sep>=>|:=|={1,3}|[:：＝>])(?P<gap>[ \t]{0,4})|[ \t]{1,4})"""
)
_FLAG = re.compile(r"(?:\A|[\s\"'=,\[])--?(?!no-)[\w.\-]{0,38}\Z", re.ASCII)
_ELEMENT = re.compile(r"<[\w.:\-]{0,38}\Z")
_LINE_START = re.compile(r"(?:\A|\n)[ \t\-]{0,30}\Z")


def value_span(text: str, position: int) -> tuple[int, int, bool] | None:
    """Where the value at a position starts and ends, and whether it is quoted.

    Without quotes the end may be that of its beginning only: see `value_end`.
    """
    opening = OPENING.match(text, position)
    if opening is None:
        found = _VALUE_START.match(text, position)
        return (found.start(), found.end(), False) if found else None
    escapes, start = len(opening[1]), opening.end()
    position = start
    while stop := _STOPS[opening[2]].search(text, position):
        position = stop.end()
        end = stop.start()
        if stop[0] == "\n":
            return start, end, True
        while end > start and text[end - 1] == "\\":
            end -= 1
        run = stop.start() - end
        # At nesting level k a quote stands behind k backslashes; one within the value behind more.
        if run < escapes or (run - escapes) % (2 * escapes + 2) == 0:
            return start, max(start, stop.start() - min(run, escapes)), True
    return start, len(text), True


def value_end(text: str, start: int, end: int) -> int:
    """Where a value without quotes really ends, given the span that was judged."""
    found = _VALUE.match(text, start) if end - start >= _JUDGED else None
    return found.end() if found else end


def _is_secret(text: str, low: str, found: re.Match[str], named: Named, value: str) -> bool:
    """Whether the unquoted value of a name is a secret and not a remark, a count or a path."""
    if _ABSENT.match(value) or _REFERENCE.match(value) or _PATH.match(value):
        return False
    separator = found["sep"]
    if found["gap"] and _NEXT_PAIR.match(value):
        return False  # "password= user=x": an empty value, then the next name
    if separator in (":", "：") and STATUS.match(value.rstrip(".!,;")):
        return False
    if (named.weak or named.kind is not SecretKind.PASSWORD) and (
        _DIGITS.match(value) or not any(map(str.isalnum, value))
    ):
        return False  # a count, or a bracket behind "token:"
    if not named.weak or found["quote"] or looks_random(value):
        return True
    if separator not in (":", "："):
        return len(value) >= 4
    start = found.start()
    return _LINE_START.search(text[max(0, start - 32) : start]) is not None


def _assigned(text: str, low: str, found: re.Match[str]) -> Span | None:
    """The span of the value that is given to a name, if it is a secret."""
    start = found.start()
    before = low[max(0, start - 40) : start]
    if text[start].isupper() and text[start - 1 : start].islower() and start:
        before += "_"  # camel case: dbPass
    if text.startswith("]", found.end("word")) and "[redacted:" in before:
        return None  # the word is part of a mask
    named = _judge(found["word"], before)
    span = value_span(text, found.end()) if named else None
    if named is None or span is None or span[0] == span[1]:
        return None
    if found["sep"] == ">" and not _ELEMENT.search(before):
        return None
    start, end, quoted = span
    value = text[start:end]
    if _BLOCK_SCALAR.match(value) and not quoted:
        return None  # YAML: the value is on the next line
    if found["sep"] is None:
        flag = _FLAG.search(before) is not None or before.endswith("require")
        if quoted and not named.weak and " " not in value:
            pass  # SQL: PASSWORD 'x'
        elif not flag or value.startswith("-") or found["quote"]:
            return None
    if not quoted and not _is_secret(text, low, found, named, value):
        return None
    if quoted and (_REFERENCE.match(value) or _PATH.match(value) or _ABSENT.match(value)):
        return None
    if not quoted:
        end = value_end(text, start, end)
    return start, end, named.kind


def assignments(word: str) -> Finder:
    """A finder of the values given to names that end with a word."""
    pattern = re.compile(f"(?P<word>{word}){_TAIL}")

    def find(text: str, low: str) -> Iterator[Span]:
        position = 0
        while found := pattern.search(low, position):
            span = _assigned(text, low, found)
            position = span[1] if span else found.end("word")
            if span:
                yield span

    return find


_CHINESE = re.compile(
    r"(?:密码|密碼|口令|密钥|密鑰|令牌)[)）]?"
    r"(?:[是为為]?[ \t]{0,4}[:：=＝][ \t\u3000]{0,4}|[是为為][ \t]{0,4}(?=[!-~]{4}))"
)
# What is said of a password in its place; also the name of the next value, where this one is empty.
_CHINESE_REMARK = re.compile(
    r"(?:[不未无無没沒已非请請需须必应應可仅勿尚暂被将由与和或及的过太]|错|錯|正确|有[误效]|失[败效]|成功"
    r"|为?空|缺|[校验]验|验证|长度|至少|最[多少大小长短]|格式|类型|强度|是否|默认|隐藏|脱敏|保密|加密"
    r"|解密|修改|更新|重[置试新]|设置|生成|登[录陆]|输入|通过|拒绝|[禁启停]用|字符|选填|点击|忘记|即将"
    r"|用户|[\u4e00-\u9fff]{1,8}[ \t]{0,4}[:：=＝]|[\u4e00-\u9fff]\Z)"
    r"|[\u4e00-\u9fff]{1,40}(?:错误|錯誤|有误|失败|成功|过期|正确|失效|为空|匹配|一致|通过|存在|[无有]效"
    r"|完成|异常|必填|不足|[过太][长短]|次数?|中)[！？!?.…]{0,3}\Z"
)


def chinese(text: str, low: str) -> Iterator[Span]:
    """Find values behind a Chinese key word; a remark in their place is none ("密码：错误")."""
    position = 0
    while found := _CHINESE.search(text, position):
        position = found.end()
        span = value_span(text, position)
        if span is None or span[0] == span[1]:
            continue
        start, end, quoted = span
        value = text[start:end]
        if any(remark.match(value) for remark in (_ABSENT, STATUS, _REFERENCE, _CHINESE_REMARK)):
            continue
        position = end = end if quoted else value_end(text, start, end)
        password = found[0][0] in "密口" and found[0][1] not in "钥鑰"
        yield start, end, SecretKind.PASSWORD if password else SecretKind.API_TOKEN


_NAME = re.compile(
    rf"(?P<word>{'|'.join(word for _, word in WORDS)})\Z"
    r"|(?P<authorization>authorization)\Z|(?P<cookie>cookies?2?)\Z|(?P<chinese>密码|密碼|口令)\Z"
    r"|(?P<chinese_token>密钥|密鑰|令牌)\Z"
)


def named_secret(name: str) -> Named | None:
    """What a field's name says of its value, or None where it names no secret."""
    tail = name[-64:]
    found = _NAME.search(lowered(tail))
    if found is None:
        return None
    if found["authorization"]:
        return Named(SecretKind.BEARER_TOKEN)
    if found["cookie"]:
        return Named(SecretKind.COOKIE)
    if found["chinese"]:
        return Named(SecretKind.PASSWORD)
    if found["chinese_token"]:
        return Named(SecretKind.API_TOKEN)
    before = lowered(tail[: found.start()])
    if (
        tail[found.start()].isupper()
        and before[-1:].isalpha()
        and tail[found.start() - 1].islower()
    ):
        before += "_"
    return _judge(found["word"], before)
