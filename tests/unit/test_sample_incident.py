"""The packaged sample incident is what the documentation says it is."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path

from diagnosis import sample

GENERATOR = Path(__file__).parents[1] / "sample_incident" / "generate.py"


def checkout_records() -> list[dict[str, str]]:
    return [json.loads(line) for line in sample.LOG_PATHS[0].read_text("utf-8").splitlines()]


def test_the_committed_logs_are_what_the_generator_writes() -> None:
    spec = importlib.util.spec_from_file_location("sample_generator", GENERATOR)
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = generator  # dataclasses look their module up by name
    try:
        spec.loader.exec_module(generator)
        written = generator.generate()
    finally:
        del sys.modules[spec.name]

    assert written == {path.name: path.read_text("utf-8") for path in sample.LOG_PATHS}


def test_the_logs_have_three_thousand_lines_and_the_package_stays_small() -> None:
    texts = [path.read_bytes() for path in sample.LOG_PATHS]

    assert sum(text.count(b"\n") for text in texts) >= 3_000
    assert sum(map(len, texts)) < 1_500_000


def test_four_runbooks_one_of_them_chinese() -> None:
    runbooks = sorted(sample.RUNBOOK_FOLDER.glob("*.md"))

    chinese = [path for path in runbooks if "库存" in path.read_text("utf-8")]
    assert len(runbooks) == 4
    assert len(chinese) == 1


def test_every_time_carries_its_zone_and_none_is_after_the_question() -> None:
    times = [datetime.fromisoformat(record["timestamp"]) for record in checkout_records()]
    times += [
        datetime.fromisoformat(line.split(" ", 1)[0])
        for line in sample.LOG_PATHS[1].read_text("utf-8").splitlines()
        if line.startswith("2026-")
    ]

    assert all(time.tzinfo is not None for time in times)
    assert max(times) < sample.REFERENCE_TIME


def test_the_red_herring_is_louder_than_the_failure_and_older_than_the_deployment() -> None:
    errors = [record for record in checkout_records() if record["level"] == "ERROR"]
    loudest, count = Counter(record["logger"] for record in errors).most_common(1)[0]
    failures = [record for record in errors if "delivery_window_id" in record["message"]]

    assert loudest == "RecommendationClient"
    assert count > 5 * len(failures)
    assert errors[0]["logger"] == loudest
    in_last_half_hour = [record for record in errors if record["timestamp"][11:16] >= "14:15"]
    assert sum(record["logger"] == loudest for record in in_last_half_hour) > len(failures)


def test_the_failure_begins_right_after_the_deployment_and_on_the_new_release_only() -> None:
    records = checkout_records()
    started = [r for r in records if r["message"].startswith("Started checkout 2.42.0")]
    failures = [r for r in records if "delivery_window_id" in r["message"]]
    up = {r["instance"]: r["timestamp"] for r in started}

    assert len(up) == 3
    assert all(failure["timestamp"] > up[failure["instance"]] for failure in failures)
    assert not [r for r in failures if r["timestamp"] < min(up.values())]


def test_the_question_does_not_contain_the_answer() -> None:
    question = sample.QUESTION.lower()

    for word in ("deploy", "release", "2.42", "column", "migration", "schema", "database"):
        assert word not in question
