"""Private keys in PEM form: over many lines, on one, over several texts, and without an end."""

from __future__ import annotations

import re

from diagnosis.harness.redaction_names import SecretKind

_MASK = f"[REDACTED:{SecretKind.PRIVATE_KEY}]"
_TOKEN = re.compile(
    r"(?P<marker>-{4,5} ?(?P<edge>BEGIN|END) (?:[A-Z0-9]{1,10} ){0,4}"
    r"PRIVATE KEY(?: BLOCK)? ?-{4,5})"
    r"|(?P<newline>\r?\n|\\{1,8}[rn])"
)
_DECORATION = " \t\r\"'`,;+>|#\\"
_LINE = re.compile(r"[A-Za-z0-9+/=_\-]+\Z")
_LINES = re.compile(r"[A-Za-z0-9+/=]+(?:[ \t]+[A-Za-z0-9+/=]+)*+\Z")
_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):")
_LONG = re.compile(r"[A-Za-z0-9+/=]{40,}+")
_LAST = re.compile(r"(?=[^\s]*[0-9A-Z+/=])[A-Za-z0-9+/=]{4,100}\Z")
_WORD = re.compile(r"[A-Z]?[a-z]+\Z|[A-Z]+\Z|[0-9]+\Z")
# Lines of other writers may stand between those of a key; more of them than this end it.
_STRANGERS = 3


class PrivateKeyMasker:
    """Masks private keys in texts that follow each other."""

    def __init__(self) -> None:
        self.inside = False
        self._strangers = 0
        self._behind_prefix = False

    def mask(self, text: str) -> str:
        """The next text with every line of a private key masked."""
        if not self.inside and "PRIVATE KEY" not in text:
            return text
        pieces: list[str] = []
        position = 0
        same_line = False
        for token in _TOKEN.finditer(text):
            ends = token["edge"] == "END"
            chunk = text[position : token.start()]
            position = token.end()
            if self.inside and ends and same_line:
                self._add(pieces, _MASK)
            else:
                self._chunk(pieces, chunk)
            if token["marker"]:
                if ends and not self.inside:
                    _mask_back(pieces)
                self._add(pieces, _MASK)
                self.inside, self._strangers, self._behind_prefix = not ends, 0, False
                same_line = not ends
            else:
                same_line = False
                pieces.append(token[0])
        self._chunk(pieces, text[position:])
        return "".join(pieces)

    def _chunk(self, pieces: list[str], chunk: str) -> None:
        """Add a piece of one line, masked where it belongs to the key."""
        body = chunk.strip(_DECORATION)
        if not self.inside or not body:
            if chunk:
                pieces.append(chunk)
            return
        if _LINE.match(body) or _HEADER.match(body) or (_LONG.search(body) and _LINES.match(body)):
            self._strangers = 0
            self._add(pieces, _MASK)
            return
        masked = _LONG.sub(_MASK, chunk)
        last = body.rsplit(None, 1)[-1]
        if masked != chunk:
            self._behind_prefix = True
        elif self._behind_prefix and _LAST.match(last) and not _WORD.match(last):
            self._behind_prefix = False
            masked = chunk.replace(last, _MASK)
        else:
            self._strangers += 1
            self._behind_prefix = False
            self.inside = self._strangers <= _STRANGERS
            pieces.append(chunk)
            return
        self._strangers = 0
        pieces.append(masked)

    @staticmethod
    def _add(pieces: list[str], mask: str) -> None:
        """Add a mask; masks with nothing but line ends between them become one."""
        _drop_back_to_mask(pieces)
        if not pieces or pieces[-1] != mask:
            pieces.append(mask)


def _is_separator(piece: str) -> bool:
    return not piece.strip(_DECORATION + "\n") or _TOKEN.fullmatch(piece) is not None


def _drop_back_to_mask(pieces: list[str]) -> None:
    count = len(pieces)
    while count and _is_separator(pieces[count - 1]):
        count -= 1
    if count and pieces[count - 1] == _MASK:
        del pieces[count:]


def _mask_back(pieces: list[str]) -> None:
    """Drop the lines of a key whose beginning was not seen, back from its end."""
    count, last = len(pieces), True
    while count:
        piece = pieces[count - 1].strip(_DECORATION)
        if not _is_separator(pieces[count - 1]):
            if not _LINE.match(piece) or not (last or len(piece) >= 40):
                break
            last = False
        count -= 1
    while count < len(pieces) and _is_separator(pieces[count]):
        count += 1
    del pieces[count:]
