"""tools/card_times.py: the model's three limits by hand, and its predictions beside what cards took."""

from __future__ import annotations

import json

import pytest

import card_times
from card_times import H200, LATENCY, Card, Kernel

CARD = Card("a card", multiprocessors=100, gigahertz=2.0, terabytes=1.0, doubles=2)


@pytest.mark.parametrize(
    ("counted", "microseconds"),
    [
        # 890 MB at 0.89 TB/s.
        ({"bytes": 890e6}, 1000.0),
        # 100 multiprocessors at 2 GHz issue 800,000 instructions a microsecond, 48.5 % of them.
        ({"instructions": 388e6}, 1000.0),
        # A warp of FP64 takes 16 cycles of a multiprocessor with two units: 12,500 a microsecond, 70.6 %.
        ({"fp64": 8.825e6}, 1000.0),
        # Four pipes a multiprocessor: 800,000 cycles a microsecond.
        ({"wide": 564.8e6}, 1000.0),
        ({"alu": 564.8e6}, 1000.0),
        # The longest alone counts.
        ({"bytes": 890e6, "instructions": 200e6, "wide": 500e6}, 1000.0),
    ],
)
def test_a_kernel_takes_the_longest_of_its_limits(counted: dict[str, float], microseconds: float) -> None:
    empty = {"bytes": 0.0, "instructions": 0.0, "fp64": 0.0, "wide": 0.0, "alu": 0.0}
    kernel = Kernel("kernel", 1.0, **{**empty, **counted})
    assert kernel.on(CARD) == pytest.approx(microseconds + LATENCY)


def test_the_file_of_predictions_is_the_models() -> None:
    assert json.loads(card_times.PREDICTED.read_text())["rows"] == card_times.predictions(
        card_times.programs()
    )


def test_the_model_agrees_with_kernels_that_were_timed_alone() -> None:
    """Sums over an operation within 10 %, from counters that do not know the time."""
    for program in card_times.programs():
        measured = sum(kernel.microseconds for kernel in program.kernels)
        assert sum(kernel.on(H200) for kernel in program.kernels) == pytest.approx(measured, rel=0.1), (
            program.operation,
            program.arithmetic,
        )
