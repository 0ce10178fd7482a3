"""Recurrent operators of ONNX: RNN, GRU and LSTM, unrolled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hemera.arrays.functions import relu, sigmoid
from hemera.compiler.networks.meanings import Attributes, Meaning, Meanings, plain
from hemera.errors import FormatError, MismatchError, ParameterError

_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"sigmoid": sigmoid, "tanh": np.tanh, "relu": relu}

Activations = Sequence[Callable[[Any], Any]]
State = tuple[Any, ...]
"""The state that a step hands to the next one: the output h, and the LSTM's cell."""
Cell = Callable[[Attributes, Activations, Any, State, Any, Any], State]
"""A step: of activations, the input's share of gates, the state, the weights of h, and the bias of h."""


def _gates(x: Any, count: int) -> list[Any]:
    """Values of shape (batch, count x hidden), a gate each."""
    hidden = x.shape[-1] // count
    return [x[..., at * hidden : (at + 1) * hidden] for at in range(count)]


def _rnn(attributes: Attributes, f: Activations, x: Any, state: State, weights: Any, bias: Any) -> State:
    del attributes
    return (f[0](x + state[0] @ weights.T + bias),)


def _gru(attributes: Attributes, f: Activations, x: Any, state: State, weights: Any, bias: Any) -> State:
    """Gates z, r and h; the result is (1 - z) h + z times the state."""
    (h,) = state
    of_z, of_r, of_h = np.split(weights, 3)
    bias_z, bias_r, bias_h = np.split(bias, 3)
    x_z, x_r, x_h = _gates(x, 3)
    z = f[0](x_z + h @ of_z.T + bias_z)
    r = f[0](x_r + h @ of_r.T + bias_r)
    if attributes["linear_before_reset"]:
        new = f[1](x_h + r * (h @ of_h.T + bias_h))
    else:
        new = f[1](x_h + (r * h) @ of_h.T + bias_h)
    return (new + z * (h - new),)


def _lstm(attributes: Attributes, f: Activations, x: Any, state: State, weights: Any, bias: Any) -> State:
    """Gates i, o, f and c."""
    if attributes.get("input_forget"):
        raise ParameterError("LSTM with input_forget is not there")
    h, cell = state
    i, o, forget, new = _gates(x + h @ weights.T + bias, 4)
    cell = f[0](forget) * cell + f[0](i) * f[1](new)
    return f[0](o) * f[2](cell), cell


def _unrolled(gates: int, cell: Cell, defaults: tuple[str, ...]) -> Callable[..., Any]:
    """The operator whose steps a cell takes: all outputs, the last one, and the last cell of an LSTM."""
    states = 2 if gates == 4 else 1

    def operator(
        attributes: Attributes,
        x: Any,
        weights: Any,
        recurrence: Any,
        bias: Any = None,
        lengths: Any = None,
        *given: Any,
    ) -> Any:
        by_batch = bool(attributes.get("layout"))
        x = np.swapaxes(x, 0, 1) if by_batch else x
        w, r = (plain(each, "weights of a recurrent layer") for each in (weights, recurrence))
        directions = _directions(attributes)
        hidden = r.shape[-1]
        _require_shapes(attributes, x, (w, r), len(directions), gates)
        b = np.zeros((len(directions), 2 * gates * hidden)) if bias is None else plain(bias, "biases")
        if lengths is not None and (plain(lengths, "sequence_lens") != x.shape[0]).any():
            raise ParameterError("sequences of different lengths (sequence_lens) are not there")
        if any(each is not None for each in given[states:]):
            raise ParameterError("peepholes of an LSTM are not there")
        functions = _activations(attributes, defaults, len(directions))
        outputs, last = [], []
        for at, backward in enumerate(directions):
            first = [_first(own, x, hidden, at, by_batch) for own in (*given, None, None)[:states]]
            ways = w[at], r[at], b[at][: gates * hidden], b[at][gates * hidden :]
            own = functions[at * len(defaults) : (at + 1) * len(defaults)]
            found, state = _steps(attributes, cell, own, x[::-1] if backward else x, ways, tuple(first))
            outputs.append(np.stack(found[::-1] if backward else found))
            last.append(state)
        whole = np.stack(outputs, axis=1)
        ends = [np.stack([each[at] for each in last]) for at in range(states)]
        if by_batch:
            return np.transpose(whole, (2, 0, 1, 3)), *(np.swapaxes(each, 0, 1) for each in ends)
        return whole, *ends

    return operator


def _steps(
    attributes: Attributes, cell: Cell, functions: Activations, x: Any, ways: tuple[Any, ...], state: State
) -> tuple[list[Any], State]:
    """The outputs of all steps of one direction, and the last state."""
    weights, recurrence, bias_x, bias_h = ways
    found = []
    for at in range(x.shape[0]):
        state = cell(attributes, functions, x[at] @ weights.T + bias_x, state, recurrence, bias_h)
        found.append(state[0])
    return found, state


def _first(given: Any, x: Any, hidden: int, at: int, by_batch: bool) -> Any:
    """The state before the first step."""
    if given is None:
        return np.zeros((x.shape[1], hidden))
    return given[:, at] if by_batch else given[at]


def _directions(attributes: Attributes) -> list[bool]:
    """For each direction whether it is backward."""
    known = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    if attributes["direction"] not in known:
        raise FormatError(f"direction={attributes['direction']!r}; there are {', '.join(known)}")
    return known[attributes["direction"]]


def _activations(attributes: Attributes, defaults: tuple[str, ...], directions: int) -> Activations:
    if attributes.get("clip"):
        raise ParameterError("recurrent layers with clip are not there")
    names = [each.lower() for each in attributes.get("activations") or defaults * directions]
    if len(names) != len(defaults) * directions or not set(names) <= set(_ACTIVATIONS):
        raise ParameterError(
            f"activations {names}: {len(defaults)} for each direction are taken, of {', '.join(_ACTIVATIONS)}"
        )
    return [_ACTIVATIONS[name] for name in names]


def _require_shapes(
    attributes: Attributes, x: Any, weights: tuple[Any, Any], directions: int, gates: int
) -> None:
    """MismatchError for shapes that do not fit each other."""
    w, r = weights
    hidden = attributes.get("hidden_size", r.shape[-1])
    if (
        x.ndim != 3
        or w.shape != (directions, gates * hidden, x.shape[-1])
        or r.shape != (directions, gates * hidden, hidden)
    ):
        raise MismatchError(
            f"a recurrent layer of {hidden} numbers in {directions} directions on shape {x.shape}, "
            f"with weights of {w.shape} and {r.shape}"
        )


def _meanings(gates: int, cell: Cell, defaults: tuple[str, ...]) -> tuple[Meaning, ...]:
    return (Meaning(_unrolled(gates, cell, defaults), 7, results=3 if gates == 4 else 2),)


RECURRENT: Meanings = {
    "GRU": _meanings(3, _gru, ("sigmoid", "tanh")),
    "LSTM": _meanings(4, _lstm, ("sigmoid", "tanh", "tanh")),
    "RNN": _meanings(1, _rnn, ("tanh",)),
}
"""The operators' meanings, by their names in ONNX's own domain."""
