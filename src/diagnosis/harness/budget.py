"""The run's ledger: what may still be spent, and what really was.

Reserving is atomic. Actual tokens are recorded after the call, beyond the limit if that is the
truth, and then nothing more starts.
"""

from __future__ import annotations

import threading
from collections import Counter

from diagnosis.contracts.run import RunLimits, RunUsage
from diagnosis.errors import BudgetExhausted

_TOKEN_LIMITS = ("input_tokens", "output_tokens", "total_tokens")


class RunBudget:
    """One ledger for everything a run consumes: model calls, tool calls, tokens, bytes."""

    def __init__(self, limits: RunLimits) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self._model_calls = 0
        self._tool_calls = 0
        self._per_tool: Counter[str] = Counter()
        self._tokens = dict.fromkeys(_TOKEN_LIMITS, 0)
        self._unmeasured = 0
        self._bytes = 0
        self._largest_input = 0
        self._longest_call_s = 0.0

    def reserve_model_call(self, *, review: bool = False) -> None:
        """Take one model call; `review` calls (repair, guard) may use the reserved ones.

        Raises:
            BudgetExhausted: no call is left, or a token limit is already used up.
        """
        kept = 0 if review else self.limits.reserved_model_calls
        with self._lock:
            for resource in _TOKEN_LIMITS:
                if self._tokens[resource] >= getattr(self.limits, resource):
                    raise BudgetExhausted(resource)
            if self._model_calls >= self.limits.model_calls - kept:
                raise BudgetExhausted("model_calls")
            self._model_calls += 1

    def record_model_call(
        self, *, input_tokens: int | None, output_tokens: int | None, seconds: float
    ) -> None:
        """Record what a call really used; None where the provider reported nothing."""
        with self._lock:
            self._longest_call_s = max(self._longest_call_s, seconds)
            if input_tokens is None or output_tokens is None:
                self._unmeasured += 1
                return
            self._tokens["input_tokens"] += input_tokens
            self._tokens["output_tokens"] += output_tokens
            self._tokens["total_tokens"] += input_tokens + output_tokens
            self._largest_input = max(self._largest_input, input_tokens)

    def reserve_tool_call(self) -> bool:
        """Take one tool call of the run's total."""
        with self._lock:
            if self._tool_calls >= self.limits.tool_calls:
                return False
            self._tool_calls += 1
            return True

    def reserve_call_of_tool(self, tool_name: str) -> bool:
        """Take one call of this tool's share."""
        with self._lock:
            if self._per_tool[tool_name] >= self.limits.tool_calls_per_tool:
                return False
            self._per_tool[tool_name] += 1
            return True

    def reserve_bytes(self, count: int) -> bool:
        """Take canonical bytes: user message, projections, draft."""
        with self._lock:
            if self._bytes + count > self.limits.canonical_bytes:
                return False
            self._bytes += count
            return True

    @property
    def projection_bytes_left(self) -> int:
        """Bytes the next projection may have, so that a draft still fits afterwards."""
        with self._lock:
            return self.limits.canonical_bytes - self._bytes - self.limits.draft_bytes

    def draft_is_due(self, remaining_s: float) -> bool:
        """Whether the next model call of the loop must be the draft.

        That is so when it is the loop's last call, or when tokens or time are down to what is kept
        for repair and guard plus one more call as large and as long as this run's largest.

        Args:
            remaining_s: seconds until the run's deadline.
        """
        limits = self.limits
        with self._lock:
            calls_left = limits.model_calls - limits.reserved_model_calls - self._model_calls
            draft_input = self._largest_input
            draft_output = limits.max_output_tokens if self._largest_input else 0
            input_left = limits.input_tokens - self._tokens["input_tokens"]
            output_left = limits.output_tokens - self._tokens["output_tokens"]
            total_left = limits.total_tokens - self._tokens["total_tokens"]
            kept_total = limits.reserved_input_tokens + limits.reserved_output_tokens
            return (
                calls_left <= 1
                or input_left < limits.reserved_input_tokens + draft_input
                or output_left < limits.reserved_output_tokens + draft_output
                or total_left < kept_total + draft_input + draft_output
                or remaining_s < limits.reserved_s + self._longest_call_s
            )

    def usage(self, seconds: float = 0.0) -> RunUsage:
        """What was consumed so far; `seconds` is the run's age."""
        with self._lock:
            return RunUsage(
                model_calls=self._model_calls,
                tool_calls=self._tool_calls,
                tool_calls_per_tool=dict(sorted(self._per_tool.items())),
                calls_without_token_usage=self._unmeasured,
                canonical_bytes=self._bytes,
                seconds=round(seconds, 3),
                **self._tokens,
            )
