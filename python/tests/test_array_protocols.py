"""What NumPy and pandas make of a ciphertext: its own operations, or an error that names the right call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hemera as hm

SLOTS = 16


def operands(party: Any) -> tuple[hm.Ciphertext, Any]:
    return party.ev.encrypt(party.values(2, SLOTS)), party.values(SLOTS, seed=2)


REFUSED: list[tuple[Callable[[Any, Any], Any], str]] = [
    (lambda x, _: np.asarray(x), r"np.asarray .*ctx\.decrypt"),
    (lambda x, _: np.array([x, x]), r"np.asarray .*ctx\.decrypt"),
    (lambda x, w: np.dot(x, w), r"np\.dot .*ev\.dot"),
    (lambda x, w: np.dot(w, x), r"np\.dot .*ev\.dot"),
    (lambda x, w: x @ w, r"matmul .*ev\.dot"),
    (lambda x, w: w @ x, r"matmul .*ev\.dot"),
    (lambda x, w: np.einsum("i,i", x, w), r"np\.einsum .*ev\.dot"),
    (lambda x, _: np.sum(x), r"np\.sum .*x\.sum\(\)"),
    (lambda x, w: np.add.outer(w, x), r"np\.add\.outer takes no Ciphertext"),
    (lambda x, _: np.stack([x, x]), r"np\.stack .*hm\.stack"),
    (lambda x, _: np.concatenate([x, x]), r"np\.concatenate .*hm\.concatenate"),
    (lambda x, _: np.roll(x, 1), r"np\.roll .*x\.rotate"),
    (lambda x, _: np.size(x), r"np\.size .*x\.slots"),
    (lambda x, _: np.sin(x), r"np\.sin takes no Ciphertext: .*\+ - \*"),
    (lambda x, _: np.exp(x), r"np\.exp .*hm\.circuits\.exp"),
    (lambda x, w: np.maximum(x, w), r"np\.maximum .*hm\.circuits\.maximum"),
    (lambda x, w: w > x, r"np\.(less|greater) .*hm\.circuits\.compare"),
    (lambda x, _: np.square(x), r"np\.square .*x\.square\(\)"),
    (lambda x, w: w / x, r"np\.divide .*nothing divides by a ciphertext"),
    (lambda x, w: w == x, r"np\.equal .*different encryptions"),
    (lambda x, w: np.add(w, x, out=w), r"np\.add takes no out .*array \+ x"),
    (lambda x, w: w.__iadd__(x), r"np\.add takes no out .*array \+ x"),
    (lambda x, _: x.evaluator.encrypt(x), r"np.asarray .*ctx\.decrypt"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_other_functions_name_the_right_call(
    party: Any, call: Callable[[Any, Any], Any], message: str
) -> None:
    x, w = operands(party)
    for each in (x, x[0]):
        with pytest.raises(TypeError, match=message):
            call(each, w)


@pytest.mark.parametrize(
    ("name", "apply"),
    [("add", lambda a, b: a + b), ("subtract", lambda a, b: a - b), ("multiply", lambda a, b: a * b)],
)
def test_functions_of_the_operators_are_the_operators(
    party: Any, name: str, apply: Callable[[Any, Any], Any]
) -> None:
    x, w = operands(party)
    a = party.values(2, SLOTS)
    function = getattr(np, name)
    for result, expected in (
        (function(x, w), apply(a, w)),
        (function(w, x), apply(w, a)),
        (function(w[0], x), apply(w[0], a)),
        (function(x, x), apply(a, a)),
        (function(party.ev.encode(w), x), apply(w, a)),
    ):
        assert isinstance(result, hm.Ciphertext)
        party.check(result, expected)


@pytest.mark.parametrize("apply", [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b])
def test_series_and_frames_are_arrays(party: Any, apply: Callable[[Any, Any], Any]) -> None:
    x, w = operands(party)
    a, rows = party.values(2, SLOTS), party.values(2, SLOTS, seed=3)
    for each, clear in ((x, a), (x[0], a[0])):
        for plain, values in ((pd.Series(w), w), (pd.DataFrame(rows), rows)):
            party.check(apply(plain, each), apply(values, clear))
            party.check(apply(each, plain), apply(clear, values))
    party.check(np.multiply(pd.Series(w), x), w * a)
    with pytest.raises(TypeError, match=r"ctx\.decrypt"):
        pd.Series(x)


def test_plaintexts_are_no_arrays_either(party: Any) -> None:
    plain, w = party.ev.encode(party.values(SLOTS)), party.values(SLOTS, seed=2)
    with pytest.raises(TypeError, match=r"np\.asarray takes no Plaintext: ctx\.decode"):
        np.asarray(plain)
    for call in (lambda: w * plain, lambda: plain * w, lambda: plain + plain, lambda: np.add(plain, w)):
        with pytest.raises(
            TypeError, match=r"takes no Plaintext: add it to a ciphertext|unsupported operand"
        ):
            call()
