"""Captured functions of encrypted integers give what the functions give.

Recorded ones are in ../test_cuda_library.py."""

import operator

import numpy as np
import pytest

import hemera as hm

from ..beside import together
from ..refusals import raises, refuse
from .setting import check, context, operands

UINT8 = np.dtype(np.uint8)


def events(x):
    return x._stored.risk.events


def several(a, b):
    return np.where(a < b, a + 7, b), a * b, a.sum(), a[::-1] ^ b


def test_results_are_those_of_the_function():
    ints = context(8)
    a, b = operands(ints, UINT8, 1)
    x, y = ints.encrypt(a), ints.encrypt(b)
    graph = ints.capture(several, x, y)
    expected = several(y, x)
    for _ in range(2):
        results = graph(y, x)
        assert isinstance(results, tuple)
        with np.errstate(over="ignore"):
            clear = np.where(b < a, b + UINT8.type(7), a), a * b, b.sum(dtype=UINT8), b[::-1] ^ a
        for result, same, values in zip(results, expected, clear, strict=True):
            check(result, values, ints)
            assert result.levels == same.levels
            assert (result.error, result._stored.largest) == (same.error, same._stored.largest)
            assert result.failure_log2 == pytest.approx(same.failure_log2, abs=1e-12)
    assert graph.is_recorded == ints.evaluator.context.device.startswith("cuda")
    assert "2 inputs and 4 outputs" in repr(graph)
    assert graph.memory_bytes > 0


def test_one_result_and_booleans():
    ints = context(8)
    a, b = np.array([1, 5, 9], UINT8), np.array([9, 5, 1], UINT8)
    graph = ints.capture(lambda c, x: c & (x == 5), ints.encrypt(a) < 6, ints.encrypt(a))
    result = graph(ints.encrypt(b) < 6, ints.encrypt(b))
    assert isinstance(result, hm.integers.Booleans)
    assert ints.decrypt(result).tolist() == [False, True, False]


def test_each_call_has_refreshes_of_its_own():
    """In a sum of two calls each refresh counts, and what their inputs share counts once."""
    ints = context(8)
    x = ints.encrypt(np.arange(5, dtype=UINT8)).refresh()
    other = ints.encrypt(np.arange(5, dtype=UINT8)).refresh()
    kept = ints.encrypt(np.arange(5, dtype=UINT8)).refresh()
    graph = ints.capture(lambda a: (a + kept, -a, a), x)
    first, second, third = graph(x), graph(x), graph(other)
    assert events(x) == events(first[2]) == events(second[2])
    assert events(other) == events(third[2])
    shared = events(x) | events(kept)
    assert events(first[0]) > shared
    assert events(first[0]) & events(second[0]) == shared
    assert events(third[0]) & events(second[0]) == events(kept)
    assert events(first[0]) & events(first[1]) == events(x)
    added = len(events(first[0]) - shared)
    assert added == len(events(x + kept) - shared)
    assert len(events(first[0]) | events(second[0])) == len(shared) + 2 * added


def test_results_of_one_refresh_share_its_events():
    ints = context(8)
    x = ints.encrypt(np.arange(5, dtype=UINT8))

    def twice(a):
        b = a.refresh()
        return b, b[1:]

    first, second = ints.capture(twice, x)(x)
    assert events(first) == events(second) != frozenset()


def test_clear_operands_are_encrypted_once():
    ints = context(8)
    x = ints.encrypt(np.arange(5, dtype=UINT8))
    seen = []
    errors, levels = [], []

    def function(a):  # a recorded one reads no values, so that their bytes are compared later
        errors.append(ints.encrypt(np.full(5, 3, UINT8)).error)
        seen.append(ints.encrypt(np.full(5, 3, UINT8))._stored.value)
        seen.append(ints.encrypt(np.full(5, 4, UINT8))._stored.value)
        levels.append([ints.encrypt(np.full(5, 3, UINT8), levels=left).levels for left in (1, 0, None)])
        return a + 3

    graph = ints.capture(function, x)
    graph(x)
    assert levels[0] == levels[-1] == [1, 0, ints.levels]
    values = [bytes(value) for value in seen]
    assert values[0] == values[-2] != values[1] == values[-1]
    assert set(errors) == {ints.encrypt(np.full(5, 3, UINT8)).error}
    fresh = [bytes(ints.encrypt(np.full(5, 3, UINT8))._stored.value) for _ in range(2)]
    assert len({values[0], *fresh}) == 3  # not beyond the graph


