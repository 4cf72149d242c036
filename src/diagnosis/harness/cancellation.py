"""Cancellation of one run: a thread-safe switch that is thrown once."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Cancellation:
    """May be cancelled from any thread, any number of times; stays cancelled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._callbacks: dict[object, Callable[[], None]] = {}

    @property
    def cancelled(self) -> bool:
        """Whether cancellation was requested."""
        with self._lock:
            return self._cancelled

    @property
    def has_listeners(self) -> bool:
        """Whether a run is under way that hears of it."""
        with self._lock:
            return bool(self._callbacks)

    def cancel(self) -> None:
        """Request cancellation; every registered callback is called once, in this thread."""
        with self._lock:
            if self._cancelled:
                return
            self._cancelled = True
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` when cancelled, at once if that has happened already.

        Returns:
            A function that takes the registration back.
        """
        key = object()
        with self._lock:
            if not self._cancelled:
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def _forget(self, key: object) -> None:
        with self._lock:
            self._callbacks.pop(key, None)
