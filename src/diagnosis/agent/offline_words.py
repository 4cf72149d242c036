"""What a question is about, and whether a log text speaks of it: words, in English and Chinese."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CJK = re.compile(r"[\u3400-\u9fff]")
_CJK_RUN = re.compile(r"[\u3400-\u9fff]+")
_LATIN = re.compile(r"[A-Za-z0-9_$][A-Za-z0-9_$./:@-]*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ALPHABETIC = re.compile(r"[A-Za-z]+")
_SEPARATOR = re.compile(r"[-_\s]+")

# Words that every question about a failure may have: they say nothing of what fails.
_GENERIC = frozenset(
    """a about across after again all also always an and any anyone anything are around as at be because
    been before began begin being but by can cause caused causing could did do does doing during each
    every everything for from get gets getting give given gives go goes going got had happen happened
    happening happens has have having hello help hey hi how i if in into investigate is it its just
    keep keeping keeps kept know last lately let look many may me minute more most much my need new no
    not now of often on once only or our out over past please recent recently run running runs said
    say see seem seems seen several she should show since so some someone something sometimes start
    started starting starts still stop stopped such suddenly tell than thanks that the their them then
    there these they thing this those time times to today too under until up us very want was we
    were what whats when where which while who why will with without wont would yesterday you your
    abnormal alarm alert bad break breaking broke broken bug cannot cant crazy diagnose diagnosis
    doesnt dont down error errors fail failed failing fails failure failures fault faulty fix incident
    issue issues isnt occur occurs odd outage problem problems reason root strange throw throwing
    throws trouble weird work working works wrong
    am app application apps customer customers day days hour hours log logs message messages minutes
    morning night pm production service services system systems user users""".split()
)
_GENERIC_CHINESE = re.compile(
    "为什么|为何|怎么回事|怎么样|怎么|什么|一直|总是|经常|突然|从|开始|左右|大约|大概|失败|报错|错误|异常"
    "|问题|故障|原因|根因|服务|系统|应用|今天|昨天|上午|下午|早上|晚上|凌晨|中午|现在|目前|最近|过去|请问|请"
    "|帮忙|帮我|帮|看看|看|排查|分析|诊断|定位|一下|出现|出了|发生|无法|不能|不了|不出|有没有|是不是|是否|告警"
    "|日志|用户|客户|以来|之后|之前|以后|以前|哪里|哪些|分钟|小时|的|了|是|在|有|吗|呢|吧|啊|都|也|和|与|我们|我"
    "|大量|很多|频繁|不断|点|半"
)
# Words of operations that mean the same, in both languages: a question may say "login" where the
# log says "authentication". Latin words are compared as stems, Chinese ones as they stand.
_CONCEPTS: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "login": "login logon signin auth authenticate authentication password credential 登录 登陆 认证 鉴权 密码",
        "connection": "connect connection connectivity socket contact contacting unreachable refused 连接 连不上 网络",
        "timeout": "timeout timed timing latency slow slowness deadline 超时 缓慢 很慢 变慢 太慢 延迟",
        "memory": "memory heap oom outofmemory outofmemoryerror 内存",
        "disk": "disk volume filesystem storage space 磁盘 硬盘 空间",
        "processor": "cpu processor load 负载",
        "certificate": "certificate cert tls ssl x509 handshake 证书",
        "permission": "permission denied forbidden unauthorized unauthorised 权限 拒绝",
        "names": "dns resolve resolution hostname nxdomain 域名 解析",
        "queue": "queue backlog lag 队列 积压 堆积",
        "cache": "cache 缓存",
        "database": "database db sql jdbc mysql postgresql postgres 数据库",
        "replica": "replica replication 副本 复制",
        "crash": "crash restart killed 崩溃 重启 宕机",
    }.items()
}


def is_chinese(text: str) -> bool:
    """Whether a text is to be answered in Chinese."""
    return _CJK.search(text) is not None


def stem(word: str) -> str:
    """A word without its commonest English endings, in lower case."""
    word = word.lower()
    for ending, rest in (
        ("ies", "y"),
        ("sses", "ss"),
        ("ing", ""),
        ("ed", ""),
        ("es", ""),
        ("s", ""),
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: len(word) - len(ending)] + rest
    return word


def stems_of(text: str) -> frozenset[str]:
    """The stems of a text's alphabetic words; CamelCase and snake_case are taken apart."""
    return frozenset(stem(word) for word in _ALPHABETIC.findall(_CAMEL.sub(" ", text)))


