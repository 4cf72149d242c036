"""Search terms: bigrams for Chinese, words and identifiers whole and in parts for the rest."""

from __future__ import annotations

import pytest

from diagnosis_knowledge.words import may_be_misspelled, meant, names, query_terms, terms


def test_chinese_runs_become_bigrams() -> None:
    assert terms("磁盘已满") == ["磁盘", "盘已", "已满"]
    assert terms("满") == ["满"]


@pytest.mark.parametrize(
    "identifier", ["HighCPUUsage", "mod_jk", "max.poll.interval.ms", "a-b:3/x"]
)
def test_an_identifier_is_found_whole(identifier: str) -> None:
    assert identifier.casefold() in terms(f"the {identifier} failed")


def test_an_identifier_is_found_by_its_parts() -> None:
    assert set(terms("cpu usage")) <= set(terms("HighCPUUsage"))
    assert set(terms("disk")) <= set(terms("disk_full:true"))


@pytest.mark.parametrize(
    "forms",
    [("fill", "filled", "filling", "fills"), ("cache", "cached", "caching", "caches"),
     ("query", "queries"), ("process", "processes")],
)  # fmt: skip
def test_forms_of_a_word_are_one_term(forms: tuple[str, ...]) -> None:
    assert len({tuple(terms(form)) for form in forms}) == 1


def test_full_width_letters_are_the_same_letters() -> None:
    assert terms("ＣＰＵ") == terms("cpu")


def test_words_that_ask_are_no_search_terms() -> None:
    assert query_terms("怎么办？") == []
    assert query_terms("what should we do") == []
    assert query_terms("如何清理磁盘") == ["清理", "理磁", "磁盘"]


def test_a_word_that_asks_is_none_whatever_its_ending() -> None:
    assert query_terms("does doing because have") == []


def test_names_are_identifiers_and_capitalised_words_and_in_chinese_all_latin_words() -> None:
    assert names("Why does mod_jk fail on Tomcat") == [terms("mod_jk"), terms("Tomcat")]
    assert names("Terraform is locked") == [terms("Terraform")]
    assert names("etcd 集群恢复") == [terms("etcd")]
    assert names("the disk is full since 14:30, 95 percent") == []


@pytest.mark.parametrize("code", ["ORA-00942", "502", "E11000", "com.foo.BarException", "db-3.eu"])
def test_a_code_is_a_name(code: str) -> None:
    assert terms(code) in names(f"we see {code} again")


@pytest.mark.parametrize(
    ("typed", "known"),
    [("conections", "connection"), ("challange", "challenge"), ("certifcate", "certificate")],
)
def test_a_misspelled_word_is_the_nearest_known_one(typed: str, known: str) -> None:
    assert may_be_misspelled(typed)
    assert meant(terms(typed)[0], [*terms(known), "zone", "certain"]) == terms(known)[0]


def test_another_word_is_no_misspelling() -> None:
    assert meant("kafka", ["cassandra", "cache", "kernel"]) is None
    assert not may_be_misspelled("pod")
    assert not may_be_misspelled("E11000")
    assert not may_be_misspelled("磁盘空间满")
