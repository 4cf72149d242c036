"""Samples of many systems' logs, asked for through the tool in all modes."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from diagnosis.plugin import EvidenceItem, EvidenceResult
from diagnosis_logs.fields import RecordFields
from diagnosis_logs.levels import Level
from diagnosis_logs.records import read_records
from diagnosis_logs.shapes import RecordStarts, learn_shape
from diagnosis_logs.timestamps import to_instant

SAMPLES = Path(__file__).parent / "formats"
EXPECTED: dict[str, dict[str, Any]] = tomllib.loads((SAMPLES / "expected.toml").read_text("utf-8"))
WRITTEN = datetime(2026, 11, 30, 23, 59, tzinfo=UTC)

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]
Query = Callable[..., Awaitable[EvidenceResult]]


@pytest.fixture
def query(write: Write, ask: Ask) -> Callable[[str], Query]:
    """Asks about one sample: by default about all its records."""

    def of(name: str) -> Query:
        wanted = EXPECTED[name]
        log = write(name, (SAMPLES / name).read_bytes(), WRITTEN)
        first: datetime = wanted.get("first", WRITTEN)
        last: datetime = wanted.get("last", WRITTEN)
        whole = {
            "start": (first - timedelta(seconds=1)).isoformat(),
            "end": (last + timedelta(seconds=1)).isoformat(),
            "limit": 200,
            "settings": {"zone": wanted.get("zone", "UTC")},
            "context": {"byte_budget": 1 << 20},
        }

        async def asked(**request: Any) -> EvidenceResult:
            return await ask(log, **{**whole, **request})

        return asked

    return of


def levels_of(wanted: dict[str, Any]) -> Counter[str]:
    return Counter(wanted.get("levels", {"": wanted["records"]}))


def moment(item: EvidenceItem) -> datetime:
    return datetime.fromisoformat(str(item.fields["timestamp"]))


def test_each_sample_is_described() -> None:
    assert {path.name for path in SAMPLES.iterdir()} == {*EXPECTED, "expected.toml"}


@pytest.mark.parametrize("name", EXPECTED)
async def test_records_of_a_sample(name: str, query: Callable[[str], Query]) -> None:
    wanted = EXPECTED[name]
    items = (await query(name)()).items
    assert len(items) == wanted["records"], [item.fields["text"] for item in items]
    if "first" in wanted:
        assert min(map(moment, items)) == wanted["first"]
        assert max(map(moment, items)) == wanted["last"]
    else:
        assert all(item.fields["timestamp"] is None for item in items)
    stated = Counter(str(item.fields["level"] or "") for item in items)
    expected: Counter[str] = Counter()
    for level, count in levels_of(wanted).items():
        expected["" if level.startswith("~") else level] += count
    assert stated == expected
    own = {name, name.rpartition(".")[0]}
    services = {str(item.fields["service"]) for item in items}
    assert services - own == set(wanted.get("services", ())) - own
    if record := wanted.get("record"):
        [found] = [item for item in items if item.fields["line"] == record["at"]]
        assert len(str(found.fields["text"]).split("\n")) == record["lines"]


@pytest.mark.parametrize("name", EXPECTED)
async def test_levels_and_modes_of_a_sample(name: str, query: Callable[[str], Query]) -> None:
    wanted, asked = EXPECTED[name], query(name)
    levels = levels_of(wanted)
    for least in ("WARN", "ERROR", "FATAL"):
        count = sum(
            count
            for level, count in levels.items()
            if level and Level[level.removeprefix("~")] >= Level[least]
        )
        assert len((await asked(min_level=least)).items) == count, least
    templates = (await asked(mode="templates")).items
    assert sum(int(str(item.fields["count"])) for item in templates) == wanted["records"]
    if "first" not in wanted:
        return
    buckets = (await asked(mode="histogram")).items
    assert sum(int(str(item.fields["count"])) for item in buckets) == wanted["records"]
    for level in Level:
        told = sum(int(str(item.fields.get(level.name, 0))) for item in buckets)
        assert told == levels[level.name], level
    moments = sorted(map(moment, (await asked()).items))
    middle = moments[len(moments) // 2]
    later = await asked(start=middle.isoformat())
    assert len(later.items) == sum(found >= middle for found in moments)
    earlier = await asked(end=middle.isoformat())
    assert len(earlier.items) == sum(found < middle for found in moments)


WITH_MESSAGE = [
    name for name, wanted in EXPECTED.items() if wanted.get("record", {}).get("message")
]


@pytest.mark.parametrize("name", WITH_MESSAGE)
def test_message_of_a_record(name: str) -> None:
    record = EXPECTED[name]["record"]
    lines = (SAMPLES / name).read_text("utf-8").removesuffix("\n").split("\n")
    shape = learn_shape(lines)
    starts = RecordStarts(shape, UTC, to_instant(WRITTEN))
    [found] = [one for one in read_records([lines], starts) if one.number == record["at"]]
    assert RecordFields(shape, "file").message(found).startswith(record["message"])
