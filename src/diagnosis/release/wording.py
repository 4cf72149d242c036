"""The fixed words of reports and fallbacks, in English and Chinese. No model writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from diagnosis.contracts.release import FallbackType

_CJK = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Wording:
    """Every fixed text a reader sees, in one language."""

    diagnosis: str
    no_diagnosis: str
    question: str
    root_cause: str
    category: str
    source: str
    target: str
    confidence: str
    evidence: str
    observed: str
    inferred: str
    nothing_found: str
    citations: str
    limitations: str
    user_can_supply: str
    actions: str
    proposals: str
    risk: str
    checked: str
    facts: str
    reference: str
    nothing_checked: str
    not_used: str
    found: str
    empty: str
    failed: str
    of_matched: str
    rule_based: str
    unverified: str
    checks: str
    cost: str
    calls: str
    tokens: str
    not_reported: str
    draft_discarded: str
    model_failed: str
    fallback: Mapping[FallbackType, str]
    values: Mapping[str, str]

    def of(self, value: str) -> str:
        """An enum's value, or a check's name, as this language says it."""
        return self.values.get(value, value)


ENGLISH = Wording(
    diagnosis="Diagnosis",
    no_diagnosis="No diagnosis",
    question="Question",
    root_cause="Root cause",
    category="Category",
    source="From",
    target="Affects",
    confidence="Confidence",
    evidence="Evidence",
    observed="Observed",
    inferred="Inferred",
    nothing_found="Nothing found",
    citations="Citations",
    limitations="Limitations",
    user_can_supply="you could supply it",
    actions="Proposed actions",
    proposals="Proposals only; nothing was executed.",
    risk="risk",
    checked="What was checked",
    facts="What was found",
    reference="reference",
    nothing_checked="Nothing could be checked.",
    not_used="Not used in this run",
    found="found",
    empty="nothing matched in this scope",
    failed="failed",
    of_matched="shown {shown} of {matched}",
    rule_based=(
        "Rule-based answer of the offline model, which reads logs and documents only; no language "
        "model was used."
    ),
    unverified=(
        "Citations and quotes were verified against what the tools returned. Numbers and times in "
        "the statements, and the conclusion itself, were not: judge them by the evidence below."
    ),
    checks="Checks",
    cost="Cost",
    calls="model calls {models}, tool calls {tools}, {seconds:.1f} s",
    tokens="tokens {tokens:,}",
    not_reported="tokens not reported",
    draft_discarded=(
        "The model's answer could not be used ({reason}) and was discarded; that says nothing "
        "about the evidence. What was found is below: ask again, or use another model."
    ),
    model_failed="The model failed before it could answer. What had been found by then is below.",
    values={"semantic_check": "semantic check"},
    fallback={
        FallbackType.INSUFFICIENT_EVIDENCE: (
            "The evidence collected in this run does not carry a root cause."
        ),
        FallbackType.MISSING_REQUIRED_CONTEXT: (
            "What was searched carries no answer, and what is missing only you can supply: compare "
            "the scopes below with the time and the systems you mean."
        ),
        FallbackType.BUDGET_EXHAUSTED: (
            "The run reached its limits before the evidence carried a root cause."
        ),
        FallbackType.EVIDENCE_VERIFICATION_FAILED: (
            "A root cause was drafted, but its citations or quotes do not stand in the evidence; "
            "it is not shown."
        ),
        FallbackType.SEMANTIC_VERIFICATION_FAILED: (
            "A root cause was drafted, but the evidence does not support it; it is not shown."
        ),
        FallbackType.UNVERIFIED: "A root cause was drafted and is shown with its evidence.",
    },
)

CHINESE = Wording(
    diagnosis="诊断",
    no_diagnosis="没有诊断结论",
    question="问题",
    root_cause="根因",
    category="类别",
    source="来源",
    target="影响",
    confidence="置信度",
    evidence="证据",
    observed="观察",
    inferred="推断",
    nothing_found="未找到",
    citations="引用",
    limitations="局限",
    user_can_supply="可由您提供",
    actions="建议措施",
    proposals="仅为建议；没有执行任何操作。",
    risk="风险",
    checked="已检查的范围",
    facts="已找到的内容",
    reference="参考资料",
    nothing_checked="没有可以检查的内容。",
    not_used="本次运行没有使用",
    found="找到",
    empty="在此范围内没有匹配",
    failed="失败",
    of_matched="显示 {shown} / 共 {matched}",
    rule_based="由离线规则模型给出的答案，它只读取日志和文档；没有使用语言模型。",
    unverified=(
        "引用和引文已与工具返回的内容逐字核对；陈述中的数字和时间以及结论本身尚未核对，请依据下面的证据判断。"
    ),
    checks="校验",
    cost="消耗",
    calls="模型调用 {models} 次，工具调用 {tools} 次，{seconds:.1f} 秒",
    tokens="{tokens:,} 个 token",
    not_reported="未报告 token 用量",
    draft_discarded=(
        "模型的回答无法使用（{reason}），已被丢弃；这并不说明证据的任何情况。"
        "已找到的内容见下：请重试或更换模型。"
    ),
    model_failed="模型在给出回答之前失败。此前已找到的内容见下。",
    values={
        "citations": "引用",
        "quotes": "引文",
        "values": "数值",
        "semantic_check": "语义",
        "PASSED": "通过",
        "FAILED": "未通过",
        "NOT_RUN": "未运行",
        "HIGH": "高",
        "MEDIUM": "中",
        "LOW": "低",
        "DATABASE": "数据库",
        "DEPENDENCY": "依赖",
        "CODE": "代码",
        "CONFIGURATION": "配置",
        "CAPACITY": "容量",
        "NETWORK": "网络",
        "INFRASTRUCTURE": "基础设施",
        "DATA": "数据",
        "SECURITY": "安全",
        "OTHER": "其他",
    },
    fallback={
        FallbackType.INSUFFICIENT_EVIDENCE: "本次运行收集到的证据不足以支撑根因结论。",
        FallbackType.MISSING_REQUIRED_CONTEXT: (
            "已检查的范围中没有答案，缺少的信息只有您才能提供："
            "请对照下面的范围与您所指的时间和系统。"
        ),
        FallbackType.BUDGET_EXHAUSTED: "在证据足以支撑根因之前，本次运行已达到上限。",
        FallbackType.EVIDENCE_VERIFICATION_FAILED: (
            "草稿中有根因，但其引用或引文与证据不符，因此不予显示。"
        ),
        FallbackType.SEMANTIC_VERIFICATION_FAILED: "草稿中有根因，但证据不支持它，因此不予显示。",
        FallbackType.UNVERIFIED: "已起草根因，并附上证据一并显示。",
    },
)


def wording_for(query: str) -> Wording:
    """Chinese for a query with Chinese in it, else English."""
    return CHINESE if _CJK.search(query) else ENGLISH
