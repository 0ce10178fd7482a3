"""ONNX's recurrent operators, of plain and of encrypted arrays, judged by a loop of the standard's equations
(https://onnx.ai/onnx/operators): everything differs between the directions and the gates."""

import itertools

import numpy as np
import pytest
import scipy.special

from hemera.compiler.networks.meanings import Attributes
from hemera.compiler.networks.recurrent import RECURRENT

from ..arrays.programs import Given, recorded

STEPS, BATCH, INPUTS, HIDDEN = 3, 2, 2, 3
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
NAMED = {"sigmoid": scipy.special.expit, "tanh": np.tanh, "relu": lambda x: np.maximum(x, 0)}
ACTIVATIONS = {
    "RNN": ["Relu", "Tanh"],
    "GRU": ["Sigmoid", "Relu", "Tanh", "Sigmoid"],
    "LSTM": ["Sigmoid", "Tanh", "Relu", "Tanh", "Sigmoid", "Tanh"],
}
"""Weights of the forward direction, then of the backward one."""
DIRECTIONS = {"forward": [1], "reverse": [-1], "bidirectional": [1, -1]}
CASES = list(itertools.product(GATES, DIRECTIONS, [0, 1], ["chosen", "defaults"]))


def step(name, attributes, f, x, h, c, w, r, b):
    """The next output and cell, by the equations: gates are in the standard's order."""
    gates = GATES[name]
    ws, rs, (wb, rb) = (
        np.split(w, gates),
        np.split(r, gates),
        (np.split(each, gates) for each in np.split(b, 2)),
    )
    at = [x @ ws[k].T + wb[k] for k in range(gates)]
    if name == "RNN":
        return f[0](at[0] + h @ rs[0].T + rb[0]), c
    if name == "GRU":
        z, reset = (f[0](at[k] + h @ rs[k].T + rb[k]) for k in range(2))
        inner = (
            reset * (h @ rs[2].T + rb[2])
            if attributes["linear_before_reset"]
            else (reset * h) @ rs[2].T + rb[2]
        )
        return (1 - z) * f[1](at[2] + inner) + z * h, c
    i, o, forget = (f[0](at[k] + h @ rs[k].T + rb[k]) for k in range(3))
    c = forget * c + i * f[1](at[3] + h @ rs[3].T + rb[3])
    return o * f[2](c), c


def wanted(name, attributes, x, w, r, b, states):
    signs = DIRECTIONS[attributes["direction"]]
    count = len(ACTIVATIONS[name]) // 2
    y, ends = np.zeros((STEPS, len(signs), BATCH, HIDDEN)), []
    for at, sign in enumerate(signs):
        own = [NAMED[each.lower()] for each in attributes["activations"][at * count : (at + 1) * count]]
        h, c = (states[0][at], states[-1][at]) if states else (np.zeros((BATCH, HIDDEN)),) * 2
        for t in range(STEPS)[::sign]:
            h, c = step(name, attributes, own, x[t], h, c, w[at], r[at], b[at])
            y[t, at] = h
        ends.append((h, c))
    found = [y, *(np.stack(each) for each in zip(*ends, strict=True))]
    return found if name == "LSTM" else found[:2]


@pytest.mark.parametrize(("name", "direction", "layout", "given"), CASES)
@pytest.mark.parametrize("before", [0, 1])
def test_recurrent_layers(name, direction, layout, given, before):
    if before and name != "GRU":
        before = 0
    rng, signs, gates = np.random.default_rng(len(direction)), DIRECTIONS[direction], GATES[name]
    x = rng.uniform(-1, 1, (STEPS, BATCH, INPUTS))
    w = rng.uniform(-1, 1, (len(signs), gates * HIDDEN, INPUTS))
    r = rng.uniform(-1, 1, (len(signs), gates * HIDDEN, HIDDEN))
    bias = rng.uniform(-1, 1, (len(signs), 2 * gates * HIDDEN))
    first = [rng.uniform(-1, 1, (len(signs), BATCH, HIDDEN)) for _ in range(1 + (name == "LSTM"))]
    count = len(ACTIVATIONS[name]) // 2
    defaults = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}[name]
    chosen = ACTIVATIONS[name][-count * len(signs) :]
    names = chosen if given == "chosen" else defaults * len(signs)
    attributes = Attributes(direction=direction, linear_before_reset=before, layout=layout, activations=names)
    states = first if given == "chosen" else []
    results = wanted(name, attributes, x, w, r, bias if states else bias * 0, states)
    if given != "chosen":
        attributes["activations"] = None
    if layout:
        results = [results[0].transpose(2, 0, 1, 3), *(each.swapaxes(0, 1) for each in results[1:])]
        states = [each.swapaxes(0, 1) for each in states]

    def layer(value):
        value = np.swapaxes(value, 0, 1) if layout else value
        return RECURRENT[name][0].run(attributes, value, w, r, bias if states else None, None, *states)

    for found, each in zip(layer(x), results, strict=True):
        np.testing.assert_allclose(found, each, atol=1e-12)
    if given == "chosen" and not before:
        recorder, arrays = recorded(layer, [Given(x, -1, 1)], bits=6)
        values = recorder.program.values([x[None]], formulas=recorder.program.approximated)
        for found, each in zip(arrays, results, strict=True):
            np.testing.assert_allclose(values[found._number][0], each, atol=1e-9)
