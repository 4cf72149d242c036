"""The table `[embedding]` of the settings. Imports no framework."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class EmbeddingModelSettings(BaseModel):
    """The model that compares meanings for the knowledge base."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(
        default="offline", description="`offline` (runs here, no server) or PROVIDER:MODEL."
    )
    base_url: str | None = Field(
        default=None, description="A server with OpenAI's /v1/embeddings; a host suffices."
    )
    api_key: SecretStr | None = Field(
        default=None, description="By default the provider's own variable; for base_url none."
    )
    dimensions: int | None = Field(default=None, ge=1, description="For models of several sizes.")
    batch: int = Field(default=32, ge=1, le=2_048, description="Most texts in one request.")
    input_bytes: int = Field(default=6_000, ge=200, description="Longer texts go in pieces.")
    timeout_s: float = Field(default=60, gt=0, allow_inf_nan=False, description="For one request.")
