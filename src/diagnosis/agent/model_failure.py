"""What went wrong at the model's side, as one line for people, without any response body."""

from __future__ import annotations

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelRateLimitError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelResponse, TextPart

from diagnosis.harness.strict_json import parse_strict_json


def describe_model_failure(error: Exception, model_name: str) -> str:
    """One line: what the model's server did, and where it helps, how to mend it."""
    if isinstance(error, ModelHTTPError):
        return f"The model {model_name} answered HTTP {error.status_code}{_advice(error)}."
    if isinstance(error, ModelTimeoutError):
        return f"The model {model_name} did not answer in time."
    if isinstance(error, ModelConnectionError):
        return f"The model {model_name} could not be reached; check its base URL and the network."
    if isinstance(error, ModelAPIError) and (status := _status_below_400(error)):
        return f"The model {model_name} answered HTTP {status}; check its base URL."
    # an empty list of choices is an IndexError inside PydanticAI
    if isinstance(error, (UnexpectedModelBehavior, ModelAPIError, LookupError)):
        return f"The answer of the model {model_name} could not be read."
    return f"The model {model_name} failed ({type(error).__name__})."


def describe_refusal(response: ModelResponse, model_name: str) -> str | None:
    """One line if the provider's content filter took the place of an answer; else None."""
    if response.finish_reason != "content_filter":
        return None
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    try:
        parse_strict_json(text)
    except ValueError:
        return f"The model {model_name} refused the content of this run."
    return None  # a whole JSON text is an answer, whatever reason is given for its end


def describe_cut(response: ModelResponse, model_name: str) -> str | None:
    """One line if the answer ended because it may have no more tokens; else None."""
    if response.finish_reason != "length":
        return None
    return (
        f"The model {model_name} ran out of output tokens in the middle of its answer; "
        "raise limits.max_output_tokens."
    )


def _status_below_400(error: ModelAPIError) -> int | None:
    """The status of an answer that is neither a result nor an error: a redirect, for one."""
    status = getattr(error.__cause__, "status_code", None)
    return status if isinstance(status, int) else None


def _advice(error: ModelHTTPError) -> str:
    if isinstance(error, ModelAuthenticationError):
        return "; check its API key"
    if isinstance(error, ModelNotFoundError):
        return "; check the model's name"
    if isinstance(error, ModelRateLimitError):
        return "; it takes no more requests for now"
    return ""
