"""Measuring a device: circuits run twice, first with a wait after each operation, then without."""

from __future__ import annotations

import functools
import itertools
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

LEVELS = {4096: 1, 8192: 2, 16384: 7, 32768: 16, 65536: 32}
"""About the largest depth at 128 bits of security, by degree; N = 4096 has fewer bits."""
ROUNDS = 3
REPEATS = 3
SECONDS = 0.05
"""Each circuit runs for so long, at least: short ones take turns with what else the machine does."""
SLOTS = 1024
SMALL_DEGREE = 8192
BLOCKS = 64
"""The blocks of the secret of a bootstrap by roots of unity: a block has a slot of each of its values, at
least."""

Circuit = Callable[[Ciphertext, Ciphertext], Any]
_Kind = tuple[str, int, int, float]
"""A row without its seconds."""


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
    """Measure the times of a device's operations, from N = 2^12 to 2^16, in up to three rounds: the least
    times count, since others may use the machine for a while.

    Args:
        device: "auto": the best that there is.
        threads: the number of threads of the CPU.
        seconds: about the time that the measurement may take. Each round begins with the smallest degrees;
            those for which the time does not suffice are left out.
        report: gets a line before each step.

    Raises:
        DeviceError: if there is no such device.
    """
    chosen = devices()[0] if device == "auto" else device
    began = time.monotonic()
    measured: list[_Measurement] = []
    expected = 0.0
    for params in _parameters():
        if time.monotonic() - began + expected > seconds and measured:
            report(f"left out: {params.scheme} at N = {params.degree}, for want of time")
            continue
        report(f"measuring {params.scheme} at N = {params.degree}")
        measured.append(_Measurement(params, chosen, threads))
        measured[-1].run()
        expected = 3 * measured[-1].took  # of twice the degree
    for repeat in range(2, ROUNDS + 1):
        for measurement in measured:
            if time.monotonic() - began + measurement.took > seconds:
                continue
            params = measurement.params
            report(f"measuring {params.scheme} at N = {params.degree}, round {repeat}")
            measurement.run()
    rows = [row for measurement in measured for row in measurement.rows()]
    waiting = 0.0
    if chosen != "cpu":
        # From short calls, of which waiting is a large part.
        small = [each for each in measured if each.params.degree <= SMALL_DEGREE] or measured[:1]
        costs = [cost for measurement in small for cost in measurement.costs]
        waiting = _core.waiting_of(rows, costs, sum(sum(measurement.captured) for measurement in small))
    return DeviceTimes(
        device=measured[0].device_name,
        rows=rows,
        waiting=waiting,
        least=_core.least_of(rows, waiting, measured[0].costs, sum(measured[0].eager)),
        made={**_machine.describe(threads), "date": datetime.now(timezone.utc).date().isoformat()},
    )


class _Measurement:
    """The least times of one set of parameters: of its operations, and of circuits of them.

    Attributes:
        took: the seconds of the last run.
        costs: what each circuit counts.
        eager: the seconds of each circuit, called operation by operation.
        captured: the seconds of each circuit as a graph, on a GPU.
    """

    def __init__(self, params: Parameters, device: str, threads: int | None) -> None:
        self.params = params
        self.took = 0.0
        self.device_name = ""
        self._device, self._threads = device, threads
        self._circuits, self._others = list(_circuits(params)), list(_with_numbers(params))
        self.costs = [cost(circuit, SLOTS, SLOTS, params=params)._counted()[1] for circuit in self._circuits]
        self.eager = [float("inf")] * len(self.costs)
        self.captured = [] if device == "cpu" else [float("inf")] * len(self.costs)
        self._times: dict[int, dict[_Kind, float]] = {}  # of each circuit

    def run(self) -> None:
        """Measure once; the least times of all runs are kept."""
        began = time.monotonic()
        own, params = [_prepared, *self._circuits, *self._others], self.params
        needs = cost(lambda x, y: [circuit(x, y) for circuit in own[1:]], SLOTS, SLOTS, params=params)
        timed = TimedContext(params, self._device, threads=self._threads)
        x, y = _encrypted(timed, needs)
        _core.unit_times(timed._native, least=False)  # of work that is done once
        for place, circuit in enumerate(own):
            for _ in _runs(timed, functools.partial(circuit, x, y)):
                self._keep(place, timed)
        del timed, x, y
        plain = Context(params, self._device, threads=self._threads)
        self.device_name = device_name(plain.description)
        x, y = _encrypted(plain, needs)
        for place, circuit in enumerate(self._circuits):
            took = min(_runs(plain, functools.partial(circuit, x, y)))
            self.eager[place] = min(self.eager[place], took)
            if self._device == "cpu":
                continue
            graph = x.evaluator.capture(circuit, x, y)
            took = min(_runs(plain, functools.partial(graph, x, y)))
            self.captured[place] = min(self.captured[place], took)
        self.took = time.monotonic() - began

    def _keep(self, place: int, context: TimedContext) -> None:
        """Keep a circuit's times, if they are the least so far. On a CPU the mean of alike calls: the first
        ones find less in its caches. On a GPU the least: delays of the host are not its own."""
        times = self._times.setdefault(place, {})
        for operation, degree, bits, work, seconds in _core.unit_times(
            context._native, least=self._device != "cpu"
        ):
            kind = operation, degree, bits, work
            times[kind] = min(times.get(kind, float("inf")), seconds)

    def rows(self) -> list[Row]:
        """The times of operations, the mean of the circuits that have them; time between calls, if there
        is any, is shared out among them."""

        kinds: dict[_Kind, list[float]] = {}
        for times in self._times.values():
            for kind, seconds in times.items():
                kinds.setdefault(kind, []).append(seconds)
        rows = [(*kind, sum(seconds) / len(seconds)) for kind, seconds in kinds.items()]
        estimated = sum(map(_core.UnitTimes(rows, 0).seconds, self.costs))
        between = max(1.0, sum(self.eager) / estimated)
        return [(*row[:4], row[4] * between) for row in rows]


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
            return [a * b, a + b, a - b, a.rotate(1), (a * b) * 2 if level > 1 else -a]

        yield operations
        yield _of_many(level, 10 if params.degree <= 16384 else 4)
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
    # As many rows and columns as layers have, where memory has room for as many ciphertexts.
    matrices = [(16, 8), (64, 32)] + ([(256, 128)] if params.degree <= 8192 else [])
    for rows, columns in matrices:
        weights = np.random.default_rng(rows).uniform(-1, 1, (rows, columns))
        yield _of_rows(circuits.PlainMatrixProduct(weights, params, bits=8, level=top))
    for degree in (7, 15, 63):
        if degree.bit_length() <= top:
            polynomial = circuits.Polynomial(np.linspace(0.1, 0.2, degree + 1))
            yield _of_the_first(functools.partial(Ciphertext.polyval, coefficients=polynomial))


