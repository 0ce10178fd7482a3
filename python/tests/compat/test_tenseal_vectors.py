"""`CKKSVector` and `BFVVector`: what NumPy gives, for sizes that fill their slots and that do not."""

import numpy as np
import pytest

import hemera.compat.tenseal as ts
from hemera.compat.tenseal import matrices
from hemera.errors import NoiseError

from ..refusals import raises, refuse_each

SIZES = [1, 2, 3, 8, 13]
# Each of a first and a second vector, encrypted or in the clear: `sum` is of NumPy's arrays too.
OPERATIONS = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "add a number": lambda x, _: 2 + x,
    "subtract from a number": lambda x, _: 3 - x,
    "multiply by a number": lambda x, _: x * -3,
    "multiply by zero": lambda x, _: x * 0,
    "negate": lambda x, _: -x,
    "square": lambda x, _: x**2,
    "power 0": lambda x, _: x**0,
    "power 1": lambda x, _: x**1,
    "twice the product": lambda x, y: x * y + x * y,
}
SUMS = {
    "sum": lambda x, _: x.sum(),
    "of a number added": lambda x, _: (x + 1).sum(),
    "of a difference": lambda x, y: (5 - x + y).sum(),
    "dot": lambda x, y: x.dot(y),
    "of a product with a sum": lambda x, y: (x.sum() * y).sum(),
    "of a sum with a sum": lambda x, y: (x.sum() + y).sum(),
}


def ckks_values(size, seed):
    return np.random.default_rng(seed).uniform(-2, 2, size)


def bfv_values(size, seed):
    return np.random.default_rng(seed).integers(-20, 20, size)


def close(found, expected, error=2**-15):
    """As many values as expected, too."""
    np.testing.assert_allclose(found, np.atleast_1d(expected), rtol=0, atol=error)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_vectors_of_floats_compute_slot_by_slot(ckks, size, name):
    x, y = ckks_values(size, 1), ckks_values(size, 2)
    function = OPERATIONS[name]
    encrypted = ts.ckks_vector(ckks, x)
    close(function(encrypted, ts.ckks_vector(ckks, y)).decrypt(), function(x, y))
    close(function(encrypted, y.tolist()).decrypt(), function(x, y))
    close(encrypted.decrypt(), x)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SUMS)
def test_sums_of_floats(ckks, size, name):
    x, y = ckks_values(size, 3), ckks_values(size, 4)
    found = SUMS[name](ts.ckks_vector(ckks, x), ts.ckks_vector(ckks, y))
    assert found.size() == 1
    close(found.decrypt(), SUMS[name](x, y), 2**-12)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_vectors_of_integers_are_exact(bfv, size, name):
    x, y = bfv_values(size, 1), bfv_values(size, 2)
    function = OPERATIONS[name]
    encrypted = ts.bfv_vector(bfv, x)
    assert function(encrypted, ts.bfv_vector(bfv, y)).decrypt() == function(x, y).tolist()
    assert function(encrypted, y.tolist()).decrypt() == function(x, y).tolist()


@pytest.mark.parametrize("size", [*SIZES, 1500, 3000, 4096])
def test_sums_of_integers(bfv, size):
    x = bfv_values(size, 3)
    encrypted = ts.bfv_vector(bfv, x)
    assert (encrypted + 1).sum().decrypt() == [x.sum() + size]
    if size < 100:
        assert encrypted.dot(x).decrypt() == [x @ x]


@pytest.mark.parametrize(
    "coefficients", [[0.5, 0.197, 0, -0.004], [0, 1], [2, 0, 0, 0], [0, 0, 3], [0], [1, -1]]
)
def test_polynomials(ckks, coefficients):
    x = ckks_values(5, 5)
    found = ts.ckks_vector(ckks, x).polyval(coefficients)
    expected = np.polynomial.polynomial.polyval(x, coefficients)
    close(found.decrypt(), expected)
    close(found.sum().decrypt(), expected.sum())  # no level is left for a mask


@pytest.mark.parametrize("coefficients", [[0.5, 0.197, 1], [0, 0, -3], [0.5, 2], [1, 0.5, 0, 2, 0]])
def test_polynomials_that_take_no_more_levels_than_tenseals(ckks, coefficients):
    """Whole multiples of the highest power, 2^k, take k levels: here of one that is left, or of two."""
    x = ckks_values(5, 5)
    first = ts.ckks_vector(ckks, x) * 0.5 if len(coefficients) == 3 else ts.ckks_vector(ckks, x)
    scale = 0.5 if len(coefficients) == 3 else 1
    close(first.polyval(coefficients).decrypt(), np.polynomial.polynomial.polyval(scale * x, coefficients))


