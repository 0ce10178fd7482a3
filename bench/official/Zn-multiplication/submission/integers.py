"""Products by `hm.integers`: encrypted uint64 with NumPy's wraparound. Results are encrypted uint64 again, so
computations go on without end: products of products, sums, comparisons."""

from __future__ import annotations

import operator
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from workload import Words, Workload

import hemera as hm
from hemera_apps.bench.harness import Steps

__all__ = ["decrypt", "encrypt", "finish", "make_keys", "multiply"]

_BATCH = 16384
"""Integers in a file: eight ciphertexts, which a product takes at once. By count a batch of two takes a fifth
longer for each on a GPU."""
_THREADS = 4
"""For files: each batch of operands takes longer to read than half of a product on a GPU."""
_PRESET = os.environ.get("HEMERA_PRESET", "n16-exact")
""""test-exact" is for tests, and not secure."""


def make_keys(work: Workload) -> None:
    """The secret key, and the keys for the server."""
    client = hm.integers.Context(64, preset=_PRESET, device="cpu")
    client.save_keys(work.keys / "keys.bin")
    client.secret_key.save(work.secret / "secret_key.bin")


def encrypt(work: Workload, lhs: Words, rhs: Words) -> None:
    """Both operands, in files of a batch, with the levels that a product takes."""
    client = _client(work)

    def save(name: str, words: Words, part: int) -> None:
        batch = words[part * _BATCH : (part + 1) * _BATCH]
        client.encrypt(batch, levels=client.product_levels).save(work.up / f"{name}-{part:04d}.bin")

    parts = range(-(-len(lhs) // _BATCH))
    with ThreadPoolExecutor(_THREADS) as pool:
        saved = [
            pool.submit(save, name, words, part)
            for part in parts
            for name, words in (("lhs", lhs), ("rhs", rhs))
        ]
        for each in saved:
            each.result()


def multiply(work: Workload) -> None:
    """The server's part. While a batch is computed, later ones are read and earlier ones written."""
    ctx = hm.Context(hm.ckks.Parameters.for_bootstrapping(_PRESET), work.device)
    steps = Steps(ctx)
    with steps.of("Reading"):
        server = hm.integers.Context(64, keys=ctx.load(work.keys / "keys.bin"))
    graph: hm.integers.Graph | None = None

    def read(part: str) -> tuple[hm.integers.Integers, hm.integers.Integers]:
        return server.load(work.up / f"lhs{part}"), server.load(work.up / f"rhs{part}")

    parts = sorted(path.name.removeprefix("lhs") for path in work.up.glob("lhs-*.bin"))
    with ThreadPoolExecutor(_THREADS) as pool:
        reading = deque(pool.submit(read, part) for part in parts[:_THREADS])
        writing: deque[Future[None]] = deque()
        for i, part in enumerate(parts):
            with steps.of("Reading"):
                a, b = reading.popleft().result()
            reading.extend(pool.submit(read, later) for later in parts[i + _THREADS : i + _THREADS + 1])
            if len(parts) > 2 and graph is None:  # the last one may be shorter
                with steps.of("Encrypted computation"):
                    graph = server.capture(operator.mul, a, b)
            run = graph if graph is not None and a.shape == (_BATCH,) else operator.mul
            product = steps.compute(lambda run=run, a=a, b=b: run(a, b))
            with steps.of("Writing"):
                while len(writing) >= _THREADS:
                    writing.popleft().result()
                writing.append(pool.submit(product.shrink().save, work.down / f"product{part}"))
        with steps.of("Writing"):
            for each in writing:
                each.result()
    steps.save(work.io / "server_reported_steps.json")


def decrypt(work: Workload) -> None:
    """The products."""
    client = _client(work)
    paths = sorted(work.down.glob("product-*.bin"))
    with ThreadPoolExecutor(_THREADS) as pool:
        found = list(pool.map(lambda path: client.decrypt(client.load(path)), paths))
    np.save(work.results, np.concatenate(found))


def finish(work: Workload) -> Words:
    """The products: they are there already."""
    found: Words = np.load(work.results)[: work.count]
    return found


def _client(work: Workload) -> hm.integers.Context:
    """The client, on another day: with the secret key, and without keys to compute with."""
    return hm.integers.Context(64, preset=_PRESET, device="cpu", secret_key=work.secret / "secret_key.bin")
