"""Pools of several devices: rates of products, of NumPy to NumPy, of bootstraps and of packaged models by
members, copies, and circuits of one ciphertext that all members share."""

from __future__ import annotations

import argparse
import functools
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import hemera
from hemera import _core, _options
from hemera.circuits import Bootstrap, LinearTransform
from hemera.ckks import Parameters
from hemera.errors import DeviceError, NoiseError, ParameterError
from hemera.pool.circuits import PoolCircuit, each_of, predicted
from hemera.pool.cuts import NVLINK, PCIE, best_cut, bootstrap_steps, transform_step
from hemera.pool.evaluator import PoolEvaluator
from hemera.pool.pool import Pool
from hemera.serving import Package
from hemera.times import DeviceTimes
from hemera_apps.bench.report import Report, Row
from hemera_apps.networks import lola

_IN_MAP = 16
"""Products in one call of a function on members."""
_CALLS = 4
"""Batches that each member gets in one call from NumPy to NumPy."""
_DIAGONALS = 64
"""The diagonals of a transform that members share."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "--devices", default="cuda:*", help='"cuda:*" (default), "cpu:*", or names with commas: cpu,cpu'
    )
    _options.add_threads(parser)
    _options.add_only(parser, GROUPS)
    parser.add_argument(
        "--batches", type=_options.integers, default=[8, 1], help="elements on a member (default: 8,1)"
    )
    parser.add_argument(
        "--in-flight",
        type=_options.integers,
        default=[1, 2, 3],
        help="calls at the same time on a member, from NumPy to NumPy (default: 1,2,3)",
    )
    parser.add_argument("--model", metavar="FILE", help="a packaged model (default: LoLA, which is compiled)")
    parser.add_argument(
        "--shape", type=_options.integers, default=[1, 28, 28], help="of its input (default: 1,28,28)"
    )
    parser.add_argument("--preset", help="preset of the bootstraps (default n16-40; test-40 if small)")
    _options.add_seconds(parser, 2.0, "for each measurement")
    _options.add_small(parser, "small rings, in seconds")
    parser.add_argument(
        "--predict",
        metavar="DEVICE",
        help="measure nothing: print what the table of a device, like nvidia-h200, and the times of links "
        "predict for circuits on 1, 2, 4 and 8 of it",
    )
    _options.add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Measure, and write what is asked for."""
    report = Report(options)
    if min([*options.batches, *options.in_flight], default=0) < 1:
        raise ParameterError("--batches and --in-flight are numbers of at least 1")
    if options.predict is not None:
        for row in _predictions(options):
            report.add(row)
        if options.json is not None:
            _options.write_json(options.json, {"predicted": options.predict, "rows": report.rows})
        return 0
    devices = _devices(options)
    for name in options.only:
        alone: dict[tuple[Any, ...], float] = {}
        for row in GROUPS[name](options, devices):
            if "per_second" in row:
                key = tuple(row.get(field) for field in ("measurement", "batch", "in_flight"))
                alone.setdefault(key, row["per_second"])  # of one member, which comes first
                row["scaling"] = round(row["per_second"] / alone[key], 3)
            report.add(row)
    report.write({"devices": devices})
    return 0


def _devices(options: argparse.Namespace) -> list[str]:
    """The devices of all members. Members of "cpu:*" are bound, so that stands for itself."""
    if options.devices == "cpu:*":
        return ["cpu:*"]
    if options.devices == "cuda:*":
        return [name for name in hemera.devices() if name.startswith("cuda")] or ["cuda"]
    return [name.strip() for name in options.devices.split(",") if name.strip()]


def _choices(devices: Sequence[str]) -> list[str | list[str]]:
    """The devices of each pool: of one member, two, four, ... and all. Before members on NUMA nodes comes one
    on all processors."""
    if devices == ["cpu:*"]:
        return ["cpu", "cpu:*"]
    powers = [1 << power for power in range(len(devices).bit_length()) if 1 << power < len(devices)]
    return [list(devices[:count]) for count in (*powers, len(devices))]


