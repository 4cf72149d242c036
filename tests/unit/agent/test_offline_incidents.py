"""The offline model diagnoses through the real loop, real log files and the real boundary."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from diagnosis import sample
from diagnosis.agent.offline import OfflineModel
from diagnosis.contracts.draft import Confidence, StatementKind
from diagnosis.contracts.evidence import EvidenceItem, EvidenceResult
from diagnosis.contracts.release import CheckStatus, DiagnosisOutcome, FallbackType, Report
from diagnosis.contracts.run import DiagnosisInput
from diagnosis.plugin import EvidenceContext, EvidenceTool, evidence_tool
from diagnosis.settings import Settings
from diagnosis.testing import open_for_testing

DECISIVE = re.compile(r"2\.42\.0|2\.41\.3|delivery_window_id")


class Lookup(BaseModel):
    query: str = Field(description="What to look up.")
    top_k: int = Field(default=5, description="How many.")


@evidence_tool(name="lookup_knowledge", description="All runbooks, cut at headings", reference=True)
async def all_runbooks(request: Lookup, context: EvidenceContext) -> EvidenceResult:
    items = []
    for path in sorted(sample.RUNBOOK_FOLDER.glob("*.md")):
        title, *sections = path.read_text("utf-8").removeprefix("# ").split("\n## ")
        for number, section in enumerate(sections):
            name, text = section.split("\n", 1)
            items.append(
                EvidenceItem(
                    identity=f"{path.stem}:{number}",
                    fields={
                        "document_id": path.stem,
                        "title": title.split("\n", 1)[0],
                        "section": name,
                        "excerpt": text.strip(),
                        "kind": "REFERENCE",
                    },
                )
            )
    return EvidenceResult(items=tuple(items), scope={"query": request.query})


async def ask(
    question: str,
    logs: Iterable[Path],
    at: datetime,
    tools: Sequence[EvidenceTool] = (),
    model: OfflineModel | None = None,
) -> DiagnosisOutcome:
    settings = Settings(plugins={"logs": {"paths": [str(path) for path in logs]}})
    async with open_for_testing(model or OfflineModel(), *tools, settings=settings) as diagnosis:
        return await diagnosis.run(DiagnosisInput(query=question), reference_time=at)


def report_of(outcome: DiagnosisOutcome) -> Report:
    assert outcome.release is not None, outcome
    assert outcome.release.report is not None, outcome.release.markdown
    report = outcome.release.report
    assert report.rule_based
    assert report.conclusion is not None
    assert outcome.checks.citations is CheckStatus.PASSED
    assert outcome.checks.quotes is CheckStatus.PASSED
    return report


def cause_of(outcome: DiagnosisOutcome) -> str:
    conclusion = report_of(outcome).conclusion
    assert conclusion is not None
    return conclusion.root_cause


def assert_no_cause(outcome: DiagnosisOutcome) -> None:
    assert outcome.release is not None, outcome
    assert outcome.release.report is None, outcome.release.markdown
    assert outcome.release.fallback is not None
    assert outcome.release.fallback.type in (
        FallbackType.INSUFFICIENT_EVIDENCE,
        FallbackType.MISSING_REQUIRED_CONTEXT,
    )


def sample_without(pattern: re.Pattern[str], folder: Path) -> list[Path]:
    paths = []
    for path in sample.LOG_PATHS:
        kept = [
            line for line in path.read_text("utf-8").splitlines(True) if not pattern.search(line)
        ]
        paths.append(folder / path.name)
        paths[-1].write_text("".join(kept), encoding="utf-8")
    return paths


# --- the packaged sample -------------------------------------------------------------------------


async def test_the_sample_is_blamed_on_the_deployment_and_not_on_the_louder_error() -> None:
    outcome = await ask(
        sample.QUESTION, sample.LOG_PATHS, sample.REFERENCE_TIME, tools=[all_runbooks]
    )

    report = report_of(outcome)
    cause = cause_of(outcome)
    assert "Deployment of checkout 2.42.0" in cause
    assert "delivery_window_id" in cause
    assert "Recommendation" not in cause
    quotes = [c.quote for s in report.statements for c in s.citations if c.quote]
    assert any("Deployment of checkout 2.42.0 started" in quote for quote in quotes)
    assert any("delivery_window_id" in quote for quote in quotes)


async def test_the_red_herring_is_told_apart_by_a_line_from_before_the_failure() -> None:
    outcome = await ask(sample.QUESTION, sample.LOG_PATHS, sample.REFERENCE_TIME)

    ruled_out = [s for s in report_of(outcome).statements if "Recommendations" in s.statement]
    assert len(ruled_out) == 1
    assert "2026-03-12T12:45" in ruled_out[0].statement
    assert "does not explain a failure that began later" in ruled_out[0].statement


async def test_actions_of_a_fitting_runbook_are_proposed_word_for_word() -> None:
    outcome = await ask(
        sample.QUESTION, sample.LOG_PATHS, sample.REFERENCE_TIME, tools=[all_runbooks]
    )

    runbook = (sample.RUNBOOK_FOLDER / "application-and-schema-out-of-step.md").read_text("utf-8")
    from_runbook = [a.action for a in report_of(outcome).actions if a.action in runbook]
    assert len(from_runbook) == 3
    assert not any("timeout" in action.action for action in report_of(outcome).actions)


@pytest.mark.parametrize(
    "question",
    [
        sample.QUESTION,
        "Why do checkout orders fail?",
        "what is wrong with checkout",
        "checkout is broken since the last 20 minutes, orders get lost",
        "14:30 左右开始下单失败，是什么原因？",
    ],
)
async def test_without_the_decisive_lines_there_is_no_cause_and_it_says_what_was_checked(
    question: str, tmp_path: Path
) -> None:
    outcome = await ask(question, sample_without(DECISIVE, tmp_path), sample.REFERENCE_TIME)

    assert_no_cause(outcome)
    assert outcome.release is not None
    assert outcome.release.fallback is not None
    scopes = outcome.release.fallback.checked_scopes
    assert any(
        scope.scope and scope.scope.get("start") == "2026-03-12T14:15:00+01:00" for scope in scopes
    )
    assert "query_logs" in outcome.release.markdown.replace("\\", "")


@pytest.mark.parametrize(
    "question",
    [
        "结账失败，什么原因？",
        "为什么结账一直报错？",
        "结算服务14:30后异常",
        "支付下单失败的根因是什么",
        "结账订单为什么失败",
        "下单失败",
        "14:30 之后结账为什么失败",
    ],
)
async def test_chinese_questions_are_tied_to_english_logs_and_only_to_what_they_show(
    question: str, tmp_path: Path
) -> None:
    outcome = await ask(question, sample.LOG_PATHS, sample.REFERENCE_TIME)
    stripped = await ask(question, sample_without(DECISIVE, tmp_path), sample.REFERENCE_TIME)

    assert "Deployment of checkout 2.42.0" in cause_of(outcome)
    assert "Migration step of checkout 2.42.0 skipped" in cause_of(outcome)
    assert_no_cause(stripped)


@pytest.mark.parametrize(
    "question",
    [
        "Is the recommendation service the reason checkout fails?",
        "Could RecommendationClient be causing the checkout failures?",
        "是不是推荐服务导致结账失败？",
    ],
)
async def test_an_old_error_is_not_given_as_the_explanation_of_another_failure(
    question: str, tmp_path: Path
) -> None:
    logs = sample_without(DECISIVE, tmp_path)

    assert_no_cause(await ask(question, logs, sample.REFERENCE_TIME))
    about_it = await ask("why do recommendations time out?", logs, sample.REFERENCE_TIME)
    assert "Recommendations for basket" in cause_of(about_it)


async def test_with_the_errors_but_no_deployment_it_does_not_invent_a_trigger(
    tmp_path: Path,
) -> None:
    logs = sample_without(re.compile(r"2\.42\.0|2\.41\.3"), tmp_path)

    outcome = await ask(sample.QUESTION, logs, sample.REFERENCE_TIME)

    conclusion = report_of(outcome).conclusion
    assert conclusion is not None
    assert "delivery_window_id" in conclusion.root_cause
    assert "What triggered it is not shown" in conclusion.root_cause
    assert conclusion.confidence is Confidence.LOW


async def test_a_deployment_without_errors_is_no_cause(tmp_path: Path) -> None:
    logs = sample_without(re.compile("delivery_window_id"), tmp_path)

    assert_no_cause(await ask(sample.QUESTION, logs, sample.REFERENCE_TIME))


@pytest.mark.parametrize(
    "question",
    [
        "why do push notifications arrive late?",
        "why does ldap-sync fail since 14:30?",
        "用户登录为什么失败？",
        "the disk of the warehouse is full",
    ],
)
async def test_new_errors_that_do_not_answer_the_question_are_no_cause(question: str) -> None:
    assert_no_cause(await ask(question, sample.LOG_PATHS, sample.REFERENCE_TIME))


async def test_a_question_in_chinese_is_answered_in_chinese() -> None:
    outcome = await ask("checkout 服务从下午2点半开始失败", sample.LOG_PATHS, sample.REFERENCE_TIME)

    assert "2.42.0" in cause_of(outcome)
    assert "的变更" in cause_of(outcome)
    assert all(re.search("[\u4e00-\u9fff]", s.statement) for s in report_of(outcome).statements)


async def test_one_model_serves_many_runs_at_once_without_mixing_them(tmp_path: Path) -> None:
    model, empty = OfflineModel(), sample_without(DECISIVE, tmp_path)
    settings = [sample.LOG_PATHS, empty] * 4

    outcomes = await asyncio.gather(
        *(ask(sample.QUESTION, logs, sample.REFERENCE_TIME, model=model) for logs in settings)
    )

    assert all("2.42.0" in cause_of(outcome) for outcome in outcomes[::2])
    for outcome in outcomes[1::2]:
        assert_no_cause(outcome)


async def test_tokens_are_reported_as_not_measured() -> None:
    outcome = await ask(sample.QUESTION, sample.LOG_PATHS, sample.REFERENCE_TIME)

    assert outcome.usage.calls_without_token_usage == outcome.usage.model_calls
    assert outcome.usage.total_tokens == 0


# --- other incidents, other words ----------------------------------------------------------------

MORNING = datetime(2027, 5, 4, 8, 0, tzinfo=timezone(timedelta(hours=8)))


def write_log(path: Path, lines: Iterable[tuple[float, str]]) -> Path:
    """Lines as (minutes after MORNING, text with its level), in order of time."""
    stamped = sorted((MORNING + timedelta(minutes=after), text) for after, text in lines)
    path.write_text(
        "".join(f"{at.isoformat(timespec='milliseconds')} {text}\n" for at, text in stamped),
        encoding="utf-8",
    )
    return path


def every(minutes: float, text: Callable[[int], str], begin: float = 0) -> list[tuple[float, str]]:
    """A line every so many minutes, until two hours after MORNING."""
    count = int((120 - begin) / minutes)
    return [(begin + number * minutes, text(number)) for number in range(count)]


def chinese_incident(folder: Path, *, with_change: bool = True) -> list[Path]:
    change = [
        (96.0, "INFO [nacos] 配置中心推送 dataId=limit-rules.yaml 版本 37，单笔限额规则已更新"),
    ]
    settlement = write_log(
        folder / "settlement.log",
        [
            *every(0.5, lambda n: f"INFO [worker-{n % 4}] 清算批次 {9000 + n} 已入账"),
            *every(0.4, lambda n: f"ERROR [cache] 读取汇率缓存超时，改用本地副本，键 fx:{n}"),
            *every(10, lambda n: "INFO [nacos] 配置检查完成，无变更"),
            *(change if with_change else []),
            *every(0.7, lambda n: f"ERROR [rule] 转账 {70000 + n} 被拒绝：单笔限额解析失败", 97),
        ],
    )
    gateway = write_log(
        folder / "gateway.log",
        [
            *every(0.3, lambda n: f"INFO GET /transfer/{n} 200"),
            (40.0, "INFO 网关 3.8.1 发布完成"),
            *every(2, lambda n: f"WARN 上游响应慢 {900 + n} ms"),
        ],
    )
    return [settlement, gateway]


async def test_a_chinese_incident_is_blamed_on_the_pushed_configuration(tmp_path: Path) -> None:
    outcome = await ask(
        "从 9:37 左右开始转账失败，为什么？",
        chinese_incident(tmp_path),
        MORNING + timedelta(hours=2),
    )

    cause = cause_of(outcome)
    assert "limit-rules.yaml" in cause
    assert "单笔限额解析失败" in cause
    assert "缓存" not in cause
    assert "3.8.1" not in cause


async def test_the_same_incident_without_the_change_names_only_the_error(tmp_path: Path) -> None:
    logs = chinese_incident(tmp_path, with_change=False)

    outcome = await ask("从 9:37 左右开始转账失败，为什么？", logs, MORNING + timedelta(hours=2))

    assert "单笔限额解析失败" in cause_of(outcome)
    assert "触发原因没有显示在证据中" in cause_of(outcome)


async def test_a_search_for_changes_that_finds_none_is_reported_with_its_window(
    tmp_path: Path,
) -> None:
    billing = write_log(
        tmp_path / "billing.log",
        [
            *every(0.5, lambda n: f"INFO invoice {n} sent"),
            *every(1, lambda n: f"ERROR invoice {n} not sent: mail relay says 451", 100),
        ],
    )

    outcome = await ask("why are invoices not sent?", [billing], MORNING + timedelta(hours=2))

    negatives = [
        s for s in report_of(outcome).statements if s.kind is StatementKind.NEGATIVE_OBSERVATION
    ]
    assert len(negatives) == 1
    assert "2027-05-04T08:55:00+08:00 to 2027-05-04T09:40:00.001+08:00" in negatives[0].statement


async def test_the_failure_lies_before_the_default_window_and_the_question_says_when(
    tmp_path: Path,
) -> None:
    encoder = write_log(
        tmp_path / "encoder.log",
        [
            *every(1, lambda n: f"INFO [pool] segment {n} encoded"),
            *every(0.7, lambda n: f"ERROR [thumbs] thumbnail {n} skipped: frame too dark"),
            (31.0, "INFO [boot] TLS certificate rotated, serial 77f0"),
            (32.0, "ERROR [store] upload of segment 32 failed: x509: unknown authority"),
            (32.5, "ERROR [store] upload of segment 33 failed: x509: unknown authority"),
        ],
    )

    outcome = await ask(
        "Why did uploads fail at 08:32?", [encoder], MORNING + timedelta(minutes=115)
    )

    assert "certificate rotated" in cause_of(outcome)
    assert "x509" in cause_of(outcome)
    assert "thumbnail" not in cause_of(outcome)


async def test_a_change_in_a_service_that_nothing_ties_to_the_error_is_not_blamed(
    tmp_path: Path,
) -> None:
    billing = write_log(
        tmp_path / "billing.log",
        [
            *every(0.5, lambda n: f"INFO invoice {n} sent"),
            *every(1, lambda n: f"ERROR invoice {n} not sent: mail relay says 451", 100),
        ],
    )
    search = write_log(
        tmp_path / "search.log",
        [*every(1, lambda n: "INFO ok"), (99.0, "INFO Deployment of index-builder 5.0.0 finished")],
    )

    outcome = await ask(
        "why are invoices not sent?", [billing, search], MORNING + timedelta(hours=2)
    )

    assert "451" in cause_of(outcome)
    assert "5.0.0" not in cause_of(outcome)


@pytest.mark.parametrize(
    "routine",
    [
        "INFO [conf] configuration reloaded, 0 changes",
        "INFO [conf] configuration updated from disk",
    ],
)
async def test_what_happens_all_the_time_is_no_change(routine: str, tmp_path: Path) -> None:
    billing = write_log(
        tmp_path / "billing.log",
        [
            *every(0.5, lambda n: f"INFO invoice {n} sent"),
            *every(5, lambda n: routine),
            *every(1, lambda n: f"ERROR invoice {n} not sent: mail relay says 451", 101),
        ],
    )

    outcome = await ask("why are invoices not sent?", [billing], MORNING + timedelta(hours=2))

    assert "configuration" not in cause_of(outcome)
    assert "What triggered it is not shown" in cause_of(outcome)


async def test_logs_of_another_time_are_said_to_be_missing(tmp_path: Path) -> None:
    log = write_log(tmp_path / "a.log", every(1, lambda n: f"ERROR job {n} failed"))

    outcome = await ask("why do jobs fail?", [log], MORNING + timedelta(days=90))

    assert_no_cause(outcome)
    assert outcome.release is not None
    assert outcome.release.fallback is not None
    assert outcome.release.fallback.type is FallbackType.MISSING_REQUIRED_CONTEXT


def test_no_word_of_the_sample_stands_in_the_rules() -> None:
    """Of its words only two general ones are known, and those only as translations."""
    import diagnosis.agent.offline

    files = list(Path(diagnosis.agent.offline.__file__).parent.glob("*.py"))
    assert len(files) > 10
    rules = "".join(path.read_text("utf-8").lower() for path in files)

    for translation in (
        " = checkout cashier\n",
        " = checkout settlement\n",
        " = inventory stock\n",
    ):
        assert rules.count(translation) == 1
        rules = rules.replace(translation, "")
    for word in ("checkout", "recommendation", "basket", "delivery", "2.42", "inventory", "voided"):
        assert word not in rules


# --- real logs -----------------------------------------------------------------------------------


async def test_mod_jk_keeps_failing(shared_data: Path) -> None:
    outcome = await ask(
        "why does mod_jk keep failing",
        [shared_data / "loghub" / "Apache_2k.log"],
        datetime(2005, 12, 5, 19, 15, tzinfo=UTC),
    )

    quotes = [c.quote or "" for s in report_of(outcome).statements for c in s.citations]
    assert any("workerEnv in error state" in quote for quote in quotes)
    assert "workerEnv in error state" in cause_of(outcome)


@pytest.mark.parametrize(
    "at",
    [
        datetime(2005, 12, 5, 19, 15, tzinfo=UTC),
        datetime(2008, 11, 10, 0, 0, tzinfo=UTC),
        datetime(2008, 11, 11, 1, 45, tzinfo=UTC),
        datetime(2008, 11, 11, 10, 20, 17, tzinfo=UTC),
        datetime(2026, 11, 30, 12, 0, tzinfo=UTC),
    ],
)
async def test_mod_jk_is_not_diagnosed_from_logs_that_do_not_know_it(
    shared_data: Path, at: datetime
) -> None:
    logs = [shared_data / "loghub" / "HDFS_2k.log"]

    assert_no_cause(await ask("why does mod_jk keep failing", logs, at))


async def test_a_process_that_starts_with_its_log_is_not_taken_for_a_change(
    shared_data: Path,
) -> None:
    outcome = await ask(
        "Why does the application master lose the connection to the RM?",
        [shared_data / "loghub" / "Hadoop_2k.log"],
        datetime(2015, 10, 18, 18, 10, 55, tzinfo=UTC),
    )

    assert "ERROR IN CONTACTING RM" in cause_of(outcome)
    assert "What triggered it is not shown" in cause_of(outcome)
