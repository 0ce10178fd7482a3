"""Products with matrices and search: clear matrices, encrypted pairs, indexes; every result is checked."""

from __future__ import annotations

import argparse
import functools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera import _options
from hemera.errors import NoiseError
from hemera_apps.bench.report import Report, Row
from hemera_apps.bench.timing import timed

_DEVIATIONS = 10
"""Results must be within this multiple of the mean expected error."""

_PAYLOADS = 512
"""Different payloads of rows that are compared with thresholds."""
_COUNT_ERROR = 0.25

_LEAST_PAIRS = 32
"""Matrices of a batch: a smaller ring holds none of that size."""


_Shapes = list[tuple[int, ...]]
SHAPES: dict[str, tuple[str, str, _Shapes]] = {
    "layers": (
        "OUTxINxINPUTS",
        "clear matrices and the inputs that are encrypted",
        [(768, 768, 4096), (4096, 4096, 4096)],
    ),
    "packed": (
        "OUTxINxVECTORS",
        "clear matrices and the vectors of one encrypted input, packed; those of BERT-base for 128 tokens",
        [(768, 768, 128), (2304, 768, 128), (3072, 768, 128), (768, 3072, 128)],
    ),
    "pairs": ("PAIRSxSIZE", "encrypted pairs of matrices", [(256, 16), (32, 128), (16, 256)]),
    "databases": ("ROWSxDIMS", "databases to search", [(50_000, 128), (1_000_000, 256), (1 << 20, 768)]),
    "thresholds": (
        "ROWSxDIMS",
        "databases compared with thresholds",
        [(1000, 128), (50_000, 128), (1_000_000, 128)],
    ),
    "ranked": ("ROWSxDIMS", "databases whose pairs of rows are compared", [(128, 128), (512, 128)]),
}
"""The form, meaning and default of each option of sizes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    _options.add_only(parser, GROUPS)
    for name, (form, text, default) in SHAPES.items():
        shown = " ".join("x".join(map(str, shape)) for shape in default)
        parser.add_argument(
            f"--{name}",
            nargs="+",
            type=_shape,
            default=default,
            metavar=form,
            help=f"{text} (default: {shown})",
        )
    _options.add_runs(parser, 9)
    _options.add_machine(parser)
    _options.add_json(parser)


def _shape(text: str) -> tuple[int, ...]:
    return tuple(_options.positive(size) for size in text.split("x"))


def run(options: argparse.Namespace) -> int:
    """Measure, and write what is asked for."""
    report = Report(options)
    for name in options.only:
        for row in GROUPS[name](options):
            report.add(row)
    report.write({"device": options.device})
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


class _Search:
    """An index of random rows with its client, and the time that making it took."""

    def __init__(self, options: argparse.Namespace, rows: int, dims: int, **settings: Any) -> None:
        vectors = np.random.default_rng(dims).standard_normal((rows, dims), np.float32)
        self.wanted = rows // 3
        self.x = vectors[self.wanted]
        machine = {"device": options.device, "threads": options.threads}
        begin = time.perf_counter()
        self.index = hm.search.Index(vectors, **settings, **machine)
        seconds = round(time.perf_counter() - begin, 1)
        self.client = hm.search.Client(self.index.settings, threads=options.threads)
        self.keys = self.index.load_keys(self.client.keys)
        self.runs = options.runs
        self.facts: Row = {"rows": rows, "dims": dims, "made_in_seconds": seconds}

    def note_comparisons(self) -> None:
        """Facts of indexes that compare scores."""
        settings = self.index.settings
        self.facts |= {
            "margin": settings.to_fields()["margin"],
            "degree": settings.params.degree,
            "levels": settings.params.levels,
            "memory_bytes": self.keys.context.memory_used,
            "keys_bytes": len(self.client.keys),
        }

    def row(self, measurement: str, ask: Callable[[], bytes], **facts: Any) -> Row:
        """A row of whole calls of `Index.query`, bytes to bytes."""
        return {"measurement": measurement, **self.facts, **facts, **timed(self.keys.context, ask, self.runs)}


def _search_rows(options: argparse.Namespace) -> Iterator[Row]:
    """Scores of all rows."""
    for rows, dims in options.databases:
        search = _Search(options, rows, dims, metric="cosine")
        index, client, keys, x = search.index, search.client, search.keys, search.x
        search.facts["memory_bytes"] = index.memory_bytes
        sent = client.query(x)
        _require_best(client.decrypt(index.query(sent, keys), k=1), search.wanted)
        yield search.row("search", functools.partial(index.query, sent, keys))
        tickets = index.prepare(client.prepare(options.runs + 2), keys)
        answer = index.query(client.query(x, prepared=True), tickets)
        _require_best(client.decrypt(answer, k=1), search.wanted)
        asked = iter([client.query(x, prepared=True) for _ in range(options.runs + 1)])
        yield search.row("search, prepared", lambda a=asked, i=index, t=tickets: i.query(next(a), t))  # type: ignore[misc]


def _threshold_rows(options: argparse.Namespace) -> Iterator[Row]:
    """Rows whose scores are above a threshold."""
    for rows, dims in options.thresholds:
        payloads = np.arange(rows)[:, None] % _PAYLOADS
        search = _Search(options, rows, dims, answers=hm.search.Threshold(), payloads=payloads)
        search.note_comparisons()
        for want in ("mask", "count", "payloads"):
            sent = search.client.query(search.x, 0.9, want)
            answer = search.index.query(sent, search.keys)
            if want == "count":
                found = float(search.client.decrypt(answer))
            else:
                matches = search.client.decrypt(answer)
                found = float(len(matches) if search.wanted in matches.ids else 0)
            if abs(found - 1) > _COUNT_ERROR:
                raise NoiseError(f"row {search.wanted} was asked, and {found:.4f} rows found above 0.9")
            sizes = {"query_bytes": len(sent), "answer_bytes": len(answer)}
            ask = functools.partial(search.index.query, sent, search.keys)
            yield search.row(f"thresholds, {want}", ask, **sizes)


def _ranked_rows(options: argparse.Namespace) -> Iterator[Row]:
    """The row of the highest score."""
    for rows, dims in options.ranked:
        search = _Search(options, rows, dims, answers=hm.search.Top())
        search.note_comparisons()
        sent = search.client.query(search.x, k=1)
        answer = search.index.query(sent, search.keys)
        found = search.client.decrypt(answer).ids.tolist()
        if found != [search.wanted]:
            raise NoiseError(f"row {search.wanted} was asked, and rows {found} found as the first one")
        sizes = {"query_bytes": len(sent), "answer_bytes": len(answer)}
        yield search.row("first rows", functools.partial(search.index.query, sent, search.keys), **sizes)


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