def plain(text: str) -> str:
    """Lower case, with hyphens, underscores and white space as one space."""
    return _SEPARATOR.sub(" ", text.lower()).strip()


def is_identifier(word: str) -> bool:
    """Whether a word names one particular thing: mod_jk, workerEnv, order-api, v2, RM."""
    if re.search(r"[_$/@.:-]", word) or _CAMEL.search(word):
        return True
    has_letter = re.search(r"[A-Za-z]", word) is not None
    return has_letter and (bool(re.search(r"\d", word)) or (word.isupper() and len(word) > 1))


@dataclass(frozen=True, slots=True)
class Match:
    """How a text answers to a question's words.

    Attributes:
        identifiers: the question's identifiers that stand in the text.
        subjects: its plain words (or Chinese pieces) that do.
        concepts: its words of operations whose meaning the text shares.
    """

    identifiers: frozenset[str] = frozenset()
    subjects: frozenset[str] = frozenset()
    concepts: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.identifiers or self.subjects or self.concepts)

    @property
    def named(self) -> frozenset[str]:
        """What the question names and the text has."""
        return self.identifiers | self.subjects


@dataclass(frozen=True, slots=True)
class Topic:
    """The words of a question that say what it is about.

    Attributes:
        identifiers: words that name one particular thing, as written.
        words: stems of the other Latin words.
        pieces: Chinese pieces between words that every question has.
        concepts: names of the operations concepts it uses.
    """

    identifiers: frozenset[str]
    words: frozenset[str]
    pieces: frozenset[str]
    concepts: frozenset[str]

    @classmethod
    def of(cls, question: str) -> Topic:
        """Read a question (without its times)."""
        identifiers, words, concepts = set[str](), set[str](), set[str]()
        latin = [word.strip("./:-") for word in _LATIN.findall(question.replace("'", ""))]
        shouting = sum(word.isupper() for word in latin) > 2
        for word in latin:
            if word.lower() in _GENERIC or word.isdigit() or len(word) < 2:
                continue
            if concept := _concept_of(word):
                concepts.add(concept)
            elif is_identifier(word) and not (shouting and word.isalpha()):
                identifiers.add(word)
            else:
                words.add(stem(word))
        pieces = set[str]()
        for run in _CJK_RUN.findall(question):
            found = {name for name, known in _CONCEPTS.items() if any(w in run for w in known)}
            concepts |= found
            for name in found:
                for word in sorted(_CONCEPTS[name], key=len, reverse=True):
                    run = run.replace(word, " ")
            pieces.update(p for p in _GENERIC_CHINESE.sub(" ", run).split() if len(p) > 1)
        return cls(frozenset(identifiers), frozenset(words), frozenset(pieces), frozenset(concepts))

    @property
    def has_subject(self) -> bool:
        """Whether the question names what fails, beyond words of operations."""
        return bool(self.identifiers or self.words or self.pieces)

    def match(self, text: str) -> Match:
        """Which of the question's words stand in a text."""
        flat, stems = plain(text), stems_of(text)
        return Match(
            identifiers=frozenset(i for i in self.identifiers if _stands_in(plain(i), flat)),
            subjects=frozenset(w for w in self.words if _has_stem(w, stems))
            | frozenset(p for p in self.pieces if _has_piece(p, text)),
            concepts=frozenset(name for name in self.concepts if _speaks_of(name, text, stems)),
        )


def _concept_of(word: str) -> str | None:
    return next((name for name, known in _CONCEPTS.items() if _has_stem_in(word, known)), None)


def _has_stem_in(word: str, known: frozenset[str]) -> bool:
    return word.lower() in known or stem(word) in {stem(other) for other in known}


def _stands_in(identifier: str, flat: str) -> bool:
    pattern = rf"(?<![a-z0-9]){re.escape(identifier)}(?![a-z0-9])"
    return re.search(pattern, flat) is not None


def _has_stem(word: str, stems: frozenset[str]) -> bool:
    # one letter more is the same word: ssh and sshd, pod and pods
    return word in stems or any(other[:-1] == word for other in stems)


def _has_piece(piece: str, text: str) -> bool:
    """At least half of the piece's pairs of characters: Chinese has no spaces to split at."""
    pairs = [piece[i : i + 2] for i in range(len(piece) - 1)]
    return sum(pair in text for pair in pairs) * 2 >= len(pairs)


def _speaks_of(concept: str, text: str, stems: frozenset[str]) -> bool:
    return any(
        word in text if _CJK.search(word) else stem(word) in stems for word in _CONCEPTS[concept]
    )
