"""Coefficients of CKKS come back: judged by exact fractions and by NumPy's polynomials."""

from fractions import Fraction

import numpy as np
import pytest

import hemera as hm

from .refusals import raises, refuse

N = 2048


@pytest.fixture(scope="module")
def ctx():
    return hm.Context(hm.ckks.Parameters.for_circuit(depth=1, slots=1024, security=None, degree=N), "cpu")


@pytest.fixture(scope="module")
def sk(ctx):
    return ctx.generate_secret_key()


@pytest.mark.parametrize("scale", [2.0**22, 1e7 / 3])
@pytest.mark.parametrize("shape", [(N,), (2, 3, 5), (1,)])
def test_decode_gives_the_nearest_double_of_each_coefficient(ctx, scale, shape):
    values = np.random.default_rng(1).uniform(-1, 1, shape)
    plain = ctx.encode(values, encoding="coefficients", level=0, scale=scale)
    found = ctx.decode(plain, encoding="coefficients")
    assert found.shape == (*shape[:-1], N)
    assert found.dtype == np.float64
    assert not found[..., shape[-1] :].any()
    whole = np.rint(values * scale)
    wanted = [float(Fraction(int(each)) / Fraction(scale)) for each in whole.flat]
    assert found[..., : shape[-1]].ravel().tolist() == wanted


def test_sums_and_products_are_those_of_polynomials(ctx, sk):
    rng = np.random.default_rng(2)
    a, b = rng.uniform(-1, 1, (2, 8))
    x = ctx.encrypt(ctx.encode(a, encoding="coefficients", level=1), sk)
    found = ctx.decrypt(x + x, sk, encoding="coefficients")
    np.testing.assert_allclose(found[:8], 2 * a, atol=1e-6)
    assert np.abs(found[8:]).max() < 1e-6
    product = ctx.decrypt(x * ctx.encode(b, encoding="coefficients", level=1), sk, encoding="coefficients")
    np.testing.assert_allclose(product[:15], np.convolve(a, b), atol=1e-6)
    room = np.empty(N)
    assert ctx.decrypt(x, sk, encoding="coefficients", out=room) is room
    np.testing.assert_allclose(room[:8], a, atol=1e-6)


def test_a_shown_result_has_noise_in_every_coefficient(ctx, sk):
    x = ctx.encrypt(ctx.encode(np.ones(N), encoding="coefficients", level=1), sk)
    bound = ctx.noise_bound(depth=0, largest=1.0)
    shown = ctx.decrypt_for_sharing(x, sk, noise_bound=bound, statistical_bits=4, encoding="coefficients")
    again = ctx.decrypt_for_sharing(x, sk, noise_bound=bound, statistical_bits=4, encoding="coefficients")
    assert shown.tobytes() == again.tobytes()
    noise = shown - ctx.decrypt(x, sk, encoding="coefficients")
    assert np.abs(noise).min() < np.abs(noise).max() / 100
    # Parseval: the same noise in slots, which are values of the polynomial at roots of unity.
    slots = [
        ctx.decrypt_for_sharing(x, sk, noise_bound=bound, statistical_bits=4, dtype=np.complex128),
        ctx.decrypt(x, sk, dtype=np.complex128),
    ]
    energy = np.mean(np.abs(slots[0] - slots[1]) ** 2)
    assert energy == pytest.approx(N * np.mean(noise**2), rel=1e-6)


def test_wrong_rows_and_keys_are_named(ctx, sk):
    x = ctx.encrypt(ctx.encode(np.ones((2, N)), encoding="coefficients", level=1), sk)
    other = ctx.generate_secret_key()
    refuse(
        (lambda: ctx.decrypt(x, other, encoding="coefficients"), hm.errors.NoiseError, "secret key"),
        (lambda: ctx.decrypt(x, sk, encoding="rows"), hm.errors.ParameterError, "'slots' or 'coefficients'"),
    )
    masked = ctx.decrypt(x, other, encoding="coefficients", errors="mask")
    assert masked.mask.all()
    assert masked.shape == (2, N)
    with pytest.raises(hm.errors.ParameterError, match="float64"):
        ctx.decrypt(x, sk, encoding="coefficients", dtype=np.complex128)
    with pytest.raises(hm.errors.MismatchError, match="shape"):
        ctx.decrypt(x, sk, encoding="coefficients", out=np.empty((2, N // 2)))


def test_integers_know_their_encoding():
    exact = hm.Context(hm.bfv.Parameters.for_circuit(depth=1, slots=64), "cpu")
    plain = exact.encode([1, 2, 3], encoding="coefficients")
    assert exact.decode(plain, encoding="coefficients")[:3].tolist() == [1, 2, 3]
    raises(hm.errors.MismatchError, "encoded in coefficients", exact.decode, plain, encoding="slots")


def test_a_pool_decrypts_coefficients_in_parts(ctx):
    pool = hm.Pool(ctx.params, ["cpu", "cpu"])
    values = np.random.default_rng(3).uniform(-1, 1, (4, N))
    plain = pool.encode(values, encoding="coefficients", level=0)
    np.testing.assert_allclose(pool.decode(plain, encoding="coefficients"), values, atol=1e-6)
    key = pool.generate_secret_key()
    np.testing.assert_allclose(
        pool.decrypt(pool.encrypt(plain, key), key, encoding="coefficients"), values, atol=1e-5
    )


def test_one_owner_sums_updates_of_3_75_bytes_a_value():
    rng = np.random.default_rng(1)
    updates = rng.normal(scale=0.05, size=(8, 5, N)).clip(-1, 1)
    params = hm.ckks.Parameters.from_bits(
        degree=N, prime_bits=[30], special_bits=[], scale_bits=20, range_bits=8
    )
    own = hm.Context(params, "cpu")
    key = own.generate_secret_key()
    files = [
        bytes(own.encrypt(own.encode(each, encoding="coefficients", level=0, scale=2.0**22), key))
        for each in updates
    ]
    assert len(files[0]) / updates[0].size < 3.8
    total = sum((own.load(each) for each in files[1:]), own.load(files[0]))
    found = own.decrypt(total, key, encoding="coefficients")
    assert np.abs(found - updates.sum(axis=0)).max() < 2**-15
