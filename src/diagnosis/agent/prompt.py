"""Prompts: one a file, and the instructions of the diagnosis agent made of one."""

from __future__ import annotations

import functools
import json
from datetime import datetime, tzinfo
from pathlib import Path
from string import Template
from typing import Any

from diagnosis.contracts.draft import DiagnosisDraft
from diagnosis.errors import ConfigurationError

_PACKAGE = Path(__file__).resolve().parent.parent


def default_prompt_folder() -> Path:
    """The prompts inside the package where it is installed, else those of the checkout."""
    installed = _PACKAGE / "prompts"
    return installed if installed.is_dir() else _PACKAGE.parent.parent / "prompts"


def load_prompt(name: str, folder: Path | None = None) -> Template:
    """Read `<folder>/<name>.md`.

    Raises:
        ConfigurationError: missing, unreadable, blank, or not a valid template.
    """
    path = (folder or default_prompt_folder()) / f"{name}.md"
    mend = "Restore the file, or remove `prompts` from the settings to use the packaged prompts."
    try:
        template = Template(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"The prompt {path} cannot be read ({type(error).__name__}).", mend
        ) from None
    if not template.template.strip():
        raise ConfigurationError(f"The prompt {path} is blank.", mend)
    if not template.is_valid():
        raise ConfigurationError(
            f"The prompt {path} has a `$` that starts no placeholder.",
            "Write `$$` for a plain `$`.",
        )
    return template


def load_diagnosis_prompt(folder: Path | None = None) -> str:
    """The diagnosis prompt with the draft's schema in its place.

    Raises:
        ConfigurationError: as `load_prompt`, or its placeholders are not exactly `$draft_schema`.
    """
    template = load_prompt("diagnosis", folder)
    if template.get_identifiers() != ["draft_schema"]:
        raise ConfigurationError(
            "The prompt diagnosis.md must have the placeholder $draft_schema and no other.",
            "Add `$draft_schema` where the schema belongs, and write `$$` for a plain `$`.",
        )
    return template.substitute(draft_schema=draft_schema())


def instructions(prompt: str, reference_time: datetime, zone: tzinfo) -> str:
    """The prompt, ended by what "now" means in this run."""
    local = reference_time.astimezone(zone)
    return f"{prompt.rstrip()}\n\nReference time (now): {local.isoformat()}\nTime zone: {zone}"


@functools.cache
def draft_schema() -> str:
    """The draft's JSON schema as compact text, without the titles pydantic adds."""
    return json.dumps(
        _without_titles(DiagnosisDraft.model_json_schema()),
        ensure_ascii=False,
        separators=(",", ":"),
    )


def _without_titles(value: Any) -> Any:
    if isinstance(value, dict):
        # a property may itself be called "title": its value is then a schema, not a string
        return {
            key: _without_titles(child)
            for key, child in value.items()
            if not (key == "title" and isinstance(child, str))
        }
    if isinstance(value, list):
        return [_without_titles(child) for child in value]
    return value
