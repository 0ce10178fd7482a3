"""Pools: their results are those of NumPy, and to the bit those of one context, on members of the CPU."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hemera as hm
from hemera.circuits import Bootstrap, LinearTransform, MatrixVectorProduct, TransformGrid, sigmoid
from hemera.pool import PoolCiphertext, PoolEvaluator, PoolPlaintext
from hemera.pool import members as pool_members

from .conftest import PLAIN_MODULUS, make_params

SLOTS = 8
GPUS = [name for name in hm.devices() if name.startswith("cuda")]


@dataclass
class Setting:
    """A pool with keys, and one of its members as a context of its own."""

    pool: hm.Pool
    sk: hm.SecretKey
    ev: PoolEvaluator

    @property
    def one(self) -> hm.Evaluator:
        return self.ev.evaluators[0]

    def values(self, *shape: int, seed: int = 1) -> NDArray[Any]:
        random = np.random.default_rng(seed)
        if self.pool.params.scheme == "ckks":
            return random.uniform(-1, 1, (*shape, SLOTS))
        return random.integers(-9, 9, (*shape, SLOTS))

    def pair(self, values: NDArray[Any]) -> tuple[PoolCiphertext, hm.Ciphertext]:
        """The same ciphertext in parts, and on one member."""
        x = self.one.encrypt(values)
        return self.ev.bind(x), x

    def check(self, found: hm.Ciphertext, expected: NDArray[Any]) -> None:
        values = self.pool.decrypt(found, self.sk)
        assert isinstance(found, PoolCiphertext)
        assert values.shape == expected.shape
        if self.pool.params.scheme == "ckks":
            np.testing.assert_allclose(values, expected, atol=2**-18)
        else:
            half = PLAIN_MODULUS // 2
            np.testing.assert_array_equal(values, (expected + half) % PLAIN_MODULUS - half)


def make(scheme: str, members: int) -> Setting:
    pool = hm.Pool(make_params(scheme), ["cpu"] * members, threads=1)
    sk = pool.generate_secret_key()
    own = {"conjugation": True} if scheme == "ckks" else {"swap_rows": True}
    keys = pool.generate_keys(sk, rotations=[1, 2, 3], sum_slots=True, **own)
    return Setting(pool, sk, pool.bind(keys))


@pytest.fixture(scope="module", params=["ckks", "bfv", "bgv"])
def any_scheme(request: pytest.FixtureRequest) -> Iterator[Setting]:
    setting = make(request.param, 3)
    yield setting
    setting.pool.close()


@pytest.fixture(scope="module", params=[2, 3])
def ckks(request: pytest.FixtureRequest) -> Iterator[Setting]:
    setting = make("ckks", request.param)
    yield setting
    setting.pool.close()


def same(found: Any, expected: Any) -> None:
    """The bits of results, ciphertexts or lists of them."""
    if isinstance(expected, (list, tuple)):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
        return
    assert isinstance(found, PoolCiphertext)
    assert (found.shape, found.level, found.scale, found.size) == (
        expected.shape,
        expected.level,
        expected.scale,
        expected.size,
    )
    assert bytes(found) == bytes(expected)


# --- The interface. ---

# What a pool does not have, or has by its base, and why.
CONTEXT_EXCEPTIONS = {
    "params": "of the base: read from what the pool keeps",
    "multiplier": "of the base: read from what the pool keeps",
}
EVALUATOR_EXCEPTIONS = {
    "context": "of the base: the pool",
    "keys": "of the base: those that were bound",
    "has_keys": "of the base: asks the keys",
}
# Of the base, written with the pool's evaluator, the shape, or another method; OPERATORS tests them.
CIPHERTEXT_EXCEPTIONS = {
    *("context", "evaluator", "reshape", "dot", "square", "polyval", "relinearize", "rescale", "mod_switch"),
    *("at_level", "shrink", "rotate", "rotate_many", "conjugate", "bootstrap", "with_slots", "swap_rows"),
    *("sum", "mean"),
}


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("one", "pooled", "exceptions"),
    [
        (hm.Context, hm.Pool, CONTEXT_EXCEPTIONS),
        (hm.Evaluator, PoolEvaluator, EVALUATOR_EXCEPTIONS),
        (hm.Ciphertext, PoolCiphertext, CIPHERTEXT_EXCEPTIONS),
        (hm.Plaintext, PoolPlaintext, {"context"}),
    ],
)
def test_a_pool_has_all_methods_of_its_own(one: type, pooled: type, exceptions: Any) -> None:
    """A method of the base would look for an object of the core, which a pool does not have."""
    own = {name for cls in pooled.__mro__ if cls.__module__.startswith("hemera.pool") for name in vars(cls)}
    assert public(one) - own == set(exceptions)
    for name in public(one) & own:
        ours, theirs = inspect.getattr_static(one, name), inspect.getattr_static(pooled, name)
        assert isinstance(ours, property) == isinstance(theirs, property), name
        if callable(ours):
            assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters), (
                name
            )
        assert theirs.__doc__, name


def test_properties_are_those_of_the_whole(any_scheme: Setting) -> None:
    x, one = any_scheme.pair(any_scheme.values(5))
    names = [name for name in public(hm.Ciphertext) if isinstance(getattr(hm.Ciphertext, name), property)]
    exact = any_scheme.pool.params.scheme != "ckks"
    for name in set(names) - {"context", "evaluator"} - (set() if exact else {"guaranteed_noise_budget"}):
        assert getattr(x, name) == getattr(one, name), name
    plain, one_plain = (
        any_scheme.pool.encode(any_scheme.values(5)),
        any_scheme.one.encode(any_scheme.values(5)),
    )
    names = [name for name in public(hm.Plaintext) if isinstance(getattr(hm.Plaintext, name), property)]
    for name in set(names) - {"context"}:
        assert getattr(plain, name) == getattr(one_plain, name), name
    assert (x.context, x.evaluator, plain.context) == (any_scheme.pool, any_scheme.ev, any_scheme.pool)
    assert "3 parts" in repr(x)
    assert "(5,)" in x._repr_html_()
    assert "(5,)" in plain._repr_html_()


# --- Operations, with the bits of one context. ---

Operation = Callable[[Any, Any, Any, NDArray[Any]], Any]
"""An operation by an evaluator on two batches and an array."""

LINEAR: dict[str, Operation] = {
    "add": lambda ev, x, y, _: ev.add(x, y),
    "subtract": lambda ev, x, y, a: ev.subtract(ev.subtract(x, y), a),
    "multiply": lambda ev, x, y, a: ev.multiply(ev.multiply(x, y), a),
    "add_many": lambda ev, x, y, _: ev.add_many([x, y, x]),
    "multiply_many": lambda ev, x, y, _: ev.multiply_many([x, y, x]),
    "dot": lambda ev, x, y, _: ev.dot([x, y], [y, y]),
    "negate": lambda ev, x, _, __: ev.negate(x),
    "square": lambda ev, x, _, __: ev.square(x),
    "power": lambda ev, x, _, __: ev.power(x, 3),
    "relinearize": lambda ev, x, _, __: ev.relinearize(x),
    "rescale": lambda ev, x, y, _: ev.rescale(ev.multiply(x, y)),
    "at_level": lambda ev, x, _, __: ev.at_level(x, 1),
    "shrink": lambda ev, x, _, __: ev.shrink(x),
    "rotate": lambda ev, x, _, __: ev.rotate(x, 3),
    "rotate_many": lambda ev, x, _, __: ev.rotate_many(x, [1, -1]),
    "sum": lambda ev, x, _, __: ev.sum(x),
    "matmul": lambda ev, x, _, a: ev.matmul(x, a[0]),
}
OF_INTEGERS: dict[str, Operation] = {
    "mod_switch": lambda ev, x, _, __: ev.mod_switch(x),
    "swap_rows": lambda ev, x, _, __: ev.swap_rows(x),
}
OF_CKKS: dict[str, Operation] = {
    "divide": lambda ev, x, _, a: ev.divide(x, 2 + a),
    "declare": lambda ev, x, _, __: ev.declare(x, 2.0),
    "conjugate": lambda ev, x, _, __: ev.conjugate(x),
    "with_slots": lambda ev, x, _, __: ev.with_slots(x, 2 * SLOTS),
    "mean": lambda ev, x, _, __: ev.mean(x),
    "apply": lambda ev, x, _, __: ev.apply(sigmoid((-1, 1), bits=5), ev.declare(x, 1.0)),
    "polyval": lambda ev, x, _, __: ev.polyval(x, [1.0, 0.5, -1.0]),
    "transform": lambda ev, x, _, a: ev.transform(x, _matrix(ev, x, a)),
    "transform_all": lambda ev, x, y, a: ev.transform_all(_grid(ev, x, a), x, y),
}
# Tested apart: with keys, plans or results of their own.
APART = {
    *("bootstrap", "multiply_matrices", "reencrypt", "capture", "encrypt", "encode", "load", "bind"),
    *("rotation_plan", "bootstraps"),
}


def _matrix(ev: hm.Evaluator, x: hm.Ciphertext, a: NDArray[Any]) -> LinearTransform:
    matrix = np.zeros((SLOTS, SLOTS))
    for step in range(3):
        matrix += np.diag(np.resize(a[0], SLOTS)[: SLOTS - step], step)
        if step:
            matrix += np.diag(a[0][:step], step - SLOTS)
    return LinearTransform(matrix, ev.context.params, slots=SLOTS, level=x.level)


def _grid(ev: hm.Evaluator, x: hm.Ciphertext, a: NDArray[Any]) -> TransformGrid:
    blocks = [[{0: a[0], 1: a[0]}, {1: a[0]}]]
    return TransformGrid(blocks, ev.context.params, slots=SLOTS, level=x.level)


def test_every_operation_is_compared() -> None:
    compared = {*LINEAR, *OF_INTEGERS, *OF_CKKS, *APART}
    assert public(hm.Evaluator) == compared | set(EVALUATOR_EXCEPTIONS)


def compare(setting: Setting, operation: Operation, *shape: int) -> None:
    a = setting.values(*shape, seed=3)
    x, one_x = setting.pair(setting.values(*shape))
    y, one_y = setting.pair(setting.values(*shape, seed=2))
    expected = operation(setting.one, one_x, one_y, a)
    same(operation(setting.ev, x, y, a), expected)
    same(operation(setting.ev, x, y, a), expected)  # a second call


@pytest.mark.parametrize("name", LINEAR)
def test_operations_have_the_bits_of_one_context(any_scheme: Setting, name: str) -> None:
    compare(any_scheme, LINEAR[name], 5)


@pytest.mark.parametrize("name", OF_CKKS)
def test_operations_of_ckks_have_the_bits_of_one_context(ckks: Setting, name: str) -> None:
    compare(ckks, OF_CKKS[name], 5)


@pytest.mark.parametrize("name", OF_INTEGERS)
@pytest.mark.parametrize("scheme", ["bfv", "bgv"])
def test_operations_of_integers_have_the_bits_of_one_context(scheme: str, name: str) -> None:
    setting = make(scheme, 2)
    compare(setting, OF_INTEGERS[name], 3)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_batches_are_cut_evenly_and_in_order(ckks: Setting, count: int) -> None:
    """As NumPy splits an array; without empty parts."""
    a, b = ckks.values(count), ckks.values(count, seed=2)
    x = ckks.ev.encrypt(a)
    split = [part for part in np.array_split(a, len(ckks.pool)) if len(part)]
    assert [len(part) for part in x.parts] == [len(part) for part in split]
    assert x.members == list(range(len(split)))
    for part, expected in zip(x.parts, split, strict=True):
        decrypted = part.context.decrypt(part, ckks.sk.to(part.context))
        np.testing.assert_allclose(decrypted, expected, atol=2**-18)
    y = ckks.pool.encrypt(b, ckks.sk)
    ckks.check((x * y - b + y) * 2, (a * b - b + b) * 2)
    assert len(x) == count
    for at, each in enumerate(x):
        ckks.check(each, a[at])


def test_single_ciphertexts_and_numbers(any_scheme: Setting) -> None:
    a, b = any_scheme.values(), any_scheme.values(4, seed=2)
    x, y = any_scheme.ev.encrypt(a), any_scheme.ev.encrypt(b)
    assert x.shape == ()
    any_scheme.check(x * 3 - 1, a * 3 - 1)
    any_scheme.check(5 - x, 5 - a)
    any_scheme.check(x * y[3], a * b[3])  # on two members
    any_scheme.check(y[3] + x, a + b[3])
    any_scheme.check(y * x, b * a)  # a whole batch by one
    any_scheme.check(x * y, b * a)
    with pytest.raises(TypeError, match="no length"):
        len(x)


def test_operands_broadcast_as_in_numpy(any_scheme: Setting) -> None:
    values = {
        shape: any_scheme.values(*shape, seed=len(shape))
        for shape in [(), (1,), (2,), (4, 2), (4, 1), (1, 2)]
    }
    for left, a in values.items():
        x = any_scheme.ev.encrypt(a)
        for right, b in values.items():
            any_scheme.check(x * any_scheme.ev.encrypt(b), a * b)
            any_scheme.check(x + b, a + b)
            any_scheme.check(b - x, b - a)
            plain = any_scheme.ev.encode(b)
            if len(plain.parts) == 1 or (len(right) == len(left) and right[0] >= left[0]):
                any_scheme.check(x * plain, a * b)
    with pytest.raises(hm.errors.MismatchError, match=r"\(4, 2\) and \(3,\)"):
        any_scheme.ev.encrypt(values[4, 2]) + any_scheme.ev.encrypt(any_scheme.values(3))


def test_plaintexts_in_parts(any_scheme: Setting) -> None:
    a, b = any_scheme.values(5, 2), any_scheme.values(5, 2, seed=2)
    plain = any_scheme.pool.encode(b)
    assert len(plain.parts) == 3
    x = any_scheme.ev.encrypt(a)
    any_scheme.check(x * plain, a * b)
    any_scheme.check(any_scheme.ev.encrypt(plain), b)
    any_scheme.check(any_scheme.pool.encrypt(plain, any_scheme.sk), b)
    np.testing.assert_allclose(any_scheme.pool.decode(plain), b, atol=2**-18)
    single = any_scheme.pool.replicate(any_scheme.one.encode(b[0, 0]))
    any_scheme.check(x * single, a * b[0, 0])
    assert single.to(any_scheme.pool.contexts[2]) is single.to(any_scheme.pool.contexts[2])
    loaded = any_scheme.pool.load(bytes(single))
    any_scheme.check(x * loaded, a * b[0, 0])
    assert len(loaded.parts[0]._copies) == 2  # kept for the next product
    single_plain = any_scheme.pool.encode(b[0, 0])
    any_scheme.check(any_scheme.pool.encrypt(single_plain, any_scheme.sk), b[0, 0])
    with pytest.raises(hm.errors.MismatchError, match="can not be joined"):
        any_scheme.ev.encrypt(any_scheme.values(3, 5, 2)) * plain


def test_indices_and_shapes_are_numpy_s(any_scheme: Setting) -> None:
    a = any_scheme.values(4, 3)
    x, one = any_scheme.pair(a)
    for index in (0, -1, slice(1, None), slice(None, None, -1), (2, 1), (slice(None), 2), [3, 0, 0], None):
        same(x[index], one[index])
        any_scheme.check(x[index], a[index])
    for shape in [(12,), (2, 6), (-1, 2), (1, 4, 3)]:
        same(x.reshape(shape), one.reshape(shape))
    same(x.copy(), one)
    with pytest.raises(IndexError):
        x[4]
    with pytest.raises(hm.errors.MismatchError, match="number of elements"):
        x.reshape(5)


def test_joining(any_scheme: Setting) -> None:
    a, b = any_scheme.values(2), any_scheme.values(3, seed=2)
    (x, one_x), (y, one_y) = any_scheme.pair(a), any_scheme.pair(b)
    joined = hm.concatenate([x, y])
    assert joined.members == [0, 1, 2]  # cut anew
    same(joined, hm.concatenate([one_x, one_y]))
    same(hm.stack([x, x]), hm.stack([one_x, one_x]))
    same(hm.stack([y[0], y[2]]), hm.stack([one_y[0], one_y[2]]))
    same(hm.add_many([x, x]), hm.add_many([one_x, one_x]))
    same(hm.multiply_many([x, x]), hm.multiply_many([one_x, one_x]))
    same(hm.concatenate([x, one_y]), hm.concatenate([one_x, one_y]))
    noisy, one_noisy = y + y, one_y + one_y  # on other members than x: a bound holds for all
    bounds = (
        ["largest"] if any_scheme.pool.params.scheme == "ckks" else ["noise_bits", "guaranteed_noise_budget"]
    )
    if bounds == ["largest"]:
        noisy, one_noisy = any_scheme.ev.declare(y, 3.0), any_scheme.one.declare(one_y, 3.0)
        x, one_x = any_scheme.ev.declare(x, 2.0), any_scheme.one.declare(one_x, 2.0)
    for parts, ones in (([x, noisy], [one_x, one_noisy]), ([noisy, x], [one_noisy, one_x])):
        for bound in bounds:
            assert getattr(hm.concatenate(parts), bound) == getattr(hm.concatenate(ones), bound)
            assert getattr(x, bound) != getattr(noisy, bound)
    with pytest.raises(hm.errors.MismatchError):
        hm.concatenate([x, y.at_level(1)])  # of other levels, which never meet on a member
    with pytest.raises(hm.errors.MismatchError, match="stack"):
        hm.stack([x, y])
    with pytest.raises(hm.errors.MismatchError, match="no axis"):
        hm.concatenate([x[0], x[1]])


def test_sums_over_axes(any_scheme: Setting) -> None:
    a = any_scheme.values(5, 2)
    x, one = any_scheme.pair(a)
    any_scheme.check(x.sum(axis=0), a.sum(axis=0))
    any_scheme.check(x.sum(axis=1), a.sum(axis=1))
    any_scheme.check(x.sum(axis=-2), a.sum(axis=1))
    same(x.sum(axis=2), one.sum(axis=2))
    same(x.sum(axis=0), one.sum(axis=0))
    any_scheme.check(any_scheme.ev.encrypt(a[:, 0]).sum(axis=0), a[:, 0].sum(axis=0))
    any_scheme.check(any_scheme.ev.dot(x, x), (a * a).sum(axis=0))
    any_scheme.check(any_scheme.ev.dot(x, a), (a * a).sum(axis=0))
    with pytest.raises(hm.errors.ParameterError, match="axis 3"):
        x.sum(axis=3)
    if any_scheme.pool.params.scheme == "ckks":
        any_scheme.check(x.mean(axis=0), a.mean(axis=0))
        any_scheme.check(x.mean(axis=1), a.mean(axis=1))
    else:
        with pytest.raises(TypeError, match="no division"):
            x.mean(axis=0)


def test_several_polynomials_count_on_a_new_first_axis(ckks: Setting) -> None:
    a = ckks.values(3)
    x, one = ckks.pair(a)
    coefficients = [[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]]
    same(x.polyval(coefficients), one.polyval(coefficients))
    ckks.check(x.polyval(coefficients), np.stack([np.polynomial.Polynomial(c)(a) for c in coefficients]))


def test_results_in_place(any_scheme: Setting) -> None:
    a, b = any_scheme.values(4), any_scheme.values(4, seed=2)
    x, y = any_scheme.ev.encrypt(a), any_scheme.ev.encrypt(b)
    same_object = x
    x += y
    x *= 2
    assert x is same_object
    any_scheme.check(x, (a + b) * 2)
    with pytest.raises(hm.errors.MissingKeyError):
        any_scheme.pool.bind(any_scheme.ev.keys.public_only()).rotate(x, 1, out=x)
    any_scheme.check(x, (a + b) * 2)
    small = any_scheme.ev.encrypt(a[:2])
    assert any_scheme.ev.add(x, y, out=small) is small  # of another shape before
    any_scheme.check(small, (a + b) * 2 + b)
    assert len(small) == 4
    any_scheme.check(small[3], ((a + b) * 2 + b)[3])
    row = x[0]
    with pytest.raises(hm.errors.MismatchError, match="can not replace"):
        row += y
    any_scheme.check(row, ((a + b) * 2)[0])
    any_scheme.ev.multiply(b=2, a=row, out=row)
    any_scheme.check(row, ((a + b) * 4)[0])
    with pytest.raises(TypeError, match="out="):
        any_scheme.ev.add(x, y, out=any_scheme.one.encrypt(a))  # of one context


# --- Keys. ---


def test_keys_are_copied_once_and_secrets_by_request() -> None:
    setting = make("ckks", 3)
    keys, pool, sk = setting.ev.keys, setting.pool, setting.sk
    bound = pool.bind(keys)
    for first, second in zip(setting.ev.evaluators[1:], bound.evaluators[1:], strict=True):
        assert first.keys is second.keys
        assert first.context is first.keys.context
        assert bytes(first.keys) == bytes(keys)
    a = setting.values(4)
    x = pool.encrypt(a, sk)
    assert not sk._copies
    setting.check(x, a)
    assert not sk._copies
    assert pool.replicate(sk) is sk
    assert [copy.context for copy in sk._copies] == list(pool.contexts[1:])
    assert bytes(sk._copies[0]) == bytes(sk)
    pool.replicate(sk)
    assert len(sk._copies) == 2
    setting.check(pool.encrypt(a, sk), a)
    setting.check(x, a)
    np.testing.assert_allclose(pool.decrypt(pool.encrypt(a, keys), sk), a, atol=2**-18)
    assert pool.load(bytes(keys)).context is pool.contexts[0]
    other = hm.Context(pool.params, "cpu", threads=1)
    with pytest.raises(hm.errors.MismatchError, match="no member"):
        pool.bind(other.load(bytes(keys)))
    with pytest.raises(hm.errors.MismatchError, match="no member"):
        pool.decrypt(x, other.load(bytes(sk)))
    with pytest.raises(TypeError, match="SecretKey"):
        pool.bind(sk)  # type: ignore[arg-type]


def test_a_second_secret(ckks: Setting) -> None:
    other = ckks.pool.generate_secret_key()
    key = ckks.pool.generate_switching_key(ckks.sk, other)
    x, one = ckks.pair(ckks.values(3))
    moved = ckks.ev.reencrypt(x, key)
    same(moved, ckks.one.reencrypt(one, key))
    np.testing.assert_allclose(ckks.pool.decrypt(moved, other), ckks.values(3), atol=2**-18)
    assert not moved.evaluator.has_keys


def test_the_client_s_side_in_one_context_s_words(any_scheme: Setting) -> None:
    pool, sk = any_scheme.pool, any_scheme.sk
    a = any_scheme.values(4)
    x, one = any_scheme.pair(a)
    context = pool.contexts[0]
    if pool.params.scheme == "ckks":
        shown = {"noise_bound": 2.0**-30}
        assert pool.noise_bound(depth=1, largest=1) == context.noise_bound(depth=1, largest=1)
        np.testing.assert_array_equal(
            pool.decrypt_for_sharing(x, sk, **shown), context.decrypt_for_sharing(one, sk, **shown)
        )
    else:
        assert pool.noise_budget(x, sk) == context.noise_budget(one, sk)
        np.testing.assert_array_equal(pool.decrypt_for_sharing(x, sk), a)
    assert any_scheme.ev.rotation_plan(x, -1) == any_scheme.one.rotation_plan(one, -1)
    same(any_scheme.ev.load(bytes(one)), one)
    same(pool.load(bytes(x)), one)
    with pytest.raises(hm.errors.DeviceError, match="one GPU"):
        pool.decrypt_on_device(x, sk)
    with pytest.raises(hm.errors.DeviceError, match="one GPU"):
        pool.decode_on_device(pool.encode(a))


def test_wrong_rows_have_the_numbers_of_the_whole() -> None:
    params = hm.ckks.Parameters.for_circuit(depth=1, slots=4, degree=1024, security=None)
    assert params.checks_range
    with hm.Pool(params, ["cpu", "cpu"], threads=1) as pool:
        sk = pool.replicate(pool.generate_secret_key())
        ev = pool.bind(pool.generate_keys(sk))
        a = np.ones((4, 4))
        other = pool.encrypt(a[3], pool.generate_secret_key())
        x = ev._concatenated([ev.encrypt(a[:3]), hm.stack([other])])
        one = x.to(pool.contexts[0])
        with pytest.raises(hm.errors.NoiseError) as of_one:
            pool.contexts[0].decrypt(one, sk)
        with pytest.raises(hm.errors.NoiseError) as of_pool:
            pool.decrypt(x, sk)
        assert str(of_pool.value) == str(of_one.value)
        assert "3" in str(of_pool.value)
        found = pool.decrypt(x, sk, errors="mask")
        assert isinstance(found, np.ma.MaskedArray)
        assert found.mask[:, 0].tolist() == [False, False, False, True]


# --- Moving. ---


def test_values_move_between_contexts_and_pools(any_scheme: Setting, tmp_path: Path) -> None:
    pool = any_scheme.pool
    a = any_scheme.values(4)
    x, one = any_scheme.pair(a)
    for target in (*pool.contexts, "cpu"):
        moved = x.to(target)
        assert not isinstance(moved, PoolCiphertext)
        assert moved.context in pool.contexts
        assert bytes(moved) == bytes(one)
    assert x.to(any_scheme.ev.evaluators[1]).evaluator is any_scheme.ev.evaluators[1]
    outside = hm.Context(pool.params, "cpu", threads=1)
    foreign = x.to(outside)
    same(foreign.to(pool), one)
    same(foreign.to(any_scheme.ev), one)
    plain = pool.encode(a).parts[0].to(pool)
    assert plain.members == [0, 1]
    np.testing.assert_allclose(pool.decode(plain), a[:2], atol=2**-18)
    x.save(tmp_path / "x")
    same(pool.load(tmp_path / "x"), one)
    with hm.Pool(pool.params, ["cpu"], threads=1) as other:
        same(x.to(other), one)
        for mixed in (x.to(other), foreign):
            with pytest.raises(hm.errors.MismatchError, match=r"two pools|no member"):
                x + mixed
            with pytest.raises(hm.errors.MismatchError, match=r"another pool|no member"):
                any_scheme.ev.bind(mixed)
            with pytest.raises(hm.errors.MismatchError, match=r"two pools|no member|another pool"):
                hm.concatenate([x, mixed])
            with pytest.raises(hm.errors.MismatchError, match=r"two pools|no member"):
                pool.decrypt(mixed, any_scheme.sk)
        with pytest.raises(hm.errors.MismatchError, match="two pools"):
            x * other.encode(a)
    for misuse in (
        lambda: x.to(any_scheme.one) + x,
        lambda: any_scheme.one.add(x, x),
        lambda: pool.contexts[0].decrypt(x, any_scheme.sk),
    ):
        with pytest.raises(hm.errors.MismatchError, match="in parts on the members"):
            misuse()
    with pytest.raises(hm.errors.MismatchError, match=r"pool\.contexts"):
        pool._native  # noqa: B018
    with pytest.raises(hm.errors.MismatchError, match="evaluators has"):
        any_scheme.ev._native  # noqa: B018
    with pytest.raises(TypeError, match="to takes"):
        x.to(3)
    with pytest.raises(hm.errors.DeviceError, match="no member"):
        x.to("cuda:7")
    with pytest.raises(TypeError, match="pickle"):
        pool.__reduce__()


# --- Functions on members. ---


def test_map_gives_parts_to_a_function(ckks: Setting) -> None:
    a, b = ckks.values(7), ckks.values(seed=2)
    x = ckks.ev.encrypt(a)
    seen: list[tuple[Any, int]] = []

    def f(
        evaluator: hm.Evaluator, part: hm.Ciphertext, rows: NDArray[Any], weights: NDArray[Any], n: int
    ) -> Any:
        assert part.evaluator is evaluator
        assert not isinstance(part, PoolCiphertext)
        seen.append((evaluator, len(part)))
        return part * rows * weights, [rows * n, evaluator.encode(rows)]

    for batch in (None, 2, 1, 100):
        seen.clear()
        product, (doubled, plain) = ckks.ev.map(f, x, a, b, 2, batch=batch)
        ckks.check(product, a * a * b)
        np.testing.assert_array_equal(doubled, a * 2)
        np.testing.assert_allclose(ckks.pool.decode(plain), a, atol=2**-18)
        assert product.members == list(range(len(ckks.pool)))
        assert sum(count for _, count in seen) == 7
        assert max(count for _, count in seen) == {None: -(-7 // len(ckks.pool)), 2: 2, 1: 1}.get(
            batch, -(-7 // len(ckks.pool))
        )
        assert {id(evaluator) for evaluator, _ in seen} == {id(each) for each in ckks.ev.evaluators}
    with pytest.raises(TypeError, match="returns ciphertexts"):
        ckks.ev.map(lambda *_: None, x)
    with pytest.raises(hm.errors.ParameterError, match="at least one element"):
        ckks.ev.map(f, x, a, b, 2, batch=0)


def test_map_from_numpy_to_numpy(ckks: Setting) -> None:
    ckks.pool.replicate(ckks.sk)

    def squared(context: hm.Context, rows: NDArray[Any]) -> NDArray[Any]:
        evaluator = next(each for each in ckks.ev.evaluators if each.context is context)
        x = evaluator.encrypt(rows)
        return context.decrypt(x * x, ckks.sk.to(context))

    a = ckks.values(9)
    np.testing.assert_allclose(ckks.pool.map(squared, a, batch=2), a * a, atol=2**-18)


def test_calls_in_flight_overlap_and_stay_in_order() -> None:
    both = threading.Barrier(2, timeout=60)

    def meet(_: hm.Context, rows: NDArray[Any]) -> NDArray[Any]:
        both.wait()  # for a call of the same member
        return rows

    with hm.Pool(make_params("ckks"), "cpu", threads=1, in_flight=2) as pool:
        a = np.arange(16.0).reshape(8, 2)
        np.testing.assert_array_equal(pool.map(meet, a, batch=1), a)
    with pytest.raises(hm.errors.ParameterError, match="in_flight"):
        hm.Pool(make_params("ckks"), "cpu", in_flight=0)


def test_members_work_at_the_same_time(ckks: Setting) -> None:
    """Every member is in the function when one leaves it."""
    together = threading.Barrier(len(ckks.pool), timeout=60)

    def meet(_: hm.Evaluator, part: hm.Ciphertext) -> hm.Ciphertext:
        together.wait()
        return part

    a = ckks.values(len(ckks.pool))
    ckks.check(ckks.ev.map(meet, ckks.ev.encrypt(a)), a)


def test_graphs_on_every_member(ckks: Setting) -> None:
    weights = ckks.pool.replicate(ckks.one.encode(ckks.values(seed=5)))

    def circuit(x: hm.Ciphertext, y: hm.Ciphertext) -> tuple[hm.Ciphertext, hm.Ciphertext]:
        return (x * y).rotate(1) * weights.to(x.context), x + y

    (x, one_x), (y, one_y) = ckks.pair(ckks.values(5)), ckks.pair(ckks.values(5, seed=2))
    graph = ckks.ev.capture(circuit, x, y)
    expected = circuit(one_x, one_y)
    same(graph(x, y), expected)
    same(graph(y, x)[1], circuit(one_y, one_x)[1])
    single = ckks.ev.capture(lambda z: z * z, x)(x)
    same(single, one_x * one_x)
    assert graph.memory_bytes > 0
    assert not graph.is_recorded  # on the CPU
    assert "graphs" in repr(graph)
    with pytest.raises(hm.errors.MismatchError, match="captured for"):
        graph(x[:4], y[:4])
    with pytest.raises(hm.errors.MismatchError):
        graph(x)
    with pytest.raises(hm.errors.ParameterError, match="example"):
        ckks.ev.capture(circuit)


def test_bootstraps_and_encrypted_matrices() -> None:
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    plan = Bootstrap(params, 8)
    random = np.random.default_rng(1)
    with hm.Pool(params, ["cpu", "cpu"], threads=1) as pool:
        sk = pool.generate_secret_key()
        product = MatrixVectorProduct(params, 4, 4)
        keys = pool.generate_keys(sk, plan=[plan, product])
        ev = pool.bind(keys, bootstrap=plan, magnitude=1.0)
        a = random.uniform(-1, 1, (3, 8))
        x = ev.at_level(ev.encrypt(a), plan.input_level)
        one = ev.evaluators[0]
        fresh = x.bootstrap()
        assert fresh.level > x.level
        same(fresh, one.bootstrap(x.to(one)))
        np.testing.assert_allclose(pool.decrypt(fresh, sk), a, atol=2**-12)
        assert ev.bootstraps == 6
        same(plan(x), plan(x.to(one)))
        matrix, vectors = random.uniform(-1, 1, (4, 4)), random.uniform(-1, 1, (3, 4))
        m = ev.encrypt(product.pack(matrix))
        v = ev.encrypt(vectors)
        same(product(m, v), product(m.to(one), v.to(one)))
        np.testing.assert_allclose(pool.decrypt(product(m, v), sk), vectors @ matrix.T, atol=2**-12)


# --- Errors, threads and ends. ---


def test_an_error_of_a_member_comes_with_its_type(ckks: Setting) -> None:
    a = ckks.values(4)
    x = ckks.ev.encrypt(a)

    class OwnError(Exception):
        pass

    def fails(evaluator: hm.Evaluator, part: hm.Ciphertext) -> hm.Ciphertext:
        if evaluator is ckks.ev.evaluators[1]:
            raise OwnError("of the second member")
        return part

    with pytest.raises(OwnError, match="second member"):
        ckks.ev.map(fails, x)
    with pytest.raises(hm.errors.LevelError):
        x.at_level(7)
    with pytest.raises(hm.errors.MismatchError, match="values"):
        x * np.ones((4, 3))
    with pytest.raises(hm.errors.MissingKeyError):
        ckks.pool._keyless.rotate(x, 1)
    table = pytest.importorskip("pandas").DataFrame(a)
    with pytest.raises(TypeError, match="a table is no array"):
        ckks.ev.encrypt(table)
    with pytest.raises(hm.errors.ParameterError):
        ckks.ev.encrypt(np.full((4, SLOTS), np.nan))
    with pytest.raises(TypeError):
        ckks.ev.add(3, x)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="no attribute 'decrypt'"):
        ckks.ev.decrypt(x)  # type: ignore[attr-defined]
    ckks.check(x + 1, a + 1)  # and the pool goes on


def test_the_first_error_in_order_is_raised_and_the_rest_is_left_out() -> None:
    calls: list[float] = []

    def fails(_: hm.Context, rows: NDArray[Any]) -> NDArray[Any]:
        calls.append(float(rows[0, 0]))
        time.sleep(0.01)
        if rows[0, 0] >= 2:
            raise ValueError(f"row {rows[0, 0]:.0f}")
        return rows

    with hm.Pool(make_params("ckks"), "cpu", threads=1) as pool:
        with pytest.raises(ValueError, match="row 2"):
            pool.map(fails, np.arange(1000.0).reshape(1000, 1), batch=1)
        assert len(calls) < 900
    together = threading.Barrier(2, timeout=60)

    def both_fail(_: hm.Context, rows: NDArray[Any]) -> NDArray[Any]:
        together.wait()
        if rows[0, 0] == 0:
            time.sleep(0.05)  # later, and yet first in order
        raise ValueError(f"row {rows[0, 0]:.0f}")

    with (
        hm.Pool(make_params("ckks"), ["cpu", "cpu"], threads=1) as pool,
        pytest.raises(ValueError, match="row 0"),
    ):
        pool.map(both_fail, np.arange(2.0).reshape(2, 1))


def test_a_function_of_a_member_can_not_call_its_pool(ckks: Setting) -> None:
    x = ckks.ev.encrypt(ckks.values(2))
    with pytest.raises(hm.errors.ParameterError, match="would wait"):
        ckks.ev.map(lambda *_: x + 1, x)
    with pytest.raises(hm.errors.ParameterError, match="would wait"):
        ckks.pool.map(lambda *_: ckks.pool.close(), x)
    ckks.check(x, ckks.values(2))


def test_threads_from_outside_use_one_pool_at_once(any_scheme: Setting) -> None:
    def work(seed: int) -> None:
        a = any_scheme.values(1 + seed % 5, seed=seed)
        x = any_scheme.ev.encrypt(a)
        any_scheme.check((x * x + x)[::-1], (a * a + a)[::-1])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(16)))


def test_what_the_caller_knows_counts_on_members(ckks: Setting) -> None:
    from hemera.objects.noise_warning import ranges_are_known

    f = sigmoid((-2, 2), bits=5)
    x = ckks.ev.encrypt(ckks.values(3))
    with pytest.warns(hm.errors.RangeWarning) as given:
        f(x)
    assert [warning.filename for warning in given] == [__file__]  # once, and at the user's line
    with warnings.catch_warnings(), ranges_are_known():
        warnings.simplefilter("error")
        f(x)


def test_closing() -> None:
    setting = make("bfv", 2)
    a = setting.values(4)
    x = setting.ev.encrypt(a)
    started = threading.Event()

    def slow(_: hm.Evaluator, part: hm.Ciphertext) -> hm.Ciphertext:
        started.set()
        time.sleep(0.3)
        return part + 1

    with ThreadPoolExecutor(1) as other:
        pending = other.submit(setting.ev.map, slow, x)
        started.wait()
        threads_before = {thread.name for thread in threading.enumerate()}
        assert any(name.startswith("hemera-cpu") for name in threads_before)
        setting.pool.close()
        result = pending.result()  # what had been given ends
    setting.pool.close()
    for call in (
        lambda: x + 1,
        lambda: setting.ev.encrypt(a),
        lambda: bytes(x),
        lambda: setting.pool.map(slow, x),
    ):
        with pytest.raises(hm.errors.DeviceError, match="closed"):
            call()
    found = [part.context.decrypt(part, setting.sk.to(part.context)) for part in result.parts]
    np.testing.assert_array_equal(np.concatenate(found), a + 1)


def test_a_pool_that_is_forgotten_ends_its_threads() -> None:
    import gc

    before = threading.active_count()
    setting = make("bgv", 2)
    x = setting.ev.encrypt(setting.values(2))
    del setting
    assert threading.active_count() >= before + 2
    del x
    gc.collect()
    deadline = time.monotonic() + 30
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import hemera as hm
signal.signal(signal.SIGINT, signal.default_int_handler)
params = hm.ckks.Parameters.for_circuit(2, security=None)
pool = hm.Pool(params, ["cpu", "cpu"], threads=1)
sk = pool.generate_secret_key()
ev = pool.bind(pool.generate_keys(sk))
value = np.full((4, 8), 3.0)
x = ev.encrypt(value)

def interrupted(work):
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    try:
        work()
    except KeyboardInterrupt:
        return True
    return False

def whole():
    return bool(np.allclose(pool.decrypt(x * x, sk)[..., :8], 9, atol=1e-3))
"""


