"""A pool has the interface of a context, and its values that of ciphertexts and plaintexts."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import hemera as hm
from hemera.pool.evaluator import PoolEvaluator
from hemera.pool.parts import PoolCiphertext, PoolPlaintext

from .setting import Setting

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
            both = [inspect.signature(each).parameters.values() for each in (ours, theirs)]
            first, second = ([(each.name, each.kind, each.default) for each in found] for found in both)
            assert first == second, name
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
