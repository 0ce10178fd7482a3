"""Places of rows, queries and thresholds in slots, in the clear."""

from __future__ import annotations

import numpy as np
import pytest

from hemera.search.comparisons.layout import Layout


@pytest.mark.parametrize(
    ("slots", "rows", "dims"),
    [(64, 64, 8), (64, 64, 64), (64, 32, 7), (64, 16, 16), (64, 8, 8), (64, 4, 3), (64, 2, 1), (64, 16, 3)],
)
def test_columns_and_rotations_give_the_scores(slots: int, rows: int, dims: int) -> None:
    layout = Layout(slots, rows, dims)
    random = np.random.default_rng(4)
    vectors, x = random.normal(size=(rows, dims)), random.normal(size=dims)
    query, columns = layout.of_query(x), layout.of_rows(vectors)
    assert sorted({a + b for a in layout.giants for b in layout.babies}) == list(range(layout.steps))
    total = sum(np.roll(query, -step) * column for step, column in enumerate(columns))
    scores = sum(np.roll(total, -part * rows) for part in range(layout.parts))
    assert np.allclose(scores, np.tile(vectors @ x, slots // rows))
    assert layout.steps * min(slots // rows, layout.width) == layout.width


def test_thresholds_and_payloads_lie_in_copies() -> None:
    layout = Layout(32, 8, 5)
    assert np.array_equal(layout.of_thresholds(np.array([0.5])), np.full((1, 32), 0.5))
    several = layout.of_thresholds(np.arange(6.0))
    assert several.shape == (2, 32)
    assert several.reshape(-1, 8)[:6].tolist() == np.repeat(np.arange(6.0), 8).reshape(6, 8).tolist()
    numbers = np.arange(35).reshape(7, 5)
    slots = layout.of_numbers(numbers)
    assert slots.shape == (2, 32)
    assert np.array_equal(layout.numbers_of(slots, 5)[:7], numbers)
    assert not layout.numbers_of(slots, 5)[7:].any()