def run_program(program: str) -> str:
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM + program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.strip()


@pytest.mark.parametrize(
    "work",
    [
        "ev.add_many([x] * 200_000)",  # in a call of the core, for minutes
        "ev.map(lambda e, part: [e.add(part, 1) for _ in iter(int, 1)], x)",  # between many
        "ev.map(lambda e, part: e.add_many([part] * 200_000), x)",
    ],
)
def test_ctrl_c_ends_all_members(work: str) -> None:
    """The calls would take minutes, or for ever."""
    assert run_program(f"print(interrupted(lambda: {work}), whole())\n") == "True True"


def test_ctrl_c_ends_the_caller_s_work_alone() -> None:
    assert (
        run_program("""
others = []
def work():
    for _ in range(30):
        others.append(ev.add_many([x] * 30))
thread = threading.Thread(target=work)
thread.start()
print(interrupted(lambda: ev.map(lambda e, part: [e.add(part, 1) for _ in iter(int, 1)], x)))
thread.join()
print(len(others), whole())
""")
        == "True\n30 True"
    )


def test_a_forked_child_is_refused_with_the_reason() -> None:
    assert (
        run_program("""
sys.stdout.flush()
child = os.fork()
if child == 0:
    try:
        x + 1
    except hm.errors.DeviceError as error:
        print("forked" in str(error))
    pool.close()
    with hm.Pool(params, ["cpu", "cpu"], threads=1) as own:
        key = own.generate_secret_key()
        print(bool(np.allclose(own.decrypt(own.encrypt(value, key), key), 3)))
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
print(whole())
""")
        == "True\nTrue\nTrue"
    )


