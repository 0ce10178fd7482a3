"""Operators of ciphertexts against NumPy's, in all schemes."""

import operator
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import hemera as hm
from hemera.errors import ParameterError

from .refusals import raises, refuse

SLOTS = 16


@pytest.mark.fact_of_the_cpu("bytes that the CPU's pool hands out")
def test_weights_encoded_for_a_level(integers):
    """They take the memory of their level once, and multiply and add as others do, at any level."""
    ctx, ev = integers.ctx, integers.ev
    a, b = integers.values(2, SLOTS), integers.values(2, SLOTS, seed=2)
    x = ev.encrypt(a)
    before = ctx.memory_used
    plain = ctx.encode(b)
    lifted = ctx.memory_used - before
    ready = ctx.encode(b, level=x.level)
    assert ctx.memory_used - before > 2 * lifted
    held = ctx.memory_used
    for y, weights in [(x, ready), (x, plain), (x.at_level(x.level - 1), ready)]:
        product = y * weights
        integers.check(product, a * b)
        integers.check(y + weights, a + b)
        integers.check(y - weights, a - b)
        if y is x:
            assert (bytes(product), bytes(x + weights)) == (bytes(x * plain), bytes(x + plain))
            assert bytes(x - weights) == bytes(x - plain)
        del product
    del y
    assert ctx.memory_used == held
    refuse((lambda: ctx.encode(b, level=99), hm.errors.LevelError, "level 99"))


def test_operands_stay_as_they_were(party):
    a, b = party.values(2, SLOTS), party.values(2, SLOTS, seed=2)
    x, y = party.ev.encrypt(a), party.ev.encrypt(b)
    before = bytes(x), bytes(y)
    for _ in (x + y, x - y, x * y, -x, x**3, x.square(), x.rotate(1), x.sum(), x.shrink(), 1 - x, x * 3):
        pass
    assert (bytes(x), bytes(y)) == before


def test_out_works_by_the_evaluator_that_made_it(party):
    a, b = party.values(SLOTS), party.values(SLOTS, seed=2)
    x, y = party.ev.encrypt(a), party.ev.encrypt(b)
    calls = [
        lambda out: party.ev.multiply(x, y, out=out),
        lambda out: party.ev.add(x, 1, out=out),
        lambda out: party.ev.rotate(x, 1, out=out),
        lambda out: party.ev.add_many([x, y], out=out),
    ]
    for call in calls:
        # Bound to no keys before, and by values of the last slots alone.
        out = party.ctx.encrypt(party.values(5), party.sk)
        assert not out.evaluator.has_keys
        assert call(out) is out
        assert out.evaluator is party.ev
        assert party.decrypt(out * out).shape == (SLOTS,)
    assert party.ev.subtract(x, y, out=y) is y
    party.check(y, a - b)


def test_the_operand_with_keys_says_how(party):
    a, b = party.values(2, SLOTS), party.values(2, SLOTS, seed=2)
    client, server = party.ctx.encrypt(a, party.sk), party.ev.encrypt(b)
    for x, y in ((client, server), (server, client)):
        for result, expected in (
            (x * y, a * b),
            (x + y, a + b),
            (hm.multiply_many([x, y]), a * b),
            (hm.add_many([x, y]), a + b),
        ):
            party.check(result, expected)
            assert result.evaluator is party.ev
        for joined in (hm.stack([x, y]), hm.concatenate([x, x, y])):
            assert joined.evaluator is party.ev
    x = client.copy()
    x *= server
    party.check(x, a * b)
    assert x.evaluator is party.ev


def test_array_products_have_the_scale_of_products(ckks):
    """An array is encoded at the level that the product happens at, and at that level's scale."""
    a, w = ckks.values(SLOTS), ckks.values(SLOTS, seed=2)
    x = ckks.ev.encrypt(a)
    scale = ckks.ctx._native.level_scale
    top = x.level
    product = x * x  # rescaled by what comes next
    for y, clear, level in ((x, a, top), (product, a * a, top - 1), (product.rescale(), a * a, top - 1)):
        for z in (y * w, w * y, ckks.ev.dot([y], [w]), ckks.ev.dot([y, y], [w, w]) / 1):
            assert (z.level, z.scale) == (level, scale(level) ** 2)
        ckks.check(y * w, clear * w)
        total = y + w
        assert (total.level, total.scale) == (y.level, y.scale)
        ckks.check(total, clear + w)


