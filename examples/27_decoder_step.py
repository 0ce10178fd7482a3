"""A decoder's step as a compiled program, with a cache of encrypted keys and values on the server."""

# Hidden from the server: the tokens' features, the cache of keys and values, and the results. It has the
# weights, and knows how many tokens there are.

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import hemera as hm

rng = np.random.default_rng(27)


def layer_norm(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * ((centred * centred).mean(-1, keepdims=True) + 0.1) ** -0.5


def gelu(x: Any) -> Any:
    """GELU of encrypted arrays, which have the method, and of plain ones."""
    if hasattr(x, "gelu"):
        return x.gelu()
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def decoder(tokens: int, features: int, heads: int) -> Callable[..., dict[str, Any]]:
    """A block of GPT-2 on one token, with random weights of the usual size. Trained weights need the steps of
    texts as samples: ranges of scores, hidden values and variances are theirs, wider than these."""

    def weights(rows: int, columns: int) -> Any:
        return rng.normal(size=(rows, columns)) / math.sqrt(rows)

    query, key, value, output = (weights(features, features) for _ in range(4))
    up, down = weights(features, 4 * features), weights(4 * features, features)
    width = features // heads

    def step(x: Any, keys: Any, values: Any, place: Any, past: Any) -> dict[str, Any]:
        """The block's result for a token, and the cache with its key and value.

        Args:
            x: the features of the token.
            keys, values: the cache, of shape (tokens, features), with zeros where no token was yet.
            place: 1 at the token's number, else 0; of shape (tokens,).
            past: 1 at those of former tokens.
        """
        normed = layer_norm(x)
        keys = keys + place[:, None] * (normed @ key)
        values = values + place[:, None] * (normed @ value)
        own = (normed @ query / math.sqrt(width)).reshape(heads, width)
        scores = (keys.reshape(tokens, heads, width) * own).sum(-1)
        terms = np.exp(scores) * (past + place)[:, None]
        mixed = (terms[:, :, None] * values.reshape(tokens, heads, width)).sum(0) / terms.sum(0)[:, None]
        x = x + mixed.reshape(features) @ output
        return {"x": x + gelu(layer_norm(x) @ up) @ down, "keys": keys, "values": values}

    return step


def samples(count: int, tokens: int, features: int) -> tuple[Any, ...]:
    """Inputs of so many steps, for ranges."""
    number = rng.integers(0, tokens, count)[:, None]
    past, place = np.arange(tokens) < number, np.arange(tokens) == number
    cache = (rng.normal(size=(count, tokens, features)) * past[..., None] for _ in range(2))
    return rng.normal(size=(count, features)), *cache, place.astype(float), past.astype(float)


# GPT-2 small's shapes as a plan, counted for an H200; nothing is encrypted: `python 27_decoder_step.py gpt2`.
if "gpt2" in sys.argv[1:]:
    given = samples(8, 128, 768)
    options: dict[str, Any] = {"calibrate": given, "margin": 0.2, "precision_bits": 10}
    plan = hm.compile(decoder(128, 768, 12), *(each[0] for each in given), device="nvidia-h200", **options)
    print(plan.report())
    print(plan.cost("nvidia-h200").report())
    raise SystemExit

# A small ring that is NOT secure, so that this runs in seconds.
TOKENS, FEATURES = 8, 16
step = decoder(TOKENS, FEATURES, heads=2)
params = hm.ckks.Parameters.for_bootstrapping("test-40", levels=16, security=None)
given = samples(400, TOKENS, FEATURES)
plan = hm.compile(
    step, *(each[0] for each in given), calibrate=given, margin=0.2, precision_bits=8, params=params
)
print(plan.report())

# The client's key, and the server's model. The cache's bootstraps take the keys of the program's own.
package = plan.package
ctx = hm.Context(params)
sk = ctx.generate_secret_key()
model = package.prepare(ctx)
server = model.bind(package.generate_keys(ctx, sk))
refresh = hm.circuits.Bootstrap(params, slots=package.inputs[1].slots, real=True)


def encrypted(*arrays: Any) -> list[hm.Ciphertext]:
    """The client's part of a step. Plain arrays of the server may be encrypted by anyone."""
    rows = package.interface.encode(list(arrays))
    return [
        ctx.encrypt(ctx.encode(row, level=spec.level), sk)
        for row, spec in zip(rows, package.inputs, strict=True)
    ]


numbers, empty = np.arange(TOKENS), np.zeros((TOKENS, FEATURES))
caches = encrypted(np.zeros(FEATURES), empty, empty, 0.0 * numbers, 0.0 * numbers)[1:3]
expected: dict[str, Any] = {"keys": empty, "values": empty}
for number in range(4):
    x, place, past = rng.normal(size=FEATURES), (numbers == number) * 1.0, (numbers < number) * 1.0
    token, _, _, *flags = encrypted(x, empty, empty, place, past)
    result, *grown = model.run(server, [token, *caches, *flags])[:3]
    # The cache goes into the next step as it is, at the level of fresh encryptions.
    caches = [server.bootstrap(server.bind(each), refresh, magnitude=8) for each in grown]
    expected = step(x, expected["keys"], expected["values"], place, past)
    found = ctx.decrypt(result, sk).real[:FEATURES]
    error = np.abs(found - expected["x"]).max() / np.abs(expected["x"]).max()
    print(f"token {number + 1}: within {-math.log2(error):.1f} bits of the clear step")
    assert error < 2**-6
