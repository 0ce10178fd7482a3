"""Sums, copies and masks of slots, compared with NumPy."""

import numpy as np
import pytest

import hemera as hm
from hemera.errors import LevelError, MismatchError, MissingKeyError, ParameterError

from .conftest import CIRCUIT_SLOTS as SLOTS
from .refusals import refuse

CIRCUITS = {
    "sum": (
        lambda params: hm.circuits.InnerSum(params, SLOTS, 8, everywhere=True),
        lambda x: x.reshape(-1, 8).sum(1).repeat(8),
    ),
    "sum of columns": (
        lambda params: hm.circuits.InnerSum(params, SLOTS, 8, stride=4),
        lambda x: np.tile(x.reshape(8, 4).sum(0), 8),
    ),
    "copy": (
        lambda params: hm.circuits.Replication(params, SLOTS, 4, position=2),
        lambda x: x.reshape(-1, 4)[:, 2].repeat(4),
    ),
    "copy of a row": (
        lambda params: hm.circuits.Replication(params, SLOTS, 4, position=3, stride=2),
        lambda x: np.tile(x.reshape(-1, 4, 2)[:, 3:], (1, 4, 1)).ravel(),
    ),
    "mask": (
        lambda params: hm.circuits.Mask(np.arange(SLOTS) % 5 == 2, params),
        lambda x: np.where(np.arange(SLOTS) % 5 == 2, x, 0),
    ),
}


@pytest.mark.parametrize("name", CIRCUITS)
def test_circuits_of_slots_are_those_of_numpy(client, params, name):
    ctx, sk = client
    make, expected = CIRCUITS[name]
    circuit = make(params)
    ev = ctx.bind(ctx.generate_keys(sk, plan=circuit))
    x = np.random.default_rng(1).uniform(-1, 1, (2, SLOTS))
    wanted = np.stack([expected(row) for row in x])
    y = circuit(ev.encrypt(x))
    assert (y.shape, y.level) == ((2,), circuit.result_level)
    assert circuit.level - circuit.result_level == circuit.depth
    np.testing.assert_allclose(y.scale, circuit.result_scale, rtol=2**-40)
    noise = np.abs(ctx.decrypt(y, sk, dtype=complex) - wanted)
    mean, worst = circuit.expected_error()
    assert mean / 8 < np.sqrt((noise**2).mean()) < 4 * mean
    assert noise.max() < 8 * worst
    np.testing.assert_allclose(circuit.evaluate_clear(x), wanted, atol=1e-12)


def test_options_of_circuits_of_slots(client, params):
    ctx, sk = client
    few = hm.circuits.InnerSum(params, SLOTS, 16, fewest_keys=True)
    assert few.rotations == [1, 2, 4, 8]
    assert hm.circuits.InnerSum(params, SLOTS, 16).rotations == [1, 2, 3, 4, 8, 12]
    # The usual rotation keys serve, and sums work at every level.
    usual = ctx.bind(ctx.generate_keys(sk, rotations=[1, 2, 4, 8]))
    y = few(usual.encrypt(np.ones(SLOTS)).at_level(1))
    assert y.level == 1
    np.testing.assert_allclose(ctx.decrypt(y, sk), 16, atol=1e-4)
    # Copies of what stands alone need no level.
    copy = hm.circuits.Replication(params, SLOTS, 16, others_are_zero=True)
    assert copy.depth == 0
    turned = ctx.bind(ctx.generate_keys(sk, plan=copy)).encrypt(np.where(np.arange(SLOTS) % 16 == 0, 2, 0))
    np.testing.assert_allclose(ctx.decrypt(copy(turned), sk), 2, atol=1e-4)


def test_what_does_not_fit_is_refused(params, ev):
    x = ev.encrypt(np.ones(SLOTS))
    refuse(
        (lambda: hm.circuits.InnerSum(params, SLOTS, 12), ParameterError, "powers of two"),
        (lambda: hm.circuits.Replication(params, SLOTS, 4, position=4), ParameterError, "counted from 0"),
        (lambda: hm.circuits.Replication(params, SLOTS, 4, position=-1), ParameterError, "position"),
        (lambda: hm.circuits.Mask(np.ones(SLOTS), params), ParameterError, "booleans"),
        (lambda: hm.circuits.Mask(np.ones(SLOTS, dtype=bool), params, level=0), LevelError, "depth 1"),
        (lambda: hm.circuits.InnerSum(params, SLOTS, 4)(x), MissingKeyError, "rotation by 1"),
        (lambda: hm.circuits.InnerSum(params, 8, 4)(x), MismatchError, "8 slots"),
        (lambda: hm.circuits.InnerSum(params, SLOTS, 4)(np.ones(SLOTS)), TypeError, "takes a ciphertext"),
    )
    with pytest.raises(ParameterError, match="at most the number of slots"):
        hm.circuits.InnerSum(params, SLOTS, 16, stride=4)
    with pytest.raises(LevelError, match="made for level 6"):
        hm.circuits.Mask(np.ones(SLOTS, dtype=bool), params)(x.at_level(5))
    with pytest.raises(ParameterError, match="last axis"):
        hm.circuits.InnerSum(params, SLOTS, 4).evaluate_clear(np.ones(3))
    integers = hm.bfv.Parameters.for_circuit(depth=1, security=None, degree=1024)
    with pytest.raises(MismatchError, match="CKKS"):
        hm.circuits.InnerSum(integers, SLOTS, 4)
