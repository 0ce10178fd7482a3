"""Functions of encrypted values, compared with NumPy."""

import math
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.polynomial import chebyshev, polynomial

import hemera as hm
from hemera.circuits.elementary import made
from hemera.circuits.functions import plan_for
from hemera.errors import LevelError, ParameterError

from .conftest import CIRCUIT_SLOTS as SLOTS
from .refusals import raises, refuse


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(1).uniform(-1, 1, SLOTS)


def test_polyval_is_a_polynomial(client, ev, values):
    ctx, sk = client
    coefficients = np.random.default_rng(2).uniform(-1, 1, 8)
    x = ev.encrypt(values)
    y = x.polyval(coefficients)
    assert y.level == x.level - 3
    np.testing.assert_allclose(ctx.decrypt(y, sk), polynomial.polyval(values, coefficients), atol=1e-5)
    y = x.polyval(coefficients, basis="chebyshev")
    np.testing.assert_allclose(ctx.decrypt(y, sk), chebyshev.chebval(values, coefficients), atol=1e-5)
    y = (8 * x).polyval(coefficients, basis="chebyshev", interval=(-8, 8))
    np.testing.assert_allclose(ctx.decrypt(y, sk), chebyshev.chebval(values, coefficients), atol=1e-5)
    # A product waits for its rescale; its square is of a lower level.
    y = (x * x).polyval([1, 2j])
    np.testing.assert_allclose(ctx.decrypt(y, sk, dtype=complex), 1 + 2j * values**2, atol=1e-5)


def test_polyval_takes_batches_of_polynomials_and_of_inputs(client, ev, values):
    ctx, sk = client
    coefficients = np.random.default_rng(3).uniform(-1, 1, (3, 6))
    batch = np.stack([values, values[::-1]])
    y = ev.encrypt(batch).polyval(coefficients)
    assert y.shape == (3, 2)
    expected = polynomial.polyval(batch, coefficients.T)
    np.testing.assert_allclose(ctx.decrypt(y, sk), expected, atol=1e-5)
    assert ev.encrypt(values).polyval(coefficients[:1]).shape == (1,)
    p = hm.circuits.Polynomial(coefficients)
    np.testing.assert_allclose(p(batch), expected, atol=1e-13)
    # They share powers of their input.
    together, one = p.plan(ctx.params), hm.circuits.Polynomial(coefficients[0]).plan(ctx.params)
    assert one.relinearizations < together.relinearizations < 3 * one.relinearizations
    np.testing.assert_allclose(p(0.5), polynomial.polyval(0.5, coefficients.T), atol=1e-13)


def test_polyval_takes_coefficients_for_each_slot(client, ev, values):
    ctx, sk = client
    coefficients = np.random.default_rng(4).uniform(-1, 1, (2, 4, SLOTS))
    expected = [sum(c * values**k for k, c in enumerate(rows)) for rows in coefficients]
    x = ev.encrypt(values)
    np.testing.assert_allclose(
        ctx.decrypt(x.polyval(coefficients[0], per_slot=True), sk), expected[0], atol=1e-5
    )
    y = x.polyval(coefficients, per_slot=True)
    assert y.shape == (2,)
    np.testing.assert_allclose(ctx.decrypt(y, sk), expected, atol=1e-5)
    p = hm.circuits.Polynomial(coefficients, per_slot=True)
    np.testing.assert_allclose(p(np.stack([values, values]))[:, 0], expected, atol=1e-13)
    with pytest.raises(hm.errors.MismatchError, match="slots"):
        ev.encrypt(values[:16]).polyval(coefficients, per_slot=True)
    refuse((lambda: p(values[:16]), ParameterError, "slots"))


def test_a_search_that_found_nothing_is_not_made_again():
    search = Mock(side_effect=ParameterError("no polynomial is near"))
    for number in (1.0, 1.0, 2.0, 1.0):
        raises(ParameterError, "no polynomial is near", made, search, number)
    assert [each.args for each in search.mock_calls] == [(1.0,), (2.0,)]