def test_polynomials_of_integers(bfv):
    x = np.array([3, -2, 5])
    found = ts.bfv_vector(bfv, x).polyval([1, 0, 2])
    assert found.decrypt() == (1 + 2 * x**2).tolist()
    assert found.sum().decrypt() == [(1 + 2 * x**2).sum()]


def test_depth_is_that_of_the_primes(ckks):
    x = ckks_values(4, 6)
    encrypted = ts.ckks_vector(ckks, x)
    close((encrypted**4).decrypt(), x**4)
    close((encrypted * encrypted * encrypted).decrypt(), x**3)
    raises(ValueError, "no level is left", encrypted.pow, 5)


@pytest.mark.parametrize("rows", [1, 3, 8, 20])
@pytest.mark.parametrize("columns", [1, 2, 5, 16, 33])
def test_products_with_matrices(ckks, rows, columns):
    x = ckks_values(rows, 7)
    matrix = np.random.default_rng(8).normal(size=(rows, columns))
    found = ts.ckks_vector(ckks, x).mm(matrix)
    close(found.decrypt(), x @ matrix, 2**-13)
    close(found.sum().decrypt(), (x @ matrix).sum(), 2**-11)
    close((found @ matrix.T).decrypt(), x @ matrix @ matrix.T, 2**-8)


def test_matrices_of_few_diagonals(ckks):
    x = ckks_values(16, 9)
    for matrix in (np.eye(16), np.eye(16, k=5) + np.eye(16, k=-9), np.eye(16, 3), np.zeros((16, 4))):
        close(ts.ckks_vector(ckks, x).mm(matrix).decrypt(), x @ matrix)


def test_the_same_matrix_at_another_level_and_for_another_vector(ckks):
    matrix = np.random.default_rng(10).normal(size=(4, 4))
    x, y = ckks_values(4, 11), ckks_values(4, 12)
    encrypted = ts.ckks_vector(ckks, x)
    for _ in range(2):
        close((encrypted * 0.5).mm(matrix).decrypt(), x / 2 @ matrix)
        close(encrypted.mm(matrix).decrypt(), x @ matrix)
        close(encrypted.mm(matrix).mm(matrix).decrypt(), x @ matrix @ matrix, 2**-12)  # of both levels
        close(ts.ckks_vector(ckks, y).mm(matrix).decrypt(), y @ matrix)


def test_matrices_of_the_same_numbers_in_other_shapes(ckks):
    numbers = np.random.default_rng(13).normal(size=12)
    for rows in (3, 4, 12, 2, 6, 1, 4, 3):
        x, matrix = ckks_values(rows, rows), numbers.reshape(rows, -1)
        close(ts.ckks_vector(ckks, x).mm(matrix).decrypt(), x @ matrix, 2**-12)
        close(ts.ckks_vector(ckks, x).mm(-matrix).decrypt(), -x @ matrix, 2**-12)


@pytest.mark.parametrize(("room", "kept"), [(1, "c"), (2, "bc"), (3, "abc"), (9, "abc")])
def test_the_last_matrices_stay_encoded(ckks, monkeypatch, room, kept):
    """As many as have room, and one in any case; a product with one of them makes it the last."""
    numbers = dict(zip("abc", np.random.default_rng(14).normal(size=(3, 4, 4)), strict=True))
    cache, evaluator = matrices.EncodedMatrices(), ckks._evaluator
    size = cache.of(numbers["a"], 4, 1, evaluator).bytes
    assert size == 4 * 4096 * 2 * 8 * len(evaluator.context.params.primes[1])  # diagonals of N coefficients
    cache = matrices.EncodedMatrices()
    monkeypatch.setattr(matrices, "_MOST_BYTES", room * size)
    first = {name: cache.of(numbers[name], 4, 1, evaluator) for name in "abc"}
    assert {name for name in kept[::-1] if cache.of(numbers[name], 4, 1, evaluator) is first[name]} == set(
        kept
    )
    if room == 2:
        cache.of(numbers["b"], 4, 1, evaluator)
        cache.of(numbers["a"], 4, 1, evaluator)  # c goes, which was used before b
        assert cache.of(numbers["b"], 4, 1, evaluator) is first["b"]
        assert cache.of(numbers["c"], 4, 1, evaluator) is not first["c"]


