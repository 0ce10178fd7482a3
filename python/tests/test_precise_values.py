"""Long doubles and pairs of doubles through ciphertexts, files and bootstraps."""

from fractions import Fraction

import numpy as np
import pytest

import hemera as hm

from .refusals import refuse

SLOTS = 256


@pytest.fixture(scope="module")
def client():
    ctx = hm.Context(
        hm.ckks.Parameters.for_circuit(depth=2, scale_bits=90, slots=SLOTS, degree=1024, security=None)
    )
    sk = ctx.generate_secret_key()
    return ctx, sk, ctx.bind(ctx.generate_keys(sk))


def pairs(seed, dtype=hm.ckks.PAIR, shape=(SLOTS,)):
    rng = np.random.default_rng(seed)
    result = np.empty(shape, dtype)
    for name, unit in (("value", 1.0), ("rest", 2.0**-54)):
        numbers = rng.uniform(-unit, unit, shape)
        if dtype == hm.ckks.COMPLEX_PAIR:
            numbers = numbers + 1j * rng.uniform(-unit, unit, shape)
        result[name] = numbers
    return result


def as_pairs(values):
    result = np.zeros(values.shape, hm.ckks.COMPLEX_PAIR)
    result["value"] = values
    return result


def exact(array):
    """The sums of real pairs, by Python's integers."""
    return [
        Fraction(float(v)) + Fraction(float(r)) for v, r in zip(array["value"], array["rest"], strict=True)
    ]


def bits(found, expected):
    """The bits of the largest error."""
    largest = max(abs(a - b) for a, b in zip(exact(found), expected, strict=True))
    return float(-np.log2(float(largest)))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="long doubles have no more bits here")
@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble])
def test_long_doubles_come_back(client, dtype):
    ctx, sk, ev = client
    x = np.ones(SLOTS, dtype) + np.arange(SLOTS).astype(dtype) * np.longdouble(2) ** -62
    if dtype == np.clongdouble:
        x = x * (1 + dtype(1j) / 4)
    assert np.any(x != x.astype(np.complex128))
    for encrypted in (ev.encrypt(x), ctx.encrypt(x, sk)):
        assert encrypted.dtype == (np.complex128 if dtype == np.clongdouble else np.float64)
        found = ctx.decrypt(encrypted, sk, dtype=dtype)
        assert found.dtype == dtype
        assert np.abs(found - x).max() <= np.longdouble(2) ** -62
        # Doubles are their rounding.
        np.testing.assert_allclose(ctx.decrypt(encrypted, sk), x.astype(encrypted.dtype), rtol=0, atol=2**-51)


def test_pairs_come_back_in_rows_and_to_given_arrays(client):
    ctx, sk, ev = client
    x = pairs(1, shape=(3, 100))
    encrypted = ev.encrypt(x)
    assert (encrypted.shape, encrypted.filled) == ((3,), 100)
    room = np.zeros((3, 100), hm.ckks.PAIR)
    assert ctx.decrypt(encrypted, sk, out=room, dtype=hm.ckks.PAIR) is room
    for found, row in zip(room, x, strict=True):
        assert bits(found, exact(row)) > 70
    masked = ctx.decrypt(encrypted, sk, dtype=hm.ckks.PAIR, errors="mask")
    np.testing.assert_array_equal(masked.data, room)
    complex_pairs = pairs(2, hm.ckks.COMPLEX_PAIR)
    found = ctx.decrypt(ev.encrypt(complex_pairs), sk, dtype=hm.ckks.COMPLEX_PAIR)
    assert hm.ckks.precision(found, complex_pairs).worst_bits > 70


def test_products_and_operands_keep_the_bits(client):
    ctx, sk, ev = client
    a, b = pairs(3), pairs(4)
    x, y = exact(a), exact(b)
    product = ev.encrypt(a) * ev.encrypt(b)
    found = ctx.decrypt(product, sk, dtype=hm.ckks.PAIR)
    assert bits(found, [p * q for p, q in zip(x, y, strict=True)]) > 66
    # Arrays as factors and terms, after a product whose scale no double is.
    found = ctx.decrypt(product * b + a, sk, dtype=hm.ckks.PAIR)
    assert bits(found, [p * q * q + p for p, q in zip(x, y, strict=True)]) > 66
    # With doubles the sum has their bits alone.
    rounded = ctx.decrypt(product * b + a["value"], sk, dtype=hm.ckks.PAIR)
    assert bits(rounded, [p * q * q + p for p, q in zip(x, y, strict=True)]) < 58
    # As files: the scale has its rest there.
    loaded = ctx.load((product * 0.5).to_bytes())
    found = ctx.decrypt(loaded, sk, dtype=hm.ckks.PAIR)
    assert bits(found, [p * q / 2 for p, q in zip(x, y, strict=True)]) > 66


