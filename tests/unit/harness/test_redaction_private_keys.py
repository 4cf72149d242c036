"""Private keys are masked over lines, on one line, over items, and where an end is missing."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.harness.redaction import ItemRedactor, redact_text, redact_value

MASK = "[REDACTED:private_key]"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def key_lines(kind: str = "RSA ", lines: int = 12, seed: int = 1) -> list[str]:
    generator = random.Random(seed)
    body = ["".join(generator.choices(ALPHABET, k=64)) for _ in range(lines)]
    return [
        f"-----BEGIN {kind}PRIVATE KEY-----",
        *body,
        "".join(generator.choices(ALPHABET, k=10)) + "==",
        f"-----END {kind}PRIVATE KEY-----",
    ]


def leaks(lines: list[str], text: str) -> bool:
    return any(line[i : i + 8] in text for line in lines[1:-1] for i in range(len(line) - 7))


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "PGP "])
@pytest.mark.parametrize("joint", ["\n", "\r\n", "\\n", "\\\\n", "\\r\\n", " ", "\n    ", "\n> "])
def test_a_whole_key_becomes_one_mask(kind: str, joint: str) -> None:
    text = "before\n" + joint.join(key_lines(kind)) + "\nafter"
    assert redact_text(text) == f"before\n{MASK}\nafter"


def test_a_pgp_block_with_headers() -> None:
    lines = ["-----BEGIN PGP PRIVATE KEY BLOCK-----", "Version: GnuPG v2", "", *key_lines()[1:-1]]
    text = "\n".join([*lines, "-----END PGP PRIVATE KEY BLOCK-----", "after"])
    assert redact_text(text) == f"{MASK}\nafter"


def test_an_encrypted_key_with_headers() -> None:
    lines = key_lines()
    lines[1:1] = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123456789ABCDEF", ""]
    assert redact_text("\n".join(lines)) == MASK


def test_a_service_account() -> None:
    text = (
        '{"type": "service_account", "private_key": "' + "\\n".join(key_lines("")) + '\\n", "x": 1}'
    )
    redacted = redact_text(text)
    assert redacted.startswith('{"type": "service_account", "private_key": "[REDACTED:private_key]')
    assert redacted.endswith(', "x": 1}')
    assert redact_value({"private_key": "\n".join(key_lines(""))}) == {"private_key": MASK}


def test_an_end_that_never_comes() -> None:
    lines = key_lines()[:-1]
    ordinary = [f"INFO request {i} took 12 ms on host-1" for i in range(20)]
    redacted = redact_text("\n".join([*lines, *ordinary]))
    assert redacted == "\n".join([MASK, *ordinary])


def test_a_beginning_that_was_not_seen() -> None:
    redacted = redact_text("\n".join(["INFO x took 1 ms", *key_lines()[5:], "after"]))
    assert redacted == f"INFO x took 1 ms\n{MASK}\nafter"


def test_two_keys_with_text_between_them() -> None:
    text = "\n".join([*key_lines(seed=1), "INFO between the two", *key_lines(seed=2)])
    assert redact_text(text) == f"{MASK}\nINFO between the two\n{MASK}"


def test_a_key_of_which_every_line_is_an_item() -> None:
    redactor = ItemRedactor()
    lines = ["starting up now", *key_lines(), "all is well again"]
    texts = [
        redactor.fields({"line": number, "level": "INFO", "text": line})
        for number, line in enumerate(lines)
    ]
    assert texts[0]["text"] == lines[0]
    assert texts[-1]["text"] == lines[-1]
    assert {item["text"] for item in texts[1:-1]} == {MASK}
    assert {item["level"] for item in texts} == {"INFO"}  # other fields are not in the key


def test_a_key_behind_the_prefixes_of_a_log() -> None:
    redactor = ItemRedactor()
    lines = [f"2024-05-01 12:00:00,123 INFO [main] app: {line}" for line in key_lines()]
    shown = [str(redactor.fields({"text": line})["text"]) for line in lines]
    assert not leaks(key_lines(), "\n".join(shown))
    assert all(line.startswith("2024-05-01 12:00:00,123 INFO [main] app: ") for line in shown)


def test_lines_of_others_between_those_of_a_key() -> None:
    redactor = ItemRedactor()
    shown = []
    for line in key_lines():
        shown.append(str(redactor.fields({"text": line})["text"]))
        shown.append(str(redactor.fields({"text": "WARN pool is 90 % full"})["text"]))
    assert not leaks(key_lines(), "\n".join(shown))
    assert shown[1::2] == ["WARN pool is 90 % full"] * len(key_lines())


def test_an_unfinished_key_does_not_swallow_the_items_after_it() -> None:
    redactor = ItemRedactor()
    redactor.fields({"text": "-----BEGIN PRIVATE KEY-----"})
    ordinary = [f"GET /index/{i} took 12 ms" for i in range(30)]
    assert [redactor.fields({"text": line})["text"] for line in ordinary] == ordinary
    word = redactor.fields({"text": "AbstractConnectionPoolFactoryBean"})["text"]
    assert word == "AbstractConnectionPoolFactoryBean"


@given(
    st.integers(1, 15), st.integers(0, 40), st.sampled_from(["\n", "\\n", " "]), st.integers(0, 9)
)
def test_no_part_of_a_key_is_seen_wherever_the_items_are_cut(
    size: int, noise: int, joint: str, seed: int
) -> None:
    lines = key_lines(seed=seed)
    chunks = [joint.join(lines[i : i + size]) for i in range(0, len(lines), size)]
    redactor = ItemRedactor()
    before = [f"noise {i} is here" for i in range(noise)]
    shown = [str(redactor.fields({"text": text})["text"]) for text in [*before, *chunks]]
    assert not leaks(lines, "\n".join(shown))
    assert shown[:noise] == before
