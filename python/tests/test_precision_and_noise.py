"""What is left of precision and of noise budget, and decryption for others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.errors import MismatchError, NoiseError, ParameterError


def test_precision_statistics() -> None:
    found = hm.ckks.precision([1.0, 2.0, 3.0, 4.0], [1.0, 2.5, 3.0, 4.25])
    assert found.largest_error == 0.5
    assert found.worst_bits == 1.0
    assert found.mean_error == 0.1875
    assert found.mean_bits == pytest.approx(-math.log2(0.1875))
    assert found.standard_deviation == pytest.approx(math.sqrt((0.25 + 0.0625) / 4))
    assert "1.0 bits at worst" in str(found)
    assert hm.ckks.precision([1j], [1j]).worst_bits == math.inf
    assert hm.ckks.precision([1 + 3j], [1 - 1j]).largest_error == 4
    with pytest.raises(MismatchError, match=r"\(2,\) and \(1,\)"):
        hm.ckks.precision([1.0, 2.0], [1.0])
    with pytest.raises(MismatchError, match="not empty"):
        hm.ckks.precision([], [])


@pytest.mark.parametrize("scale_bits", [30, 40])
def test_precision_follows_the_scale(scale_bits: int) -> None:
    params = hm.ckks.Parameters.for_circuit(1, scale_bits=scale_bits)
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    values = np.random.default_rng(3).uniform(-1, 1, params.max_slots)
    x = ctx.bind(ctx.generate_keys(sk)).encrypt(values)
    found = hm.ckks.precision(ctx.decrypt(x * x, sk), values**2)
    assert scale_bits - 20 < found.worst_bits < found.mean_bits < scale_bits - 5


def test_noise_budget(integers: Any) -> None:
    x = integers.ev.encrypt(integers.values(16))
    budgets = []
    for _ in range(3):
        true = integers.ctx.noise_budget(x, integers.sk)
        # The bound that needs no secret never promises more than there is.
        assert 0 <= x.guaranteed_noise_budget <= true + 1
        budgets.append(true)
        x = x * x
    assert budgets[0] > budgets[1] > budgets[2] > 0


def test_decrypt_for_sharing_of_integers(integers: Any) -> None:
    a = integers.values(16)
    x = integers.ev.encrypt(a)
    found = integers.ctx.decrypt_for_sharing(x, integers.sk, statistical_bits=40)
    np.testing.assert_array_equal(found, a)
    with pytest.raises(NoiseError, match="budget"):
        integers.ctx.decrypt_for_sharing(x, integers.sk, statistical_bits=1000)
    with pytest.raises(ParameterError, match="takes no noise_bound"):
        integers.ctx.decrypt_for_sharing(x, integers.sk, noise_bound=2**-20)


def test_decrypt_for_sharing_of_ckks_adds_noise(ckks: Any) -> None:
    a = ckks.values(64)
    x = ckks.ev.encrypt(a)
    bound, bits = 2.0**-30, 8
    shared = [
        ckks.ctx.decrypt_for_sharing(x, ckks.sk, noise_bound=bound, statistical_bits=bits) for _ in range(2)
    ]
    assert not np.array_equal(*shared)
    added = np.abs(shared[0] - ckks.decrypt(x))
    # Uniform noise of 2^bits N bound on every coefficient: far more than the error, far less than the values.
    assert added.max() > 100 * bound
    assert added.max() < 0.1
    with pytest.raises(NoiseError, match="precision"):
        ckks.ctx.decrypt_for_sharing(x, ckks.sk, noise_bound=1.0, statistical_bits=40)
    with pytest.raises(ParameterError, match="noise_bound"):
        ckks.ctx.decrypt_for_sharing(x, ckks.sk)


def test_encryptions_of_one_value_differ(party: Any) -> None:
    a = party.values(16)
    assert bytes(party.ev.encrypt(a)) != bytes(party.ev.encrypt(a))
    assert bytes(party.ctx.encrypt(a, party.sk)) != bytes(party.ctx.encrypt(a, party.sk))
    assert bytes(party.ctx.generate_secret_key()) != bytes(party.ctx.generate_secret_key())
