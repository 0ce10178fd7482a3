"""Products by `hm.integers`: encrypted uint64 with NumPy's wraparound. Results are encrypted uint64 again, so
computations go on without end: products of products, sums, comparisons."""

from __future__ import annotations

import os

import numpy as np
from workload import Steps, Words, Workload

import hemera as hm

__all__ = ["decrypt", "encrypt", "finish", "make_keys", "multiply"]

_BATCH = 4096
"""Integers in a file: two ciphertexts, which a refresh takes at once."""
_PRESET = os.environ.get("HEMERA_PRESET", "n16-exact")
""""test-exact" is for tests, and not secure."""


def make_keys(work: Workload) -> None:
    """The secret key, and the keys for the server."""
    client = hm.integers.Context(64, preset=_PRESET, device="cpu")
    client.keys.save(work.keys / "keys.bin")
    client.secret_key.save(work.secret / "secret_key.bin")


def encrypt(work: Workload, lhs: Words, rhs: Words) -> None:
    """Both operands, in files of a batch."""
    client = _client(work)
    for name, words in (("lhs", lhs), ("rhs", rhs)):
        for part, start in enumerate(range(0, len(words), _BATCH)):
            client.encrypt(words[start : start + _BATCH]).save(work.up / f"{name}-{part:04d}.bin")


def multiply(work: Workload) -> None:
    """The server's part."""
    ctx = hm.Context(hm.ckks.Parameters.for_bootstrapping(_PRESET), work.device)
    steps = Steps(ctx)
    with steps.of("Reading"):
        server = hm.integers.Context(64, keys=ctx.load(work.keys / "keys.bin"))
    for path in sorted(work.up.glob("lhs-*.bin")):
        part = path.name.removeprefix("lhs")
        with steps.of("Reading"):
            a, b = server.load(path), server.load(work.up / f"rhs{part}")
        product = steps.compute(lambda a=a, b=b: a * b)
        with steps.of("Writing"):
            product.shrink().save(work.down / f"product{part}")
    steps.save(work.io / "server_reported_steps.json")


def decrypt(work: Workload) -> None:
    """The products."""
    client = _client(work)
    parts = [client.decrypt(client.load(path)) for path in sorted(work.down.glob("product-*.bin"))]
    np.save(work.results, np.concatenate(parts))


def finish(work: Workload) -> Words:
    """The products: they are there already."""
    found: Words = np.load(work.results)[: work.count]
    return found


def _client(work: Workload) -> hm.integers.Context:
    """The client, on another day: with a public key to encrypt with, and without keys to compute with."""
    ctx = hm.Context(hm.ckks.Parameters.for_bootstrapping(_PRESET), "cpu")
    secret_key = ctx.load(work.secret / "secret_key.bin")
    public_key = ctx.generate_keys(secret_key, relinearization=False)
    return hm.integers.Context(64, keys=public_key, secret_key=secret_key)
