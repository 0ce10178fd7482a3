"""A pool has the interface of a context: names, arrays that are given, and moves between both."""

import inspect

import numpy as np
import pytest

import hemera as hm
from hemera.errors import MismatchError, NoiseError, ParameterError
from hemera.pool.evaluator import PoolEvaluator
from hemera.pool.parts import PoolCiphertext, PoolPlaintext

from ..refusals import raises
from .setting import SLOTS, make, same

# What a pool does not have, or has by its base, and why.
CONTEXT_EXCEPTIONS = {
    "params": "of the base: read from what the pool keeps",
    "multiplier": "of the base: read from what the pool keeps",
}
EVALUATOR_EXCEPTIONS = {
    "context": "of the base: the pool",
    "keys": "of the base: those that were bound",
    "has_keys": "of the base: asks the keys",
    "encode": "of the base: the pool encodes",
}
# Names of the base, written with the pool's evaluator, the shape, or another method; OPERATORS tests them.
CIPHERTEXT_EXCEPTIONS = {
    *("context", "evaluator", "reshape", "dot", "square", "polyval", "relinearize", "rescale", "mod_switch"),
    *("at_level", "shrink", "rotate", "rotate_many", "conjugate", "bootstrap", "with_slots", "swap_rows"),
    *("sum", "mean"),
}


def public(cls):
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
def test_a_pool_has_all_methods_of_its_own(one, pooled, exceptions):
    """A method of the base would look for an object of the core, which a pool does not have."""
    own = {name for cls in pooled.__mro__ if cls.__module__.startswith("hemera.pool") for name in vars(cls)}
    assert public(one) - own == set(exceptions)
    for name in public(one) & own:
        ours, theirs = inspect.getattr_static(one, name), inspect.getattr_static(pooled, name)
        assert isinstance(ours, property) == isinstance(theirs, property), name
        if callable(ours):
            both = [inspect.signature(each).parameters.values() for each in (ours, theirs)]
            first, second = ([(each.name, each.kind, each.default) for each in found] for found in both)
            assert first == second, name
        assert theirs.__doc__, name


def test_properties_are_those_of_the_whole(any_scheme):
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


@pytest.mark.fact_of_the_cpu("names of devices")
def test_values_move_between_contexts_and_pools(any_scheme, tmp_path):
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
            raises(hm.errors.MismatchError, r"another pool|no member", any_scheme.ev.bind, mixed)
            raises(hm.errors.MismatchError, r"two pools|no member|another pool", hm.concatenate, [x, mixed])
            raises(hm.errors.MismatchError, r"two pools|no member", pool.decrypt, mixed, any_scheme.sk)
        raises(hm.errors.MismatchError, "two pools", lambda: x * other.encode(a))
    for misuse in (
        lambda: x.to(any_scheme.one) + x,
        lambda: any_scheme.one.add(x, x),
        lambda: pool.contexts[0].decrypt(x, any_scheme.sk),
    ):
        raises(hm.errors.MismatchError, "in parts on the members", misuse)
    with pytest.raises(hm.errors.MismatchError, match=r"pool\.contexts"):
        pool._native  # noqa: B018
    with pytest.raises(hm.errors.MismatchError, match="evaluators has"):
        any_scheme.ev._native  # noqa: B018
    raises(TypeError, "to takes", x.to, 3)
    raises(hm.errors.DeviceError, "no member", x.to, "cuda:7")
    raises(TypeError, "pickle", pool.__reduce__)


@pytest.fixture(scope="module", params=["ckks", "bfv"])
def setting(request):
    found = make(request.param, 3)
    found.pool.replicate(found.sk)
    with found.pool:
        yield found


@pytest.mark.parametrize("shape", [(), (1,), (2,), (7,), (4, 2)])
@pytest.mark.parametrize("errors", ["raise", "mask"])
def test_members_write_their_rows(setting, shape, errors):
    pool, one = setting.pool, setting.one.context
    x, whole = setting.pair(setting.values(*shape))
    for dtype in (None, np.complex128 if pool.params.scheme == "ckks" else np.uint64):
        expected = one.decrypt(whole, setting.sk, dtype=dtype)
        found = pool.decrypt(x, setting.sk, dtype=dtype, errors=errors)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
        assert isinstance(found, np.ma.MaskedArray) == (errors == "mask")
        longer = np.full((2, *expected.shape), 77, expected.dtype)
        found = pool.decrypt(x, setting.sk, dtype=dtype, errors=errors, out=longer[1])
        assert np.shares_memory(np.asarray(found), longer)
        np.testing.assert_array_equal(longer[1], expected)
        assert (longer[0] == 77).all()


