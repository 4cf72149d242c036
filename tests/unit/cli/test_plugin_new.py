"""`diagnosis plugin new`: the names it takes, and that it writes everything or nothing."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diagnosis.errors import ConfigurationError
from diagnosis.scaffold import writing
from diagnosis.scaffold.names import PluginName, plugin_name

Command = Callable[..., Any]
Refused = Callable[..., None]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("deploys", "deploys"),
        ("my-deploys", "my_deploys"),
        ("my_deploys", "my_deploys"),
        ("My-Deploys2", "my_deploys2"),
        ("x", "x"),
        ("a" * 30, "a" * 30),
    ],
)
def test_names_that_are_taken(command: Command, place: Path, given: str, name: str) -> None:
    done = command("plugin", "new", given)
    assert (done.status, done.err) == (0, "")
    folder = place / "work" / f"diagnosis-{name.replace('_', '-')}"
    assert [path.name for path in (place / "work").iterdir()] == [folder.name]
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == folder.name
    assert project["entry-points"] == {"diagnosis": {name: f"diagnosis_{name}"}}
    assert (folder / "src" / f"diagnosis_{name}" / "py.typed").is_file()
    assert f"cd {folder.name}" in done.out


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            " ",
            "../x",
            "/x",
            "a/b",
            ".",
            "123",
            "1st",
            "-x",
            "x-",
            "x--y",
            "x_-y",
            "x y",
            "x.y",
        ),
        *(
            "x.y",
            "部署",
            "\N{KELVIN SIGN}",
            "déploys",
            "ｘ",
            "x\n",
            "x\0",
            "$name",
            "a" * 31,
            "a" * 10_000,
        ),
    ],
)
def test_names_that_cannot_be_used(refused: Refused, name: str) -> None:
    words = ("cannot be the name of a plugin", "Use at most 30 letters (a to z)")
    refused("plugin", "new", "--", name, says=words)


@pytest.mark.parametrize(
    ("name", "problem", "mend"),
    [
        ("class", "reserved", "Name the plugin for what it reads"),
        ("Import", "reserved", "Name the plugin for what it reads"),
        ("harness", "reserved", "Name the plugin for what it reads"),
        ("diagnosis-deploys", "another 'diagnosis'", "diagnosis-NAME by itself"),
        ("diagnosis", "another 'diagnosis'", "diagnosis-NAME by itself"),
        ("logs", "in this environment already", "Choose another name"),
        ("knowledge", "in this environment already", "Choose another name"),
        ("mysql", "in this environment already", "Choose another name"),
        ("sql", "in this environment already", "Choose another name"),
    ],
)
def test_names_that_are_reserved_or_in_use(
    refused: Refused, name: str, problem: str, mend: str
) -> None:
    refused("plugin", "new", name, says=(problem, mend))


def test_a_long_name_is_not_repeated(command: Command) -> None:
    assert len(command("plugin", "new", "a" * 10_000).err) < 300


@pytest.mark.parametrize("kind", ["folder", "file", "dangling link"])
def test_what_exists_is_left_alone(refused: Refused, place: Path, kind: str) -> None:
    there = place / "work" / "diagnosis-deploys"
    match kind:
        case "folder":
            there.mkdir()
            (there / "mine.txt").write_text("mine")
        case "file":
            there.write_text("mine")
        case _:
            there.symlink_to("nowhere")
    refused("plugin", "new", "deploys", says=("exists already", "Choose another name"))
    assert kind != "folder" or (there / "mine.txt").read_text() == "mine"


def test_it_is_written_to_the_folder_that_is_named(command: Command, place: Path) -> None:
    folder = place / "its own"
    folder.mkdir()
    done = command("plugin", "new", "deploys", "--folder", folder)
    assert done.status == 0
    assert (folder / "diagnosis-deploys" / "README.md").is_file()
    assert f"cd '{folder}/diagnosis-deploys'" in done.out
    assert list((place / "work").iterdir()) == []


@pytest.mark.parametrize("folder", ["nowhere", "app.log"])
def test_a_folder_that_is_none_is_refused(refused: Refused, log: Path, folder: str) -> None:
    where = log.parent / folder
    says = ("There is no folder", "Make it first")
    refused("plugin", "new", "deploys", "--folder", where, says=says)


def test_an_empty_folder_is_wrong_use(command: Command, place: Path) -> None:
    done = command("plugin", "new", "deploys", "--folder", "")
    assert (done.status, done.out) == (2, "")
    assert "the path is empty" in done.err
    assert list((place / "work").iterdir()) == []


def test_nothing_is_left_half_written(tmp_path: Path) -> None:
    # the last file has no place: its folder is a file of the same name
    template = tmp_path / "template"
    (template / "tests").mkdir(parents=True)
    (template / "a.template").write_text("one")
    (template / "tests.template").write_text("in the way")
    (template / "tests" / "b.template").write_text("two")
    parent = tmp_path / "parent"
    parent.mkdir()
    with pytest.raises(ConfigurationError, match="The package cannot be written to"):
        writing.write_package(PluginName("deploys"), parent, template=template)
    assert list(parent.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_refused(refused: Refused, place: Path) -> None:
    (place / "work").chmod(0o500)
    says = ("cannot be written", "Make room there")
    refused("plugin", "new", "deploys", says=says)


def test_the_same_files_are_written_for_every_name(tmp_path: Path) -> None:
    first = writing.write_package(PluginName("a"), tmp_path)
    second = writing.write_package(PluginName("other_name"), tmp_path)
    names = [
        {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
        for root in (first, second)
    ]
    assert {name.replace("diagnosis_a", "P") for name in names[0]} == {
        name.replace("diagnosis_other_name", "P") for name in names[1]
    }
    for path in second.rglob("*"):
        if path.is_file():
            assert "$" not in path.read_text(encoding="utf-8").replace("$ ", "")


def test_a_name_that_was_refused_says_two_sentences() -> None:
    for name in ("", "class", "diagnosis", "logs"):
        with pytest.raises(ConfigurationError) as refusal:
            plugin_name(name)
        assert refusal.value.problem.endswith(".")
        assert refusal.value.mend.endswith((".", "my-deploys"))


def test_the_command_explains_itself(command: Command) -> None:
    assert "diagnosis plugins" in command("plugin", "--help").out
    assert "--folder" in command("plugin", "new", "--help").out
