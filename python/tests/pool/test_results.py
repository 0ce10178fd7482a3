"""Arrays that functions on members return, put together: what NumPy's concatenation of the parts is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hemera as hm

from ..conftest import make_params
from ..refusals import raises

ROWS = np.random.default_rng(4).uniform(-1, 1, (11, 6))


@pytest.fixture(scope="module", params=[1, 3])
def pool(request: pytest.FixtureRequest) -> Iterator[hm.Pool]:
    with hm.Pool(make_params("ckks"), ["cpu"] * request.param, threads=1, in_flight=2) as found:
        yield found


def parts(pool: hm.Pool, batch: int | None) -> list[NDArray[Any]]:
    """The rows of each call."""
    own = np.array_split(ROWS, len(pool))
    return [
        part[at : at + (batch or len(part))] for part in own for at in range(0, len(part), batch or len(part))
    ]


def with_a_mask(rows: NDArray[Any]) -> NDArray[Any]:
    return np.ma.MaskedArray(rows, mask=rows < 0)


FUNCTIONS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "as they are": lambda rows: rows,
    "real parts, not contiguous": lambda rows: (rows + 1j).real,
    "more axes": lambda rows: np.stack([rows, -rows], axis=1),
    "one axis": lambda rows: rows.sum(axis=1),
    "of another type": lambda rows: (9 * rows).astype(np.int64),
    "one row for all": lambda rows: rows[:1],
    "twice as many": lambda rows: np.concatenate([rows, rows]),
    "none": lambda rows: rows[:0],
    "types that differ": lambda rows: rows if rows[0, 0] < ROWS[-1, 0] else rows * 1j,
    "masked": with_a_mask,
    "all rows, turned": lambda rows: rows[::-1],
}


@pytest.mark.parametrize("batch", [None, 1, 2])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_parts_are_joined_as_by_numpy(pool: hm.Pool, name: str, batch: int | None) -> None:
    f = FUNCTIONS[name]
    each = [f(rows) for rows in parts(pool, batch)]
    expected = np.ma.concatenate(each) if name == "masked" else np.concatenate(each)
    found = pool.map(lambda _, rows: f(rows), ROWS, batch=batch)
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if name == "masked":
        np.testing.assert_array_equal(found.mask, expected.mask)


@pytest.mark.parametrize("factors", [(1, 1j), (1j, 1), (1, 1, 1j), (1j, 1, 1)])
def test_the_first_part_does_not_decide_on_the_type(factors: tuple[complex, ...]) -> None:
    """Calls that come one after the other."""
    values = ROWS[: 2 * len(factors)]
    each = [factor * values[2 * at : 2 * at + 2] for at, factor in enumerate(factors)]
    left = iter(each)
    with hm.Pool(make_params("ckks"), "cpu", threads=1) as pool:
        found = pool.map(lambda *_: next(left), values, batch=2)
    np.testing.assert_array_equal(found, np.concatenate(each))
    assert found.dtype == np.complex128


def test_parts_that_do_not_fit_are_an_error_as_by_numpy(pool: hm.Pool) -> None:
    widths = iter(range(1, 7))
    lock = threading.Lock()

    def f(_: hm.Context, rows: NDArray[Any]) -> NDArray[Any]:
        with lock:
            return rows[:, : next(widths)]

    raises(ValueError, "must match exactly", pool.map, f, ROWS, batch=2)


def test_several_arrays_of_each_call(pool: hm.Pool) -> None:
    found = pool.map(lambda _, rows: (rows, [2 * rows, rows.sum(axis=1)]), ROWS, batch=2)
    assert isinstance(found, tuple)
    np.testing.assert_array_equal(found[0], ROWS)
    np.testing.assert_array_equal(found[1][0], 2 * ROWS)
    np.testing.assert_allclose(found[1][1], ROWS.sum(axis=1))


def test_results_are_copied_by_the_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not by the caller, after all of them: nothing is left to concatenate."""
    threads: set[int] = set()
    concatenate = np.concatenate

    def note(*args: Any, **kwargs: Any) -> Any:
        threads.add(threading.get_ident())
        return concatenate(*args, **kwargs)

    with hm.Pool(make_params("ckks"), ["cpu"] * 2, threads=1) as pool:
        sk = pool.replicate(pool.generate_secret_key())
        values = np.random.default_rng(1).uniform(-1, 1, (8, 8))
        x = pool.encrypt(values, sk)
        monkeypatch.setattr(np, "concatenate", note)
        found = pool.decrypt(x, sk), pool.map(lambda _, rows: rows, values, batch=2)
        monkeypatch.undo()
    assert not threads
    for each in found:
        np.testing.assert_allclose(each, values, atol=2**-18)
        assert each.flags.c_contiguous
        assert each.base is None


def test_two_calls_do_not_share_their_results(pool: hm.Pool) -> None:
    first = pool.map(lambda _, rows: rows + 1, ROWS, batch=2)
    second = pool.map(lambda _, rows: rows + 2, ROWS, batch=2)
    np.testing.assert_array_equal(first, ROWS + 1)
    np.testing.assert_array_equal(second, ROWS + 2)
    assert not np.shares_memory(first, second)