@pytest.mark.parametrize("request_of", [{"rotations": [1]}, {"relinearization": True}, {"public_key": True}])
def test_any_key_makes_an_evaluator_with_keys(party, request_of):
    none = {"public_key": False, "relinearization": False}
    assert not party.ctx.bind(party.ctx.generate_keys(party.sk, **none)).has_keys
    ev = party.ctx.bind(party.ctx.generate_keys(party.sk, **{**none, **request_of}))
    assert ev.has_keys
    x = party.ctx.encrypt(party.values(SLOTS), party.sk)
    assert (x + ev.bind(x)).evaluator is ev


OF_NUMBERS = {
    "float64": lambda v: v,
    "float32": lambda v: v.astype(np.float32),
    "float16": lambda v: v.astype(np.float16),
    "long double": lambda v: v.astype(np.longdouble),
    "int8": lambda v: v.astype(np.int8),
    "bool": lambda v: v > 0,
    "list": lambda v: v.astype(int).tolist(),
    "Fraction": lambda _: Fraction(1, 4),
    "Decimal": lambda _: Decimal("0.25"),
    "np.float32": lambda _: np.float32(0.25),
    "array without axes": lambda _: np.array(3.0),
    "a row for each element": lambda v: np.stack([v, v + 1]),
}


@pytest.mark.parametrize("kind", OF_NUMBERS)
@pytest.mark.parametrize("apply", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_plain_operands_keep_the_type_of_values(ckks, apply, kind):
    """Real values stay real with real operands, and complex ones complex."""
    a, plain = ckks.values(SLOTS), OF_NUMBERS[kind](np.arange(1.0, SLOTS + 1))
    number = float(plain) if isinstance(plain, (Fraction, Decimal)) else np.asarray(plain, np.float64)
    for values in (a, a + 1j * a[::-1]):
        x = ckks.ev.encrypt(values)
        y = apply(x, plain)
        assert (y.dtype, ckks.decrypt(y).dtype) == (values.dtype, values.dtype)
        ckks.check(y, apply(values, number))


def test_arrays_of_fractions_divide(ckks):
    a = ckks.values(SLOTS)
    x = ckks.ev.encrypt(a)
    for divisors in (
        [Fraction(at, 3) for at in range(1, SLOTS + 1)],
        [Decimal(at) for at in range(3, SLOTS + 3)],
    ):
        assert (x / divisors).dtype == np.float64
        ckks.check(x / divisors, a / np.array(divisors, float))
    refuse((lambda: x / ["a"] * SLOTS, TypeError, None))


@pytest.mark.parametrize("zeros", [np.arange(SLOTS), [0.0] * SLOTS, np.zeros(1), 0j * np.ones(SLOTS)])
def test_division_by_zeros(ckks, zeros):
    x = ckks.ev.encrypt(ckks.values(SLOTS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refuse((lambda: x / zeros, ParameterError, "divisor is 0"))
        raises(ZeroDivisionError, "", lambda: x / 0)


@pytest.mark.parametrize("number", [1j, -1j, 2 - 3j, -40, 1j + 0.5])
def test_products_with_whole_parts_take_no_level(ckks, number):
    a = ckks.values(2, SLOTS)
    x = ckks.ev.encrypt(a)
    y = x * number
    whole = number != 1j + 0.5
    assert ((y * 1).level, y.scale) == ((x.level, x.scale) if whole else (x.level, x.scale**2))
    assert y.dtype == (complex if number.imag else float)
    np.testing.assert_allclose(ckks.decrypt(y), a * number, rtol=0, atol=2**-18)
    # Slots beside those that are filled stay what they were.
    few = ckks.ev.encrypt(a[0, :5])
    found = ckks.decrypt(few * number)
    np.testing.assert_allclose(found, a[0, :5] * number, rtol=0, atol=2**-18)


def test_integers_wrap_modulo_t(integers):
    t = integers.ctx.params.plain_modulus
    x = integers.ev.encrypt([t - 1, 1 - t, 5])
    np.testing.assert_array_equal(integers.decrypt(x), [-1, 1, 5])
    unsigned = integers.ctx.decrypt(x, integers.sk, dtype=np.uint64)
    assert unsigned.dtype == np.uint64
    np.testing.assert_array_equal(unsigned, [t - 1, 1, 5])
    # A scalar may be any integer.
    integers.check(x * (10**30) + (-(10**25)), np.array([-1, 1, 5], dtype=object) * 10**30 - 10**25)


def test_coefficients_multiply_as_polynomials(integers):
    x = integers.ev.encrypt([1, 2, 3, 0, 0], encoding="coefficients")
    y = x * integers.ev.encrypt([0, 1, 0, 0, 0], encoding="coefficients")
    assert y.encoding == "coefficients"
    integers.check(y, np.array([0, 1, 2, 3, 0, 0, 0, 0, 0]))
    integers.check(x + np.array([1, 0, 0, 0, 1]), np.array([2, 2, 3, 0, 1]))
    refuse(
        (lambda: x.rotate(1), hm.errors.MismatchError, "in coefficients"),
        (lambda: x + integers.ev.encrypt([1, 2]), hm.errors.MismatchError, "encode both alike"),
    )


@pytest.mark.parametrize("kind", ["ciphertexts", "plaintexts", "arrays"])
def test_dot_is_the_sum_of_products(party, kind):
    a = [party.values(3, SLOTS, seed=i) for i in range(4)]
    b = [party.values(3, SLOTS, seed=10 + i) for i in range(4)]
    a[1], b[2] = a[1][:1], b[2][0]  # these meet each element of the batch
    x = [party.ev.encrypt(row) for row in a]
    make = {"ciphertexts": party.ev.encrypt, "plaintexts": party.ev.encode, "arrays": np.asarray}[kind]
    y = [make(row) for row in b]
    result = party.ev.dot(x, y)
    assert result.shape == (3,)
    expected = sum(u * v for u, v in zip(a, b, strict=True))
    party.check(result, expected)
    one_by_one = x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3]
    party.check(one_by_one, expected)
    assert (result.level, result.scale) == (one_by_one.level, one_by_one.scale)
    if party.exact:
        assert result.guaranteed_noise_budget >= one_by_one.guaranteed_noise_budget - 1e-9
    # Batches broadcast as NumPy's do, and `out` gets the result.
    column, row = party.ev.encrypt(b[0][:, None]), party.ev.encrypt(b[1][None, :2])
    assert party.ev.dot([column], [row], out=result) is result
    party.check(result, b[0][:, None] * b[1][None, :2])


def test_dot_refuses_what_does_not_fit(party):
    x = party.ev.encrypt(party.values(3, SLOTS))
    plain = party.ev.encode(party.values(3, SLOTS))
    for a, b in (([], []), ([x], []), ([x, x], [x])):
        raises(hm.errors.ParameterError, "equally many", party.ev.dot, a, b)
    refuse((lambda: party.ev.dot([x, x], [x, plain]), TypeError, "mixes"))
    refuse((lambda: party.ev.dot([plain], [x]), TypeError, "left operands"))
    with pytest.raises(hm.errors.MismatchError, match="do not fit"):
        party.ev.dot([x, party.ev.encrypt(party.values(2, SLOTS))], [x, x])
    for many in (party.ev.add_many, party.ev.multiply_many):
        raises(TypeError, "takes ciphertexts, not int", many, [x, 3])
        with pytest.raises(hm.errors.MismatchError, match="do not fit"):
            many([x, x, party.ev.encrypt(party.values(2, SLOTS))])


def test_operands_of_other_slots_are_refused(party):
    a, b = party.values(16), party.values(8, seed=2)
    x, y = party.ev.encrypt(a), party.ev.encrypt(b)
    padded = np.append(b, np.zeros(8, dtype=b.dtype))
    calls = [
        ("add", lambda p, q: p + q),
        ("subtract", lambda p, q: p - q),
        ("multiply", lambda p, q: p * q),
        ("add_many", lambda p, q: hm.add_many([p, q])),
        ("multiply_many", lambda p, q: hm.multiply_many([p, q])),
        ("dot", lambda p, q: party.ev.dot([p, p], [p, q])),
        ("dot", lambda *_: party.ev.dot([x], [party.ev.encode(b)])),
        ("add", lambda *_: x + party.ev.encode(b)),
        ("multiply", lambda *_: y * party.ev.encode(a)),
    ]
    for operation, apply in calls:
        for p, q in ((x, y), (y, x)):
            raises(hm.errors.MismatchError, f"{operation}: operands of 16 and 8 slots", apply, p, q)
    # An array is filled with zeros only where that is said.
    party.check(party.ev.add(x, b, fill=True), a + padded)
    party.check(party.ev.multiply(x, b, fill=True), a * padded)
    refuse((lambda: party.ev.dot([x], [b]), hm.errors.MismatchError, "8 values and a ciphertext of 16"))
    # A single slot is no mismatch with CKKS, which has it in every slot; BFV and BGV in the first alone.
    one = party.values(1, seed=3)
    for single in (party.ev.encrypt(one), party.ev.encode(one)):
        if party.exact:
            with pytest.raises(hm.errors.MismatchError, match="operands of 16 and 1 slots"):
                x + single
        else:
            party.check(x + single, a + one)
            party.check(x * single, a * one)


def test_operands_of_other_schemes_are_told_before_their_slots(parties):
    x, y = parties("ckks").ev.encrypt(np.ones(16)), parties("bfv").ev.encrypt(np.arange(5))
    refuse((lambda: x + y, hm.errors.MismatchError, r"belong to <Context of <ckks.* and to <Context of <bfv"))


def test_lazy_relinearization(party):
    lazy = party.ctx.bind(party.ev.keys, relinearization="lazy")
    a, b = party.values(SLOTS), party.values(SLOTS, seed=2)
    x, y = lazy.encrypt(a), lazy.encrypt(b)
    product = x * y
    assert (product.size, (party.ev.encrypt(a) * party.ev.encrypt(b)).size) == (3, 2)
    party.check(product + x, a * b + a)
    assert product.relinearize().size == 2
    party.check(product.relinearize(), a * b)
    assert product.rotate(1).size == 2


def test_manual_rescaling():
    params = hm.ckks.Parameters.from_bits(
        degree=1024, prime_bits=[50, 40, 40], special_bits=[50], scale_bits=40, security=None
    ).with_rescaling("manual")
    assert params.rescaling == "manual"
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    x = ctx.bind(ctx.generate_keys(sk)).encrypt([0.5, 0.25])
    product = x * x
    refuse((lambda: product + x, hm.errors.ScaleError, "rescale"))
    refuse((lambda: product.rescale() + x, hm.errors.MismatchError, "level"))
    np.testing.assert_allclose(ctx.decrypt(product.rescale(), sk), [0.25, 0.0625], atol=2**-18)
    np.testing.assert_allclose(ctx.decrypt(x.at_level(0), sk), [0.5, 0.25], atol=2**-18)


@pytest.mark.parametrize("multiplication", ["hps_over_q", "hps", "behz"])
def test_multiplication_of_bfv(multiplication):
    params = hm.bfv.Parameters.from_bits(
        degree=1024, plain_modulus=12289, prime_bits=[45, 45, 45], special_bits=[49], security=None
    ).with_multiplication(multiplication)
    assert params.multiplication == multiplication
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    x = ctx.bind(ctx.generate_keys(sk)).encrypt(np.arange(10))
    np.testing.assert_array_equal(ctx.decrypt(x * x, sk), np.arange(10) ** 2)
