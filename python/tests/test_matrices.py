"""Encrypted matrices times encrypted vectors and each other, compared with NumPy."""

import numpy as np
import pytest

import hemera as hm
from hemera.errors import LevelError, MismatchError, MissingKeyError, ParameterError

from .refusals import refuse


def random(*shape, seed=1):
    generator = np.random.default_rng(seed)
    return generator.uniform(-1, 1, shape)


@pytest.mark.parametrize("shape", [(8, 8), (3, 20), (30, 5), (1, 16), (16, 1)])
def test_encrypted_matrices_multiply_vectors(client, params, shape):
    ctx, sk = client
    product = hm.circuits.MatrixVectorProduct(params, *shape)
    ev = ctx.bind(ctx.generate_keys(sk, relinearization=False, plan=product))
    matrix, x = random(*shape), random(2, shape[1], seed=2)
    packed = product.pack(matrix)
    assert packed.shape[0] == product.diagonals
    m = ev.encrypt(packed)
    y = product(m, ev.encrypt(x))
    assert (y.shape, y.level) == ((2,), product.result_level)
    found = ctx.decrypt(y, sk)
    assert found.shape == (2, shape[0])
    np.testing.assert_allclose(found, x @ matrix.T, atol=1e-5)
    np.testing.assert_allclose(product.evaluate_clear(matrix, x), x @ matrix.T, atol=1e-12)
    # The model of errors is of entries of magnitude 1.
    assert np.sqrt(((found - x @ matrix.T) ** 2).mean()) < 4 * product.expected_error()[0]


def test_encrypted_matrices_multiply_each_other(client, params):
    ctx, sk = client
    product = hm.circuits.MatrixProduct(params, 8)
    ev = ctx.bind(ctx.generate_keys(sk, plan=product))
    a, b = random(2, 8, 8), random(8, 8, seed=2)
    left, right = ev.encrypt(product.pack(a, "left")), ev.encrypt(product.pack(b, "right"))
    c = product(left, right)
    assert c.level == product.level - 3
    np.testing.assert_allclose(ctx.decrypt(c, sk).reshape(2, 8, 8), a @ b, atol=1e-5)
    np.testing.assert_allclose(product.evaluate_clear(a[0], b), a[0] @ b, atol=1e-12)
    # A product is a factor again.
    again = hm.circuits.MatrixProduct(params, 8, level=product.result_level)
    both = ctx.bind(ctx.generate_keys(sk, plan=[product, again]))
    cube = again(both.bind(c), right)
    np.testing.assert_allclose(ctx.decrypt(cube, sk).reshape(2, 8, 8), a @ b @ b, atol=1e-4)


def test_packed_factors_take_a_level_less(client, params):
    ctx, sk = client
    whole = hm.circuits.MatrixProduct(params, 4)
    product = hm.circuits.MatrixProduct(params, 4, packed=True)
    assert (whole.depth, product.depth) == (3, 2)
    assert product.packed
    assert product.plaintext_bytes < whole.plaintext_bytes
    ev = ctx.bind(ctx.generate_keys(sk, plan=product))
    # Smaller matrices that are not square.
    a, b = random(3, 4), random(4, 2, seed=2)
    c = product(ev.encrypt(product.pack(a, "left")), ev.encrypt(product.pack(b, "right")))
    expected = np.zeros((4, 4))
    expected[:3, :2] = a @ b
    np.testing.assert_allclose(ctx.decrypt(c, sk).reshape(4, 4), expected, atol=1e-5)
    np.testing.assert_allclose(product.evaluate_clear(a, b), expected, atol=1e-12)


