"""tools/card_times.py: the model's three times by hand, and its predictions beside what cards took."""

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
        # 100 multiprocessors at 2 GHz issue 800,000 instructions a microsecond, 82.7 % of them.
        ({"instructions": 661.6e6}, 1000.0),
        # A warp of FP64 takes 16 cycles of a multiprocessor with two units: 12,500 a microsecond, 83.4 %.
        ({"fp64": 10.425e6}, 1000.0),
        # Four pipes a multiprocessor: 800,000 cycles a microsecond.
        ({"wide": 667.2e6}, 1000.0),
        ({"alu": 667.2e6}, 1000.0),
        # 3, 4 and 12: 13; of the pipes the busiest alone counts.
        ({"bytes": 267e6, "instructions": 264.64e6, "wide": 800.64e6, "alu": 700e6}, 1300.0),
    ],
)
def test_a_kernel_takes_the_root_of_the_squares_of_its_limits(counted, microseconds):
    empty = {"bytes": 0.0, "instructions": 0.0, "fp64": 0.0, "wide": 0.0, "alu": 0.0}
    kernel = Kernel("kernel", 1.0, **{**empty, **counted})
    assert kernel.on(CARD) == pytest.approx(microseconds + LATENCY)


def test_the_file_of_predictions_is_the_models():
    assert json.loads(card_times.PREDICTED.read_text())["rows"] == card_times.predictions(
        card_times.programs()
    )


def test_the_model_agrees_with_kernels_that_were_timed_alone():
    """Sums over an operation within 15 %, from counters that do not know the time."""
    for program in card_times.programs():
        measured = sum(kernel.microseconds for kernel in program.kernels)
        assert sum(kernel.on(H200) for kernel in program.kernels) == pytest.approx(measured, rel=0.15), (
            program.operation,
            program.arithmetic,
        )


def test_an_h100_takes_what_was_predicted_from_the_h200():
    """Within 5 %; transforms, which an H200 keeps in its larger cache, 18 %. Of nested bootstraps."""
    predicted = {
        (row["operation"], arithmetic): row[arithmetic]
        for row in json.loads(card_times.PREDICTED.read_text())["rows"]
        if row["card"] == "H100 SXM"
        for arithmetic in ("f64", "u64")
    }
    rows = json.loads((card_times.RESULTS / "gpu-h100.json").read_text())["rows"]
    measured = [row for row in rows if row["operation"] != "bootstrap"]
    nested = json.loads((card_times.RESULTS / "gpu-bootstraps-nested-h100.json").read_text())["rows"]
    place = {"operation": "bootstrap", "preset": "n16-40", "slots": 32768, "real": False, "mode": "graph"}
    [bootstrap] = [row for row in nested if row["batch"] == 1 and place.items() <= row.items()]
    measured.append({**bootstrap, "arithmetic": "f64"})
    assert (len(measured), len(predicted)) == (11, 12)
    for row in measured:
        wanted = predicted[row["operation"], row["arithmetic"]]
        alone = row["operation"] in ("ntt", "intt")
        assert row["microseconds"] == pytest.approx(wanted, rel=0.18 if alone else 0.05), row
