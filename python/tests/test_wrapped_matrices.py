"""Wide and tall plain matrices by wrapped diagonals, and keys of a transform's own: NumPy is the judge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hemera as hm
from hemera.errors import LevelError, ParameterError

Transform = hm.circuits.LinearTransform


@pytest.fixture(scope="module")
def client() -> Any:
    params = hm.ckks.Parameters.for_circuit(depth=4, slots=512, security=None, degree=1024)
    ctx = hm.Context(params, "cpu")
    return params, ctx, ctx.generate_secret_key()


def random(*shape: int, seed: int = 1) -> NDArray[np.float64]:
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def sparse(matrix: NDArray[Any], params: hm.ckks.Parameters, **options: Any) -> Transform:
    row, column = np.nonzero(matrix)
    return Transform.from_entries(row, column, matrix[row, column], params, shape=matrix.shape, **options)


MAKERS: dict[str, Any] = {"dense": Transform, "entries": sparse}
WIDE = [(1, 2), (1, 33), (3, 17), (4, 64), (5, 64), (25, 245), (2, 500), (16, 32), (100, 300)]


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("shape", WIDE)
@pytest.mark.parametrize("options", [{}, {"fewest_keys": True}, {"own_keys": True}, {"level": 2}], ids=str)
def test_wide_matrices_take_a_diagonal_for_each_row(
    client: Any, shape: tuple[int, int], maker: str, options: dict[str, Any]
) -> None:
    params, ctx, sk = client
    matrix = random(*shape)
    transform = MAKERS[maker](matrix, params, wrapped=True, **options)
    rows, columns = (1 << (extent - 1).bit_length() for extent in shape)
    assert transform.slots == transform.result_slots == columns
    assert transform.diagonals <= rows
    ev = ctx.bind(ctx.generate_keys(sk, plan=transform))
    x = random(2, shape[1], seed=2)
    y = transform(ev.encrypt(x))
    assert (y.level, y.filled or y.slots) == (transform.result_level, shape[0])
    np.testing.assert_allclose(ctx.decrypt(y, sk), x @ matrix.T, atol=1e-4)
    np.testing.assert_allclose(transform.evaluate_clear(x), x @ matrix.T, atol=1e-12)


def test_what_fills_up_is_no_value(client: Any) -> None:
    params, ctx, sk = client
    matrix, x = random(5, 64), random(64, seed=2)
    transform = Transform(matrix, params, wrapped=True)
    after = Transform(np.ones((3, 5)), params, slots=64, level=transform.result_level - 1)
    keys = ctx.generate_keys(sk, plan=[transform, after], sum_slots=64, rotations=[1])
    ev = ctx.bind(keys)
    y = transform(ev.encrypt(x))
    expected = matrix @ x
    assert (y.slots, y.filled, y._native.padding) == (64, 5, "unknown")
    np.testing.assert_allclose(ctx.decrypt(y.sum(), sk), np.full(5, expected.sum()), atol=1e-4)
    np.testing.assert_allclose(ctx.decrypt(y + np.arange(5), sk), expected + np.arange(5), atol=1e-4)
    np.testing.assert_allclose(ctx.decrypt(y * y, sk), expected**2, atol=1e-4)
    # Another matrix does not read the slots that fill up, although they are not 0.
    full = np.full(3, expected.sum())
    np.testing.assert_allclose(ctx.decrypt(after(y), sk), full, atol=1e-4)
    # Nor does the wrapped one those of an input that a function left something in.
    short = Transform(matrix[:, :60], params, wrapped=True, level=3)
    own = ctx.bind(ctx.generate_keys(sk, plan=short, relinearization=True))
    z = own.encrypt(x[:60]).polyval([1, 1])
    assert z._native.padding == "unknown"
    np.testing.assert_allclose(ctx.decrypt(short(z), sk), matrix[:, :60] @ (1 + x[:60]), atol=1e-4)


def test_what_does_not_fit_is_refused(client: Any) -> None:
    params, _, _ = client
    for shape in ((4, 1024), (1024, 4), (0, 4), (4, 0)):
        with pytest.raises(ParameterError):
            Transform(np.ones(shape), params, wrapped=True)
    with pytest.raises(LevelError):
        Transform(np.ones((4, 64)), params, wrapped=True, level=0)
    with pytest.raises(ParameterError, match="zero"):
        Transform(np.zeros((4, 64)), params, wrapped=True)
    with pytest.raises(ParameterError, match="zero"):
        Transform(np.zeros((4, 64)), params)
