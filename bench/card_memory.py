"""Programs within the memory of smaller cards: python bench/card_memory.py RESULTS.json [DEVICE [PRESET]].

Each runs within 8, 12, 16 and 24 GiB, less one for the driver and a display. Results are checked.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

import hemera as hm
from results_file import write_results

T = TypeVar("T")
GIB, CARDS, REPEATS = 2**30, (8, 12, 16, 24), 5
BOOTSTRAPS: tuple[tuple[str, int | None, dict[str, int]], ...] = (
    ("n16-40", None, {}),
    ("n16-40", None, {"key_memory_limit": 1_500_000_000}),
    ("n16-40", 32768, {}),
    ("n16-40", 64, {}),
    ("n16-40-light", None, {}),
    ("n15-40", 64, {}),
)
INTEGERS = (("n16-exact", 2048), ("n16-exact-few", 4))


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """The least milliseconds of some runs, and a result."""
    seconds = []
    for _ in range(REPEATS + 1):  # the first prepares
        begin = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - begin)
    return round(1e3 * min(seconds[1:]), 2), result


def bootstrap(limit: int, device: str, params: Any, plan: hm.circuits.Bootstrap) -> dict[str, Any]:
    """Milliseconds of a bootstrap, and GiB in use after it."""
    ctx = hm.Context(params, device, memory_limit=limit)
    plan.require_memory(ctx)
    secret = ctx.generate_secret_key()
    evaluator = ctx.bind(ctx.generate_keys(secret, plan=plan), bootstrap=plan)
    values = np.random.default_rng(1).uniform(-1, 1, plan.slots)
    x = evaluator.at_level(evaluator.encrypt(values), plan.input_level)
    ms, (y, _) = timed(lambda: (plan(x), ctx.synchronize()))
    if np.abs(np.real(ctx.decrypt(y, secret)[: plan.slots]) - values).max() > 1e-4:
        raise ValueError("a bootstrap's error is above 0.0001")
    return {"ms": ms, "gib": round(ctx.memory_used / GIB, 2)}


def sums(limit: int, device: str, preset: str, values: int) -> dict[str, Any]:
    """Milliseconds of a sum of uint64 and its decryption, with keys that are made within the limit."""
    ints = hm.integers.Context(64, preset=preset, values=values, device=device, memory_limit=limit)
    a, b = np.random.default_rng(1).integers(0, 2**64, (2, values), np.uint64)
    x, y = ints.encrypt(a), ints.encrypt(b)
    ms, z = timed(lambda: ints.decrypt(x + y))
    if not np.array_equal(z, a + b):
        raise ValueError(f"{preset}: a sum is wrong")
    return {"ms": ms}


def rows(device: str, preset: str | None) -> Any:
    """A row for each program and card, up to the first card that has room."""
    for name, real_slots, limits in BOOTSTRAPS if preset is None else ((preset, None, {}),):
        params = hm.ckks.Parameters.for_bootstrapping(name, real_slots=real_slots)
        slots = real_slots or params.max_slots
        plan = hm.circuits.Bootstrap(params, slots=slots, real=real_slots is not None, **limits)
        program = {"program": "bootstrap", "preset": name, "real_slots": real_slots, **limits}
        yield from tried(program, bootstrap, device, params, plan)
    for name, values in INTEGERS if preset is None else ():
        yield from tried(
            {"program": "uint64 sums", "preset": name, "values": values}, sums, device, name, values
        )


def tried(program: dict[str, Any], work: Any, device: str, *given: Any) -> Any:
    for card in CARDS:
        try:
            yield {**program, "card_gib": card, **work((card - 1) * GIB, device, *given)}
            return
        except hm.errors.OutOfMemoryError as error:
            yield {**program, "card_gib": card, "refused": str(error)}


if __name__ == "__main__":
    path, device, preset = (*sys.argv[1:], *("cuda", None)[len(sys.argv) - 2 :])
    write_results(path, device, list(rows(device, preset)))
