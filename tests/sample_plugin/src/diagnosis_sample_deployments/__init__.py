"""Deployments as evidence: an example of a plugin that lives in a package of its own.

[plugins.deployments]
path = "deployments.json"
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, Field

from diagnosis.plugin import (
    EvidenceTool,
    Health,
    HealthCheck,
    PluginServices,
    SourceError,
    hookimpl,
)


class DeploymentsSettings(BaseModel):
    """`[plugins.deployments]`."""

    mend_unconfigured: ClassVar[str] = (
        "Set path in [plugins.deployments] to a JSON file of deployments."
    )

    path: Path = Field(description="A JSON file: a list of deployments.")


class DeploymentsFile:
    """Checks that the file of deployments can be read."""

    name = "deployments file"

    def __init__(self, path: Path) -> None:
        self._path = path

    async def check(self) -> Health:
        """Look at the file now."""
        if self._path.is_file():
            return Health(ok=True, detail=f"{self._path} is there")
        return Health(ok=False, detail=f"{self._path} is gone", mend="Write it again.")


@hookimpl
def diagnosis_settings_model() -> type[BaseModel]:
    """The settings of this plugin."""
    return DeploymentsSettings


@hookimpl
def diagnosis_register_evidence_tools(
    settings: DeploymentsSettings, services: PluginServices
) -> list[EvidenceTool]:
    """The one tool, where its file is there."""
    # late: a plugin's module stays cheap to import
    from diagnosis_sample_deployments.tool import ListDeployments

    if not settings.path.is_file():
        raise SourceError(
            f"There is no file of deployments {settings.path}.",
            "Correct path in [plugins.deployments].",
        )
    return [ListDeployments(settings.path)]


@hookimpl
def diagnosis_describe_health(settings: DeploymentsSettings) -> list[HealthCheck]:
    """What `diagnosis plugins` checks."""
    return [DeploymentsFile(settings.path)]