def _params(options: argparse.Namespace) -> Parameters:
    """Log Q 1373 and log P 372 in 28 + 8 primes below 2^50, 4 digits, as `hemera_gpu_bench` has them."""
    if options.small:
        return Parameters.from_bits(
            degree=1024, prime_bits=[50, 40, 40], special_bits=[49], scale_bits=40, security=None
        )
    return Parameters.from_bits(
        degree=65536,
        prime_bits=[50, *[49] * 27],
        special_bits=[*[47] * 4, *[46] * 4],
        scale_bits=49,
        digits=4,
    )


def _pools(
    options: argparse.Namespace, devices: Sequence[str], params: Parameters, in_flight: int = 1
) -> Iterator[Pool]:
    """The pools of the choices, each closed before the next one."""
    for chosen in _choices(devices):
        with Pool(params, chosen, threads=options.threads, in_flight=in_flight) as pool:
            yield pool


def _rate(pool: Pool, action: Callable[[], object], count: int, seconds: float) -> dict[str, float]:
    """Elements a second, of `count` in each call: the median of five rounds, with their spread. A round ends
    when all devices have done their work."""

    def round_of(calls: int) -> float:
        begin = time.perf_counter()
        for _ in range(calls):
            action()
        pool.synchronize()
        return (time.perf_counter() - begin) / calls

    round_of(1)
    calls = max(1, int(seconds / 5 / round_of(2)))
    times = [round_of(calls) for _ in range(5)]
    middle = statistics.median(times)
    spread = (max(times) - min(times)) / middle
    return {"per_second": float(f"{count / middle:.5g}"), "spread": round(spread, 3)}


def _row(measurement: str, pool: Pool, **facts: Any) -> Row:
    return {"measurement": measurement, "members": len(pool), "devices": pool.device, **facts}


def _require_near(what: str, found: NDArray[Any], expected: NDArray[Any], tolerance: float) -> None:
    """NoiseError if results are wrong, so that no wrong work is timed."""
    error = float(np.max(np.abs(found - expected)))
    if not error < tolerance:
        raise NoiseError(f"{what}: results are wrong by {error}")


def _values(pool: Pool, rows: int) -> NDArray[Any]:
    """Values of all slots."""
    return np.random.default_rng(1).uniform(-1, 1, (rows, pool.params.max_slots))


def _products(options: argparse.Namespace, devices: Sequence[str]) -> Iterator[Row]:
    """Products of ciphertexts with relinearization and rescale: a call of the pool each, and many in one call
    of a function on its members."""
    for pool in _pools(options, devices, _params(options)):
        sk = pool.generate_secret_key()
        ev = pool.bind(pool.generate_keys(sk))
        for batch in options.batches:
            values = _values(pool, batch * len(pool))
            x = ev.encrypt(values)
            _require_near("product", pool.decrypt(x * x, sk), values * values, 2**-12)
            measured = _rate(pool, functools.partial(ev.multiply, x, x), len(x), options.seconds)
            yield _row("product", pool, batch=batch, **measured)

            def many(evaluator: hemera.Evaluator, part: hemera.Ciphertext) -> hemera.Ciphertext:
                for _ in range(_IN_MAP):
                    found = evaluator.multiply(part, part)
                return found

            measured = _rate(pool, functools.partial(ev.map, many, x), _IN_MAP * len(x), options.seconds)
            yield _row("product in map", pool, batch=batch, **measured)