def test_pairs_are_not_taken_for_complex_numbers_of_the_same_bytes(client):
    ctx, sk, ev = client
    a = pairs(12)
    same_bytes = a.view(np.complex128)
    x = ev.encrypt(np.ones(SLOTS))
    with ctx._codec.keeping_operands():
        first, second = x * a, x * same_bytes
    np.testing.assert_allclose(ctx.decrypt(first, sk), a["value"], atol=2**-50)
    np.testing.assert_allclose(ctx.decrypt(second, sk), same_bytes, atol=2**-50)
    assert (second.dtype, first.dtype) == (np.complex128, np.float64)


def test_precision_tells_more_than_doubles_do():
    x = pairs(5)
    moved = x.copy()
    moved["rest"][7] += 2.0**-80
    assert hm.ckks.precision(moved, x).worst_bits == pytest.approx(80, abs=0.01)
    assert hm.ckks.precision(x, x).worst_bits == np.inf
    # Beside doubles, and long doubles where there are.
    assert hm.ckks.precision(x, x["value"]).worst_bits == pytest.approx(54, abs=0.1)


def test_what_can_not_be_is_refused(client):
    ctx, sk, ev = client
    x = ev.encrypt(pairs(6))
    refuse((lambda: ctx.decrypt(x, sk, dtype=np.float32), hm.errors.ParameterError, "longdouble"))
    wrong = pairs(7)
    wrong["rest"][0] = 0.25
    refuse((lambda: ev.encrypt(wrong), hm.errors.ParameterError, "what doubles leave"))
    with pytest.raises(TypeError, match="integers"):
        hm.Context(hm.bfv.Parameters.for_circuit(depth=1, slots=4)).encode(pairs(9))
    # SEAL's slots are in another order: long doubles are rounded there, and pairs refused.
    own = ctx.params
    other = hm.Context(
        hm.ckks.Parameters(
            degree=1024,
            primes=own.primes[-1],
            special_primes=own.special_primes,
            scale=2.0**40,
            galois_generator=3,
            security=None,
        )
    )
    encoded = other.encode(np.full(SLOTS, 1.5, np.longdouble))
    np.testing.assert_allclose(other.decode(encoded), 1.5, atol=2**-30)
    refuse((lambda: other.encode(pairs(9)), hm.errors.ParameterError, "powers of 5"))
    refuse((lambda: other.decode(encoded, dtype=hm.ckks.PAIR), hm.errors.ParameterError, "powers of 5"))


def test_bootstraps_of_three_iterations_pass_sixty_bits():
    """The parameters of n16-80 in a smaller ring, against what the input decrypts to."""
    params = hm.ckks.Parameters.for_bootstrapping("n16-80", degree=2**11, security=None)
    boot = hm.circuits.Bootstrap(params, 1024, iterations=3)
    expected_mean, expected_worst = boot.expected_precision()
    assert expected_mean > 60
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, plan=boot), bootstrap=boot)
    inputs = {
        "uniform": pairs(11, hm.ckks.COMPLEX_PAIR, (1024,)),
        "alternating": as_pairs(np.where(np.arange(1024) % 2, -1.0, 1.0)),
    }
    for kind, values in inputs.items():
        low = ev.at_level(ev.encrypt(values, largest=1.5), boot.input_level)
        given = ctx.decrypt(low, sk, dtype=hm.ckks.COMPLEX_PAIR)
        result = boot(low)
        assert result.level == boot.result_level
        found = ctx.decrypt(result, sk, dtype=hm.ckks.COMPLEX_PAIR)
        errors = np.abs((found["value"] - given["value"]) + (found["rest"] - given["rest"]))
        mean = -np.log2(np.maximum(errors, 2.0**-100)).mean()
        assert mean > expected_mean - 1, kind
        assert -np.log2(errors.max()) > expected_worst - 1.5, kind
        # And against the values themselves, but for what a fresh encryption has.
        assert hm.ckks.precision(found, values).worst_bits > 60, kind
