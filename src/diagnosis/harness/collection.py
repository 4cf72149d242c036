"""Whether this run still collects evidence, and which calls the current response holds.

The agent adapter tells it what the model asked for; the boundary asks it before every call.
"""

from __future__ import annotations

from collections.abc import Sequence

from diagnosis.contracts.run import StopReason

_LONGEST_ID = 256


class Collection:
    """State of one run's collecting. Used from the run's own task only."""

    def __init__(self) -> None:
        self.stop_reason: StopReason | None = None
        self.draft_requested = False
        """Whether the model was asked without being allowed to call tools."""
        self._sequence = 0
        self._used_ids: set[str] = set()
        self._requested: dict[str, str] = {}
        self._last_id: str | None = None

    @property
    def stopped(self) -> bool:
        """Whether further calls are refused."""
        return self.stop_reason is not None

    def stop(self, reason: StopReason) -> bool:
        """Stop collecting; the first reason stays.

        Returns:
            Whether this call stopped it.
        """
        if self.stop_reason is not None:
            return False
        self.stop_reason = reason
        return True

    def is_last_of_response(self, tool_call_id: str) -> bool:
        """Whether no call follows this one in the model's response."""
        return self._last_id is None or tool_call_id == self._last_id

    def begin_response(
        self, evidence_calls: Sequence[tuple[str, str]], all_ids: Sequence[str]
    ) -> None:
        """Take note of a model response.

        Args:
            evidence_calls: (tool_call_id, name the model used) of the calls that the boundary
                answers, in order.
            all_ids: of every tool call in it.
        """
        self._used_ids.update(all_ids)
        self._requested = dict(evidence_calls)
        self._last_id = evidence_calls[-1][0] if evidence_calls else None

    def unique_id(self, proposed: str, step: int, taken: Sequence[str]) -> str:
        """The id to use for a call: the provider's own, unless it is unfit or was used before.

        Unfit is what no result could repeat: an empty id, one of more than 256 characters, and one
        that is not valid Unicode.

        Args:
            proposed: what the provider sent.
            step: the model response it came in.
            taken: ids already given to earlier calls of the same response.
        """
        used = self._used_ids.union(taken)
        if _is_fit(proposed) and proposed not in used:
            return proposed
        number = len(taken) + 1
        while (replacement := f"call_{step}_{number}") in used:
            number += 1
        return replacement

    def requested_name(self, tool_call_id: str) -> str | None:
        """The name the model used for this call."""
        return self._requested.get(tool_call_id)

    def next_sequence(self) -> int:
        """Number of the next record of the run, from 1."""
        self._sequence += 1
        return self._sequence


def _is_fit(tool_call_id: str) -> bool:
    if not 0 < len(tool_call_id) <= _LONGEST_ID:
        return False
    try:
        tool_call_id.encode()
    except UnicodeEncodeError:
        return False
    return True