def test_plaintexts_in_parts_decode_to_rows(setting):
    values = setting.values(5)
    plain = setting.pool.encode(values)
    out = np.empty(setting.pool.decode(plain).shape, plain.dtype)
    assert setting.pool.decode(plain, out=out) is out
    np.testing.assert_allclose(out[:, :SLOTS], values, atol=2**-18)


def test_an_array_of_any_layout_is_filled(setting):
    x, whole = setting.pair(setting.values(5))
    expected = setting.one.context.decrypt(whole, setting.sk)
    wide = np.zeros((*expected.shape, 2), expected.dtype)
    assert setting.pool.decrypt(x, setting.sk, out=wide[::-1, :, 1]) is not None
    np.testing.assert_array_equal(wide[::-1, :, 1], expected)
    assert not wide[..., 0].any()


def test_one_member_fills_an_array_where_the_key_is_on_one(setting):
    sk = setting.pool.generate_secret_key()  # not replicated
    x = setting.pool.encrypt(setting.values(4), sk)
    expected = setting.pool.decrypt(x, sk)
    out = np.empty(expected.shape, expected.dtype)
    assert setting.pool.decrypt(x, sk, out=out) is out
    np.testing.assert_array_equal(out, expected)


def test_wrong_rows_are_named_by_their_places_in_the_whole(setting):
    other = setting.one.context.generate_secret_key()
    rows = setting.values(6)
    x = setting.ev.bind(
        hm.stack(
            [setting.one.context.encrypt(row, other if i == 4 else setting.sk) for i, row in enumerate(rows)]
        )
    )
    out = np.empty((6, x.filled), x.dtype)
    found = setting.pool.decrypt(x, setting.sk, errors="mask", out=out)
    assert np.ma.getmaskarray(found).all(axis=1).tolist() == [i == 4 for i in range(6)]
    np.testing.assert_allclose(out[[0, 1, 2, 3, 5], :SLOTS], rows[[0, 1, 2, 3, 5]], atol=1e-3)
    raises(NoiseError, "row 4 of 6", setting.pool.decrypt, x, setting.sk, out=out)


def test_parts_of_two_types_have_the_type_of_the_whole():
    setting = make("ckks", 2)
    setting.pool.replicate(setting.sk)
    values = setting.values(4)
    with setting.pool:
        first = values[0, 0]
        both = setting.ev.map(lambda ev, rows: ev.encrypt(rows * (1 if rows[0, 0] == first else 1j)), values)
        assert [part.dtype for part in both.parts] == [np.float64, np.complex128]
        found = setting.pool.decrypt(both, setting.sk)
        assert found.dtype == np.complex128
        np.testing.assert_allclose(found, [*values[:2], *(values[2:] * 1j)], atol=2**-18)
        with pytest.raises(ParameterError, match="out is an array of float64, and the values are complex128"):
            setting.pool.decrypt(both, setting.sk, out=np.empty((4, SLOTS)))


def test_arrays_that_do_not_fit_are_refused_before_members_work(setting):
    x, _ = setting.pair(setting.values(4))
    for wrong in ((4, 3), (3, x.filled), (x.filled,)):
        with pytest.raises(MismatchError, match="out is an array of shape"):
            setting.pool.decrypt(x, setting.sk, out=np.empty(wrong, x.dtype))
    with pytest.raises(ParameterError, match="not to float32"):
        setting.pool.decrypt(x, setting.sk, out=np.empty((4, x.filled), np.float32))
    raises(ParameterError, "not to float32", setting.pool.decrypt, x, setting.sk, dtype=np.float32)
    raises(TypeError, "out takes a NumPy array, not int", setting.pool.decrypt, x, setting.sk, out=1)
