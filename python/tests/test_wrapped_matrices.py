"""Wide and tall plain matrices by wrapped diagonals, and keys of a transform's own: NumPy is the judge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hemera as hm
from hemera.errors import LevelError, MismatchError, MissingKeyError, ParameterError

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


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("shape", [shape[::-1] for shape in WIDE])
@pytest.mark.parametrize("options", [{}, {"fewest_keys": True}, {"own_keys": True}], ids=str)
def test_tall_matrices_take_vectors_of_few_slots(
    client: Any, shape: tuple[int, int], maker: str, options: dict[str, Any]
) -> None:
    params, ctx, sk = client
    matrix = random(*shape) * (1 + 1j)
    transform = MAKERS[maker](matrix, params, wrapped=True, **options)
    rows, columns = (1 << (extent - 1).bit_length() for extent in shape)
    assert (transform.slots, transform.result_slots) == (columns, rows)
    assert transform.diagonals <= columns
    ev = ctx.bind(ctx.generate_keys(sk, plan=transform))
    x = random(2, shape[1], seed=2)
    y = transform(ev.encrypt(x))
    assert (y.slots, y.filled or y.slots) == (rows, shape[0])
    np.testing.assert_allclose(ctx.decrypt(y, sk), x @ matrix.T, atol=1e-4)
    np.testing.assert_allclose(transform.evaluate_clear(x), x @ matrix.T, atol=1e-12)
    with pytest.raises(MismatchError, match="slots"):
        transform(ev.encrypt(np.ones(rows)))


def test_a_matrix_of_100_x_980_takes_128_diagonals() -> None:
    """The figures of the issue: 1,024 diagonals and 78 keys without a wrapping."""
    params = hm.ckks.Parameters.for_circuit(depth=2, slots=1024, security=None)
    matrix = random(100, 980)
    wrapped, plain = Transform(matrix, params), Transform(matrix, params, wrapped=False)
    assert (wrapped.diagonals, plain.diagonals) == (128, 1024)
    assert len(wrapped.needed_keys) < len(plain.needed_keys) / 2
    assert wrapped.plaintext_bytes == plain.plaintext_bytes / 8
    for kind in ("products_with_keys", "plain_products"):
        if kind in wrapped.operations:
            assert wrapped.operations[kind] < plain.operations[kind]
    # With the slots of the ciphertexts the result has zeros behind its values, as it had.
    assert Transform(matrix, params, slots=1024).diagonals == 1024
    # A sum at the end costs more than these diagonals.
    for sparse_one in (np.eye(4, 512), np.eye(4, 512, k=8) + np.eye(4, 512, k=3)):
        assert (
            Transform(sparse_one, params).rotations == Transform(sparse_one, params, wrapped=False).rotations
        )


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


def test_bounds_of_wrapped_products_are_those_of_rows(client: Any) -> None:
    params, ctx, sk = client
    matrix = random(3, 40)
    transform = Transform(matrix, params, wrapped=True)
    ev = ctx.bind(ctx.generate_keys(sk, plan=transform))
    y = transform(ev.encrypt(ctx.encode(random(40, seed=2), largest=2.0)))
    np.testing.assert_allclose(y.largest, 2 * np.abs(matrix).sum(axis=1).max(), rtol=1e-12)


def test_the_expected_error_of_wrapped_products_is_found(client: Any) -> None:
    params, ctx, sk = client
    matrix = random(8, 512)
    transform = Transform(matrix, params, wrapped=True)
    ev = ctx.bind(ctx.generate_keys(sk, plan=transform))
    x = random(40, 512, seed=2)
    found = ctx.decrypt(transform(ev.encrypt(x)), sk, dtype=complex) - x @ matrix.T
    mean, worst = transform.expected_error()
    assert mean / 2 < np.sqrt((np.abs(found) ** 2).mean()) < 2 * mean
    assert worst >= mean


def test_own_keys_have_the_primes_that_their_level_needs() -> None:
    """The figures of the issue: four limbs with eight special primes."""
    params = hm.ckks.Parameters.for_bootstrapping("n16-40", levels=16, digits=4)
    level = next(n for n in range(params.levels + 9) if _limbs(params, n) >= 4)
    usual, own = (
        Transform.from_diagonals(
            dict.fromkeys(range(16), 1.0), params, slots=64, level=level, own_keys=own_keys
        )
        for own_keys in (False, True)
    )
    assert len(usual.needed_keys[0].special_primes) >= 8
    assert 2 <= len(own.needed_keys[0].special_primes) <= 5
    assert len(own.needed_keys[0].primes) == _limbs(params, level)
    assert own.key_bytes < usual.key_bytes / 2
    assert own.plaintext_bytes < usual.plaintext_bytes
    assert own.expected_error()[0] < 1.1 * usual.expected_error()[0]


def _limbs(params: hm.ckks.Parameters, level: int) -> int:
    """The primes of a level; 0 where no transform begins."""
    try:
        plan = Transform.from_diagonals({1: 1.0}, params, slots=2, level=level, own_keys=True)
    except LevelError:
        return 0
    return len(plan.needed_keys[0].primes)


def test_own_keys_serve_the_transform(client: Any) -> None:
    params, ctx, sk = client
    for level in range(1, 5):
        matrix = random(32, 32, seed=level)
        usual = Transform(matrix, params, slots=32, level=level)
        own = Transform(matrix, params, slots=32, level=level, own_keys=True)
        ev = ctx.bind(ctx.generate_keys(sk, plan=own))
        x = random(32, seed=9)
        np.testing.assert_allclose(ctx.decrypt(own(ev.encrypt(x)), sk), matrix @ x, atol=1e-5)
        assert own.expected_error()[0] < 1.5 * usual.expected_error()[0]
        if own.needed_keys[0].special_primes != usual.needed_keys[0].special_primes:
            with pytest.raises(MissingKeyError):
                usual(ev.encrypt(x))


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