def test_a_program_may_end_with_an_open_pool() -> None:
    assert run_program("print(whole())\n") == "True"


# --- Devices. ---


def test_devices_of_a_pool() -> None:
    params = make_params("ckks")
    with hm.Pool(params, ["cpu", "cpu"]) as pool:
        assert (pool.devices, pool.device, len(pool)) == (("cpu", "cpu"), "cpu,cpu", 2)
        assert pool.contexts[0] is not pool.contexts[1]
        assert all(context.params == params for context in pool.contexts)
        assert pool.memory_limit is None
        before = pool.memory_used
        sk = pool.replicate(pool.generate_secret_key())
        assert pool.memory_used >= before + 2 * 1024 * 8
        assert (pool.params, pool.multiplier, pool.storage) == (params, "ntt", "eight-byte")
        assert "cpu,cpu" in repr(pool)
        assert pool.description.count("cpu (") == 2
        assert "Context" in pool._repr_html_()
        pool.synchronize()
        assert pool.on("cpu") is pool.contexts[0]
        del sk
    with hm.Pool(params, ["cpu", "cpu"], threads=1, memory_limit=1 << 20, multiplier="schoolbook") as pool:
        assert pool.memory_limit == 2 << 20
        assert pool.multiplier == "schoolbook"
        assert all("1 thread" in context.description for context in pool.contexts)
        with pytest.raises(hm.errors.OutOfMemoryError):
            pool.generate_keys(pool.generate_secret_key(), rotations=range(1, 60))
    with pytest.raises(hm.errors.ParameterError, match="at least one"):
        hm.Pool(params, [])
    with pytest.raises(hm.errors.ParameterError, match="alone"):
        hm.Pool(params, ["cuda:*", "cpu"])
    with pytest.raises(hm.errors.DeviceError):
        hm.Pool(params, ["cpu", "cuda:99"])
    with pytest.raises(TypeError, match="by their names"):
        hm.Pool(params, ["cpu", 3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="devices like"):
        hm.Pool(params, 3)  # type: ignore[arg-type]


def test_all_gpus_or_the_reason_why_there_are_none() -> None:
    params = make_params("ckks")
    if GPUS:
        with hm.Pool(params, "cuda:*") as pool:
            assert list(pool.devices) == GPUS
    else:
        with pytest.raises(hm.errors.DeviceError) as of_pool:
            hm.Pool(params, "cuda:*")
        with pytest.raises(hm.errors.DeviceError) as of_context:
            hm.Context(params, "cuda")
        assert str(of_pool.value) == str(of_context.value)
        with hm.Pool(params) as pool:
            assert pool.devices == ("cpu",)


def test_members_know_each_other_by_their_devices() -> None:
    with hm.Pool(make_params("ckks"), ["cpu", "ledger", "cpu"], threads=1) as pool:
        first, counting, last = pool.contexts
        assert [context._family["ledger"] for context in pool.contexts] == [counting] * 3
        assert (first.on("cpu"), counting.on("cpu"), last.on("cpu")) == (first, last, last)


@pytest.mark.skipif(not GPUS, reason="there is no GPU")
@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
def test_gpus_have_the_bits_of_the_cpu(scheme: str) -> None:
    """On all GPUs, or twice on one; with graphs, and with copies while members record and compute."""
    one = make(scheme, 1)
    cpu = one.one
    with hm.Pool(one.pool.params, GPUS if len(GPUS) > 1 else GPUS * 2, in_flight=3) as pool:
        ev = pool.bind(pool.load(bytes(cpu.keys)))
        sk = pool.replicate(pool.load(bytes(one.sk)))
        a, b = one.values(5), one.values(5, seed=2)
        one_x, one_y = cpu.encrypt(a), cpu.encrypt(b)
        x, y = one_x.to(ev), one_y.to(ev)
        expected = (one_x * one_y).rotate(1) + one_x
        same((x * y).rotate(1) + x, expected)
        same(x.sum(axis=0), one_x.sum(axis=0))
        same((x * y)[::-1], (one_x * one_y)[::-1])

        stop = threading.Event()
        copied: list[hm.Ciphertext] = []

        def copy_on() -> None:
            while not stop.is_set():
                copied[:] = [x.parts[0].to(pool.contexts[1]), x.parts[1].to(pool.contexts[0])]

        copying = threading.Thread(target=copy_on)
        copying.start()
        try:
            for _ in range(5):
                graph = ev.capture(lambda x, y: (x * y).rotate(1) + x, x, y)
                assert graph.is_recorded
                same(graph(x, y), expected)
                same((x * y).rotate(1) + x, expected)
        finally:
            stop.set()
            copying.join()
        for part, copy in zip(x.parts, copied, strict=False):
            assert bytes(copy) == bytes(part)

        def there_and_back(evaluator: hm.Evaluator, rows: NDArray[Any]) -> NDArray[Any]:
            z = evaluator.encrypt(rows)
            return evaluator.context.decrypt(z * z, sk.to(evaluator.context))

        many = one.values(64)
        np.testing.assert_allclose(ev.map(there_and_back, many, batch=4), many * many, atol=2**-18)
        assert pool.memory_limit is not None
        if len(GPUS) > 1:
            assert pool.contexts[1].on(GPUS[0]) is pool.contexts[0]
            assert x.parts[0].to(GPUS[1]).context is pool.contexts[1]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processors are bound on Linux alone")
def test_members_of_the_cpu_are_bound_to_their_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    nodes = [allowed[:1], allowed[1:]] if len(allowed) > 1 else [allowed]
    for number, cpus in enumerate(nodes):
        folder = tmp_path / f"node{number}"
        folder.mkdir()
        (folder / "cpulist").write_text(",".join(map(str, cpus)) + "\n")
    far = tmp_path / "node10"  # of another process: it has no processor here
    far.mkdir()
    (far / "cpulist").write_text("100000-100003\n")
    (tmp_path / "possible").write_text("0-1")
    monkeypatch.setattr(pool_members, "NODES", tmp_path)
    assert pool_members.nodes_of_processors() == [frozenset(cpus) for cpus in nodes]
    before = {int(task.name) for task in Path("/proc/self/task").iterdir()}
    with hm.Pool(make_params("ckks"), "cpu:*", threads=2) as pool:
        assert pool.devices == ("cpu",) * len(nodes)
        own = {int(task.name) for task in Path("/proc/self/task").iterdir()} - before
        bound = [frozenset(os.sched_getaffinity(thread)) for thread in own]
        for cpus in nodes:
            # The member's thread, and the second thread of its context.
            assert bound.count(frozenset(cpus)) >= 2
        assert set(bound) <= {frozenset(cpus) for cpus in nodes}
        sk = pool.generate_secret_key()
        a = np.ones((3, 4))
        np.testing.assert_allclose(pool.decrypt(pool.encrypt(a, sk), sk), a, atol=2**-18)
    assert set(os.sched_getaffinity(0)) == set(allowed)  # the caller is bound to none
    monkeypatch.setattr(pool_members, "NODES", tmp_path / "missing")
    with pytest.raises(hm.errors.DeviceError, match="does not tell"):
        hm.Pool(make_params("ckks"), "cpu:*")


def test_lists_of_processors() -> None:
    assert pool_members._processors_of("0-3,8,10-11\n") == {0, 1, 2, 3, 8, 10, 11}
    assert pool_members._processors_of("\n") == set()
