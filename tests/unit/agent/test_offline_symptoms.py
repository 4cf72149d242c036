"""An access log and an application log break together: only such lines are told as such lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from diagnosis.agent.offline import OfflineModel
from diagnosis.agent.offline.pattern import pattern_of, same_kind, search_regex
from diagnosis.contracts.release import DiagnosisOutcome, Report
from diagnosis.contracts.run import DiagnosisInput
from diagnosis.settings import Settings
from diagnosis.testing import open_for_testing

BEGIN = datetime(2027, 5, 12, 1, 0, tzinfo=UTC)
NOW = BEGIN + timedelta(hours=2)
DEPLOYED = BEGIN + timedelta(minutes=100)
BROKEN = DEPLOYED + timedelta(seconds=36)
TRACE = """Traceback (most recent call last):
  File "/srv/shop/app.py", line 88, in dispatch
    return handler(request)
  File "/srv/shop/auth.py", line 41, in issue_token
    key = os.environ['JWT_SIGNING_KEY']
KeyError: 'JWT_SIGNING_KEY'"""


def access_line(at: datetime, path: str, status: int, client: int = 7) -> str:
    method = "POST" if path == "/login" else "GET"
    return (
        f'10.0.7.{client} - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "{method} {path} HTTP/1.1" {status} '
        f'{client * 31} "https://shop.example/" "Mozilla/5.0 (X11; Linux x86_64)"'
    )


def application_line(at: datetime, text: str) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d} {text}"


def times(every: int, begin: datetime = BEGIN) -> list[datetime]:
    count = int((NOW - begin) / timedelta(seconds=every))
    return [begin + timedelta(seconds=every * number) for number in range(count)]


def write(path: Path, lines: Iterable[tuple[datetime, str]]) -> Path:
    path.write_text("".join(f"{line}\n" for _, line in sorted(lines)), encoding="utf-8")
    return path


def access_log(folder: Path, *, failing: bool = True, earlier: int | None = None) -> Path:
    lines = [(at, access_line(at, "/catalog", 200, at.second + 1)) for at in times(7)]
    for at in times(11):
        status = 500 if failing and at >= BROKEN else 200
        lines.append((at, access_line(at, "/login", status, at.second + 1)))
    if earlier is not None:
        at = BEGIN + timedelta(minutes=20)
        lines.append((at, access_line(at, "/login", earlier)))
    return write(folder / "access.log", lines)


def application_log(
    folder: Path, *, error: str | None = "Unhandled exception in POST /login", deployed: bool = True
) -> Path:
    lines = [
        (at, application_line(at, f"INFO shop_api.cart cart {at.second} loaded"))
        for at in times(13)
    ]
    if deployed:
        text = "INFO shop_api.boot Deploying shop-api 5.3.0"
        lines.append((DEPLOYED, application_line(DEPLOYED, text)))
    if error is not None:
        for at in times(11):
            if at >= BROKEN:
                late = at + timedelta(milliseconds=345)
                text = f"ERROR shop_api.web {error}"
                lines.append((late, f"{application_line(late, text)}\n{TRACE}"))
    return write(folder / "app.log", lines)


async def ask(question: str, *logs: Path) -> DiagnosisOutcome:
    settings = Settings(plugins={"logs": {"paths": [str(path) for path in logs]}})
    async with open_for_testing(OfflineModel(), settings=settings) as diagnosis:
        return await diagnosis.run(DiagnosisInput(query=question), reference_time=NOW)


def report_of(outcome: DiagnosisOutcome) -> Report:
    assert outcome.release is not None, outcome
    assert outcome.release.report is not None, outcome.release.markdown
    return outcome.release.report


def cause_of(outcome: DiagnosisOutcome) -> str:
    conclusion = report_of(outcome).conclusion
    assert conclusion is not None
    return conclusion.root_cause


# --- the two logs together -----------------------------------------------------------------------


async def test_the_applications_error_leads_and_the_deployment_before_it_is_named(
    tmp_path: Path,
) -> None:
    outcome = await ask("Why do logins fail?", access_log(tmp_path), application_log(tmp_path))

    assert "Deploying shop-api 5.3.0" in cause_of(outcome)
    assert "Unhandled exception in POST /login" in cause_of(outcome)
    conclusion = report_of(outcome).conclusion
    assert conclusion is not None
    assert (conclusion.fault_source, conclusion.fault_target) == ("app", "app")


@pytest.mark.parametrize(
    "question", ["Why do logins fail?", "what is wrong?", "登录失败，为什么？"]
)
async def test_more_logs_do_not_make_the_answer_worse(question: str, tmp_path: Path) -> None:
    application, access = application_log(tmp_path), access_log(tmp_path)

    alone = await ask(question, application)
    together = await ask(question, access, application)

    assert "5.3.0" in cause_of(alone)
    assert cause_of(together) == cause_of(alone)


async def test_an_error_that_names_no_request_is_what_the_failing_requests_meet(
    tmp_path: Path,
) -> None:
    application = application_log(tmp_path, error="Unhandled exception, giving up")

    outcome = await ask("Why do logins fail?", access_log(tmp_path), application)

    assert "Unhandled exception, giving up" in cause_of(outcome)
    assert "5.3.0" in cause_of(outcome)


async def test_an_error_that_begins_at_another_time_is_not_what_the_requests_meet(
    tmp_path: Path,
) -> None:
    later = BROKEN + timedelta(minutes=9)
    text = "ERROR shop_api.mail relay said 451"
    lines = [(at, application_line(at, text)) for at in times(11, later)]
    lines += [(at, application_line(at, "INFO shop_api.cart loaded")) for at in times(13)]
    application = write(tmp_path / "app.log", lines)

    outcome = await ask("Why do logins fail?", access_log(tmp_path), application)

    assert "POST /login HTTP/1.1 500" in cause_of(outcome)
    assert "451" not in cause_of(outcome)


async def test_failing_requests_alone_are_tied_to_a_change_in_the_one_log_behind_them(
    tmp_path: Path,
) -> None:
    access, application = access_log(tmp_path), application_log(tmp_path, error=None)
    (tmp_path / "more").mkdir()
    stranger = application_log(tmp_path / "more", error=None, deployed=False)
    third = stranger.rename(tmp_path / "search.log")

    assert "5.3.0" in cause_of(await ask("Why do logins fail?", access, application))
    # with a third log it is not known what is behind them
    assert "5.3.0" not in cause_of(await ask("Why do logins fail?", access, application, third))


async def test_a_deployment_in_a_log_of_its_own_is_tied_by_the_name_it_deploys(
    tmp_path: Path,
) -> None:
    application = application_log(tmp_path, deployed=False)
    lines = [(at, application_line(at, "INFO agent idle")) for at in times(60)]
    lines.append((DEPLOYED, application_line(DEPLOYED, "INFO agent Deploying shop-api 5.3.0")))
    deployments = write(tmp_path / "agent.log", lines)
    other = write(
        tmp_path / "other.log",
        [(at, line.replace("shop-api", "mail-relay")) for at, line in lines],
    )

    logs = access_log(tmp_path), application
    assert "5.3.0" in cause_of(await ask("Why do logins fail?", *logs, deployments))
    assert "5.3.0" not in cause_of(await ask("Why do logins fail?", *logs, other))


# --- such a line ---------------------------------------------------------------------------------


@pytest.mark.parametrize("earlier", [None, 200, 404, 502])
async def test_a_request_that_went_otherwise_is_never_told_as_such_a_line(
    earlier: int | None, tmp_path: Path
) -> None:
    outcome = await ask("Why do logins fail?", access_log(tmp_path, earlier=earlier))

    report = report_of(outcome)
    told = [s.statement for s in report.statements if "first such line" in s.statement]
    first = next(at for at in times(11) if at >= BROKEN)
    assert told == [f"The first such line in the day searched is from {first.isoformat()}."]
    assert "A new error" in cause_of(outcome)
    quotes = [c.quote for s in report.statements for c in s.citations if c.quote]
    assert all(re.search(r'" 500', quote) for quote in quotes)
    assert not any("older" in gap.missing_information for gap in report.limitations)


async def test_such_a_line_from_before_is_told_and_then_the_error_is_not_new(
    tmp_path: Path,
) -> None:
    outcome = await ask("Why do logins fail?", access_log(tmp_path, earlier=500))

    told = [s.statement for s in report_of(outcome).statements if "first such line" in s.statement]
    assert told == ["The first such line in the day searched is from 2027-05-12T01:20:00+00:00."]
    assert "A recurring error" in cause_of(outcome)


KINDS = [
    access_line(BEGIN, "/login", 500),
    access_line(BEGIN, "/login", 502),
    access_line(BEGIN, "/login", 200),
    access_line(BEGIN, "/catalog", 500),
    "2027-05-12T01:00:00Z ERROR job 17 failed on node-3: code=5",
    "2027-05-12T01:00:00Z ERROR job 17 failed on node-3: code=7",
    "2027-05-12T01:00:00Z ERROR relay refused the mail",
    f"2027-05-12T01:00:00Z ERROR relay refused the mail\n{TRACE}",
    f"2027-05-12T01:00:00Z ERROR relay refused the mail\n{TRACE.replace('KeyError', 'OSError')}",
    '{"time": "2027-05-12T01:00:00Z", "level": "ERROR", "msg": "no host \\"a.example\\" (7)"}',
    "2027-05-12 01:00:00 ERROR 转账 70001 被拒绝：单笔限额解析失败 [a+b]* {x} ^$",
]


def another(line: str) -> str:
    """The same kind of line from another time, with other numbers and ids."""
    line = line.replace("01:00:00", "02:34:56").replace("job 17", "job 4711")
    line = line.replace("10.0.7.7 ", "192.168.1.20 ").replace(" 217 ", " 9 ")
    return line.replace("70001", "9").replace("(7)", "(12)").replace("a.example", "b.example")


@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_lines_are_of_one_kind_only_where_nothing_but_numbers_and_names_differs(
    one: str, other: str
) -> None:
    assert same_kind(one, another(other)) == (one == other)


@pytest.mark.parametrize("line", KINDS)
def test_the_search_finds_every_line_of_its_kind(line: str) -> None:
    pattern = search_regex(line)

    assert pattern is not None
    assert len(pattern) <= 500
    assert re.search(pattern, line)
    assert re.search(pattern, another(line))


def test_the_search_for_a_failed_request_does_not_find_one_that_went_well() -> None:
    pattern = search_regex(KINDS[0])

    assert pattern is not None
    assert not re.search(pattern, KINDS[1])
    assert not re.search(pattern, KINDS[2])
    assert not re.search(pattern, KINDS[3])


def test_a_line_without_words_is_not_searched_for() -> None:
    assert search_regex("ERROR 1:2:3") is None


def test_a_long_message_still_makes_a_short_search() -> None:
    line = "ERROR " + "(a.b) + [c] is 17 not " * 60 + "word " * 60

    pattern = search_regex(line)

    assert pattern is not None
    assert len(pattern) <= 500
    assert re.search(pattern, line)


def test_numbers_ids_and_quotes_are_masked_and_a_status_is_not() -> None:
    assert pattern_of("ERROR order 17 of 'bob' at 0x1f: status=503") == (
        "order <> of <> at <>: status=503"
    )
