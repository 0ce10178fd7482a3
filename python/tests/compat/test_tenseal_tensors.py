"""`CKKSTensor`, `BFVTensor` and `PlainTensor`: what NumPy gives."""

import numpy as np
import pytest

import hemera as hm
import hemera.compat.tenseal as ts
from hemera.compat.tenseal.messages import write_message

from ..refusals import raises

X = np.random.default_rng(1).uniform(-2, 2, (3, 2, 4))
Y = np.random.default_rng(2).uniform(-2, 2, (3, 2, 4))
M, V = X[0], Y[0, 0]
OPERATIONS = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "numbers": lambda x, _: 2 - x * 3 + 0.5,
    "negate": lambda x, _: -x,
    "power": lambda x, _: x**3,
    "power 0": lambda x, _: x**0,
    "square": lambda x, _: x**2,
}


def close(found, expected, error=2**-15):
    np.testing.assert_allclose(np.array(found.decrypt().tolist()), expected, rtol=0, atol=error)


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("name", OPERATIONS)
def test_tensors_compute_value_by_value(ckks, name, batch):
    function = OPERATIONS[name]
    x, y = (ts.ckks_tensor(ckks, values, batch=batch) for values in (X, Y))
    assert x.shape == ([2, 4] if batch else [3, 2, 4])
    close(function(x, y), function(X, Y))
    close(function(x, Y[0]), function(X, Y[0]))  # broadcasts to each element


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("batch", [False, True])
def test_sums_along_axes(ckks, axis, batch):
    x = ts.ckks_tensor(ckks, X, batch=batch)
    close((x + 1).sum(axis), (X + 1).sum(axis), 2**-13)
    close((x + 1).sum(axis) * V[0], (X + 1).sum(axis) * V[0], 2**-13)
    raises(ValueError, "axis", x.sum, 3)


def test_the_axis_in_the_slots(ckks):
    x = ts.ckks_tensor(ckks, X, batch=True)
    y = ts.ckks_tensor(ckks, M)
    close(x * y + y, X * M + M)
    close((y - x).sum_batch(), (M - X).sum(0), 2**-13)
    close(x.polyval([1, 0, 2]).sum_batch_(), (1 + 2 * X**2).sum(0), 2**-13)
    raises(ValueError, "batch=True", y.sum_batch)
    raises(ValueError, "batches of 3 and 2", lambda: x + ts.ckks_tensor(ckks, X[:2], batch=True))


@pytest.mark.parametrize("encrypted", [False, True])
def test_products_of_vectors_and_matrices(ckks, encrypted):
    for left, right in ((M, M.T), (M, V), (V, M.T), (V, V)):
        other = ts.ckks_tensor(ckks, right) if encrypted else right
        found = ts.ckks_tensor(ckks, left).dot(other)
        assert found.shape == list(np.shape(left @ right))
        close(found, left @ right, 2**-13)
    x = ts.ckks_tensor(ckks, M)
    close(x @ (x.transpose() if encrypted else M.T), M @ M.T, 2**-13)
    for wrong in (M, V, X):
        with pytest.raises(ValueError, match="multiply matrices"):
            x.mm(ts.ckks_tensor(ckks, wrong) if encrypted else wrong)
    raises(ValueError, "2 dimensions", x.dot, X)


def test_matrices_of_integers(bfv):
    a, b = np.arange(6).reshape(2, 3) - 2, np.arange(6).reshape(3, 2)
    x, y = ts.bfv_tensor(bfv, a), ts.bfv_tensor(bfv, b)
    assert x.mm(y).decrypt().tolist() == (a @ b).tolist()
    assert x.mm(b).decrypt().tolist() == (a @ b).tolist()
    assert (x * x - 3 + a).sum(1).decrypt().tolist() == (a * a - 3 + a).sum(1).tolist()
    assert x.polyval([1, 2, 3]).decrypt().tolist() == (1 + 2 * a + 3 * a * a).tolist()
    batch = ts.bfv_tensor(bfv, b, batch=True)
    assert (batch + 1).sum_batch().decrypt().tolist() == (b + 1).sum(0).tolist()
    assert (batch * [1, 2]).decrypt().tolist() == (b * [1, 2]).tolist()