def _numpy(options: argparse.Namespace, devices: Sequence[str]) -> Iterator[Row]:
    """Arrays are encrypted, multiplied with themselves, decrypted and put together again."""
    batch = max(options.batches)
    for in_flight in options.in_flight:
        for pool in _pools(options, devices, _params(options), in_flight):
            sk = pool.replicate(pool.generate_secret_key())
            ev = pool.bind(pool.generate_keys(sk))
            values = _values(pool, _CALLS * batch * len(pool))

            def there_and_back(evaluator: hemera.Evaluator, rows: NDArray[Any]) -> NDArray[Any]:
                x = evaluator.encrypt(rows)
                context = evaluator.context
                return context.decrypt(evaluator.multiply(x, x), sk.to(context))  # noqa: B023

            def action() -> NDArray[Any]:
                found: NDArray[Any] = ev.map(there_and_back, values, batch=batch)  # noqa: B023
                return found

            _require_near("NumPy to NumPy", action(), values * values, 2**-12)
            measured = _rate(pool, action, len(values), options.seconds)
            yield _row("NumPy to NumPy", pool, batch=batch, in_flight=in_flight, **measured)


def _bootstraps(options: argparse.Namespace, devices: Sequence[str]) -> Iterator[Row]:
    """One bootstrap on each member, as a captured graph."""
    preset, params, plan = _bootstrap(options)
    for pool in _pools(options, devices, params):
        sk = pool.generate_secret_key()
        ev = pool.bind(pool.generate_keys(sk, plan=plan), bootstrap=plan, magnitude=1.0)
        values = np.random.default_rng(1).uniform(-1, 1, (len(pool), plan.slots))
        x = ev.at_level(ev.encrypt(values), plan.input_level)
        _require_near("bootstrap", pool.decrypt(x.bootstrap(), sk), values, 2**-8)
        graph = ev.capture(lambda part: part.bootstrap(), x)
        measured = _rate(pool, functools.partial(graph, x), len(x), options.seconds)
        yield _row("bootstrap", pool, batch=1, preset=preset, slots=plan.slots, **measured)


def _models(options: argparse.Namespace, devices: Sequence[str]) -> Iterator[Row]:
    """A packaged model, whose matrices each member has: one request on each member, as a captured graph. All
    members have the same request, and their results are held to those of the first one."""
    package = Package.load(options.model) if options.model is not None else _lola(options)
    if not isinstance(package.params, Parameters):
        raise ParameterError("--model takes a model of CKKS")
    values = np.random.default_rng(1).uniform(-1, 1, options.shape)
    encoded = package.interface.encode(values)
    for pool in _pools(options, devices, package.params):
        sk = pool.generate_secret_key()
        ev = pool.bind(package.generate_keys(pool.contexts[0], sk))
        models = pool._team.run(
            [(i, functools.partial(package.prepare, context)) for i, context in enumerate(pool.contexts)]
        )

        def circuit(*parts: hemera.Ciphertext) -> tuple[hemera.Ciphertext, ...]:
            member = pool.contexts.index(parts[0].context)  # noqa: B023
            return tuple(models[member].run(ev.evaluators[member], parts))  # noqa: B023

        inputs = [
            pool.encrypt(pool.encode(np.stack([each] * len(pool)), level=spec.level), sk)
            for each, spec in zip(encoded, package.inputs, strict=True)
        ]
        graph = ev.capture(circuit, *inputs)
        for result in graph(*inputs):
            found = pool.decrypt(result, sk)
            _require_near("model", found, np.broadcast_to(found[:1], found.shape), 2**-8)
        measured = _rate(pool, functools.partial(graph, *inputs), len(pool), options.seconds)
        name = "LoLA" if options.model is None else Path(options.model).stem
        yield _row("model", pool, batch=1, model=name, **measured)


def _lola(options: argparse.Namespace) -> Package:
    """The network of LoLA, compiled."""
    images = np.random.default_rng(1).uniform(-1, 1, (8, 1, 28, 28))
    small = Parameters.from_bits(
        degree=8192, prime_bits=[50, *[40] * 8], special_bits=[50], scale_bits=40, security=None
    )
    params = small if options.small else None
    return hemera.compile(lola(), images[0], calibrate=images, precision_bits=11, params=params).package


