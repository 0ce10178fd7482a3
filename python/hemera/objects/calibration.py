"""Measuring a device: circuits run twice, first with a wait after each operation, then without."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

import numpy as np

from hemera import _core, _machine, bfv, bgv, circuits, ckks
from hemera.objects.batches import stack
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.cost import cost
from hemera.objects.devices import devices
from hemera.parameters import Parameters
from hemera.times.table import DeviceTimes, Row, device_name

__all__ = ["calibrate"]

LEVELS = {4096: 1, 8192: 2, 16384: 7, 32768: 16, 65536: 32}
"""By degree: about the largest depth at 128 bits of security, which N = 4096 has not."""
REPEATS = 3
SECONDS = 0.05
"""Each circuit runs for so long, at least: short ones take turns with what else the machine does."""
SLOTS = 1024

Circuit = Callable[[Ciphertext, Ciphertext], Any]


class TimedContext(Context):
    """A context that waits for each operation, and notes its time."""

    _times_operations = True


def calibrate(
    device: str = "auto",
    *,
    threads: int | None = None,
    seconds: float = 120,
    report: Callable[[str], object] = str,
) -> DeviceTimes:
    """Measure the times of a device's operations, from N = 2^12 to 2^16.

    Args:
        device: "auto": the best that there is.
        threads: the number of threads of the CPU.
        seconds: about the time that the measurement may take. The largest degrees come last, and are left
            out if the time does not suffice.
        report: gets a line before each step.

    Raises:
        DeviceError: if there is no such device.
    """
    chosen = devices()[0] if device == "auto" else device
    began = time.monotonic()
    rows: list[Row] = []
    costs: list[_core.Cost] = []
    captured_costs: list[_core.Cost] = []
    eager = captured = last = 0.0
    smallest: tuple[list[_core.Cost], float] | None = None
    name = ""
    for params in _parameters():
        before = time.monotonic()
        # Twice the degree takes about thrice as long.
        if rows and before - began + 3 * last > seconds:
            report(f"left out: {params.scheme} at N = {params.degree}, for want of time")
            continue
        report(f"measuring {params.scheme} at N = {params.degree}")
        captures, others = list(_circuits(params)), list(_with_numbers(params))
        own = captures + others
        needs = cost(lambda x, y, own=own: [circuit(x, y) for circuit in own], SLOTS, SLOTS, params=params)
        timed = TimedContext(params, chosen, threads=threads)
        _seconds(timed, needs, [], own)
        rows += _core.unit_times(timed._native)
        plain = Context(params, chosen, threads=threads)
        name = device_name(plain.description)
        own_eager, own_captured = _seconds(plain, needs, captures if chosen != "cpu" else [], own)
        eager += own_eager
        captured += own_captured
        counted = [cost(circuit, SLOTS, SLOTS, params=params)._counted()[1] for circuit in own]
        smallest = smallest or (counted, own_eager)
        costs += counted
        captured_costs += counted[: len(captures)]
        last = time.monotonic() - before
    # Time between calls, if there is any, is shared out among the operations.
    between = max(1.0, eager / sum(map(_core.UnitTimes(rows, 0).seconds, costs)))
    rows = [(operation, degree, bits, work, took * between) for operation, degree, bits, work, took in rows]
    waiting = _core.waiting_of(rows, costs, eager)
    assert smallest is not None
    return DeviceTimes(
        device=name,
        rows=rows,
        waiting=waiting,
        least=_core.least_of(rows, waiting, *smallest),
        graph_waiting=_core.waiting_of(rows, captured_costs, captured) if chosen != "cpu" else None,
        made={**_machine.describe(threads), "date": datetime.now(timezone.utc).date().isoformat()},
    )


def _parameters() -> Iterator[Parameters]:
    for degree, depth in LEVELS.items():
        security = None if degree == 4096 else 128
        yield ckks.Parameters.for_circuit(depth, slots=SLOTS, degree=degree, security=security)
        if 4096 < degree < 65536:
            for scheme in (bfv, bgv):
                yield scheme.Parameters.for_circuit(min(depth, 6), slots=SLOTS, degree=degree, plain_bits=20)


def _circuits(params: Parameters) -> Iterator[Circuit]:
    """Operations at the highest level and below, and circuits of them, all of which graphs can capture."""
    top = params.levels - 1
    for level in _levels(params):

        def operations(x: Ciphertext, y: Ciphertext, level: int = level) -> list[Ciphertext]:
            a, b = x.at_level(level), y.at_level(level)
            return [
                a * b,
                a + b,
                a - b,
                a.rotate(1),
                (a * b) * 2 if level > 1 else -a,
            ]

        yield operations
    yield _batched(min(16, 2**18 // params.degree), max(1, top // 2))
    if params.scheme != "ckks":
        return
    # Groups of rotations and products with plaintexts, and of products.
    sizes = [(16, top), (64, top), (64, (top + 1) // 2), (16, top // 8)]
    if params.degree <= 16384:  # larger ones take too much memory
        sizes.append((256, top))
    for size, level in sizes:
        if level < 1:
            continue
        matrix = np.random.default_rng(size).uniform(-1, 1, (size, size))
        transform = circuits.LinearTransform(matrix, params, slots=SLOTS, level=level)
        yield _of_the_first(transform)
    for degree in (7, 15, 63):
        if degree.bit_length() <= top:
            polynomial = circuits.Polynomial(np.linspace(0.1, 0.2, degree + 1))
            yield _of_the_first(functools.partial(Ciphertext.polyval, coefficients=polynomial))


def _batched(count: int, level: int) -> Circuit:
    """The operations on batches, and on several ciphertexts at once."""

    def circuit(x: Ciphertext, y: Ciphertext) -> list[Ciphertext]:
        a, b = (stack([each.at_level(level)] * count) for each in (x, y))
        return [a * b, a + b, a.rotate(1), x.evaluator.dot([a] * 4, [b] * 4)]

    return circuit


def _with_numbers(params: Parameters) -> Iterator[Circuit]:
    """Operations with plain numbers, which each call encodes."""
    numbers = np.linspace(-1, 1, SLOTS) if params.scheme == "ckks" else np.arange(SLOTS)
    for level in _levels(params):

        def operations(x: Ciphertext, _: Ciphertext, level: int = level) -> list[Ciphertext]:
            a = x.at_level(level)
            return [a * numbers, a + numbers, x.evaluator.dot([a] * 8, [numbers] * 8)]

        yield operations


def _levels(params: Parameters) -> list[int]:
    top = params.levels - 1
    return sorted({max(level, 1) for level in (top, (3 * top + 1) // 4, (top + 1) // 2, 1)}, reverse=True)


def _of_the_first(function: Callable[[Ciphertext], Ciphertext]) -> Circuit:
    def circuit(x: Ciphertext, _: Ciphertext) -> Ciphertext:
        return function(x)

    return circuit


def _seconds(
    context: Context, needs: Any, captures: list[Circuit], own: list[Circuit]
) -> tuple[float, float]:
    """Two sums of the least seconds of each circuit: of all, called one by one, and of `captures` as
    graphs."""
    context.generate_secret_key()  # what makes the tables of the ring
    secret = context.generate_secret_key()
    evaluator = context.bind(context.generate_keys(secret, plan=needs))
    values = np.full(SLOTS, 0.5) if context.params.scheme == "ckks" else np.ones(SLOTS, dtype=np.int64)
    x, y = evaluator.encrypt(values), evaluator.encrypt(values)
    eager = captured = 0.0
    for circuit in own:
        eager += _least(context, functools.partial(circuit, x, y))
    for circuit in captures:
        captured += _least(context, functools.partial(evaluator.capture(circuit, x, y), x, y))
    return eager, captured


def _least(context: Context, run: Callable[[], Any]) -> float:
    run()
    least, total, runs = float("inf"), 0.0, 0
    while runs < REPEATS or total < SECONDS:
        context.synchronize()
        began = time.perf_counter()
        run()
        context.synchronize()
        took = time.perf_counter() - began
        least, total, runs = min(least, took), total + took, runs + 1
    return least