def test_a_matrix_by_columns_times_a_vector(ckks):
    for rows, columns in ((4, 3), (5, 4), (7, 6), (1, 1), (8, 8)):
        matrix = np.random.default_rng(rows).normal(size=(rows, columns))
        plain = ckks_values(columns, 13)
        encrypted = ts.enc_matmul_encoding(ckks, matrix)
        found = encrypted.enc_matmul_plain(plain, rows)
        close(found.decrypt(), matrix @ plain)
        close((found * 2.5).sum().decrypt(), 2.5 * (matrix @ plain).sum(), 2**-12)
    raises(ValueError, "shape doesn't match", encrypted.enc_matmul_plain, plain, 7)
    raises(ValueError, "can't be empty", encrypted.enc_matmul_plain, [], 8)


@pytest.mark.parametrize(("rows", "columns", "stride"), [(3, 3, 1), (2, 3, 1), (3, 2, 2), (6, 5, 1)])
def test_convolutions(ckks, rows, columns, stride):
    random = np.random.default_rng(14)
    image, kernel = random.normal(size=(6, 7)), random.normal(size=(rows, columns))
    encrypted, windows = ts.im2col_encoding(ckks, image, rows, columns, stride)
    expected = [
        (image[at : at + rows, along : along + columns] * kernel).sum()
        for at in range(0, 7 - rows, stride)
        for along in range(0, 8 - columns, stride)
    ]
    assert windows == len(expected)
    found = encrypted.conv2d_im2col(kernel, windows) + 1
    close(found.decrypt(), np.array(expected) + 1)
    packed = ts.CKKSVector.pack_vectors([found, encrypted.conv2d_im2col(kernel, windows)])
    close(packed.decrypt(), [*(each + 1 for each in expected), *expected])
    close(packed.sum().decrypt(), 2 * sum(expected) + windows, 2**-11)
    raises(ValueError, "no windows", ts.im2col_encoding, ckks, image, 9, 1, 1)


@pytest.mark.parametrize("size", [1, 3, 4])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_vectors_packed_into_one(ckks, bfv, size, count):
    parts = [ckks_values(size, 20 + at) for at in range(count)]
    packed = ts.CKKSVector.pack_vectors([ts.ckks_vector(ckks, part) for part in parts])
    close(packed.decrypt(), np.concatenate(parts))
    close((packed + 1).sum().decrypt(), np.sum(parts) + size * count)
    whole = [bfv_values(size, 30 + at) for at in range(count)]
    exact = ts.BFVVector.pack_vectors([ts.bfv_vector(bfv, part) for part in whole])
    assert exact.decrypt() == np.concatenate(whole).tolist()
    assert exact.sum().decrypt() == [np.sum(whole)]


