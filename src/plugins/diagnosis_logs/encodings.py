"""The encoding of a log, told by its bytes: UTF-8, UTF-16 with a mark, GB18030."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from diagnosis_logs.packing import Readable

EncodingName = Literal[
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr",
    "latin-1", "cp1250", "cp1251", "cp1252", "koi8-r",
]  # fmt: skip

# Those in which byte 0x0A may be half of another character.
_WIDE = ("utf-16", "utf-16-le", "utf-16-be")
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

# The characters that Chinese texts and logs use most. Bytes of other encodings give characters of
# Chinese as well, but hardly these.
_FREQUENT = frozenset(
    "的一是不了在有个中大为上到和国地以时会来发生成可对自下过后就多经要行方前所现务面定事"
    "关心作样者把点日又与此无全用如开因数些没已同新从本相接第其正由情两应间力机解实加量明信"
    "常分动进化公代次间工手电最路级当表产形文建结条系运度管理门式设件名称号类型错误失败异常"
    "警告严重超时连接请求响应服务器端口用户登录密码数据库查询启动停止完成执行程序处理任务线程"
    "内存磁盘空间不足文件读取写入打开关闭网络地址访问拒绝权限配置参数返回状态订单支付商品库存"
    "消息队列缓存重试等待开始结束创建删除更新加载初始注册调用接口系统日志记录当前使用"
)
_LEAST_FREQUENT = 0.15
_LEAST_COMMON = 0.8


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the bytes of a file are text.

    Attributes:
        name: of the encoding; `utf-8` for what is made UTF-8 while it is read.
        given: the one to make UTF-8 of, None where the bytes are read as they are.
        returns: whether a carriage return alone ends a line.
    """

    name: str
    given: str | None = None
    returns: bool = False

    @property
    def as_it_stands(self) -> bool:
        """Whether any part of the file can be read by itself: each byte 0x0A ends a line."""
        return self.given is None and not self.returns


UTF_8 = Encoding("utf-8")


def encoding_of(head: bytes, samples: list[bytes], name: str | None = None) -> Encoding:
    """The encoding of a file.

    Args:
        head: its beginning.
        samples: whole lines of it from several places.
        name: where it is known.
    """
    if name is None:
        name = next((found for mark, found in _MARKS if head.startswith(mark)), None)
    if name in _WIDE:
        return Encoding("utf-8", name, _only_returns(head.replace(b"\0", b"")))
    name = name or ("gb18030" if _is_chinese(samples) else "utf-8")
    if _only_returns(head):
        return Encoding("utf-8", name, returns=True)
    return Encoding(name)


def _only_returns(head: bytes) -> bool:
    """Whether lines end as they did on old Macs."""
    return b"\n" not in head and head.rstrip(b"\r").count(b"\r") > 0


def _is_chinese(samples: Iterable[bytes]) -> bool:
    """Whether more lines are GB18030 than UTF-8, and what they say may be Chinese."""
    wide = other = 0
    said: list[str] = []
    for sample in samples:
        if sample.isascii() or _decodes(sample, "utf-8"):
            wide += not sample.isascii()
            continue
        for line in sample.split(b"\n"):
            if line.isascii():
                continue
            if _decodes(line, "utf-8"):
                wide += 1
            elif _decodes(line, "gb18030"):
                said.append(line.decode("gb18030"))
            else:
                other += 1
    return len(said) > wide + other and _may_be_chinese("".join(said))


def _decodes(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _may_be_chinese(text: str) -> bool:
    foreign = [character for character in text if not character.isascii()]
    ideographs = [character for character in foreign if "\u4e00" <= character <= "\u9fff"]
    # those of GB2312 are what is written; the others are where bytes of other encodings lead
    common = sum(_decodes_in_gb2312(character) for character in foreign)
    frequent = sum(character in _FREQUENT for character in ideographs)
    return (
        common >= _LEAST_COMMON * len(foreign)
        and frequent > 0
        and frequent >= _LEAST_FREQUENT * len(ideographs)
    )


def _decodes_in_gb2312(character: str) -> bool:
    try:
        character.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return True


class Recoded:
    """A stream of another encoding, or with other line ends, as UTF-8; bad bytes become U+FFFD.

    Args:
        source: its bytes.
        encoding: theirs.
    """

    def __init__(self, source: Readable, encoding: Encoding) -> None:
        self._source = source
        self._returns = encoding.returns
        self._decoder = codecs.getincrementaldecoder(encoding.given or "utf-8")("replace")
        self._first = True
        self._ended = False

    def read(self, size: int, /) -> bytes:
        """About the next `size` bytes; none at the end."""
        while not self._ended:
            block = self._source.read(size)
            self._ended = not block
            text = self._decoder.decode(block, final=self._ended)
            if self._first and text:
                text, self._first = text.removeprefix("\ufeff"), False
            if self._returns:
                text = text.replace("\r", "\n")
            if text:
                return text.encode("utf-8", "replace")
        return b""
