"""Operations on slots that values do not fill, and on operands of other lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera import serving

from .operation_cases import MATRIX, RNG, SLOTS, Client

WIDTH = 20  # of SLOTS
VECTOR = RNG.uniform(-1, 1, WIDTH)
PARTIAL: dict[str, Callable[..., Any]] = {
    "sum after a number": lambda x, _: (x + 1).sum(),
    "sum after an array": lambda x, _: (x - VECTOR).sum(),
    "sum after one value": lambda x, _: (x + VECTOR[:1]).sum(),
    "mean of a sum": lambda x, _: x.sum().mean(),
    "a number minus": lambda x, _: (1 - x).sum(),
    "sum of a sum": lambda x, _: (x + x.sum()).sum(),
    "twice summed": lambda x, _: x.sum().sum() if isinstance(x, serving.Symbol) else x.sum() * WIDTH,
    "variance": lambda x, _: ((x - x.mean()) * (x - x.mean())).mean(),
    "variance by sums": lambda x, _: ((x - x.sum() / WIDTH) * (x - x.sum() / WIDTH)).sum() / WIDTH,
    "covariance": lambda x, y: ((x - x.mean()) * (y - y.mean())).mean(),
    "dot": lambda x, y: (x + 1).dot(y + 1),
    "vector": lambda x, _: (x + 1) @ VECTOR,
    "matrix": lambda x, _: (((x + 1) @ MATRIX[:WIDTH, :7]) + 1).sum(),
    "function": lambda x, _: (x.polyval([2, 1]) if isinstance(x, serving.Symbol) else x + 2).sum(),
    "mean of a function": lambda x, _: (x.polyval([2, 1]) if isinstance(x, serving.Symbol) else x + 2).mean(),
    "dots": lambda x, y: (
        serving.dot([x + 1, y], [y, y + 2]) if isinstance(x, serving.Symbol) else (x + 1) * y + y * (y + 2)
    ).sum(),
}


@pytest.mark.parametrize("name", PARTIAL)
def test_slots_that_fill_up_do_not_count(name: str) -> None:
    specs = [serving.InputSpec(each, WIDTH, slots=SLOTS) for each in "xy"]
    package = serving.export(PARTIAL[name], inputs=specs, name=name, security=None)
    rows = RNG.uniform(-0.8, 0.8, (2, 3, WIDTH))
    expected = [PARTIAL[name](x, y) for x, y in zip(*rows, strict=True)]
    for found in (package.evaluate_clear(list(rows)), Client(package).run(list(rows))):
        np.testing.assert_allclose(np.real(found)[:, 0], expected, atol=2**-18)


def test_integers_that_fill_up_do_not_count() -> None:
    params = hm.bfv.Parameters.for_circuit(2, slots=1024, security=None)

    def circuit(x: Any) -> Any:
        return ((x + 1) * x + x.sum()).sum()

    package = serving.export(circuit, inputs=WIDTH, name="integers", params=params)
    row = RNG.integers(-20, 20, (1, WIDTH))
    for found in (package.evaluate_clear(row), Client(package).run(row)):
        assert found[0, 0] == circuit(row[0])


@pytest.mark.parametrize("shape", [(5, 3), (3, 8), (8, 8 + 1), (9, 3), (16, 3)])
def test_matrices_of_other_rows_do_not_fit(shape: tuple[int, int]) -> None:
    matrix = RNG.uniform(-1, 1, shape)
    if shape[0] == 8:
        serving.export(
            lambda x: x @ matrix, inputs=[serving.InputSpec("x", 8, slots=16)], name="a", security=None
        )
        return
    spec = serving.InputSpec("x", 8, slots=16)
    for call in (
        lambda x: x @ matrix,
        lambda x: matrix.T @ x,
        lambda x: x.dot(matrix),
        lambda x: x.matmul(matrix),
    ):
        with pytest.raises(hm.errors.MismatchError, match="a value of 8 and a matrix of shape"):
            serving.export(call, inputs=[spec], name="a", security=None)
    package = serving.export(lambda x: x.matmul(matrix, slots=16), inputs=[spec], name="a", security=None)
    row = RNG.uniform(-1, 1, (1, 8))
    padded = np.pad(row, ((0, 0), (0, 8)))[:, : shape[0]]
    np.testing.assert_allclose(np.real(package.evaluate_clear(row))[:, : shape[1]], padded @ matrix)


@pytest.mark.parametrize("count", [3, WIDTH - 1, WIDTH + 1])
def test_arrays_of_other_lengths_do_not_fit(count: int) -> None:
    array = np.ones(count)
    spec = serving.InputSpec("x", WIDTH, slots=SLOTS)
    for call in (
        lambda x: x + array,
        lambda x: array - x,
        lambda x: x * array,
        lambda x: x @ array,
        lambda x: serving.dot([x], [array]),
    ):
        with pytest.raises(hm.errors.MismatchError, match="do not fit"):
            serving.export(call, inputs=[spec], name="a", security=None)
