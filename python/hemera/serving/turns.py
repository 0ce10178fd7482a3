"""Shares of a device's time: whose turn it is, and how many evaluations one turn has."""

from __future__ import annotations

import math

_NEW = 0.25
"""The weight of a new time among those before."""


class Turns:
    """The order of clients by the time that devices spent on them: start-time fair queueing (Goyal, Vin and
    Cheng, SIGCOMM 1996). A client that comes goes before those that have had more since it was there, and
    saves up nothing while it is away."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}
        self._now = 0.0
        """The start of the last turn, in seconds of the devices' time."""

    def come(self, client: str) -> None:
        """A client that had nothing that waits has now."""
        self._spent[client] = max(self.spent(client), self._now)

    def spent(self, client: str) -> float:
        """Seconds by which clients are ordered: the least is next."""
        return self._spent.get(client, self._now)

    def begin(self, client: str) -> None:
        """It is a client's turn."""
        self._now = max(self._now, self.spent(client))

    def charge(self, client: str, seconds: float) -> None:
        """A device spent seconds on a client."""
        self._spent[client] = self.spent(client) + seconds


class Pace:
    """The time of batches of one model on one device, as one evaluation and each further one take it, by the
    batches that ran. Before the first one, one evaluation runs alone.

    Args:
        seconds: that a batch may take. It may take twice as long as one evaluation, too.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._first = 0.0
        """Seconds of one evaluation; 0: none has run."""
        self._each: float | None = None
        """Seconds of each further one; None: as many, until several have run."""

    @property
    def most(self) -> int | None:
        """Evaluations that a batch may have; None: any number."""
        each = self._first if self._each is None else self._each
        if math.isinf(self._seconds) or (self._first and not each):
            return None
        if not self._first:
            return 1
        # Where each takes as long as the first, two are exactly in time.
        room = max(self._seconds, 2 * self._first) - self._first
        return 1 + math.floor(room / each * (1 + 1e-9))

    def ran(self, count: int, seconds: float) -> None:
        """A batch of `count` evaluations took a time."""
        if not self._first or seconds < self._first / 2:
            # The first run of a model takes longer than later ones: it encodes numbers, and loads kernels.
            self._first, self._each = seconds / count, None
        elif count == 1:
            self._first += _NEW * (seconds - self._first)
        else:
            self._first = min(self._first, seconds)
            further = (seconds - self._first) / (count - 1)
            self._each = further if self._each is None else self._each + _NEW * (further - self._each)
        if self._each is not None:
            self._each = min(self._each, self._first)
