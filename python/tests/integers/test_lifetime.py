"""A context that is dropped gives its memory back at once: no cache of circuits, and no circle, keeps it."""

from __future__ import annotations

import gc
import weakref

import numpy as np

import hemera as hm


def test_a_dropped_context_is_gone_at_once() -> None:
    ints = hm.integers.Context(8, preset="test-exact")
    a = ints.encrypt(np.array([200, 3, 7], np.uint8))
    # Tables, products and their plans, of which some are kept for all contexts.
    np.testing.assert_array_equal(ints.decrypt(a * a), np.array([64, 9, 49], np.uint8))
    np.testing.assert_array_equal(ints.decrypt(a < 7), [False, True, False])
    held = [weakref.ref(each) for each in (ints, ints._ckks, ints._engine)]  # other contexts may share plans
    gc.collect()
    gc.disable()
    try:
        del ints
        assert held[0]() is not None  # the values need it
        del a
        assert [each() for each in held] == [None] * len(held)
    finally:
        gc.enable()
