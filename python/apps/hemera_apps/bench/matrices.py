"""Products with matrices and search: clear matrices, encrypted pairs, indexes; every result is checked."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import hemera as hm
from hemera import _machine, _options
from hemera.errors import NoiseError
from hemera_apps.bench.timing import timed

Row = dict[str, Any]
_DEVIATIONS = 10
"""Results must be within this multiple of the mean expected error."""

_PAYLOADS = 512
"""Different payloads of rows that are compared with thresholds."""
_COUNT_ERROR = 0.25

_LEAST_PAIRS = 32
"""Matrices of a batch: a smaller ring holds none of that size."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    _options.add_only(parser, GROUPS)
    parser.add_argument(
        "--layers",
        nargs="+",
        type=_shape,
        default=[(768, 768, 4096), (4096, 4096, 4096)],
        metavar="OUTxINxINPUTS",
        help="clear matrices and the inputs that are encrypted (default: 768x768x4096 4096x4096x4096)",
    )
    parser.add_argument(
        "--packed",
        nargs="+",
        type=_shape,
        default=[(768, 768, 128), (2304, 768, 128), (3072, 768, 128), (768, 3072, 128)],
        metavar="OUTxINxVECTORS",
        help="clear matrices and the vectors of one encrypted input, packed (default: the linear layers of a "
        "block of BERT-base for 128 tokens, 768x768x128 2304x768x128 3072x768x128 768x3072x128)",
    )
    parser.add_argument(
        "--pairs",
        nargs="+",
        type=_shape,
        default=[(256, 16), (32, 128), (16, 256)],
        metavar="PAIRSxSIZE",
        help="encrypted pairs of matrices (default: 256x16 32x128 16x256)",
    )
    parser.add_argument(
        "--databases",
        nargs="+",
        type=_shape,
        default=[(50_000, 128), (1_000_000, 256), (1 << 20, 768)],
        metavar="ROWSxDIMS",
        help="databases to search (default: 50000x128 1000000x256 1048576x768)",
    )
    parser.add_argument(
        "--thresholds",
        nargs="+",
        type=_shape,
        default=[(1000, 128), (50_000, 128), (1_000_000, 128)],
        metavar="ROWSxDIMS",
        help="databases compared with thresholds (default: 1000x128 50000x128 1000000x128)",
    )
    parser.add_argument(
        "--ranked",
        nargs="+",
        type=_shape,
        default=[(128, 128), (512, 128)],
        metavar="ROWSxDIMS",
        help="databases whose pairs of rows are compared (default: 128x128 512x128)",
    )
    _options.add_runs(parser, 9)
    _options.add_machine(parser)
    _options.add_json(parser)


def _shape(text: str) -> tuple[int, ...]:
    return tuple(_options.positive(size) for size in text.split("x"))


def run(options: argparse.Namespace) -> int:
    """Measure, and write what is asked for."""
    console = Console(stderr=options.json == "-")
    rows: list[Row] = []
    for name in options.only:
        for row in GROUPS[name](options):
            console.print(", ".join(f"{field} {value}" for field, value in row.items()), highlight=False)
            rows.append(row)
    if options.json is not None:
        machine = _machine.describe(options.threads)
        _options.write_json(options.json, {"machine": machine, "device": options.device, "rows": rows})
    return 0


def _require_close(what: str, found: NDArray[Any], expected: NDArray[Any], error: float) -> float:
    """The largest error in bits; NoiseError beyond `error`, so that no wrong work is timed."""
    largest = float(np.abs(found - expected).max())
    if not largest <= error:
        raise NoiseError(f"{what}: a value is wrong by {largest:.2e}, expected at most {error:.2e}")
    return round(-math.log2(max(largest, 2.0**-60)), 1)


def _layer_rows(options: argparse.Namespace) -> Iterator[Row]:
    """A clear matrix times encrypted inputs, from and to ciphertexts."""
    for outputs, inputs, slots in options.layers:
        random = np.random.default_rng(inputs)
        weights = random.normal(0, inputs**-0.5, (outputs, inputs))
        x = random.uniform(-1, 1, (inputs, slots))
        params = hm.ckks.Parameters.for_circuit(depth=1, slots=slots)
        context = hm.Context(params, options.device, threads=options.threads)
        secret_key = context.generate_secret_key()
        encrypted = hm.EncryptedMatrix.encrypt(x, context.bind(context.generate_keys(secret_key)))
        for bits in (8, 16):
            plan = hm.circuits.PlainMatrixProduct(weights, params, bits=bits)
            y = plan(encrypted).decrypt(secret_key).real
            accuracy = _require_close(
                f"{weights.shape}", y, weights @ x, _DEVIATIONS * plan.expected_error()[0]
            )
            yield {
                "measurement": "clear matrix, encrypted inputs",
                "shape": f"{outputs}x{inputs}",
                "inputs": slots,
                "bits": bits,
                "degree": params.degree,
                "worst_bits": accuracy,
                **timed(context, lambda plan=plan, x=encrypted: plan(x), options.runs),  # type: ignore[misc]
            }