def test_shapes(ckks):
    x = ts.ckks_tensor(ckks, ts.plain_tensor(X))
    for found, expected in (
        (x.reshape([4, 6]), X.reshape(4, 6)),
        (x.transpose(), X.T),
        (x.broadcast([2, 3, 2, 4]), np.broadcast_to(X, (2, 3, 2, 4))),
        (x[1], X[1:2]),
        (x[-1], X[-1:]),
        (x[-2, -1], X[-2:-1, -1:]),
        (x[1:], X[1:]),
        (x[0:1, :, 1:3], X[0:1, :, 1:3]),
        (x.copy().reshape_([24]).transpose_(), X.ravel()),
    ):
        assert found.shape == list(expected.shape)
        close(found, expected)
    for beyond in (3, -4, (0, 2), (0, 0, 0, 0)):
        with pytest.raises(IndexError):
            x[beyond]
    assert x.broadcast_([1, 3, 2, 4]).shape == [1, 3, 2, 4]
    for shape in ([5], [2, 2]):
        raises(ValueError, "shape", x.reshape, shape)


def test_a_number_as_a_tensor(ckks):
    x = ts.ckks_tensor(ckks, 2.5)
    assert x.shape == []
    close(x * x + x.transpose(), 2.5**2 + 2.5)


def test_bytes_of_a_tensor_without_values_do_not_make_many_lists():
    empty = ts.plain_tensor(np.zeros((1 << 8, 1 << 8, 0)))
    assert ts.plain_tensor_from(empty.serialize()).tolist() == [[[]] * (1 << 8)] * (1 << 8)
    for shape in ([1 << 8, (1 << 8) + 1, 0], [*[8] * 12, 0], [0, 1 << 40]):
        with pytest.raises(hm.errors.FormatError, match="no values"):
            ts.plain_tensor_from(write_message({1: shape, 2: 0, 3: b""}))


def test_plain_tensors():
    x = ts.plain_tensor([1, 2, 3, 4, 5, 6], [2, 3])
    assert x.shape == [2, 3]
    assert x.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert x.raw == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert len(x) == x.size() == 2
    assert not x.empty()
    assert x.at([1, 0]) == 4
    assert x.strides() == [3, 1]
    assert ts.plain_tensor(np.zeros((2, 1, 3, 1))).strides() == [3, 0, 1, 0]
    assert ts.plain_tensor(5).strides() == []
    turned = ts.plain_tensor([[1, 2, 3], [4, 5, 6]])
    assert turned.transpose_().raw == turned.transpose().transpose().raw == [1, 4, 2, 5, 3, 6]
    assert x.batch(0) == [[1, 4], [2, 5], [3, 6]]
    assert x.transpose().shape == x.reshape([3, 2]).shape == [3, 2]
    assert x.broadcast([2, 2, 3]).shape == [2, 2, 3]
    x.dtype = "int"
    assert x.dtype == "int"
    assert x.raw == [1, 2, 3, 4, 5, 6]
    found = ts.plain_tensor_from(x.serialize())
    assert found.tolist() == x.tolist()
    assert found.dtype == "float"
    assert x.reshape_([3, 2]).transpose_().broadcast_([1, 2, 3]).tolist() == [[[1, 3, 5], [2, 4, 6]]]
    raises(TypeError, "structured", ts.plain_tensor, [[1, 2], [3]])
    raises(ValueError, "mismatched shape", ts.plain_tensor, [1, 2, 3], [2, 2])
    raises(ValueError, "dtype", ts.plain_tensor, [1], dtype="bool")
    raises(ValueError, "no plain tensor", ts.plain_tensor_from, b"\x12\x01a")
