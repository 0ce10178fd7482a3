"""A transformer block on many encrypted sequences at once: attention, softmax, layer norms and GELU."""

# Hidden from the server: the sequences and the results. It has the weights.

import math
import time
from typing import Any

import numpy as np

import hemera as hm

rng = np.random.default_rng(21)
TOKENS, FEATURES, HEADS, INNER = 4, 8, 2, 16


def weights(rows: int, columns: int) -> Any:
    """Random, of the usual size."""
    return rng.normal(size=(rows, columns)) / math.sqrt(rows)


query, key, value, output = (weights(FEATURES, FEATURES) for _ in range(4))
up, down = weights(FEATURES, INNER), weights(INNER, FEATURES)


def heads(x: Any) -> Any:
    """Tokens x features to heads x tokens x features of a head."""
    return x.reshape(TOKENS, HEADS, FEATURES // HEADS).transpose(1, 0, 2)


def softmax(x: Any) -> Any:
    e = np.exp(x)
    return e / e.sum(-1, keepdims=True)


def layer_norm(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * ((centred * centred).mean(-1, keepdims=True) + 0.1) ** -0.5


def gelu(x: Any) -> Any:
    """Of encrypted arrays, which have the method, and of plain ones."""
    if hasattr(x, "gelu"):
        return x.gelu()
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def block(x: Any) -> Any:
    """One layer of BERT, for a sequence of tokens."""
    q, k, v = (heads(x @ each) for each in (query, key, value))
    attention = softmax(q @ k.transpose(0, 2, 1) / math.sqrt(FEATURES // HEADS))
    mixed = (attention @ v).transpose(1, 0, 2).reshape(TOKENS, FEATURES)
    x = layer_norm(x + mixed @ output)
    return layer_norm(x + gelu(x @ up) @ down)


# A small ring that is NOT secure, so that this runs in seconds. Slots are sequences: 512 of them at once.
small = hm.ckks.Parameters.for_circuit(50, scale_bits=40, range_bits=8, degree=1024, security=None)
sequence = hm.ArraySpec((TOKENS, FEATURES), range=(-1, 1))
seen = rng.uniform(-1, 1, (10_000, TOKENS, FEATURES))
options: dict[str, Any] = {"calibrate": seen, "margin": 0.2, "precision_bits": 12}
plan = hm.compile(block, sequence, samples=512, params=small, layout="ciphertexts", **options)
print(plan.report())

sequences = rng.uniform(-1, 1, (512, TOKENS, FEATURES))
run = plan.local()
run(sequences)  # encodes, once
start = time.perf_counter()
found = run(sequences)
print(f"{1e3 * (time.perf_counter() - start) / 512:.0f} ms a sequence")

expected = np.stack([block(each) for each in sequences])
bits = -np.log2(np.abs(found - expected).max() / np.abs(expected).max())
print(f"equal to the clear block within {bits:.1f} bits; {plan.expected_bits():.1f} are expected")
assert bits > plan.expected_bits() - 2

# BERT-base as plans: 256 inputs of 128 tokens fill the slots of N = 2^16. Nothing is encrypted here.
INPUTS, LENGTH = 256, 128
seconds = 0.0
for rows, columns, count in ((768, 768, 4), (3072, 768, 2)):  # its transpose takes as long
    matrix = weights(rows, columns)
    layer = hm.compile(
        lambda x, matrix=matrix: matrix @ x,
        hm.ArraySpec((columns,), range=(-4, 4)),
        samples=INPUTS * LENGTH,
        precision_bits=6,
        layout="ciphertexts",
    )
    own = layer.cost("cpu-avx512-16").seconds or 0.0
    print(f"{rows} x {columns}: {layer.params!r}, {layer.package.interface.keys.count} keys, {own:.0f} s")
    seconds += count * own
print(f"linear layers of a block: about {seconds / INPUTS:.2f} s an input on 16 cores")

tokens = hm.ArraySpec((LENGTH, 64), range=(-4, 4))
scores = hm.compile(lambda q, k: q @ k.T, tokens, tokens, samples=INPUTS, precision_bits=6, layout="pairs")
own = scores.cost("cpu-avx512-16").seconds or 0.0
print(f"scores of a head: {scores.params!r}, about {1e3 * own / INPUTS:.0f} ms an input")