def _of_rows(product: circuits.PlainMatrixProduct) -> Circuit:
    """A plain matrix times as many rows as it has columns."""

    def circuit(x: Ciphertext, _: Ciphertext) -> list[Ciphertext]:
        return [product(stack([x.at_level(product.level)] * product.shape[1]))]

    return circuit


def _of_many(level: int, count: int) -> Circuit:
    """Operations of several ciphertexts by several keys, as in programs: caches do not hold them all."""

    def circuit(x: Ciphertext, y: Ciphertext) -> list[Ciphertext]:
        a, b = x.at_level(level), y.at_level(level)
        rotated = [a.rotate(2**i) if i % 2 == 0 else b.rotate(2**i) for i in range(count)]
        sums = [first + second for first, second in itertools.pairwise(rotated)]
        products = [first * second for first, second in zip(rotated[:2], sums, strict=False)]
        return [*sums, *products]

    return circuit


def _batched(count: int, level: int) -> Circuit:
    """The operations on batches, and on several ciphertexts at once."""

    def circuit(x: Ciphertext, y: Ciphertext) -> list[Ciphertext]:
        a, b = (stack([each.at_level(level)] * count) for each in (x, y))
        return [a * b, a + b, a.rotate(1), x.evaluator.dot([a, b, a, b], [b, a, a, b])]

    return circuit


def _with_numbers(params: Parameters) -> Iterator[Circuit]:
    """Operations with plain numbers, which each call encodes."""
    numbers = np.linspace(-1, 1, SLOTS) if params.scheme == "ckks" else np.arange(SLOTS)
    # About what programs use: more than caches of one core hold.
    sets = max(1, 3 * 2**15 // params.degree)
    for level in _levels(params):

        def operations(x: Ciphertext, _: Ciphertext, level: int = level) -> list[Ciphertext]:
            a = x.at_level(level)
            others = [a + i for i in range(1, 9)]
            encode = functools.partial(x.context.encode, level=level)
            plains = [[encode(np.roll(numbers, 8 * i + j)) for j in range(8)] for i in range(sets)]
            dots = [x.evaluator.dot(others, each) for each in plains]
            pairs = [x.evaluator.dot(others[:2], each[:2]) for each in plains]
            return [a * numbers, a + numbers, *dots, *pairs]

        yield operations
    if params.scheme == "ckks":
        # As many values as a bootstrap by roots of unity may have there, and fewer.
        most = params.max_slots // BLOCKS
        for values in (most, most // 4, most // 16):
            yield _of_exponentials(values)


def _of_exponentials(values: int) -> Circuit:
    """The part of a bootstrap by roots of unity that nothing else has, without its keys."""

    def circuit(x: Ciphertext, _: Ciphertext) -> None:
        _core.run_exponentials(x.context._native, values)

    return circuit


def _levels(params: Parameters) -> list[int]:
    top = params.levels - 1
    return sorted({max(level, 1) for level in (top, (3 * top + 1) // 4, (top + 1) // 2, 1)}, reverse=True)


def _of_the_first(function: Callable[[Ciphertext], Ciphertext]) -> Circuit:
    def circuit(x: Ciphertext, _: Ciphertext) -> Ciphertext:
        return function(x)

    return circuit


def _encrypted(context: Context, needs: Any) -> list[Ciphertext]:
    """Two ciphertexts, of a user who has made the keys."""
    context.generate_secret_key()  # what makes the tables of the ring
    secret = context.generate_secret_key()
    evaluator = context.bind(context.generate_keys(secret, plan=needs))
    values = np.full(SLOTS, 0.5) if context.params.scheme == "ckks" else np.ones(SLOTS, dtype=np.int64)
    return [evaluator.encrypt(values), evaluator.encrypt(values)]


def _prepared(x: Ciphertext, _: Ciphertext) -> Any:
    """The steps of the owner of the data."""
    values = np.ones(SLOTS, dtype=np.int64)
    return x.context.generate_secret_key(), x.evaluator.encrypt(values)


def _runs(context: Context, run: Callable[[], Any]) -> Iterator[float]:
    """The seconds of each of some runs."""
    run()
    total, runs = 0.0, 0
    while runs < REPEATS or total < SECONDS:
        context.synchronize()
        began = time.perf_counter()
        run()
        context.synchronize()
        took = time.perf_counter() - began
        total, runs = total + took, runs + 1
        yield took
