"""Every exception this library raises on purpose.

    DiagnosisError
    ├── ConfigurationError        the user can mend it: settings, flags, files, keys (exit status 2)
    │   ├── InvalidInput          the question or the previous turn is refused before any model call
    │   ├── PluginError           a plugin clashes, or a required tool is missing
    │   └── SourceError           a log path, a knowledge folder, a database cannot be used
    ├── EvidenceFailure           a tool's typed failure; the boundary turns it into an observation
    │   ├── QueryRejected         the request is refused, with a reason from a closed list
    │   ├── SourceNotFound        the request names a source that is not configured
    │   └── SourceUnavailable     the source does not answer
    └── RunTerminated             ends the loop of one run; leaves `agent.run` unwrapped
        ├── RunCancelledError     cancelled by the user or the application
        ├── DeadlineExceeded      the run's time is over
        ├── BudgetExhausted       a hard limit of the ledger is reached
        ├── CollectionEnded       collecting had stopped, and the model still called tools
        ├── DraftContractFailure  the model's answer breaks the draft contract
        ├── ModelUnavailable      the model could not be asked, or its answer could not be read
        ├── ObserverFailed        a required observer failed
        └── StoreFailed           the canonical store failed

Errors for people (`ConfigurationError`) carry two lines: what is wrong, and how to mend it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diagnosis.contracts.evidence import QueryRejection
    from diagnosis.contracts.run import DraftFailure, StopReason


class DiagnosisError(Exception):
    """Root of every error of this library."""


class ConfigurationError(DiagnosisError):
    """What the user gave cannot be used.

    Attributes:
        problem: one line that says what is wrong.
        mend: one line that says how to mend it.
    """

    def __init__(self, problem: str, mend: str) -> None:
        super().__init__(f"{problem}\n{mend}")
        self.problem = problem
        self.mend = mend


class InvalidInput(ConfigurationError):
    """The question or the previous turn is blank, too large or not text."""


class PluginError(ConfigurationError):
    """Two plugins clash, or a tool that settings require is missing."""


class SourceError(ConfigurationError):
    """A configured source of evidence cannot be used at all."""


class EvidenceFailure(DiagnosisError):
    """A typed failure of an evidence tool; its text is never shown to a model or a user."""


class QueryRejected(EvidenceFailure):
    """The request is well formed but refused.

    Attributes:
        reason: why, from the closed list the model may see.
    """

    def __init__(self, reason: QueryRejection) -> None:
        super().__init__(reason)
        self.reason = reason


class SourceNotFound(EvidenceFailure):
    """The request names a source, service or database that is not configured."""


class SourceUnavailable(EvidenceFailure):
    """The source is configured but does not answer; the detail stays in the log."""


class RunTerminated(DiagnosisError):
    """A condition that ends the loop of one run."""


class RunCancelledError(RunTerminated):
    """The run was cancelled."""


class DeadlineExceeded(RunTerminated):
    """The run's deadline has passed."""


class BudgetExhausted(RunTerminated):
    """A hard limit of the run's ledger is reached.

    Attributes:
        resource: the ledger's name for it, for example `model_calls` or `total_tokens`.
    """

    def __init__(self, resource: str) -> None:
        super().__init__(f"{resource} exhausted")
        self.resource = resource


class CollectionEnded(RunTerminated):
    """Collecting had stopped, and the model answered with further tool calls.

    Attributes:
        reason: why collecting had stopped.
    """

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason = reason


class DraftContractFailure(RunTerminated):
    """The model's final answer breaks the draft contract.

    Attributes:
        failure: which rule it breaks.
        detail: one line for the user where the reason is known, else None.
    """

    def __init__(self, failure: DraftFailure, detail: str | None = None) -> None:
        super().__init__(failure)
        self.failure = failure
        self.detail = detail


class ModelUnavailable(RunTerminated):
    """The model could not be asked, or what came back could not be read.

    Attributes:
        detail: one line for the user, without any response body.
    """

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class ObserverFailed(RunTerminated):
    """A required observer raised or did not return."""


class StoreFailed(RunTerminated):
    """The canonical invocation store raised."""
