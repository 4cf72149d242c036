"""Seven real logs of the loghub collection: each line has its time, and its level if it has one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from diagnosis.plugin import EvidenceResult
from diagnosis_logs import LogsSettings, latest_time
from diagnosis_logs.fields import RecordFields
from diagnosis_logs.opening import LogText, open_log
from diagnosis_logs.reading import Halt
from diagnosis_logs.records import read_records
from diagnosis_logs.shapes import RecordStarts, learn_shape
from diagnosis_logs.timestamps import from_instant, to_instant

LOGHUB = Path(__file__).parents[3].parent / "shared" / "data" / "loghub"

pytestmark = pytest.mark.skipif(
    not LOGHUB.is_dir(), reason="the loghub samples are not beside this checkout (../shared)"
)

Ask = Callable[..., Awaitable[EvidenceResult]]
Write = Callable[..., Path]


@pytest.mark.parametrize(
    ("name", "first", "last", "levels"),
    [
        ("Apache", "2005-12-04 04:47:44", "2005-12-05 19:15:57", {"INFO": 1405, "ERROR": 595}),
        ("HDFS", "2008-11-09 20:36:15", "2008-11-11 10:20:17", {"INFO": 1920, "WARN": 80}),
        (
            "Hadoop",
            "2015-10-18 18:01:47",
            "2015-10-18 18:10:55",
            {"INFO": 1040, "WARN": 808, "ERROR": 150, "FATAL": 2},
        ),
        (
            "Linux",
            "2006-06-14 15:16:01",
            "2006-07-27 14:42:00",
            {None: 1955, "WARN": 2, "FATAL": 43},
        ),
        ("OpenStack", "2017-05-16 00:00:00", "2017-05-16 00:14:47", {"INFO": 1969, "WARN": 31}),
        ("Spark", "2017-06-09 20:10:40", "2017-06-09 20:11:11", {"INFO": 2000}),
        (
            "Zookeeper",
            "2015-07-29 17:41:44",
            "2015-08-25 11:26:28",
            {"INFO": 669, "WARN": 1318, "ERROR": 13},
        ),
    ],
)
def test_every_line_is_a_record_with_its_time_and_level(
    name: str, first: str, last: str, levels: dict[str | None, int]
) -> None:
    path = LOGHUB / f"{name}_2k.log"
    with open_log(path) as file:
        text = LogText(file)
        lines = list(text.blocks(Halt()))
    shape = learn_shape(text.head)
    starts = RecordStarts(shape, UTC, to_instant(datetime(2006, 9, 1, tzinfo=UTC)))
    records = list(read_records(lines, starts))
    fields = RecordFields(shape, "file")
    assert len(records) == 2_000
    instants = [record.instant for record in records]
    assert None not in instants
    found = [from_instant(instant, UTC) for instant in instants if instant is not None]
    assert f"{min(found):%Y-%m-%d %H:%M:%S}" == first
    assert f"{max(found):%Y-%m-%d %H:%M:%S}" == last
    assert [record.number for record in records] == list(range(1, 2_001))
    stated = Counter((level := fields.level(record)) and level.name for record in records)
    assert stated == levels


async def test_services_come_from_the_lines_where_they_name_one(ask: Ask) -> None:
    async def services(name: str) -> set[object]:
        request: dict[str, Any] = {"start": "1990-01-01", "end": "2100-01-01", "limit": 200}
        found = await ask(
            LOGHUB / name, mode="templates", context={"byte_budget": 10**6}, **request
        )
        return {item.fields["service"] for item in found.items}

    assert await services("OpenStack_2k.log") == {"nova-api", "nova-compute", "nova-scheduler"}
    assert {"sshd", "ftpd", "su", "kernel", "logrotate"} <= await services("Linux_2k.log")
    assert await services("Spark_2k.log") == {"Spark_2k"}


async def test_the_errors_before_a_stated_time_in_apache_s_log(ask: Ask) -> None:
    reference = {"reference": datetime(2005, 12, 5, 19, 15, tzinfo=UTC)}
    found = await ask(LOGHUB / "Apache_2k.log", mode="templates", context=reference)
    errors = [item.fields for item in found.items if item.fields["level"] == "ERROR"]
    assert any("mod_jk child workerEnv in error state" in str(e["example"]) for e in errors)
    assert found.items[0].fields["level"] == "ERROR"
    content = (LOGHUB / "Apache_2k.log").read_text(encoding="utf-8")
    assert all(str(item.fields["example"]) in content for item in found.items)
    assert found.scope["start"] == "2005-12-05T18:45:00+00:00"


async def test_the_half_hour_up_to_the_last_line_of_all_seven(ask: Ask) -> None:
    latest = latest_time(LogsSettings(paths=tuple(sorted(LOGHUB.glob("*_2k.log")))), UTC)
    assert latest is not None
    for log in sorted(LOGHUB.glob("*_2k.log")):
        last = latest_time(LogsSettings(paths=(log,)), UTC)
        assert last is not None
        assert last <= latest
        reference = {"reference": last + timedelta(seconds=1)}
        found = await ask(log, context=reference)
        assert found.items, log.name


def test_the_notice_of_the_collection_is_not_a_log_with_times() -> None:
    with open_log(LOGHUB / "LICENSE") as file:
        assert not learn_shape(LogText(file).head).timed