def _packed_rows(options: argparse.Namespace) -> Iterator[Row]:
    """A clear matrix times few encrypted vectors, from and to ciphertexts of several rows."""
    for outputs, inputs, vectors in options.packed:
        random = np.random.default_rng(inputs)
        weights = random.normal(0, inputs**-0.5, (outputs, inputs))
        x = random.uniform(-1, 1, (inputs, vectors))
        params = hm.ckks.Parameters.for_circuit(depth=1, slots=max(4096, 2 * vectors))
        product = hm.circuits.PackedRowsProduct(weights, params, vectors=vectors, bits=8)
        context = hm.Context(params, options.device, threads=options.threads)
        secret_key = context.generate_secret_key()
        evaluator = context.bind(context.generate_keys(secret_key, plan=product))
        encrypted = evaluator.encrypt(product.pack(x))
        y = product.unpack(context.decrypt(product(encrypted), secret_key)).real
        error = _DEVIATIONS * product.expected_error()[0]
        yield {
            "measurement": "clear matrix, packed rows",
            "shape": f"{outputs}x{inputs}",
            "vectors": vectors,
            "bits": 8,
            "degree": params.degree,
            "worst_bits": _require_close(f"packed {weights.shape}", y, weights @ x, error),
            **timed(context, lambda p=product, x=encrypted: p(x), options.runs),  # type: ignore[misc]
        }


def _pair_rows(options: argparse.Namespace) -> Iterator[Row]:
    """Encrypted matrices times encrypted matrices."""
    for pairs, size in options.pairs:
        params = hm.ckks.Parameters.for_circuit(depth=1, slots=max(pairs, _LEAST_PAIRS) * size)
        product = hm.circuits.MatrixBatchProduct(params, size=size)
        context = hm.Context(params, options.device, threads=options.threads)
        secret_key = context.generate_secret_key()
        evaluator = context.bind(context.generate_keys(secret_key, plan=product))
        random = np.random.default_rng(size)
        a, b = random.uniform(-1, 1, (2, pairs, size, size))
        left = evaluator.encrypt(product.pack(a, "left"))
        right = evaluator.encrypt(product.pack(b, "right"))
        found = product.unpack(context.decrypt(product(left, right), secret_key))[:pairs].real
        error = _DEVIATIONS * product.expected_error()[0]
        yield {
            "measurement": "encrypted pairs",
            "pairs": pairs,
            "size": size,
            "degree": params.degree,
            "worst_bits": _require_close(f"{pairs} pairs of {size}", found, a @ b, error),
            **timed(context, lambda p=product, a=left, b=right: p(a, b), options.runs),  # type: ignore[misc]
        }


def _search_rows(options: argparse.Namespace) -> Iterator[Row]:
    """Whole calls of `Index.query`, bytes to bytes."""
    for rows, dims in options.databases:
        random = np.random.default_rng(dims)
        vectors = random.standard_normal((rows, dims), np.float32)
        begin = time.perf_counter()
        index = hm.search.Index(vectors, metric="cosine", device=options.device, threads=options.threads)
        seconds = round(time.perf_counter() - begin, 1)
        client = hm.search.Client(index.settings, threads=options.threads)
        keys = index.load_keys(client.keys)
        wanted = rows // 3
        sent = client.query(vectors[wanted])
        _require_best(client.decrypt(index.query(sent, keys), k=1), wanted)
        facts: Row = {
            "rows": rows,
            "dims": dims,
            "memory_bytes": index.memory_bytes,
            "made_in_seconds": seconds,
        }
        context = keys.context
        measured = timed(context, lambda q=sent, i=index, k=keys: i.query(q, k), options.runs)  # type: ignore[misc]
        yield {"measurement": "search", **facts, **measured}
        tickets = index.prepare(client.prepare(options.runs + 2), keys)
        answer = index.query(client.query(vectors[wanted], prepared=True), tickets)
        _require_best(client.decrypt(answer, k=1), wanted)
        asked = iter([client.query(vectors[wanted], prepared=True) for _ in range(options.runs + 1)])
        measured = timed(context, lambda a=asked, i=index, t=tickets: i.query(next(a), t), options.runs)  # type: ignore[misc]
        yield {"measurement": "search, prepared", **facts, **measured}