ALIKE = [
    # Arrays of the same bytes, and of another type or shape.
    *(np.array([True, False]), np.array([1, 0], np.uint8), np.array([1, 0], np.int8)),
    *(np.array([1], np.uint16), np.array([[1, 0]], np.uint8), np.array([[1], [0]], np.uint8)),
]


@pytest.mark.parametrize("order", [1, -1])
def test_clear_operands_of_the_same_bytes_are_not_the_same(order):
    ints, a, p = context(16), np.array([7, 250], np.uint8), np.array([True, True])
    mask, x, constants = ints.encrypt(p), ints.encrypt(a), ALIKE[::order]
    for f, encrypted, clear in ((operator.and_, mask, p), (operator.add, x, a)):
        graph = ints.capture(
            lambda m, x, f=f: (m & constants[0], *(f(x, c) for c in constants)), mask, encrypted
        )
        for found, constant in zip(graph(mask, encrypted)[1:], constants, strict=True):
            check(found, f(clear, constant), ints)


def test_other_threads_encrypt_anew_meanwhile():
    ints = context(8)
    x = ints.encrypt(np.arange(5, dtype=UINT8))
    found = []

    def encrypt():
        found.append(bytes(ints.encrypt(np.full(5, 3, UINT8))._stored.value))

    def function(a):
        for _ in range(2):
            together(encrypt)
        return a

    ints.capture(function, x)
    assert len(set(found)) == len(found) >= 2


def test_inputs_are_like_the_examples():
    ints = context(8)
    x = ints.encrypt(np.arange(5, dtype=UINT8))
    graph = ints.capture(lambda a: a + a, x)
    refused = hm.errors.MismatchError
    refuse(
        (lambda: graph(x.reshape(1, 5)), refused, r"uint8 of shape \(1, 5\)"),
        (lambda: graph(x.shrink()), refused, "its level is"),
        (lambda: graph(x, x), refused, "2 inputs were given, but it was captured with 1"),
        (lambda: graph(x == x), TypeError, "input 0 is"),
    )
    with pytest.raises(refused, match=r"input 0 is int8 of shape \(5,\), and its example was uint8"):
        graph(ints.encrypt(np.arange(5, dtype=np.int8)))
    with pytest.raises(refused, match="belongs to another context"):
        graph(hm.integers.Context(8, keys=ints.keys).encrypt(np.arange(5, dtype=UINT8)))
    raises(TypeError, "input 0 is", graph, np.arange(5))


def test_larger_errors_are_refused():
    ints = context(8)
    x = ints.encrypt(np.arange(5, dtype=UINT8))
    graph = ints.capture(lambda a: a + a, x)
    worse = x._with(x._held[slice(None)], x.shape)
    object.__setattr__(worse._stored, "error", 1.01 * x.error)
    raises(hm.errors.MismatchError, r"with an error of .*refresh\(\) the input", graph, worse)
    better = x._with(x._held[slice(None)], x.shape)
    object.__setattr__(better._stored, "error", 0.5 * x.error)
    assert ints.decrypt(graph(better)).tolist() == [0, 2, 4, 6, 8]


def test_what_is_no_function_of_arrays_is_refused():
    ints = context(8)
    x = ints.encrypt(np.arange(5, dtype=UINT8))
    raises(TypeError, "returns encrypted arrays, not", ints.capture, lambda _: 3, x)
    raises(TypeError, "returns encrypted arrays, not", ints.capture, lambda a: [a, a.to_ckks()], x)
    raises(TypeError, "examples are encrypted arrays, not", ints.capture, lambda a: a, np.arange(5))
    raises(hm.errors.ParameterError, "at least one example", ints.capture, lambda: x)
    with pytest.raises(hm.errors.MismatchError, match="another context"):
        ints.capture(lambda a: a, hm.integers.Context(8, keys=ints.keys).encrypt(np.arange(5, dtype=UINT8)))