def test_vectors_up_to_all_slots(ckks, bfv):
    """The last size that is taken, and the first that is refused."""
    slots = 4096
    first = ts.ckks_vector(ckks, [0.5, 2])
    for count in (slots // 2 + 1, slots):
        close(first.replicate_first_slot(count).decrypt(), np.full(count, 0.5), 2**-10)
    refuse_each(first.replicate_first_slot, (0, slots + 1), ValueError, "n is from 1 to the number of slots")
    half = ckks_values(slots // 2, 21)
    vectors = [ts.ckks_vector(ckks, each) for each in (half, -half)]
    close(ts.CKKSVector.pack_vectors(vectors).decrypt(), [*half, *-half], 2**-10)
    with pytest.raises(ValueError, match="bigger than slot count: 6144 values"):
        ts.CKKSVector.pack_vectors([*vectors, vectors[0]])
    whole = [ts.bfv_vector(bfv, np.full(slots // 4, at)) for at in range(4)]
    assert ts.BFVVector.pack_vectors(whole).decrypt() == np.repeat(np.arange(4), slots // 4).tolist()


def test_vectors_that_do_not_pack(ckks, bfv):
    x = ts.ckks_vector(ckks, ckks_values(2048, 15))
    for vectors, reason in (
        ([], "empty"),
        ([x, x, x], "bigger than slot count"),
        ([x, x.sum()], "different"),
    ):
        raises(ValueError, reason, ts.CKKSVector.pack_vectors, vectors)
    with pytest.raises(TypeError, match="CKKSVector"):
        ts.CKKSVector.pack_vectors([x, 1])
    with pytest.raises(ValueError, match="power of two"):
        ts.BFVVector.pack_vectors([ts.bfv_vector(bfv, bfv_values(1500, 1))] * 2)


def test_the_first_slot_alone(ckks):
    x = ckks_values(5, 16)
    found = ts.ckks_vector(ckks, x).replicate_first_slot(6)
    close(found.decrypt(), np.full(6, x[0]))
    close(found.sum().decrypt(), 6 * x[0])


def test_vectors_of_several_ciphertexts(ckks, bfv):
    x, y = ckks_values(9000, 17), ckks_values(9000, 18)
    with pytest.warns(UserWarning, match="3 ciphertexts"):
        a, b = ts.ckks_vector(ckks, x), ts.ckks_vector(ckks, y)
    close(((a + 1) * b + y).decrypt(), (x + 1) * y + y)
    close(a.dot(y).decrypt(), x @ y, 2**-9)
    close((a.sum() * b).decrypt(), x.sum() * y, 2**-8)
    raises(ValueError, "chunked", a.mm, np.ones((9000, 1)))
    whole = bfv_values(5000, 19)
    with pytest.warns(UserWarning, match="2 ciphertexts"):
        exact = ts.bfv_vector(bfv, whole)
    assert (exact + 1).sum().decrypt() == [whole.sum() + 5000]


def test_in_place_operations_change_the_vector_alone(ckks):
    x = ckks_values(3, 21)
    first = ts.ckks_vector(ckks, x)
    second = first.copy()
    kept = first
    first += 1
    first *= x
    first -= [1, 2, 3]
    assert first is kept
    close(first.decrypt(), (x + 1) * x - [1, 2, 3])
    close(second.decrypt(), x)
    assert second.square_() is second
    close(second.decrypt(), x**2)
    second.sum_().neg_()
    assert second.shape == [1]
    assert len(second) == 1
    close(second.decrypt(), -(x**2).sum())
    third = ts.ckks_vector(ckks, x)
    third @= np.ones((3, 2))
    close(third.polyval_([1, 2]).decrypt(), 1 + 2 * np.full(2, x.sum()))


def test_arrays_may_stand_on_the_left(ckks):
    x = ckks_values(3, 22)
    encrypted = ts.ckks_vector(ckks, x)
    close((np.array([1.0, 2, 3]) * encrypted).decrypt(), x * [1, 2, 3])
    close((np.array([1.0, 2, 3]) - encrypted).decrypt(), [1, 2, 3] - x)
    close((np.float64(2) + encrypted).decrypt(), 2 + x)
    close((encrypted * np.int64(2)).decrypt(), 2 * x)


def test_operands_that_do_not_fit(ckks, bfv):
    x = ts.ckks_vector(ckks, [1, 2, 3])
    for wrong in ([1, 2], ts.ckks_vector(ckks, [1, 2])):
        with pytest.raises(ValueError, match="different sizes"):
            x + wrong
    raises(ValueError, "can only operate with a vector", lambda: x * [[1, 2, 3]])
    raises(ValueError, "can only operate with a matrix", x.mm, [1, 2, 3])
    raises(ValueError, "matrix shape", x.mm, [[1], [2]])
    raises(TypeError, "", lambda: x + "one")
    raises(TypeError, r"1\.5", lambda: ts.bfv_vector(bfv, [1]) + 1.5)
    for vector, reason in (([], "empty"), ([[1]], "can only encrypt a vector")):
        raises(ValueError, reason, ts.ckks_vector, ckks, vector)
    raises(ValueError, r"SCHEME_TYPE\.CKKS", ts.ckks_vector, bfv, [1])
    with pytest.raises(TypeError, match=r"tenseal\.Context"):
        ts.ckks_vector([1], [1])
    other = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, [60, 40, 60])
    other.global_scale = 2**40
    raises(ValueError, "different contexts", lambda: x + ts.ckks_vector(other, [1, 2, 3]))


def test_spent_noise_is_an_error(bfv):
    x = ts.bfv_vector(bfv, [3])
    with pytest.warns(UserWarning, match="budget"):
        deep = x * x * x * x
    raises(NoiseError, "", deep.decrypt)


def test_scales_of_single_vectors(ckks):
    finer = ts.ckks_vector(ckks, [1.5, 2.5], 2**55)
    assert finer.scale() == 2**55
    assert np.abs(np.array(finer.decrypt()) - [1.5, 2.5]).max() < 2**-35
    coarse = ts.ckks_vector(ckks, [1.5, 2.5], 2**10)
    close((coarse * coarse + finer).decrypt(), [3.75, 8.75])
