"""Timing one action, or two in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from hemera import Context


def _seconds(action: Callable[[], object], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        action()
    return (time.perf_counter() - start) / repeats


def _repeats_for(action: Callable[[], object], least_seconds: float) -> int:
    """The number of calls of an action in one measurement of at least `least_seconds`."""
    action()
    once = _seconds(action, 1)
    return max(1, int(least_seconds / max(once, 1e-7)))


def alternate(
    a: Callable[[], object], b: Callable[[], object], seconds: float, rounds: int = 7
) -> tuple[float, float, float]:
    """The medians of the seconds of one call of a and of b, and the median of the ratio b / a.

    The two alternate, a round each, so a machine that changes its speed changes both. Each round has its
    ratio. The measurement takes about `seconds`, but never less than `rounds` rounds of one call each.
    """
    share = seconds / (2 * rounds)
    repeats_a, repeats_b = _repeats_for(a, share), _repeats_for(b, share)
    pairs = [(_seconds(a, repeats_a), _seconds(b, repeats_b)) for _ in range(rounds)]
    return (
        statistics.median(pair[0] for pair in pairs),
        statistics.median(pair[1] for pair in pairs),
        statistics.median(pair[1] / pair[0] for pair in pairs),
    )


def median_seconds(action: Callable[[], object], seconds: float, rounds: int = 7) -> float:
    """The median of the seconds of one call."""
    repeats = _repeats_for(action, seconds / rounds)
    return statistics.median(_seconds(action, repeats) for _ in range(rounds))


def median_seconds_in(context: Context, action: Callable[[], object], seconds: float) -> float:
    """The median of the seconds of one call, each until the context's device has done it."""

    def finished() -> None:
        action()
        context.synchronize()

    return median_seconds(finished, seconds, rounds=3)


def timed(context: Context, action: Callable[[], object], runs: int) -> dict[str, float]:
    """Medians of some runs: until the device has done the work, and until the call returned; and of the time
    of all processors of the host, which other work there changes less."""
    whole, host, processors = [], [], []
    for _ in range(runs + 1):
        context.synchronize()
        begin, before = time.perf_counter(), time.process_time()
        result = action()
        host.append(time.perf_counter() - begin)
        context.synchronize()
        whole.append(time.perf_counter() - begin)
        processors.append(time.process_time() - before)
        del result
    return {
        "milliseconds": round(1000 * statistics.median(whole[1:]), 3),
        "spread": round((max(whole[1:]) - min(whole[1:])) / statistics.median(whole[1:]), 3),
        "host_milliseconds": round(1000 * statistics.median(host[1:]), 3),
        "processor_milliseconds": round(1000 * statistics.median(processors[1:]), 3),
    }
