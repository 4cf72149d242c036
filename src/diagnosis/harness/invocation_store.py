"""The canonical record of every call: a port, and its in-memory implementation."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from diagnosis.contracts.evidence import InvocationStatus, ToolInvocation


class InvocationStore(Protocol):
    """Keeps records by (run_id, tool_call_id) for as long as its retention says."""

    async def save(self, invocation: ToolInvocation) -> None:
        """Add a record, or finish one that is PROJECTING.

        Raises:
            ValueError: the record is already READY or ERROR; those never change.
        """
        ...

    async def of_run(self, run_id: str) -> tuple[ToolInvocation, ...]:
        """All records of a run, by sequence."""
        ...

    async def end_run(self, run_id: str) -> None:
        """The run is over: from now on retention may remove its records."""
        ...


class InMemoryInvocationStore:
    """Records of this process's runs.

    Args:
        ended_runs: how many runs are kept after they ended; the one that ended first goes first.
            A run that goes on is never removed.
    """

    def __init__(self, ended_runs: int = 64) -> None:
        self._capacity = ended_runs
        self._runs: dict[str, dict[str, ToolInvocation]] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()

    async def save(self, invocation: ToolInvocation) -> None:
        """Add or finish a record.

        Raises:
            ValueError: the record is already READY or ERROR.
        """
        records = self._runs.setdefault(invocation.run_id, {})
        existing = records.get(invocation.tool_call_id)
        if existing is not None and existing.status is not InvocationStatus.PROJECTING:
            raise ValueError(f"{invocation.tool_call_id} is {existing.status} and cannot change")
        records[invocation.tool_call_id] = invocation

    async def of_run(self, run_id: str) -> tuple[ToolInvocation, ...]:
        """All records of a run, by sequence; none for an unknown run."""
        records = self._runs.get(run_id, {})
        return tuple(sorted(records.values(), key=lambda record: record.sequence))

    async def end_run(self, run_id: str) -> None:
        """Let the run's records go once enough other runs have ended after it."""
        self._ended[run_id] = None
        while len(self._ended) > self._capacity:
            oldest, _ = self._ended.popitem(last=False)
            self._runs.pop(oldest, None)
