"""Why a plugin failed, told in two lines.

The text of a foreign exception may hold a secret (a URL with its password, say): only its class is
told. Our own errors were written for people and are told as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import Distribution

import pluggy

from diagnosis.errors import ConfigurationError, PluginError, SourceError
from diagnosis.plugin.reports import PluginStatus
from diagnosis.plugin.settings import NotConfigured


@dataclass(frozen=True, slots=True)
class PluginOrigin:
    """Where a plugin comes from.

    Attributes:
        name: the plugin's name.
        module: dotted name of its module.
        distribution: what it was installed by, or None for one given in code.
        extras: extras that its entry point names.
    """

    name: str
    module: str
    distribution: Distribution | None = None
    extras: tuple[str, ...] = ()

    @property
    def distribution_name(self) -> str:
        """Name of the distribution, for people."""
        return self.distribution.name if self.distribution else "the plugins given in code"


@dataclass(frozen=True, slots=True)
class PluginFailure:
    """A failure in two lines: `reason` says what is wrong, `mend` how to mend it."""

    status: PluginStatus
    reason: str
    mend: str


def failure_of(error: BaseException, origin: PluginOrigin) -> PluginFailure:
    """Classify what a plugin raised while it was loaded and asked."""
    match error:
        case ConfigurationError():
            return _own_error(error)
        case ImportError(name=str(module)) if not _is_own(module, origin):
            return PluginFailure(
                PluginStatus.MISSING_DEPENDENCY,
                f"Plugin {origin.name!r} needs the module {module!r}, which cannot be imported.",
                _install(module, origin),
            )
        case ModuleNotFoundError(name=str(module)):
            reason = f"its module {module!r} does not exist"
        case pluggy.PluginValidationError():
            # pluggy's own words: the hook's name, and the arguments that it does not have
            lines = str(error).splitlines()
            reason = " ".join([lines[0], *lines[2:]])
        case SyntaxError():
            reason = f"SyntaxError in line {error.lineno} of its code"
        case _:
            reason = f"it raised {type(error).__name__}"
    return PluginFailure(
        PluginStatus.BROKEN,
        f"Plugin {origin.name!r} is broken: {reason}.",
        f"Install another version of {origin.distribution_name}, or remove it."
        if origin.distribution
        else "Correct the plugin's code.",
    )


def _own_error(error: ConfigurationError) -> PluginFailure:
    match error:
        case NotConfigured():
            status = PluginStatus.NOT_CONFIGURED
        case SourceError():
            status = PluginStatus.SOURCE_UNUSABLE
        case PluginError():
            status = PluginStatus.BROKEN
        case _:
            status = PluginStatus.INVALID_SETTINGS
    return PluginFailure(status, " ".join(error.problem.split()), " ".join(error.mend.split()))


# --- missing modules -------------------------------------------------------------------------


def _is_own(module: str, origin: PluginOrigin) -> bool:
    return module.partition(".")[0] in {origin.module.partition(".")[0], "diagnosis"}


def _install(module: str, origin: PluginOrigin) -> str:
    """How to get a missing module, as far as the distribution's own metadata tells."""
    unknown = f"Install the package that provides the module {module!r}."
    if origin.distribution is None:
        return unknown
    extras: list[str] = []
    for requirement in origin.distribution.requires or ():
        required = re.match(r"[A-Za-z0-9._-]+", requirement)
        if required is None or _canonical(required[0]) != _canonical(module.partition(".")[0]):
            continue
        extra = re.search(r"extra\s*==\s*[\"']([^\"']+)[\"']", requirement)
        if extra is None:
            return f'Run: pip install "{required[0]}"'
        extras.append(extra[1])
    # an extra may bring the module under another name: then the one named like the plugin is it
    known = extras or [
        *origin.extras,
        *(origin.distribution.metadata.get_all("Provides-Extra") or ()),
    ]
    if origin.name in known:
        chosen = origin.name
    elif extras or origin.extras:
        chosen = known[0]
    else:
        return unknown
    return f'Run: pip install "{origin.distribution.name}[{chosen}]"'


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
