"""How often and how much each client may send: token buckets."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from hemera.serving.reasons import RATE


class _Bucket:
    """Fills at a rate up to a capacity. What is taken may leave it below zero, and is waited for later: so a
    body larger than the capacity, or of untold size, is taken too, and no more comes than the rate allows."""

    def __init__(self, rate: float, capacity: float, now: float) -> None:
        self._rate, self._capacity = rate, capacity
        self._level, self._at = capacity, now

    def wait(self, least: float, now: float) -> float:
        """Seconds until it holds as much."""
        self._level = min(self._capacity, self._level + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, (least - self._level) / self._rate)

    def take(self, count: float) -> None:
        self._level -= count


class Rates:
    """The requests and bytes that each client may send in a second, on average, in one event loop.

    Args:
        requests: a second; infinite: as many as come.
        bytes_per_second: of bodies; infinite: as many as come.
        burst_seconds: seconds for which a client that has sent nothing may save up what it does not use.
        refused: called with "requests" or "bytes" when a client is refused.
        clock: seconds that only go forward.
    """

    def __init__(
        self,
        requests: float,
        bytes_per_second: float,
        burst_seconds: float,
        *,
        refused: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rates = {"requests": requests, "bytes": bytes_per_second}
        self._burst = burst_seconds
        self._refused = refused
        self._clock = clock
        self._buckets: dict[tuple[str, str], _Bucket] = {}

    def request(self, client: str) -> None:
        """Count a request. Refused (429) when the client has sent as many as it may."""
        if (bucket := self._require(client, "requests", 1.0)) is not None:
            bucket.take(1.0)

    def body(self, client: str, told: int) -> Callable[[int], None]:
        """Begin a body of a declared size, or 0: the function counts the bytes that come, of which those
        beyond the size count anew. Refused (429) while what came before is more than the client may send."""
        bucket = self._require(client, "bytes", 0.0)
        if bucket is None:
            return lambda _: None
        bucket.take(told)
        left = told

        def came(count: int) -> None:
            nonlocal left
            left -= count
            if left < 0:
                bucket.take(-left)
                left = 0

        return came

    def _require(self, client: str, what: str, least: float) -> _Bucket | None:
        rate = self._rates[what]
        if math.isinf(rate):
            return None
        now = self._clock()
        bucket = self._buckets.get((client, what))
        if bucket is None:
            # One request may come however low the rate is.
            bucket = self._buckets[client, what] = _Bucket(rate, max(1.0, rate * self._burst), now)
        wait = bucket.wait(least, now)
        if wait > 0:
            self._refused(what)
            raise RATE.refused(after=math.ceil(wait), rate=rate, what=what, wait=wait)
        return bucket