def test_what_does_not_fit_is_refused(params, ev):
    product = hm.circuits.MatrixVectorProduct(params, 4, 8)
    m, x = ev.encrypt(product.pack(random(4, 8))), ev.encrypt(random(8))
    refuse(
        (lambda: product.pack(random(8, 4)), ParameterError, "is planned"),
        (lambda: product(x, x), MismatchError, "pack"),
        (lambda: product(m, ev.encrypt(random(4))), MismatchError, "vectors of 8 slots"),
        (lambda: product(m, x), MissingKeyError, None),
        (lambda: product(m, x.at_level(5)), LevelError, "planned for level 6"),
        (lambda: product.evaluate_clear(random(4, 8), random(7)), ParameterError, "axis"),
        (lambda: product(product.pack(random(4, 8)), x), TypeError, "takes ciphertexts"),
        (lambda: product(m, random(8)), TypeError, "takes a ciphertext"),
    )
    square = hm.circuits.MatrixProduct(params, 4)
    refuse(
        (lambda: square.pack(random(4, 5), "left"), ParameterError, "do not fit 4 x 4"),
        (lambda: square.pack(random(4, 4), "top"), ParameterError, "side"),
        (lambda: square.evaluate_clear(random(2, 4, 4), random(4, 4)), ParameterError, "two axes"),
        (lambda: square(x, x), MismatchError, "16 slots"),
        (lambda: hm.circuits.MatrixProduct(params, 3), ParameterError, "power of two"),
        (lambda: hm.circuits.MatrixProduct(params, 4, level=2), LevelError, "depth 3"),
    )
    integers = hm.bfv.Parameters.for_circuit(depth=1, security=None, degree=1024)
    with pytest.raises(MismatchError, match="CKKS"):
        hm.circuits.MatrixProduct(integers, 4)
    with pytest.raises(MismatchError, match="CKKS"):
        hm.circuits.MatrixVectorProduct(integers, 4, 4)


@pytest.mark.parametrize("size", [2, 4, 16])
def test_batches_of_matrices_multiply_each_other(client, params, size):
    ctx, sk = client
    product = hm.circuits.MatrixBatchProduct(params, size)
    assert (product.size, product.pairs, product.depth) == (size, params.max_slots // size, 1)
    assert sorted(need.kind for need in product.needed_keys) == (
        ["galois"] * (size - 1) + ["relinearization"] + ["turned product"] * (size - 1)
    )
    assert f"{2 * size - 1} keys" in product.report()
    assert "conjugation" not in product.report()
    ev = ctx.bind(ctx.generate_keys(sk, relinearization=False, plan=product))
    # Fewer and smaller ones are filled up with zeros.
    a, b = random(product.pairs, size, size), random(product.pairs - 1, size, size - 1, seed=2)
    left, right = ev.encrypt(product.pack(a, "left")), ev.encrypt(product.pack(b, "right"))
    c = product(left, right)
    assert (c.shape, c.level) == ((size,), product.result_level)
    found = product.unpack(ctx.decrypt(c, sk))
    expected = np.zeros((product.pairs, size, size))
    expected[:-1, :, :-1] = a[:-1] @ b
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(product.evaluate_clear(a, b), expected, atol=1e-12)
    error = np.sqrt((np.abs(found - expected) ** 2).mean())
    assert product.expected_error()[0] / 4 < error < product.expected_error()[0]
    np.testing.assert_allclose(product.unpack(product.pack(a, "left"), "left"), a, atol=1e-12)


def test_batches_of_matrices_are_refused_where_they_do_not_fit(client, params):
    ctx, sk = client
    product = hm.circuits.MatrixBatchProduct(params, 4)
    ev = ctx.bind(ctx.generate_keys(sk, plan=product))
    with pytest.raises(ParameterError, match="power of two"):
        hm.circuits.MatrixBatchProduct(params, 12)
    for wrong in ((4, 4), (product.pairs + 1, 4, 4), (1, 5, 4)):
        with pytest.raises(ParameterError, match="pairs, rows and columns"):
            product.pack(random(*wrong), "left")
    with pytest.raises(ParameterError, match="'left' or 'right'"):
        product.pack(random(1, 4, 4), "top")
    with pytest.raises(ParameterError, match="values"):
        product.unpack(random(4, 3))
    x = ev.encrypt(product.pack(random(1, 4, 4), "left"))
    with pytest.raises(MismatchError, match="encrypt what pack makes"):
        product(x, x[:2])
    other = ctx.bind(ctx.generate_keys(sk))
    with pytest.raises(MissingKeyError):
        product(other.bind(x), other.bind(x))
