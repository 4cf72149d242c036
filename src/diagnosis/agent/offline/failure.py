"""Whether a line that states no level tells of a failure, by its words."""

from __future__ import annotations

import re

# In RE2's syntax too: the log is searched for it. At most 500 characters.
FAILURE_PATTERN = (
    r"(?i)\bkill(ed|ing)\b|out of memory|\boom\b|oom[-_]kill|segfault|segmentation fault|\bpanic"
    r"|core dumped|\babort(ed|ing)?\b|denied|refused|no space left|timed? ?out|read-only file"
    r"|i/o error|cannot allocate|too many open files|unreachable|hung.?task"
    r"|\b(error|exception|fatal|traceback|failed|failure)s?\b"
    r"|内存不足|被杀|拒绝|超时|失败|异常|错误"
)
_FAILURE = re.compile(FAILURE_PATTERN)
_NONE = re.compile(
    r"(?i)\b(?:0|no|zero|without)\s+(?:error|fail|exception|problem|timeout|time-?out)\w*"
    r"|\b(?:error|fail|timeout)\w*\s?[:=]\s?0\b|(?:无|没有)(?:错误|异常|失败|超时)"
)


def says_failure(text: str) -> bool:
    """Whether a text says that something failed, was killed, refused, ran out or timed out."""
    return _FAILURE.search(_NONE.sub(" ", text)) is not None
