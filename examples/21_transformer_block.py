"""A transformer block on many encrypted sequences at once: attention, softmax, layer norms and GELU."""

# Hidden from the server: the sequences and the results. It has the weights.

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import hemera as hm

rng = np.random.default_rng(21)


def layer_norm(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * ((centred * centred).mean(-1, keepdims=True) + 0.1) ** -0.5


def gelu(x: Any) -> Any:
    """GELU of encrypted arrays, which have the method, and of plain ones."""
    if hasattr(x, "gelu"):
        return x.gelu()
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def transformer(features: int, heads: int, inner: int) -> Callable[[Any], Any]:
    """One layer of BERT with random weights of the usual size."""

    def weights(rows: int, columns: int) -> Any:
        return rng.normal(size=(rows, columns)) / math.sqrt(rows)

    query, key, value, output = (weights(features, features) for _ in range(4))
    up, down = weights(features, inner), weights(inner, features)
    width = features // heads

    def head(x: Any, own: slice) -> Any:
        scores = np.exp((x @ query[:, own] / math.sqrt(width)) @ (x @ key[:, own]).T)
        # Softmax. The sums of values are divided: they are fewer than the scores.
        return (scores @ (x @ value[:, own])) / scores.sum(-1, keepdims=True)

    def block(x: Any) -> Any:
        """The block's result for a sequence of shape (tokens, features)."""
        mixed = [head(x, slice(first, first + width)) for first in range(0, features, width)]
        x = layer_norm(x + np.concatenate(mixed, -1) @ output)
        # The hidden layer in parts, so that fewer of its values are there at once.
        parts = (slice(first, first + features) for first in range(0, inner, features))
        return layer_norm(x + sum(gelu(x @ up[:, part]) @ down[part] for part in parts))

    return block


# A small ring that is NOT secure, so that this runs in seconds. The compiler takes the faster layout. Slots
# are sequences: 512 of them, with a ciphertext for each element; or tokens and sequences: 128 of 4 tokens,
# with a ciphertext for each feature.
TOKENS, FEATURES = 4, 8
block = transformer(FEATURES, heads=2, inner=16)
small = hm.ckks.Parameters.for_circuit(50, scale_bits=40, range_bits=8, degree=1024, security=None)
sequence = hm.ArraySpec((TOKENS, FEATURES), range=(-1, 1))
options: dict[str, Any] = {
    "calibrate": rng.uniform(-1, 1, (2_000, TOKENS, FEATURES)),
    "margin": 0.2,
    "precision_bits": 11,
}
for samples in (512, 128):
    plan = hm.compile(block, sequence, samples=samples, params=small, **options)
    print(plan.report())
    sequences = rng.uniform(-1, 1, (samples, TOKENS, FEATURES))
    run = plan.local()
    run(sequences[:1])  # encodes, once
    start = time.perf_counter()
    found = run(sequences)
    print(f"{plan.layout}: {1e3 * (time.perf_counter() - start) / samples:.0f} ms a sequence")

    expected = np.stack([block(each) for each in sequences])
    bits = -np.log2(np.abs(found - expected).max() / np.abs(expected).max())
    print(f"equal to the clear block within {bits:.1f} bits; {plan.expected_bits():.1f} are expected")
    assert bits > plan.expected_bits() - 2

# BERT-base as a plan: 256 sequences of 128 tokens fill the slots of N = 2^16. It takes about a minute and
# 6 GB, and nothing is encrypted: `python 21_transformer_block.py bert`.
if "bert" in sys.argv[1:]:
    options |= {"calibrate": rng.uniform(-1.7, 1.7, (2, 128, 768)), "precision_bits": 15}
    sequence = hm.ArraySpec((128, 768), range=(-2, 2))
    bert = transformer(768, heads=12, inner=3072)
    plan = hm.compile(bert, sequence, samples=256, device="nvidia-h200", **options)
    print(plan.cost("nvidia-h200").report())
    seconds = plan.cost("nvidia-h200").seconds or 0.0
    print(f"{1e3 * seconds / 256:.0f} ms an input on an H200, by its table of times")
