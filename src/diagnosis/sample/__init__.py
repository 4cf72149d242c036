"""The packaged sample incident: where its logs and runbooks are, and what is asked about it.

The data is invented; `README.md` beside this file describes it.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from importlib.resources import files
from pathlib import Path

_ROOT = Path(str(files(__name__)))

LOG_PATHS: tuple[Path, ...] = (
    _ROOT / "logs" / "checkout.log",
    _ROOT / "logs" / "inventory.log",
)
"""One log a service: JSON lines, and plain text."""

RUNBOOK_FOLDER: Path = _ROOT / "runbooks"
"""Four Markdown runbooks."""

REFERENCE_TIME = datetime(2026, 3, 12, 14, 45, tzinfo=timezone(timedelta(hours=1)))
"""When the question is asked: what "now" means in the sample."""

QUESTION = "Checkout orders fail since about 14:30, what is wrong?"
"""What the engineer on call asks."""