def _copies(options: argparse.Namespace, devices: Sequence[str]) -> Iterator[Row]:
    """Copies from the first member to the second, row by row; and products on both while copies go on."""
    if len(devices) < 2 and devices != ["cpu:*"]:
        return
    chosen: str | Sequence[str] = "cpu:*" if devices == ["cpu:*"] else devices[:2]
    with Pool(_params(options), chosen, threads=options.threads) as pool:
        if len(pool) < 2:
            return
        sk = pool.generate_secret_key()
        keys = pool.generate_keys(sk, rotations=[1])
        ev = pool.bind(keys)
        source, target = pool.contexts[:2]
        for batch in options.batches:
            x = ev.encrypt(_values(pool, batch)).to(source)
            yield _copy_row(pool, "copy of a ciphertext", x, batch, x.memory_bytes, options.seconds)
        fresh = pool.load(bytes(keys))
        yield _copy_row(pool, "copy of keys", fresh, 1, fresh.memory_bytes, options.seconds)
        del fresh, target
        yield from _beside_copies(options, pool, ev)


def _copy_row(pool: Pool, name: str, x: Any, batch: int, size: int, seconds: float) -> Row:
    target = pool.contexts[1]

    def copy() -> None:
        pool._team.run_on(1, lambda: x.to(target))

    measured = _rate(pool, copy, 1, seconds)
    gigabytes = size * measured["per_second"] / 1e9
    return _row(name, pool, batch=batch, bytes=size, gigabytes_per_second=round(gigabytes, 2), **measured)


def _beside_copies(options: argparse.Namespace, pool: Pool, ev: PoolEvaluator) -> Iterator[Row]:
    """Products of both members, and of a captured graph on the source, without and with copies."""
    batch = max(options.batches)
    x = ev.encrypt(_values(pool, batch * len(pool)))
    copied: Any = x.parts[0]
    graph = ev.capture(lambda part: part * part, x)
    stop = threading.Event()
    copies = 0

    def copy_on() -> None:
        nonlocal copies
        while copies == 0 or not stop.is_set():
            copied.to(pool.contexts[1])
            copies += 1
            if copies % 16 == 0:  # so that no long queue of copies remains
                pool.contexts[1].synchronize()

    for name, action in (("product", lambda: ev.multiply(x, x)), ("graph of a product", lambda: graph(x))):
        alone = _rate(pool, action, len(x), options.seconds)
        yield _row(f"{name} without copies", pool, batch=batch, **alone)
        stop.clear()
        copies = 0
        thread = threading.Thread(target=copy_on)
        begin = time.perf_counter()
        thread.start()
        try:
            beside = _rate(pool, action, len(x), options.seconds)
        finally:
            stop.set()
            thread.join()
        rate = float(f"{copies / (time.perf_counter() - begin):.4g}")
        yield _row(f"{name} beside copies", pool, batch=batch, copies_per_second=rate, **beside)


def _transform(params: Parameters, members: int) -> LinearTransform:
    """The mean of slots next to each other."""
    return LinearTransform.from_diagonals(
        dict.fromkeys(range(_DIAGONALS), 1 / _DIAGONALS), params, slots=params.max_slots, members=members
    )


def _bootstrap(options: argparse.Namespace) -> tuple[str, Parameters, Bootstrap]:
    """The preset, its parameters and the plan."""
    preset = options.preset or ("test-40" if options.small else "n16-40")
    params = Parameters.for_bootstrapping(preset)
    return preset, params, Bootstrap(params, 16 if options.small else None)


