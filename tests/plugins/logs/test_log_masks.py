"""What a masker remembers changes nothing of what it says, and which digits a line has neither."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from diagnosis_logs.masks import Masker

PIECES = [
    "status=", "status: 503", "code : 200", '"errno" :', "Signal=", "=", ":", "0x1F", "0x0",
    "1,234.5", "a-5", "-7", "deadbeef12", "ab12cd34", "10.0.0.1:80",
    "123e4567-e89b-12d3-a456-426614174000",
    "Mon", "Jul", "10 03:55:15 2005", "²", "٣٤", "5", "503", "65536", "错误7", '"q 5"', "'k 1'",
    '"GET /a/1 HTTP/1.1" 404', "x1y2z3w4x1y2z3w4x1y2z3w4", "_-3", "took", " ", "  ", "\t",
]  # fmt: skip
lines = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)
other_digits = st.permutations("123456789").map(
    lambda shuffled: str.maketrans("123456789", "".join(shuffled))
)


@given(st.lists(lines, min_size=1, max_size=12))
@example(["status=1,2status: 503", "status=1,2status: 200"])
@example(["x status", "status : 503", "a : 503"])
def test_what_was_masked_before_makes_no_difference(texts: list[str]) -> None:
    masker = Masker()
    for text in texts + texts:
        assert masker.masked(text) == Masker().masked(text)


@given(lines, other_digits)
def test_which_digits_a_line_has_makes_no_difference_unless_some_are_kept(
    text: str, digits: dict[int, int]
) -> None:
    masked = Masker().masked(text)
    if not any(digit in masked for digit in "0123456789²٣٤"):
        masker = Masker()
        assert masker.masked(text.translate(digits)) == masked
        assert masker.masked(text) == masked


def test_what_is_kept_is_kept_also_after_more_words_than_are_remembered() -> None:
    masker = Masker()
    line = "status: 503 and 17 in worker-9"
    first = masker.masked(line)
    assert first == "status: 503 and <number> in worker-<number>"
    words = ["".join(letters) for letters in product("abcdefgh", repeat=5)]
    for begin in range(0, len(words), 64):
        masker.masked(" ".join(words[begin : begin + 64]))
    assert masker.masked(line) == first
