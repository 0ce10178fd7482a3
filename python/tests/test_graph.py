"""Captured circuits give what the circuit gives, on whatever device the tests run."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hemera as hm

from .refusals import refuse


@pytest.fixture(scope="module")
def setting():
    params = hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=8)
    ctx = hm.Context(params)
    secret = ctx.generate_secret_key()
    return ctx, secret, ctx.bind(ctx.generate_keys(secret, rotations=[1]))


def values(seed, rows=3):
    return np.random.default_rng(seed).uniform(-1, 1, (rows, 8))


def test_a_graph_gives_the_bits_of_the_circuit(setting):
    ctx, secret, ev = setting
    weights = ev.encode(values(9, 1)[0], level=ctx.params.levels - 2)

    def circuit(x, y):
        x += y  # in place: the caller's ciphertext must not change
        return (x * y).rotate(1) * weights + 0.5

    example = [ev.encrypt(values(1)), ev.encrypt(values(2))]
    before = [bytes(x) for x in example]
    graph = ev.capture(circuit, *example)
    assert [bytes(x) for x in example] == before
    results = []
    for seed in (3, 5):
        a, b = values(seed), values(seed + 1)
        x, y = ev.encrypt(a), ev.encrypt(b)
        given = bytes(x)
        result = graph(x, y)
        assert isinstance(result, hm.Ciphertext)
        assert bytes(x) == given
        expected = circuit(ev.load(given), y)
        assert bytes(result) == bytes(expected)
        clear = np.roll((a + b) * b, -1, axis=1) * values(9, 1)[0] + 0.5
        np.testing.assert_allclose(ctx.decrypt(result, secret), clear, atol=1e-4)
        results.append((result, clear))
    # A later call leaves earlier results alone.
    for result, clear in results:
        np.testing.assert_allclose(ctx.decrypt(result, secret), clear, atol=1e-4)
    assert graph.is_recorded == ctx.device.startswith("cuda")
    assert "2 inputs and 1 outputs" in repr(graph)


def test_results_are_the_callers(setting):
    ctx, secret, ev = setting
    x, kept = ev.encrypt(values(1)), ev.encrypt(values(2))
    graph = ev.capture(lambda a: (kept, a), x)
    for result in graph(x):
        result += 1
    for found, expected in ((kept, values(2)), (x, values(1)), (graph(x)[0], values(2))):
        np.testing.assert_allclose(ctx.decrypt(found, secret), expected, atol=2**-18)


def test_array_operands_are_encoded_once(setting, monkeypatch):
    """The second of two runs with the same arrays finds the plaintexts of the first."""
    ctx, secret, ev = setting
    codec = ctx._codec
    encoded = []
    encode = type(codec)._encode_operand

    def counted(_, values, *rest, **named):
        encoded.append(values)
        return encode(codec, values, *rest, **named)

    monkeypatch.setattr(type(codec), "_encode_operand", counted)
    rows = values(7, 2)

    def circuit(x):
        y = x * rows[0] + rows[1]
        return y * rows[0].copy() + rows[0]  # another level; and a sum

    x = ev.encrypt(values(1))
    expected = bytes(circuit(x))
    assert len(encoded) == 4
    with codec.keeping_operands():
        assert bytes(circuit(x)) == expected
        with codec.keeping_operands():
            assert bytes(circuit(x)) == expected
        assert (bytes(circuit(x)), len(encoded)) == (expected, 8)
        rows[0, 3] += 1
        circuit(x)
        assert len(encoded) == 11  # rows[1] alone is as before
    circuit(x)
    assert len(encoded) == 15
    result = ev.capture(circuit, x)(x)
    assert isinstance(result, hm.Ciphertext)
    clear = (values(1) * rows[0] + rows[1]) * rows[0] + rows[0]
    np.testing.assert_allclose(ctx.decrypt(result, secret), clear, atol=1e-4)


def test_calls_from_several_threads_take_turns(setting):
    _, _, ev = setting
    running, most = 0, 0

    def circuit(x):
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(0.02)  # long enough for every other thread to come by
        running -= 1
        return x * x

    graph = ev.capture(circuit, ev.encrypt(values(1)))
    inputs = [ev.encrypt(values(seed)) for seed in range(4)]
    expected = [bytes(x * x) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(graph, inputs * 3))
    assert ([bytes(result) for result in results], most) == (expected * 3, 1)


def test_inputs_must_be_like_the_examples(setting):
    _, _, ev = setting
    graph = ev.capture(lambda x: x * x, ev.encrypt(values(1)))
    with pytest.raises(hm.errors.MismatchError, match=r"its batch is \(2,\) and not \(3,\)"):
        graph(ev.encrypt(values(1, 2)))
    refuse((lambda: graph(ev.at_level(ev.encrypt(values(1)), 1)), hm.errors.MismatchError, "its level is"))
    with pytest.raises(hm.errors.MismatchError, match="2 inputs were given, but it was captured with 1"):
        graph(ev.encrypt(values(1)), ev.encrypt(values(1)))
    with pytest.raises(hm.errors.ParameterError, match="at least one example"):
        ev.capture(lambda: ev.encrypt(values(1)))
    with pytest.raises(TypeError, match="returns ciphertexts, not int"):
        ev.capture(lambda x: [x, 3], ev.encrypt(values(1)))


def test_noisier_inputs_are_refused():
    ctx = hm.Context(hm.bfv.Parameters.for_circuit(depth=2, plain_bits=17))
    ev = ctx.bind(ctx.generate_keys(ctx.generate_secret_key()))
    fresh = ev.encrypt([1, 2, 3])
    graph = ev.capture(lambda x: x + x, fresh)
    refuse((lambda: graph(fresh * fresh), hm.errors.MismatchError, "its noise may be"))


def test_a_circuit_that_lowers_its_input_in_place_may_be_called_again(setting):
    ctx, secret, ev = setting

    def add_in_place(x, y):
        x += y  # y is lower, so x becomes lower
        return x

    graph = ev.capture(add_in_place, ev.encrypt(values(1)), ev.at_level(ev.encrypt(values(2)), 1))
    for seed in (3, 5, 7):
        x, y = ev.encrypt(values(seed)), ev.at_level(ev.encrypt(values(seed + 1)), 1)
        result = graph(x, y)
        assert (x.level, result.level) == (2, 1)
        np.testing.assert_allclose(ctx.decrypt(result, secret), values(seed) + values(seed + 1), atol=1e-6)
