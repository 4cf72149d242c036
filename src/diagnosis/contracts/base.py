"""The one base of all contract models: frozen, and closed to unknown fields."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Contract(BaseModel):
    """A frozen value; an unknown field is an error, never dropped."""

    model_config = ConfigDict(frozen=True, extra="forbid")
