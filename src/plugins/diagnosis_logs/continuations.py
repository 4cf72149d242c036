"""Lines that go on with the record before them, told by their own looks."""

from __future__ import annotations

import re

_GOES_ON = re.compile(
    r"[ \t}\])]|Caused by: |Suppressed: |\.{3} \d+ (?:more|common)|at [\w.$<>/]+\("
    r"|Traceback \(most recent call last\):|During handling of the above|The above exception was"
    r"|goroutine \d+ \[|created by |--- End of |\+0x[\da-f]+\b"
)
# A line of a trace that was given a time, a host and a program of its own (journald, logcat).
_STAMPED = re.compile(
    r"[^\t\n]{0,120}?(?:: ?|\s)(?:#011|\t|\s{3,12})at [\w.$<>/]{1,256}\("
    r"|[^\t\n]{0,120}?: ?(?:#011|\s{0,12})(?:Caused by: |\.\.\. \d+ (?:more|common))"
)
# PostgreSQL writes these with a time of their own, directly after the line they belong to, in
# the language of its messages.
_DETAIL = re.compile(
    r"[^\n]{0,160}?(?<!\w)(?:DETAIL|HINT|STATEMENT|CONTEXT|QUERY|LOCATION|TIPP|ANWEISUNG|ZUSAMMENHANG"
    r"|ANFRAGE|DÉTAIL|ASTUCE|INSTRUCTION|CONTEXTE|REQUÊTE|DETALLE|SUGERENCIA|SENTENCIA|CONTEXTO"
    r"|CONSULTA|ПОДРОБНОСТИ|ПОДСКАЗКА|ОПЕРАТОР|КОНТЕКСТ|ЗАПРОС|描述|详细信息|提示|语句|上下文|查询"
    r"|背景):  "
)
_TRACEBACK = "Traceback (most recent call last):"


class Continuations:
    """Says of each line, in order, whether it goes on with the record before it."""

    def __init__(self) -> None:
        self._traceback = False

    def goes_on(self, line: str) -> bool:
        """Whether the line belongs to the record before it."""
        if not line:
            return True
        indented = line[0] in " \t"
        if self._traceback:  # its last line names the exception and is not indented
            self._traceback = indented or line.startswith(_TRACEBACK)
            return True
        if line.startswith(_TRACEBACK):
            self._traceback = True
            return True
        return _GOES_ON.match(line) is not None


def is_detail(line: str, body: int) -> bool:
    """Whether what stands after a line's own time belongs to PostgreSQL's line before it."""
    return ":  " in line and _DETAIL.match(line, body) is not None


def goes_on_stamped(line: str, body: int) -> bool:
    """Whether what stands after a line's own time is a line of a stack trace.

    Args:
        line: the line.
        body: where its time ends.
    """
    return _STAMPED.match(line, body) is not None
