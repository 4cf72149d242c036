"""Sources: their names, what a folder brings, what is refused, and what a person is told."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

import diagnosis_logs
from diagnosis.plugin import (
    EvidenceResult,
    EvidenceTool,
    PluginServices,
    SourceError,
    SourceUnavailable,
    Truncation,
)
from diagnosis_logs.settings import LogsSettings
from diagnosis_logs.tool import QueryLogs

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]

LINE = "2024-05-01 12:15:00 INFO here\n"


def sources(result: EvidenceResult) -> list[str]:
    return [str(item.fields["source"]) for item in result.items]


def register(**settings: Any) -> Any:
    return diagnosis_logs.diagnosis_register_evidence_tools(
        LogsSettings(**settings), PluginServices()
    )


def test_without_sources_there_is_no_tool() -> None:
    assert register() == []


def test_the_tool_is_an_evidence_tool(write: Write, tool_of: Callable[..., QueryLogs]) -> None:
    tool = tool_of(write("app.log", LINE))
    assert isinstance(tool, EvidenceTool)
    assert tool.name == "query_logs"


async def test_a_folder_brings_its_files_recursively(
    write: Write, ask: Ask, tmp_path: Path
) -> None:
    write("logs/app.log", LINE)
    write("logs/deep/er/cart.log.1.gz", LINE)
    write("logs/.hidden", LINE)
    write("logs/.git/x.log", LINE)
    write("logs/data.db", LINE)
    write("logs/image.log", b"2024-05-01 12:15:00 INFO\0\1\2 binary\n")
    os.mkfifo(tmp_path / "logs/pipe.log")
    found = await ask(tmp_path / "logs")
    assert sources(found) == ["logs/app.log", "logs/deep/er/cart.log"]
    assert found.items[1].fields["file"] == "logs/deep/er/cart.log.1.gz"
    assert [i.fields["service"] for i in found.items] == ["app", "cart"]
    assert sources(await ask(tmp_path / "logs", source="logs/deep")) == ["logs/deep/er/cart.log"]
    assert sources(await ask(tmp_path / "logs", source="app.log")) == ["logs/app.log"]


async def test_a_binary_file_in_a_folder_does_not_make_the_search_incomplete(
    write: Write, ask: Ask, tmp_path: Path
) -> None:
    write("logs/app.log", LINE)
    write("logs/image.log", b"\0\1\2")
    found = await ask(tmp_path / "logs")
    assert (found.matched, found.truncated) == (1, None)
    assert found.scope["files_left_out"] == [
        {"file": "logs/image.log", "why": "it holds NUL bytes and other control characters"}
    ]
    assert "image" not in str(found.scope["sources"])


@pytest.mark.parametrize("size", [300, 30_000])
async def test_compressed_data_under_the_name_of_a_log_is_binary(
    write: Write, ask: Ask, tmp_path: Path, size: int
) -> None:
    write("logs/app.log", LINE)
    write("logs/packed.log", Random(size).randbytes(size))
    write("logs/wide.log", (LINE * 40).encode("utf-16-le"))
    assert sources(await ask(tmp_path / "logs")) == ["logs/app.log"]


@pytest.mark.parametrize("place", ["at the start", "in the middle", "at the end"])
async def test_a_log_with_a_few_nul_bytes_is_a_log(
    write: Write, ask: Ask, tmp_path: Path, place: str
) -> None:
    lines = [LINE.encode()] * 40
    where = {"at the start": 0, "in the middle": 20, "at the end": 39}[place]
    lines[where] = b"\0\0\0" + lines[where]
    write("logs/app.log", b"".join(lines))
    found = await ask(tmp_path / "logs")
    assert sources(found) == ["logs/app.log"] * found.matched
    assert found.matched >= 39
    assert "\0" not in str(found)


async def test_new_files_of_a_folder_are_found(
    write: Write,
    tool_of: Callable[..., QueryLogs],
    make_context: Callable[..., Any],
    tmp_path: Path,
) -> None:
    write("logs/a.log", LINE)
    tool = tool_of(tmp_path / "logs")
    write("logs/b.log", LINE)
    found = await tool.collect(tool.request(), make_context())
    assert sources(found) == ["logs/a.log", "logs/b.log"]


async def test_links_that_lead_out_of_a_folder_are_refused(
    write: Write, ask: Ask, tmp_path: Path
) -> None:
    secret = write("secret/passwords.log", LINE)
    inside = write("logs/app.log", LINE)
    (tmp_path / "logs/out.log").symlink_to(secret)
    (tmp_path / "logs/up.log").symlink_to("../secret/passwords.log")
    (tmp_path / "logs/folder").symlink_to(tmp_path / "secret")
    (tmp_path / "logs/chain.log").symlink_to(tmp_path / "logs/out.log")
    (tmp_path / "logs/circle.log").symlink_to("circle.log")
    (tmp_path / "logs/current.log").symlink_to(inside)
    assert sources(await ask(tmp_path / "logs")) == ["logs/app.log"]


async def test_a_configured_link_is_followed(write: Write, ask: Ask, tmp_path: Path) -> None:
    write("real/app-1.log", LINE)
    (tmp_path / "current.log").symlink_to("real/app-1.log")
    assert sources(await ask(tmp_path / "current.log")) == ["current.log"]


async def test_equal_file_names_become_different_sources(write: Write, ask: Ask) -> None:
    paths = [write(f"{folder}/app.log", LINE) for folder in ("cart", "pay", "x/pay")]
    found = await ask(*paths, paths[0])
    assert sorted(sources(found)) == ["app.log", "pay/app.log", "pay/app.log~2"]


async def test_named_sources(write: Write, ask: Ask, tmp_path: Path) -> None:
    log = write("one.log", LINE)
    write("many/two.log", LINE)
    found = await ask(settings={"sources": {"first": log, "rest": tmp_path / "many"}})
    assert sources(found) == ["first", "rest/two.log"]


@pytest.mark.parametrize("name", ["", "a/b", "a b", "../x", "n\n"])
def test_a_source_name_is_plain(name: str) -> None:
    with pytest.raises(ValidationError):
        LogsSettings(sources={name: Path("x")})


@pytest.mark.parametrize("settings", [{"zone": "Mars/Olympus"}, {"zone": "../etc"}, {"path": "x"}])
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LogsSettings.model_validate(settings)


def broken(tmp_path: Path, kind: str) -> Path:
    path = tmp_path / kind
    if kind == "binary":
        path.write_bytes(b"\x7fELF\0\0\0")
    elif kind == "damaged.gz":
        path.write_bytes(b"\x1f\x8b\x08plain text\n")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "empty-folder":
        path.mkdir()
        (path / "out.log").symlink_to("/etc/hostname")
    elif kind == "circle":
        path.symlink_to(path)
    return path


@pytest.mark.parametrize(
    "kind", ["missing", "binary", "damaged.gz", "pipe", "empty-folder", "circle"]
)
def test_a_path_that_cannot_be_used_is_said_in_two_lines(tmp_path: Path, kind: str) -> None:
    path = broken(tmp_path, kind)
    for settings in ({"paths": (path,)}, {"sources": {"app": path}}):
        with pytest.raises(SourceError) as refused:
            register(**settings)
        assert str(path) in refused.value.problem
        assert "\n" not in refused.value.problem + refused.value.mend
        assert refused.value.mend


def test_a_path_whose_beginning_does_not_exist_is_said_in_two_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourceError, match="leads nowhere"):
        register(paths=(Path("~no-such-user/app.log"),))
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SourceError, match="leads nowhere"):
        register(paths=(Path("app.log"),))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_said_in_two_lines(write: Write) -> None:
    log = write("app.log", LINE)
    log.chmod(0)
    with pytest.raises(SourceError, match="cannot be read"):
        register(paths=(log,))


async def test_files_that_went_away_are_said(
    write: Write, tool_of: Callable[..., QueryLogs], make_context: Callable[..., Any]
) -> None:
    gone, stays = write("gone.log", LINE), write("stays.log", LINE)
    tool = tool_of(gone, stays)
    gone.unlink()
    found = await tool.collect(tool.request(), make_context())
    assert (len(found.items), found.matched, found.truncated) == (1, None, Truncation.SCAN)
    assert {"source": "gone.log", "first": None, "last": None, "searched": "no"} in found.scope[
        "sources"
    ]  # type: ignore[operator] # a list, as the schema of the scope does not say
    assert "cannot be read now" in tool.describe()
    stays.unlink()
    with pytest.raises(SourceUnavailable):
        await tool.collect(tool.request(), make_context())


async def test_more_files_than_the_limit_are_said(write: Write, ask: Ask, tmp_path: Path) -> None:
    for number in range(5):
        write(f"logs/{number}.log", LINE)
    found = await ask(tmp_path / "logs", settings={"files_limit": 3})
    assert (len(found.items), found.matched, found.truncated) == (3, None, Truncation.SCAN)


def test_the_description_names_sources_and_times_but_no_machine_path(
    write: Write, tool_of: Callable[..., QueryLogs], tmp_path: Path
) -> None:
    zoned = write("zoned.log", "2024-05-01T12:00:00+02:00 INFO a\n2024-05-01T12:15:00Z INFO b\n")
    naive = write("naive.log", "2024-05-01 12:00:00 INFO a\n2024-05-01 12:15:00 INFO b\n")
    text = tool_of(zoned, naive).describe()
    assert "zoned.log: 2024-05-01T10:00:00+00:00 to 2024-05-01T12:15:00+00:00" in text
    assert "naive.log: 2024-05-01T12:00:00 to 2024-05-01T12:15:00 (run zone)" in text
    assert str(tmp_path) not in text
    assert "12:15:00+08:00" in tool_of(naive, zone="Asia/Shanghai").describe()


def test_the_description_of_many_sources_stays_within_one_kib(
    write: Write, tool_of: Callable[..., QueryLogs], tmp_path: Path
) -> None:
    for number in range(60):
        write(f"日志/{number}-服务.log", LINE)
    text = tool_of(tmp_path / "日志").describe()
    assert len(text.encode()) <= 1_024
    assert text.splitlines()[-1].endswith(" more")


async def test_health_says_what_cannot_be_read(write: Write) -> None:
    log = write("app.log", LINE)
    checks = diagnosis_logs.diagnosis_describe_health(LogsSettings(paths=(log,)))
    assert [(check.name, (await check.check()).ok) for check in checks] == [("app.log", True)]
    log.unlink()
    health = await checks[0].check()
    assert not health.ok
    assert health.mend
