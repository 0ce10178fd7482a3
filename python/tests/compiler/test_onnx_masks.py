"""Masks before a softmax of ONNX files: the places that they close get the weight 0."""

import numpy as np
import pytest
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

import hemera as hm
from hemera.compiler.networks.reader import graph_of

from .onnx_models import compiled, model, node

CLOSED = np.triu(np.full((4, 4), -np.inf, np.float32), 1)
MASKS = {
    "sum": ([node("Add", ["x", "m"], ["a"]), node("Softmax", ["a"], ["y"])], {"m": CLOSED}),
    "sum with numbers": (
        [node("Add", ["m", "x"], ["a"]), node("Softmax", ["a"], ["y"], axis=1)],
        {"m": CLOSED.T + np.arange(4, dtype=np.float32) / 4},
    ),
    "condition": (
        [node("Where", ["m", "x", "inf"], ["a"]), node("Softmax", ["a"], ["y"])],
        {"m": CLOSED == 0, "inf": np.float32(-np.inf)},
    ),
    "condition of the closed": (
        [node("Where", ["m", "inf", "x"], ["a"]), node("Softmax", ["a"], ["y"])],
        {"m": CLOSED != 0, "inf": np.float32([-np.inf])},
    ),
    "with a guard": (
        [
            node("Where", ["m", "zero", "inf"], ["b"]),
            node("Add", ["x", "b"], ["a"]),
            node("Softmax", ["a"], ["s"]),
            node("IsNaN", ["s"], ["n"]),
            node("Where", ["n", "zero", "s"], ["y"]),
        ],
        {"m": CLOSED == 0, "inf": np.float32(-np.inf), "zero": np.float32(0)},
    ),
    "behind casts, and after another sum": (
        [
            node("Add", ["x", "m"], ["a"]),
            node("Cast", ["a"], ["b"], to=TensorProto.DOUBLE),
            node("Cast", ["b"], ["c"], to=TensorProto.FLOAT),
            node("Add", ["n", "c"], ["d"]),
            node("Softmax", ["d"], ["s"]),
            node("Neg", ["s"], ["t"]),
            node("Softmax", ["c"], ["u"], axis=1),
            node("Add", ["t", "u"], ["y"]),
        ],
        {"m": CLOSED, "n": np.float32([[0, 1, -1, 2], [0, 0, 0, -np.inf], [0, 0, 0, 0], [-np.inf, 1, 0, 0]])},
    ),
    "far below": (
        [node("Add", ["x", "m"], ["a"]), node("Softmax", ["a"], ["y"])],
        {"m": np.where(CLOSED == 0, np.float32(0), np.finfo(np.float32).min)},
    ),
    "a row of numbers far below": (
        [node("Add", ["x", "m"], ["a"]), node("Softmax", ["a"], ["y"])],
        {"m": np.where(np.arange(4)[:, None] == 1, np.float32(-200), CLOSED)},
    ),
    "a choice of numbers far below": (
        [node("Where", ["m", "x", "low"], ["a"]), node("Softmax", ["a"], ["y"])],
        {"m": (CLOSED == 0) & (np.arange(4)[:, None] != 1), "low": np.float32(-100)},
    ),
    "of shapes": (
        [
            node("Shape", ["x"], ["n"], start=1),
            node("Expand", ["inf", "n"], ["full"]),
            node("Trilu", ["full", "one"], ["m"]),
            node("Add", ["m", "x"], ["a"]),
            node("Softmax", ["a"], ["y"]),
        ],
        {"inf": np.float32(-np.inf), "one": np.int64(1)},
    ),
    "not far enough": (
        [node("Add", ["x", "m"], ["a"]), node("Softmax", ["a"], ["b"]), node("Sub", ["b", "a"], ["y"])],
        {"m": np.float32([0, -3, 0, -9])},
    ),
}


def test_masks_before_the_softmax_of_old_versions():
    """Before version 13 it is over all axes from one on."""
    nodes = [node("Add", ["x", "m"], ["a"]), node("Softmax", ["a"], ["y"], axis=1)]
    network = model(nodes, {"m": CLOSED}, shape=(1, 4, 4), opset=11)
    rows = np.random.default_rng(4).uniform(-1, 1, (40, 4, 4))
    powers = np.exp(rows[:4] + CLOSED)
    expected = powers / powers.sum(axis=(1, 2), keepdims=True)
    plan = compiled(network, calibrate=rows, precision_bits=10)
    np.testing.assert_allclose([plan.evaluate_clear(x) for x in rows[:4]], expected, atol=2.0**-8)


@pytest.mark.parametrize("name", list(MASKS))
def test_masks_before_a_softmax(name):
    nodes, constants = MASKS[name]
    network = model(nodes, constants, shape=(1, 4, 4))
    rows = np.random.default_rng(3).uniform(-1, 1, (40, 4, 4))
    expected = np.concatenate(
        [ReferenceEvaluator(network).run(None, {"x": x[None].astype(np.float32)})[0] for x in rows[:4]]
    )
    np.testing.assert_allclose(graph_of(network, {})(rows[:4]), expected, atol=1e-5)
    plan = compiled(network, calibrate=rows, precision_bits=10)
    found = np.stack([plan.evaluate_clear(x) for x in rows[:4]])
    np.testing.assert_allclose(found, expected, atol=2.0**-8)


def test_masks_that_close_a_whole_row_or_meet_something_else_are_refused():
    closed = CLOSED.copy()
    closed[2] = -np.inf
    nodes, _ = MASKS["sum"]
    with pytest.raises(hm.errors.ParameterError, match="Softmax 'number 1': infinite numbers"):
        compiled(model(nodes, {"m": closed}, shape=(1, 4, 4)), hm.ArraySpec((4, 4), (0, 1)))
    # A side of a choice that is -inf in some places, and a number in others.
    sides = [node("Where", ["m", *each], ["a"]) for each in (("side", "x"), ("x", "side"))]
    for where in sides:
        own = {"m": CLOSED != 0, "side": np.float32([-np.inf, 3, 0.5, -np.inf])}
        network = model([where, node("Softmax", ["a"], ["y"])], own, shape=(1, 4, 4))
        with pytest.raises(hm.errors.ParameterError, match="Where 'number 0': infinite numbers"):
            compiled(network, hm.ArraySpec((4, 4), (0, 1)))
    both = [*nodes, node("Neg", ["a"], ["z"])]
    for constants, outputs, where in (({"m": CLOSED}, ["y", "z"], "Neg"), ({"m": -CLOSED}, ["y"], "Add")):
        with pytest.raises(hm.errors.ParameterError, match=f"{where} 'number .': infinite numbers"):
            compiled(model(both, constants, shape=(1, 4, 4), outputs=outputs), hm.ArraySpec((4, 4), (0, 1)))
