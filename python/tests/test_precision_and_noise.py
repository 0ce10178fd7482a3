"""What is left of precision and of noise budget, and decryption for others."""

import math

import numpy as np
import pytest

import hemera as hm
from hemera.errors import MismatchError, NoiseError, ParameterError

from .refusals import refuse


def test_precision_statistics():
    found = hm.ckks.precision([1.0, 2.0, 3.0, 4.0], [1.0, 2.5, 3.0, 4.25])
    assert (found.largest_error, found.worst_bits, found.mean_error) == (0.5, 1.0, 0.1875)
    assert found.mean_bits == pytest.approx(-math.log2(0.1875))
    assert found.standard_deviation == pytest.approx(math.sqrt((0.25 + 0.0625) / 4))
    assert "1.0 bits at worst" in str(found)
    assert hm.ckks.precision([1j], [1j]).worst_bits == math.inf
    assert hm.ckks.precision([1 + 3j], [1 - 1j]).largest_error == 4
    with pytest.raises(MismatchError, match=r"\(2,\) and \(1,\)"):
        hm.ckks.precision([1.0, 2.0], [1.0])
    with pytest.raises(MismatchError, match="not empty"):
        hm.ckks.precision([], [])


def test_noise_budget(integers):
    x = integers.ev.encrypt(integers.values(16))
    budgets = []
    for _ in range(3):
        true = integers.ctx.noise_budget(x, integers.sk)
        # The bound that needs no secret never promises more than there is.
        assert 0 <= x.guaranteed_noise_budget <= true + 1
        budgets.append(true)
        x = x * x
    assert budgets[0] > budgets[1] > budgets[2] > 0


@pytest.mark.parametrize("scheme", ["bfv", "bgv"])
def test_a_spent_budget_is_an_error(scheme):
    params = getattr(hm, scheme).Parameters.for_circuit(depth=1)
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    x = ctx.bind(ctx.generate_keys(sk)).encrypt([1, 2, 3])
    np.testing.assert_array_equal(ctx.decrypt(x**2, sk)[:3], [1, 4, 9])
    refuse((lambda: ctx.decrypt(x**3, sk), NoiseError, "one bit of the noise budget"))


def test_decrypt_for_sharing_of_integers(integers):
    a = integers.values(16)
    x = integers.ev.encrypt(a)
    found = integers.ctx.decrypt_for_sharing(x, integers.sk, statistical_bits=40)
    np.testing.assert_array_equal(found, a)
    with pytest.raises(NoiseError, match="budget"):
        integers.ctx.decrypt_for_sharing(x, integers.sk, statistical_bits=1000)
    with pytest.raises(ParameterError, match="takes no noise_bound"):
        integers.ctx.decrypt_for_sharing(x, integers.sk, noise_bound=2**-20)


def test_decrypt_for_sharing_of_ckks_adds_noise(ckks):
    a = ckks.values(64)
    x = ckks.ev.encrypt(a)
    bound, bits = 2.0**-26, 16
    shared = ckks.ctx.decrypt_for_sharing(x, ckks.sk, noise_bound=bound, statistical_bits=bits)
    added = np.abs(shared - ckks.decrypt(x))
    # A deviation of sqrt(12) 2^(bits / 2) bound on every coefficient: more than the error.
    assert added.max() > 100 * bound
    assert added.max() < 0.1
    # The same again; other values for everything else.
    again = ckks.ctx.decrypt_for_sharing(x, ckks.sk, noise_bound=bound, statistical_bits=bits)
    np.testing.assert_array_equal(again, shared)
    for other in ({"noise_bound": 1.1 * bound}, {"statistical_bits": bits + 1}, {"shares": 2}):
        options = {"noise_bound": bound, "statistical_bits": bits, **other}
        assert not np.array_equal(ckks.ctx.decrypt_for_sharing(x, ckks.sk, **options), shared)
    with pytest.raises(NoiseError, match=r"precision.*sharing_bits="):
        ckks.ctx.decrypt_for_sharing(x, ckks.sk, noise_bound=1.0, statistical_bits=40)
    refuse((lambda: ckks.ctx.decrypt_for_sharing(x, ckks.sk), ParameterError, "noise_bound"))
    with pytest.raises(ParameterError, match="shares"):
        ckks.ctx.decrypt_for_sharing(x, ckks.sk, noise_bound=bound, shares=0)


def test_a_loaded_key_and_ciphertext_share_the_same_values(ckks):
    x = ckks.ctx.encrypt(ckks.values(2, 64), ckks.sk)
    options = {"noise_bound": 2.0**-26, "statistical_bits": 16}
    shared = ckks.ctx.decrypt_for_sharing(x, ckks.sk, **options)
    elsewhere = hm.Context(ckks.ctx.params, "cpu", threads=1)
    secret_key, loaded = elsewhere.load(bytes(ckks.sk)), elsewhere.load(bytes(x))
    np.testing.assert_array_equal(elsewhere.decrypt_for_sharing(loaded, secret_key, **options), shared)
    np.testing.assert_array_equal(elsewhere.decrypt_for_sharing(loaded[1], secret_key, **options), shared[1])


def test_results_of_a_circuit_can_be_shown():
    params = hm.ckks.Parameters.for_circuit(depth=2, slots=4096, sharing_bits=40, shares=100)
    assert params.security_bits == 128
    assert all(prime < 1 << 50 for prime in [*params.primes[-1], *params.special_primes])
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    values = np.random.default_rng(5).uniform(-1, 1, 4096)
    x = ctx.bind(ctx.generate_keys(sk)).encrypt(values)
    y = (x**3 - x).shrink()
    bound = ctx.noise_bound(depth=2, largest=2)
    shown = ctx.decrypt_for_sharing(y, sk, noise_bound=bound, shares=100)
    np.testing.assert_allclose(shown, values**3 - values, atol=2**-11)
    assert np.sqrt(np.mean((ctx.decrypt(y, sk) - values**3 + values) ** 2)) < bound + 2**-46
    assert bound < ctx.noise_bound(depth=2, largest=4)
    assert bound < ctx.noise_bound(depth=2, largest=2, terms=2)
    with pytest.raises(ParameterError, match="largest"):
        ctx.noise_bound(depth=2)
    with pytest.raises(hm.errors.LevelError, match="depth"):
        ctx.noise_bound(depth=3, largest=1)
    for wrong in ({"sharing_bits": 65}, {"shares": 0}, {"shares": -1}):
        with pytest.raises(ParameterError, match="shar"):
            hm.ckks.Parameters.for_circuit(1, **wrong)


def test_encryptions_of_one_value_differ(party):
    a = party.values(16)
    assert bytes(party.ev.encrypt(a)) != bytes(party.ev.encrypt(a))
    assert bytes(party.ctx.encrypt(a, party.sk)) != bytes(party.ctx.encrypt(a, party.sk))
    assert bytes(party.ctx.generate_secret_key()) != bytes(party.ctx.generate_secret_key())
