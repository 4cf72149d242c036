"""What went wrong at the model's side, as one line for people, without any response body."""

from __future__ import annotations

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelRateLimitError,
    ModelTimeoutError,
    OutputTokenLimitExceeded,
    UnexpectedModelBehavior,
)


def describe_model_failure(error: Exception, model_name: str) -> str:
    """One line: what the model's server did, and where it helps, how to mend it."""
    if isinstance(error, ModelHTTPError):
        return f"The model {model_name} answered HTTP {error.status_code}{_advice(error)}."
    if isinstance(error, ModelTimeoutError):
        return f"The model {model_name} did not answer in time."
    if isinstance(error, ModelConnectionError):
        return f"The model {model_name} could not be reached; check its base URL and the network."
    if isinstance(error, ContentFilterError):
        return f"The model {model_name} refused the content of this run."
    if isinstance(error, OutputTokenLimitExceeded):
        return f"The model {model_name} ran out of output tokens in the middle of its answer."
    if isinstance(error, UnexpectedModelBehavior):
        return f"The answer of the model {model_name} could not be read."
    return f"The model {model_name} failed ({type(error).__name__})."


def _advice(error: ModelHTTPError) -> str:
    if isinstance(error, ModelAuthenticationError):
        return "; check its API key"
    if isinstance(error, ModelNotFoundError):
        return "; check the model's name"
    if isinstance(error, ModelRateLimitError):
        return "; it takes no more requests for now"
    return ""
