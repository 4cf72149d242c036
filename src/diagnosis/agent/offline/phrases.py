"""The sentences of the rule-based answer, in English and Chinese; evidence fills in the facts."""

from __future__ import annotations

from typing import Any

_PHRASES: dict[str, tuple[str, str]] = {
    # what was observed
    "often": (
        '{place} logged "{said}" and lines like it {count} times{level}, first at {first}.',
        "{place} 记录了“{said}”及同类日志 {count} 次{level}，首次 {first}。",
    ),
    "once": (
        '{place} logged "{said}" once{level}, at {first}.',
        "{place} 记录了一次“{said}”{level}，时间 {first}。",
    ),
    "untimed": (
        '{place} logged "{said}" and lines like it {count} times{level}.',
        "{place} 记录了“{said}”及同类日志 {count} 次{level}。",
    ),
    "level": (
        " at level {level}",
        "（级别 {level}）",
    ),
    "thrown": (
        ' It ends in "{thrown}".',
        "其异常为“{thrown}”。",
    ),
    "new": (
        " The window of equal length before it has no such line.",
        "此前等长的时间窗口内没有这类日志。",
    ),
    "not_new": (
        " The window of equal length before it has such lines too.",
        "此前等长的时间窗口内也有这类日志。",
    ),
    "first_line": (
        "The first such line in the day searched is from {at}.",
        "所查的一天内，这类日志最早的一条出现在 {at}。",
    ),
    "change": (
        'At {at} {place} logged a change: "{said}".',
        "{at}，{place} 记录了一次变更：“{said}”。",
    ),
    "earlier": (
        'The frequent error "{said}" was logged already at {at}, before the window in which the '
        "failure began; its presence alone does not explain a failure that began later.",
        "频繁出现的错误“{said}”早在 {at} 就已记录，早于故障开始的窗口；"
        "仅凭它的存在不能解释后来才开始的故障。",
    ),
    # negative observations
    "no_lines": (
        "No log line in the searched scope matches, from {start} to {end}.",
        "在所查范围内，{start} 至 {end} 没有匹配的日志。",
    ),
    "no_failures": (
        "No line tells of something killed, refused, timed out, failed or out of memory or space, "
        "from {start} to {end}.",
        "{start} 至 {end} 没有日志提到被终止、被拒绝、超时、失败或内存、空间不足。",
    ),
    "no_changes": (
        "No line that tells of a change (deployment, configuration, restart and the like) from "
        "{start} to {end}.",
        "{start} 至 {end} 没有记录变更（部署、配置、重启等）的日志。",
    ),
    "no_knowledge": (
        "The knowledge base has no passage on this question.",
        "知识库中没有与该问题相关的内容。",
    ),
    # inferences
    "tied": (
        'The new error begins after the change "{said}"; both concern {subject}. That order in '
        "time makes the change the likely cause.",
        "新的错误出现在变更“{said}”之后，两者都涉及 {subject}"
        "。这一先后顺序说明该变更很可能是原因。",
    ),
    "behind": (
        'The requests begin to fail after the change "{said}" in {place}, the only other log '
        "searched. That order in time makes the change the likely cause.",
        "请求在 {place}（所查的唯一另一份日志）的变更“{said}”之后开始失败"
        "。这一先后顺序说明该变更很可能是原因。",
    ),
    "runbook": (
        'The document "{title}", section "{section}", deals with such a failure: "{said}"',
        "文档“{title}”的“{section}”一节讲到这类故障：“{said}”",
    ),
    # root causes
    "error": (
        '"{said}"',
        "“{said}”",
    ),
    "error_thrown": (
        '"{said}" ({thrown})',
        "“{said}”（{thrown}）",
    ),
    "cause_change": (
        'The change "{change}" at {at}. After it, from {first} on, {place} logs the error '
        "{error}, which the window before does not have.",
        "{at} 的变更“{change}”。此后，从 {first} 起，{place} 记录错误{error}，"
        "此前的窗口内没有该错误。",
    ),
    "cause_changes": (
        'The change "{change}" at {at}, with "{other}". After it, from {first} on, {place} logs '
        "the error {error}, which the window before does not have.",
        "{at} 的变更“{change}”，以及“{other}”。此后，从 {first} 起，{place} 记录错误{error}，"
        "此前的窗口内没有该错误。",
    ),
    "cause_new": (
        "A new error in {place}: {error}, first at {first}. What triggered it is not shown.",
        "{place} 出现新的错误{error}，首次 {first}。触发原因没有显示在证据中。",
    ),
    "cause_standing": (
        "A recurring error in {place}: {error}, {count} times in the window. What triggers it "
        "is not shown.",
        "{place} 反复出现错误{error}，窗口内共 {count} 次。触发原因没有显示在证据中。",
    ),
    "cause_open": (
        "An error in {place}: {error}, {count} times in the window. What triggers it is not shown.",
        "{place} 的错误{error}，窗口内共 {count} 次。触发原因没有显示在证据中。",
    ),
    # what is missing
    "order_only": (
        "Whether the change really causes the error: only their order in time and what both name "
        "speak for it.",
        "尚不能证实该变更确实引起该错误：依据只有时间先后和两者共同涉及的对象。",
    ),
    "since_new": (
        "What triggers the error: no change event that concerns it was found shortly before its "
        "first line.",
        "该错误的触发原因：在首次出现之前不久，没有找到与之有关的变更记录。",
    ),
    "since_open": (
        "When and why the error first began: the log does not reach back to a time without it.",
        "该错误最初何时、为何开始：日志没有覆盖它出现之前的时间。",
    ),
    "since_standing": (
        "When and why the error first began: lines like it are older than the window searched "
        "for it.",
        "该错误最初何时、为何开始：同类日志早于为其所查的窗口。",
    ),
    "not_compared": (
        "Whether the error is what the question means: the question names nothing, and the log is "
        "in another language.",
        "该错误是否就是所问的问题：问题没有指明对象，且日志为另一种语言。",
    ),
    "general": (
        "A cause: the question names nothing and is in another language than the log. A new error "
        "then counts only together with a change shortly before it, and none was found. Name what "
        "fails.",
        "原因：问题没有指明对象，且与日志语言不同。此时只有新错误之前不久有变更记录才下结论，"
        "而没有找到这样的变更。请说明是什么出了故障。",
    ),
    "other_language": (
        "A cause: question and log are in different languages, and no name, number or known word "
        "ties an error to {asked}. Name the service, or ask in the log's language.",
        "原因：问题与日志语言不同，没有名称、编号或已知词语把任何错误与 {asked} 联系起来。"
        "请给出服务名称，或用日志的语言提问。",
    ),
    "no_log_tool": (
        "Logs: no log tool is available in this run. Name log files to search.",
        "日志：本次运行没有可用的日志工具，请提供要查询的日志文件。",
    ),
    "not_used": (
        "The offline rules read logs and documents only; {tools} was not used. Name a language "
        "model to use it.",
        "离线规则只读取日志和文档，未使用：{tools}。如需使用，请指定语言模型。",
    ),
    "log_failed": (
        "Logs: the search failed ({code}).",
        "日志：查询失败（{code}）。",
    ),
    "outside": (
        "Logs of the time asked about: those searched hold {first} to {last}. Name other logs or "
        "another time.",
        "所问时间的日志：所查日志的时间为 {first} 至 {last}。请提供其他日志或其他时间。",
    ),
    "nothing": (
        "A cause: no warning and no error was logged in this scope. That proves nothing about "
        "what was not logged.",
        "原因：该范围内没有警告或错误日志。这不能说明未被记录的情况。",
    ),
    "not_about": (
        "A cause: no error in this scope deals with {asked}.",
        "原因：该范围内没有与 {asked} 有关的错误。",
    ),
    "only_weak": (
        "A cause: what was found on the question is either below level ERROR or was there before "
        "the failure.",
        "原因：与问题有关的日志要么低于 ERROR 级别，要么在故障之前就已存在。",
    ),
    "stopped": (
        "Further searches: collecting evidence was stopped before they could be made.",
        "进一步的查询：证据收集在此之前已停止。",
    ),
    "the_question": (
        "the question",
        "该问题",
    ),
    "logs": (
        "logs",
        "日志",
    ),
    "scope": (
        "{what}, {start} to {end}",
        "{what}，{start} 至 {end}",
    ),
    # actions
    "from_runbook": (
        'Stands in the document "{title}", section "{section}"; check that it applies before you '
        "do it.",
        "出自文档“{title}”的“{section}”一节；执行前请确认适用。",
    ),
    "review_change": (
        'Review the change "{said}" with its owner, and undo it if nothing speaks against that.',
        "与负责人核对变更“{said}”，若无不妥，将其撤回。",
    ),
    "review_change_why": (
        "It is the last change found before the new error.",
        "它是新错误出现之前找到的变更。",
    ),
    "more_context": (
        'Look at what {place} does when it logs "{said}".',
        "查看 {place} 在记录“{said}”时正在做什么。",
    ),
    "more_context_why": (
        "The log names the failing part, not what triggers it.",
        "日志指出了出错的部分，没有指出触发原因。",
    ),
}


class Phrases:
    """Sentences in one language.

    Args:
        chinese: in Chinese, else in English.
    """

    def __init__(self, *, chinese: bool) -> None:
        self._column = 1 if chinese else 0

    def say(self, name: str, **facts: Any) -> str:
        """The sentence `name` with its facts filled in."""
        return _PHRASES[name][self._column].format(**facts)
