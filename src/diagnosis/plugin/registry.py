"""The registry of evidence tools: definition and execution together, each bound to its plugin.

It is filled while plugins load, opened, frozen before the first run, and closed at the end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from diagnosis.errors import ConfigurationError, PluginError
from diagnosis.plugin.evidence_tool import EvidenceTool
from diagnosis.plugin.registered_tool import RegisteredTool

__all__ = ["EvidenceToolRegistry", "RegisteredTool", "RemovedTool"]

OPEN_TIMEOUT_S = 30.0
CLOSE_TIMEOUT_S = 10.0

_RESERVED = {"read_skill": "diagnosis itself"}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RemovedTool:
    """A tool that could not be opened.

    Attributes:
        reason, mend: one line each, without the text of a foreign exception.
    """

    name: str
    plugin: str
    reason: str
    mend: str


class EvidenceToolRegistry:
    """Every evidence tool there is, by name; iterates in the order of the names."""

    def __init__(self) -> None:
        self._tools: dict[str, RegisteredTool] = {}
        self._opened: list[RegisteredTool] = []
        self._frozen = False

    @property
    def frozen(self) -> bool:
        """Whether no tool can be added or removed any more."""
        return self._frozen

    @property
    def names(self) -> tuple[str, ...]:
        """Sorted names of all tools."""
        return tuple(sorted(self._tools))

    def __iter__(self) -> Iterator[RegisteredTool]:
        return iter([self._tools[name] for name in self.names])

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def get(self, name: str) -> RegisteredTool | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    def register(self, tool: EvidenceTool, plugin: str) -> RegisteredTool:
        """Check a tool's definition and add it.

        Raises:
            PluginError: the definition cannot be used, the name is taken, or the registry is
                frozen.
        """
        registered = RegisteredTool(tool, plugin)
        self.add(registered)
        return registered

    def add(self, registered: RegisteredTool) -> None:
        """Add a checked tool.

        Raises:
            PluginError: the name is taken (both owners are named), or the registry is frozen.
        """
        self._refuse_when_frozen()
        name = registered.name
        taken = self._tools.get(name)
        owner = f"plugin {taken.plugin!r}" if taken else _RESERVED.get(name)
        if owner is not None:
            raise PluginError(
                f"The tool name {name!r} is taken: {owner} and plugin {registered.plugin!r} "
                "both bring it.",
                "Remove one of the two plugins, or rename its tool.",
            )
        self._tools[name] = registered

    def freeze(self) -> None:
        """Refuse every later change. May be called again."""
        self._frozen = True

    async def open(self, *, required: Collection[str] = ()) -> tuple[RemovedTool, ...]:
        """Open every tool that has something to open, in the order of the names.

        Args:
            required: names of tools that must open.

        Returns:
            The tools that failed to open and were removed.

        Raises:
            ConfigurationError: a required tool failed; what was open by then is closed again.
                The tool's own `ConfigurationError` is raised as it is.
            PluginError: the registry is frozen.
        """
        self._refuse_when_frozen()
        removed: list[RemovedTool] = []
        try:
            for registered in self:
                try:
                    await _call(registered.tool, "open", OPEN_TIMEOUT_S)
                except Exception as error:
                    problem = _open_problem(registered, error)
                    if registered.name in required:
                        raise problem from error
                    del self._tools[registered.name]
                    removed.append(
                        RemovedTool(
                            registered.name, registered.plugin, problem.problem, problem.mend
                        )
                    )
                else:
                    self._opened.append(registered)
        except BaseException:  # cancellation too: nothing stays open behind it
            await self.close()
            raise
        return tuple(removed)

    async def close(self) -> None:
        """Close every opened tool, the last one first. A failing one is logged, never raised."""
        while self._opened:
            registered = self._opened.pop()
            try:
                await _call(registered.tool, "close", CLOSE_TIMEOUT_S)
            except Exception as error:  # noqa: BLE001 - the others are still to be closed
                logger.warning(
                    "tool %r of plugin %r did not close: %s",
                    registered.name,
                    registered.plugin,
                    type(error).__name__,
                )

    def _refuse_when_frozen(self) -> None:
        if self._frozen:
            raise PluginError(
                "The registry of evidence tools is frozen.",
                "Register and open every tool before the first run.",
            )


async def _call(tool: EvidenceTool, method: str, timeout_s: float) -> None:
    function = getattr(tool, method, None)
    if function is not None:
        async with asyncio.timeout(timeout_s):
            await function()


def _open_problem(registered: RegisteredTool, error: Exception) -> ConfigurationError:
    if isinstance(error, ConfigurationError):
        return error
    return PluginError(
        f"Tool {registered.name!r} of plugin {registered.plugin!r} could not be opened: "
        f"{type(error).__name__}.",
        f"Check [plugins.{registered.plugin}] and what the tool depends on.",
    )