def test_ever_new_scales_do_not_fill_the_memory(client, ev, values):
    """The circuits that were used last are kept, with their encoded coefficients."""
    ctx, sk = client
    rows = np.random.default_rng(3).uniform(-1, 1, (3, SLOTS))
    function = hm.circuits.Polynomial(rows, per_slot=True)
    exact = ctx.encrypt(values, sk)
    held = []
    for steps in range(70):
        x = ev.bind(ctx.encrypt(ctx.encode(values, scale=exact.scale + steps / 128), sk))
        np.testing.assert_allclose(ctx.decrypt(function(x), sk), function(values), atol=1e-5)
        del x
        held.append(ctx.memory_used)
    assert held[0] < held[1] < held[63] == held[64] == held[69]


def test_the_circuit_that_was_used_last_is_kept_longest(client, ev, values):
    """One that is used again and again is made once, among as many as are kept."""
    ctx, sk = client
    function = hm.circuits.Polynomial([0, 1, 1])
    natives = [ctx.encrypt(ctx.encode(values, scale=2.0**40 + steps), sk)._native for steps in range(66)]
    first = plan_for(function, ev, natives[:1])
    for each in natives[1:64]:
        plan_for(function, ev, [each])
    second = plan_for(function, ev, natives[1:2])
    assert plan_for(function, ev, natives[:1]) is first
    for each in natives[64:]:  # of which each takes the place of the oldest one
        plan_for(function, ev, [each])
    assert plan_for(function, ev, natives[:1]) is first
    assert plan_for(function, ev, natives[1:2]) is second
    assert len(function._circuits[ctx]) == 64


def test_what_does_not_fit_is_refused(client, ev, params, values):
    ctx, sk = client
    x = ev.encrypt(values)
    refuse(
        (lambda: x.polyval(np.ones(128)), LevelError, "depth 7"),
        (lambda: x.polyval(1.0), ParameterError, "shape"),
        (lambda: x.polyval(np.ones((2, 2, 2))), ParameterError, "shape"),
        (lambda: x.polyval(["a"]), ParameterError, "shape"),
        (lambda: x.polyval([1, np.nan]), ParameterError, "finite"),
        (lambda: x.polyval([1, 2], interval=(1, 1)), ParameterError, "interval"),
        (lambda: x.polyval([1, 2], basis="legendre"), ParameterError, "basis"),
        (lambda: x.polyval(np.ones((3, 3)), per_slot=True), ParameterError, "power of two"),
        (lambda: hm.approximate(math.log, (1, np.inf), 3), ParameterError, "finite"),
        (lambda: hm.approximate(math.exp, (0, 1), 3, fit="best"), ParameterError, "fit"),
        (lambda: hm.approximate(math.exp, (0, 1), 5000), ParameterError, "degree"),
        (lambda: hm.approximate(math.exp, (0, 1), -1), ParameterError, "negative"),
        (lambda: hm.approximate(lambda x: 1 / (x - x), (0, 1), 3), ZeroDivisionError, None),
        (lambda: hm.circuits.inverse((-1, 1)), ParameterError, "0 in it"),
        (lambda: hm.circuits.sign(gap=2), ParameterError, "gap"),
    )
    function = hm.circuits.Polynomial([0, 0, 1])
    refuse(
        (lambda: ev.apply(function, x, x), TypeError, "takes 1 ciphertexts"),
        (lambda: ev.apply(function, 0.5), TypeError, "not float"),
        (lambda: function(0.5, 0.5), ParameterError, "takes 1 values"),
        (lambda: function.plan(params, level=1), LevelError, "depth 2"),
    )
    with pytest.raises(hm.errors.MissingKeyError, match="relinearization"):
        function(ctx.bind(ctx.generate_keys(sk, relinearization=False)).encrypt(values))
    integers = hm.bfv.Parameters.for_circuit(depth=1, security=None, degree=1024)
    refuse((lambda: function.plan(integers), hm.errors.MismatchError, "CKKS"))
