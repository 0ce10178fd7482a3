"""Waiting for other parties."""

from __future__ import annotations

import time
from collections.abc import Callable

from hemera.errors import Error

SHORTEST, LONGEST = 0.01, 1.0
"""Seconds between two looks at the folder."""


class WaitingError(Error, TimeoutError):
    """Other parties have not done yet what a call waits for. It may be called again."""


def wait_for(is_done: Callable[[], bool], seconds: float, missing: Callable[[], str]) -> None:
    """Ask until it is done; at least once. WaitingError with what is missing."""
    end, pause = time.monotonic() + seconds, SHORTEST
    while not is_done():
        left = end - time.monotonic()
        if left <= 0:
            raise WaitingError(f"after {seconds:g} seconds {missing()}; call it again to go on waiting")
        time.sleep(min(pause, left))
        pause = min(2 * pause, LONGEST)


class Patience:
    """How long somebody has waited for each of several things, by this process's clock."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._since: dict[object, float] = {}

    def is_over(self, what: object) -> bool:
        """Whether it was first asked about so many seconds ago."""
        now = time.monotonic()
        return now - self._since.setdefault(what, now) >= self.seconds
