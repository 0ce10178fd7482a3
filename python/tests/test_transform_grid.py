"""Several matrices times several ciphertexts at once, next to NumPy's products of dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.circuits import LinearTransform, TransformGrid
from hemera.errors import LevelError, MismatchError, MissingKeyError, ParameterError

from .conftest import CIRCUIT_SLOTS as SLOTS
from .refusals import refuse
from .test_sparse_transforms import dense_of, random

Block = dict[int, Any] | None


def block(*numbers: int, seed: int = 1) -> Block:
    return {number: random(SLOTS, seed=100 * seed + number) for number in numbers}


GRIDS: dict[str, list[list[Block]]] = {
    "one": [[block(0, 1, 5)]],
    "a convolution and its shortcut": [[block(*range(-4, 5))], [block(0, seed=2)]],
    "several ciphertexts": [[block(*range(16)), block(3, 9, seed=2), {0: 0.5}]],
    "square": [
        [block(0, 4), None],
        [block(*range(SLOTS), seed=2), block(-1, seed=3)],
        [None, {1: 2, 2: -0.5}],
    ],
    "complex": [[{0: random(SLOTS) + 1j * random(SLOTS, seed=2), 3: 0.5j}], [{1: 0.25}]],
}


@pytest.mark.parametrize("own_keys", [False, True])
@pytest.mark.parametrize("name", GRIDS)
def test_results_are_sums_of_products(
    client: Any, params: hm.ckks.Parameters, name: str, own_keys: bool
) -> None:
    blocks = GRIDS[name]
    grid = TransformGrid(blocks, params, slots=SLOTS, own_keys=own_keys)
    rows, columns = len(blocks), len(blocks[0])
    assert grid.shape == (rows, columns)
    assert grid.diagonals == sum(len(own or {}) for row in blocks for own in row)
    ctx, sk = client
    ev = ctx.bind(ctx.generate_keys(sk, plan=grid))
    x = random(columns, 2, 3, SLOTS, seed=5)
    matrix = np.block([[dense_of(own or {}) for own in row] for row in blocks])
    stacked = x.transpose(1, 2, 0, 3).reshape(2, 3, -1)
    expected = (stacked @ matrix.T).reshape(2, 3, rows, SLOTS).transpose(2, 0, 1, 3)
    results = grid(*(ev.encrypt(each) for each in x))
    assert [result.shape for result in results] == [(2, 3)] * rows
    found = np.stack([ctx.decrypt(result, sk, dtype=complex) for result in results])
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(grid.evaluate_clear(*x), expected, atol=1e-10)
    assert results[0].level == grid.level - 1


def test_what_does_not_fit(client: Any, params: hm.ckks.Parameters) -> None:
    a = block(0, 1)
    for wrong in ([], [[]], [[a], [a, a]], [[a], [None]], [[a, None], [a, None]], [[{0: np.zeros(SLOTS)}]]):
        with pytest.raises(ParameterError):
            TransformGrid(wrong, params, slots=SLOTS)
    refuse(
        (lambda: TransformGrid([[{0: np.ones(3)}]], params, slots=SLOTS), ParameterError, "has shape"),
        (lambda: TransformGrid([[{SLOTS: 1.0}]], params, slots=SLOTS), ParameterError, "no diagonal"),
        (lambda: TransformGrid([[a]], params, slots=SLOTS, level=99), LevelError, None),
    )
    with pytest.raises(ParameterError, match="are the same"):
        TransformGrid([[{1: 1.0, 1 - SLOTS: 2.0}]], params, slots=SLOTS)
    grid = TransformGrid([[a, a]], params, slots=SLOTS)
    ctx, sk = client
    ev = ctx.bind(ctx.generate_keys(sk, plan=grid))
    x = ev.encrypt(random(SLOTS))
    refuse(
        (lambda: grid(x), MismatchError, "takes 2"),
        (lambda: grid(), MismatchError, "takes 2"),
        (lambda: grid(x, ev.encrypt(random(2, SLOTS))), MismatchError, "different shapes"),
        (lambda: grid(ctx.encrypt(random(SLOTS), sk), ctx.encrypt(random(SLOTS), sk)), MissingKeyError, None),
    )
    with pytest.raises(TypeError, match="takes ciphertexts"):
        grid(1, 2)  # type: ignore[type-var]
    with pytest.raises(TypeError, match="TransformGrid"):
        ev.transform_all(LinearTransform.from_diagonals(a or {}, params, slots=SLOTS), x)
    for vectors in ((random(SLOTS),), (random(SLOTS), random(3)), (random(SLOTS), random(2, SLOTS))):
        with pytest.raises(ParameterError):
            grid.evaluate_clear(*vectors)
