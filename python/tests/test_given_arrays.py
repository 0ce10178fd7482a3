"""Real arrays to plaintexts and back, also to callers' arrays: NumPy's values, complex arrays' bits."""

import numpy as np
import pytest

import hemera as hm
from hemera.errors import MismatchError, NoiseError, ParameterError

from .conftest import make_params
from .refusals import refuse

VALUES = np.random.default_rng(8).uniform(-1, 1, (2, 3, 8))
SLOTS = 8


@pytest.fixture(scope="module", params=["ckks", "bfv", "bgv"])
def client(request):
    ctx = hm.Context(make_params(request.param), "cpu")
    return ctx, ctx.generate_secret_key()


@pytest.fixture(scope="module")
def ctx():
    return hm.Context(make_params("ckks"), "cpu")


def numbers(ctx, *shape):
    random = np.random.default_rng(3)
    return random.uniform(-1, 1, shape) if ctx.params.scheme == "ckks" else random.integers(-9, 9, shape)


LAYOUTS = {
    "as it is": lambda x: x,
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "big-endian": lambda x: x.astype(">f8"),
    "int64": lambda x: (100 * x).astype(np.int64),
    "uint8": lambda x: (100 * np.abs(x)).astype(np.uint8),
    "bool": lambda x: x > 0,
    "turned": lambda x: x[..., ::-1],
    "every second": lambda x: x[..., ::2],
    "axes turned": lambda x: np.transpose(x, (1, 0, 2)),
    "in Fortran's order": np.asfortranarray,
    "one row for all": lambda x: np.broadcast_to(x[0, 0], x.shape),
    "few": lambda x: x[..., :5],
    "one": lambda x: x[..., :1],
    "a single row": lambda x: x[0, 0],
    "read-only": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_real_arrays_have_the_bits_of_complex_ones(ctx, name):
    x = LAYOUTS[name](VALUES)
    before = x.copy()
    found, expected = ctx.encode(x), ctx.encode(x.astype(np.complex128))
    assert (found.dtype, found.filled) == (np.float64, x.shape[-1])
    values, complex_values = ctx.decode(found), ctx.decode(expected)
    np.testing.assert_array_equal(values, complex_values.real)
    np.testing.assert_array_equal(ctx.decode(found, dtype=complex), complex_values)
    np.testing.assert_allclose(values, np.asarray(x, np.float64), atol=2**-18)
    np.testing.assert_array_equal(x, before)
    assert values.flags.c_contiguous
    assert values.flags.writeable


@pytest.mark.parametrize("count", [1, 8])
def test_real_operands_have_the_bits_of_complex_ones(ctx, count):
    sk = ctx.generate_secret_key()
    x = ctx.bind(ctx.generate_keys(sk)).encrypt(VALUES)
    factor = VALUES[1, :, :count]
    assert bytes((x * factor).to_bytes()) != bytes((x * -factor).to_bytes())
    np.testing.assert_array_equal(
        ctx.decrypt(x * factor, sk), ctx.decrypt(x * factor.astype(np.complex128), sk).real
    )


@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
def test_a_single_operand_is_one_for_all(encoding):
    ctx = hm.Context(make_params("bfv"), "cpu")
    sk = ctx.generate_secret_key()
    x = ctx.bind(ctx.generate_keys(sk)).encrypt(np.arange(ctx.params.degree), encoding=encoding)
    np.testing.assert_array_equal(ctx.decrypt(x + np.array([3]), sk), np.arange(ctx.params.degree) + 3)


ROOMS = {
    "contiguous": np.empty,
    "rows of a longer array": lambda shape, dtype: np.empty((shape[0] + 2, *shape[1:]), dtype)[1:-1],
    "columns of a wider array": lambda shape, dtype: np.empty((*shape[:-1], shape[-1] + 3), dtype)[..., 2:-1],
    "turned": lambda shape, dtype: np.empty(shape, dtype)[..., ::-1],
}


@pytest.mark.parametrize("errors", ["raise", "mask"])
@pytest.mark.parametrize("name", ROOMS)
def test_values_are_in_the_array_that_was_given(client, name, errors):
    ctx, sk = client
    x = ctx.encrypt(numbers(ctx, 2, 3, 5), sk)
    other = np.complex128 if ctx.params.scheme == "ckks" else np.uint64
    for dtype in (None, other):
        expected = ctx.decrypt(x, sk, dtype=dtype)
        out = ROOMS[name](expected.shape, expected.dtype)
        whole = out if out.base is None else out.base
        whole[...] = 77
        found = ctx.decrypt(x, sk, dtype=dtype, errors=errors, out=out)
        np.testing.assert_array_equal(out, expected)
        assert np.shares_memory(np.asarray(found), out)
        assert np.count_nonzero(whole == 77) == whole.size - out.size
        if errors == "raise":
            assert found is out


def test_plaintexts_decode_to_arrays_that_are_given(client):
    ctx, _ = client
    for shape in ((SLOTS,), (4, SLOTS)):
        plain = ctx.encode(numbers(ctx, *shape))
        out = np.empty(ctx.decode(plain).shape, plain.dtype)
        assert ctx.decode(plain, out=out) is out
        np.testing.assert_array_equal(out, ctx.decode(plain))


def test_wrong_rows_of_a_given_array_are_masked(client):
    ctx, sk = client
    rows = numbers(ctx, 3, SLOTS)
    other = ctx.generate_secret_key()
    x = hm.stack([ctx.encrypt(row, other if i == 1 else sk) for i, row in enumerate(rows)])
    out = np.empty((3, x.filled), x.dtype)
    found = ctx.decrypt(x, sk, errors="mask", out=out)
    assert isinstance(found, np.ma.MaskedArray)
    assert np.ma.getmaskarray(found).all(axis=1).tolist() == [False, True, False]
    assert np.shares_memory(found.data, out)
    np.testing.assert_allclose(out[[0, 2], :SLOTS], rows[[0, 2]], atol=1e-3)
    refuse((lambda: ctx.decrypt(x, sk, out=out), NoiseError, "row 1 of 3"))


def test_the_type_of_a_given_array_is_that_of_the_values(ctx):
    real, both = ctx.encode(VALUES[0]), ctx.encode(VALUES[0] + 1j)
    room = {dtype: np.empty((3, SLOTS), dtype) for dtype in (float, complex, np.float32, np.int64)}
    # Real values may have their small imaginary parts shown; complex ones lose theirs only if told to.
    np.testing.assert_array_equal(ctx.decode(real, out=room[complex]), ctx.decode(real, dtype=complex))
    np.testing.assert_array_equal(
        ctx.decode(both, dtype=float, out=room[float]), ctx.decode(both, dtype=float)
    )
    for plain, dtype, given in ((both, None, float), (real, complex, float), (real, float, complex)):
        with pytest.raises(ParameterError, match=r"out is an array of .*, and the values are"):
            ctx.decode(plain, dtype=dtype, out=room[given])
    for wrong in (np.float32, np.int64):
        with pytest.raises(ParameterError, match=r"CKKS decrypts to float64 or complex128, .*, not to"):
            ctx.decode(real, out=room[wrong])


def test_arrays_that_do_not_fit_are_named(client):
    ctx, sk = client
    x = ctx.encrypt(numbers(ctx, 2, SLOTS), sk)
    shape = ctx.decrypt(x, sk).shape
    for wrong in ((3, *shape[1:]), shape[1:], (*shape, 1), (2, shape[1] + 1)):
        with pytest.raises(MismatchError, match=r"out is an array of shape .*, and the values are of \(2, "):
            ctx.decrypt(x, sk, out=np.empty(wrong, x.dtype))
    fixed = np.empty(shape, x.dtype)
    fixed.flags.writeable = False
    refuse((lambda: ctx.decrypt(x, sk, out=fixed), ParameterError, "can not be written to"))
    with pytest.raises(TypeError, match="out takes a NumPy array, not list"):
        ctx.decrypt(x, sk, out=[[0.0] * shape[1]] * 2)