def _circuits(options: argparse.Namespace, devices: Sequence[str]) -> Iterator[Row]:
    """One ciphertext on all members: sums and copies of it, a transform of 64 diagonals and a bootstrap, with
    the times that the device's table predicts."""
    params = _params(options)
    for pool in _pools(options, devices, params):
        plan = _transform(params, len(pool))
        sk = pool.generate_secret_key()
        ev = pool.bind(pool.generate_keys(sk, plan=plan))
        values = _values(pool, 1)[0]
        x = ev.encrypt(values)
        if len(pool) > 1:
            yield from _exchanges(options, pool, x)
        expected = np.mean([np.roll(values, -step) for step in range(_DIAGONALS)], axis=0)
        yield _shared_row(options, pool, "transform", pool.circuit(plan, members=len(pool)), x, sk, expected)
    _, own, boot = _bootstrap(options)
    for pool in _pools(options, devices, own):
        sk = pool.generate_secret_key()
        ev = pool.bind(pool.generate_keys(sk, plan=boot))
        values = np.random.default_rng(1).uniform(-1, 1, boot.slots)
        fresh = ev.at_level(ev.encrypt(values, largest=1.0), boot.input_level)
        circuit = pool.circuit(boot, members=len(pool))
        yield _shared_row(options, pool, "bootstrap", circuit, fresh, sk, values)


def _exchanges(options: argparse.Namespace, pool: Pool, x: hemera.Ciphertext) -> Iterator[Row]:
    """A sum over all members, and a copy on each of them."""
    parts = [x.to(context).copy() for context in pool.contexts]  # which change
    natives = [part._native for part in parts]
    contexts = [context._native for context in pool.contexts]
    each = each_of(pool._team)
    actions: dict[str, Callable[[], object]] = {
        "all-reduce": lambda: _core.all_reduce(natives, each),
        "broadcast": lambda: _core.broadcast(contexts, natives[0], each),
    }
    for name, action in actions.items():
        measured = _rate(pool, action, 1, options.seconds)
        yield _row(name, pool, batch=1, bytes=x.memory_bytes, **measured)


def _shared_row(
    options: argparse.Namespace,
    pool: Pool,
    name: str,
    circuit: PoolCircuit,
    x: hemera.Ciphertext,
    sk: hemera.SecretKey,
    expected: NDArray[Any],
) -> Row:
    """One ciphertext at a time, after a check of the result, which has the bits of one member's."""
    y, planned = (cast(hemera.Ciphertext, each(x)) for each in (circuit, circuit.plan))
    _require_near(name, pool.decrypt(y, sk), expected, 2**-8)
    if bytes(y) != bytes(planned):
        raise NoiseError(f"{name}: members that share it give other bits than one")
    facts: Row = {"computing": circuit.members}
    try:
        cut = predicted(pool.contexts, circuit.plan)
    except DeviceError:  # no table of the device's times
        pass
    else:
        facts |= {"predicted_seconds": float(f"{cut.seconds:.4g}"), "cut": list(cut.members)}
    measured = _rate(pool, functools.partial(circuit, x), 1, options.seconds)
    return _row(f"{name} of one ciphertext", pool, batch=1, **facts, **measured)


def _predictions(options: argparse.Namespace) -> Iterator[Row]:
    """The fastest cuts by the table of a device, for several links; without any device."""
    times = DeviceTimes.find(options.predict)
    params = _params(options)
    _, _, boot = _bootstrap(options)
    for members in (1, 2, 4, 8):
        steps = {
            "transform": [transform_step(_transform(params, members), times, members)],
            "bootstrap": bootstrap_steps(boot, times, members),
        }
        for name, links in (("NVLink", NVLINK), ("PCIe", PCIE)):
            for circuit, own in steps.items():
                cut = best_cut(own, links, members)
                yield {
                    "circuit": circuit,
                    "members": members,
                    "links": name,
                    "cut": list(cut.members),
                    "predicted_seconds": float(f"{cut.seconds:.4g}"),
                }


GROUPS: dict[str, Callable[[argparse.Namespace, Sequence[str]], Iterator[Row]]] = {
    "products": _products,
    "numpy": _numpy,
    "bootstraps": _bootstraps,
    "models": _models,
    "copies": _copies,
    "circuits": _circuits,
}
