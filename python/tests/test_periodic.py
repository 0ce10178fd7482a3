"""Matrices in the clear times vectors that lie side by side in slots, compared with NumPy."""

from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.errors import LevelError, MismatchError, MissingKeyError

from .refusals import refuse


def random(*shape, seed=1):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


@pytest.mark.parametrize(
    ("shape", "period", "options"),
    [
        ((16, 16), 16, {}),
        ((48, 32), 16, {}),  # several ciphertexts of both
        ((32, 48), 16, {"baby_steps": 4}),
        ((5, 21), 8, {"level": 1}),  # parts of ciphertexts
        ((40, 3), 32, {"baby_steps": 32}),
        ((2, 2), 2, {"baby_steps": 1}),
        ((48, 32), 16, {"kept": False}),
    ],
)
def test_vectors_are_multiplied(client, params, shape, period, options):
    ctx, sk = client
    weights = random(*shape)
    layer = hm.circuits.PeriodicTransform(weights, params, period, **options)
    assert (layer.shape, layer.period, layer.depth) == (shape, period, 1)
    assert layer.vectors == params.max_slots // period
    x = random(layer.vectors, shape[1], seed=2)
    ev = ctx.bind(ctx.generate_keys(sk, relinearization=False, plan=layer))
    packed = layer.pack(x)
    assert packed.shape == (-(-shape[1] // period), params.max_slots)
    assert packed[-1, period * 3 + 1 % period] == x[3, (len(packed) - 1) * period + 1 % period]
    y = layer(ev.encrypt(packed))
    assert (y.shape, y.level) == ((-(-shape[0] // period),), layer.result_level)
    found = layer.unpack(ctx.decrypt(y, sk))
    np.testing.assert_allclose(found, x @ weights.T, atol=1e-5)
    np.testing.assert_allclose(layer.evaluate_clear(x), x @ weights.T, atol=1e-12)
    np.testing.assert_array_equal(layer.unpack(packed, shape[1]), x)
    mean, worst = layer.expected_error()
    own = np.sqrt((np.abs(found - x @ weights.T) ** 2).mean())
    assert mean / 4 < own < 1.3 * mean
    assert mean <= worst


def test_diagonals_of_zeros_take_no_keys(client, params):
    ctx, sk = client
    blocks = np.kron(np.eye(4), random(4, 4))  # 7 of 31 diagonals
    layer = hm.circuits.PeriodicTransform(blocks, params, 16, baby_steps=4)
    assert len(layer.needed_keys) == 3 + 1  # baby steps 1, 2, 3; giant steps 0 and -4
    x = random(layer.vectors, 16, seed=3)
    ev = ctx.bind(ctx.generate_keys(sk, plan=layer))
    found = layer.unpack(ctx.decrypt(layer(ev.encrypt(layer.pack(x))), sk))
    np.testing.assert_allclose(found, x @ blocks.T, atol=1e-5)
    diagonal = hm.circuits.PeriodicTransform(np.diag(random(16)), params, 16)
    assert diagonal.needed_keys == []


def test_diagonals_that_are_not_kept_take_less_memory(params):
    kept, encoded = (
        hm.circuits.PeriodicTransform(random(64, 64), params, 32, baby_steps=8, kept=kept)
        for kept in (True, False)
    )
    assert encoded.plaintext_bytes == 4 * 64 * 32 * 8  # numbers of the diagonals of four blocks
    assert kept.plaintext_bytes > 10 * encoded.plaintext_bytes
    with pytest.raises(hm.errors.ParameterError, match="does not fit"):
        hm.circuits.PeriodicTransform(1e80 * random(4, 4), params, 4).prepare(hm.Context(params))


def test_transforms_follow_each_other(client, params):
    ctx, sk = client
    first, second = random(24, 16), random(8, 24, seed=3)
    one = hm.circuits.PeriodicTransform(first, params, 8)
    two = hm.circuits.PeriodicTransform(second, params, 8, level=one.result_level)
    keys = ctx.generate_keys(sk, plan=[one, two])
    ev = ctx.bind(ctx.load(keys.to_bytes()))
    x = random(one.vectors, 16, seed=4)
    y = two(one(ev.encrypt(one.pack(x))))
    np.testing.assert_allclose(two.unpack(ctx.decrypt(y, sk)), x @ first.T @ second.T, atol=1e-4)


def test_the_page_has_a_program(client, params):
    page = (Path(__file__).parents[2] / "docs" / "matrices.md").read_text(encoding="utf-8")
    program = page.partition("## Short vectors")[2].partition("```python\n")[2].partition("```")[0]
    ctx, sk = client
    names = {"hm": hm, "np": np, "params": params, "ctx": ctx, "sk": sk}
    names["tokens"] = random(params.max_slots // 16, 32)
    exec(compile(program, "matrices.md", "exec"), names)
    found = names["layer"].unpack(ctx.decrypt(names["y"], sk))
    np.testing.assert_allclose(found, names["tokens"] @ names["wide"].T, atol=1e-4)


def test_what_does_not_fit_periodic_transforms_is_refused(client, params):
    ctx, sk = client
    errors = hm.errors
    layer = hm.circuits.PeriodicTransform(random(16, 32), params, 16)
    ev = ctx.bind(ctx.generate_keys(sk, plan=layer))
    for period in (0, 1, 12, params.max_slots):
        with pytest.raises(errors.ParameterError, match=r"power of two from 2 to 256"):
            hm.circuits.PeriodicTransform(random(4, 4), params, period)
    for weights in (np.zeros((4, 4)), np.full((4, 4), np.nan)):
        with pytest.raises(errors.ParameterError, match="weight"):
            hm.circuits.PeriodicTransform(weights, params, 4)
    with pytest.raises(errors.ParameterError, match="baby_steps is 32"):
        hm.circuits.PeriodicTransform(random(4, 4), params, 16, baby_steps=32)
    with pytest.raises(MismatchError, match="two axes"):
        hm.circuits.PeriodicTransform(random(4), params, 4)
    with pytest.raises(LevelError, match="periodic transform of depth 1"):
        hm.circuits.PeriodicTransform(random(4, 4), params, 4, level=0)
    x = ev.encrypt(layer.pack(random(layer.vectors, 32)))
    refuse(
        (lambda: layer(x[:1]), MismatchError, r"batch of shape \(2,\)"),
        (lambda: layer(x.at_level(layer.level - 1)), LevelError, "below the plan's"),
        (lambda: layer(ctx.bind(ctx.generate_keys(sk)).bind(x)), MissingKeyError, None),
        (lambda: layer.pack(random(3, 16)), MismatchError, "vectors"),
        (lambda: layer.unpack(np.zeros((2, params.max_slots)), 40), MismatchError, "no 40 entries"),
        (lambda: layer.evaluate_clear(random(3, 5)), MismatchError, "multiplies vectors of 32"),
    )