def _threshold_rows(options: argparse.Namespace) -> Iterator[Row]:
    """Whole calls of `Index.query`, bytes to bytes."""
    for rows, dims in options.thresholds:
        random = np.random.default_rng(dims)
        vectors = random.standard_normal((rows, dims), np.float32)
        begin = time.perf_counter()
        payloads = np.arange(rows)[:, None] % _PAYLOADS
        index = hm.search.Index(
            vectors,
            answers=hm.search.Threshold(),
            payloads=payloads,
            device=options.device,
            threads=options.threads,
        )
        seconds = round(time.perf_counter() - begin, 1)
        client = hm.search.Client(index.settings, threads=options.threads)
        keys = index.load_keys(client.keys)
        wanted = rows // 3
        facts: Row = {
            "rows": rows,
            "dims": dims,
            "margin": index.settings.to_fields()["margin"],
            "degree": index.settings.params.degree,
            "levels": index.settings.params.levels,
            "memory_bytes": keys.context.memory_used,
            "keys_bytes": len(client.keys),
            "made_in_seconds": seconds,
        }
        for want in ("mask", "count", "payloads"):
            sent = client.query(vectors[wanted], 0.9, want)
            answer = index.query(sent, keys)
            if want == "count":
                found = float(client.decrypt(answer))
            else:
                matches = client.decrypt(answer)
                found = float(len(matches) if wanted in matches.ids else 0)
            if abs(found - 1) > _COUNT_ERROR:
                raise NoiseError(f"row {wanted} was asked, and {found:.4f} rows found above 0.9")
            measured = timed(keys.context, lambda q=sent, i=index, k=keys: i.query(q, k), options.runs)  # type: ignore[misc]
            sizes = {"query_bytes": len(sent), "answer_bytes": len(answer)}
            yield {"measurement": f"thresholds, {want}", **facts, **sizes, **measured}


def _ranked_rows(options: argparse.Namespace) -> Iterator[Row]:
    """Whole calls of `Index.query`, bytes to bytes."""
    for rows, dims in options.ranked:
        vectors = np.random.default_rng(dims).standard_normal((rows, dims), np.float32)
        begin = time.perf_counter()
        index = hm.search.Index(
            vectors, answers=hm.search.Top(), device=options.device, threads=options.threads
        )
        seconds = round(time.perf_counter() - begin, 1)
        client = hm.search.Client(index.settings, threads=options.threads)
        keys = index.load_keys(client.keys)
        wanted = rows // 3
        sent = client.query(vectors[wanted], k=1)
        answer = index.query(sent, keys)
        found = client.decrypt(answer).ids.tolist()
        if found != [wanted]:
            raise NoiseError(f"row {wanted} was asked, and rows {found} found as the first one")
        measured = timed(keys.context, lambda q=sent, i=index, k=keys: i.query(q, k), options.runs)  # type: ignore[misc]
        yield {
            "measurement": "first rows",
            "rows": rows,
            "dims": dims,
            "margin": index.settings.to_fields()["margin"],
            "degree": index.settings.params.degree,
            "levels": index.settings.params.levels,
            "memory_bytes": keys.context.memory_used,
            "keys_bytes": len(client.keys),
            "made_in_seconds": seconds,
            "query_bytes": len(sent),
            "answer_bytes": len(answer),
            **measured,
        }


def _require_best(answer: tuple[NDArray[Any], NDArray[Any]], wanted: int) -> None:
    """NoiseError unless a row of the database is found by itself."""
    (score,), (row,) = answer
    if row != wanted or not abs(score - 1) <= 0.01:
        raise NoiseError(f"row {wanted} was asked, row {row} found with cosine {score:.4f}")


GROUPS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "layers": _layer_rows,
    "packed": _packed_rows,
    "pairs": _pair_rows,
    "search": _search_rows,
    "thresholds": _threshold_rows,
    "ranked": _ranked_rows,
}
