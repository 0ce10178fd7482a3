"""NumPy's own tests as judges: no call of a function that takes encrypted arrays has a wrong result."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hemera.arrays.numpy_moves import MOVING

from .judged import called, judged

FAST = [
    "numpy._core.tests.test_shape_base",
    "numpy.lib.tests.test_arraypad",
    "numpy.lib.tests.test_function_base",
    "numpy.lib.tests.test_histograms",
    "numpy.lib.tests.test_shape_base",
    "numpy.lib.tests.test_twodim_base",
]
"""The whole takes minutes: numpy_cases.py prints its counts."""
ELSEWHERE = {
    *("append", "compress", "diagflat", "diagonal", "matrix_transpose", "moveaxis", "resize", "roll"),
    *("rollaxis", "swapaxes", "transpose"),
}
"""Functions whose tests are in other modules, and in test_random_programs.py as methods."""
WHOLE = np.array([[0, 1, 3], [2, 5, 4]])
FOUND = {
    "clip without an end": (np.clip, [WHOLE, 2], {}),
    "clip by old and new names": (np.clip, [WHOLE, 2, 3], {"max": 3}),
    "whole powers": (np.power, [2, WHOLE], {}),
    "whole roots": (np.power, [WHOLE + 1, -1], {}),
    "whole powers below 0": (np.power, [2, WHOLE - 3], {}),
    "order in memory": (np.ravel, [WHOLE.T, "K"], {}),
    "products of one": (np.linalg.multi_dot, [[WHOLE]], {}),
    "kind of a norm": (np.linalg.norm, [WHOLE[0], np.inf], {}),
    "norm over three axes": (np.linalg.norm, [WHOLE[None], None, (0, 1, 2)], {}),
    "bins by the values": (np.histogram, [WHOLE, "auto", (0, 1)], {}),
    "whole edges": (np.histogram, [WHOLE, np.array([0, 2, 5])], {}),
    "above a whole number": (np.greater_equal, [WHOLE, 3 + 2.0**-40], {}),
    "beside a whole number": (np.equal, [WHOLE, np.array([1, 3 - 2.0**-12, 4])], {}),
    "one of others": (np.isin, [WHOLE, [1.0002, 3]], {}),
    "three operands": (np.einsum, ["ij,jk,kl->il", WHOLE, WHOLE.T, WHOLE], {}),
    "a diagonal": (np.einsum, ["ii,...i->...", WHOLE[:, :2], WHOLE[:, 1:]], {}),
    "labels of one element": (np.einsum, ["ij,jk->kij", WHOLE[:1], WHOLE.T[:, :1]], {}),
    "a sum over one element": (np.einsum, ["ij,ij->i", WHOLE[:, :1], WHOLE[:, :1]], {}),
    "operands with lists": (np.einsum, [WHOLE, [0, 1], WHOLE, [0, 1], [1]], {}),
    "whether any product is true": (np.einsum, ["ij,kj->ik", WHOLE > 2, WHOLE > 4], {}),
    "whether any is true": (np.einsum, ["ij->i", WHOLE > 3], {}),
    "kind of a sign": (np.sign, [WHOLE - 2], {}),
    "an inverse": (lambda x: np.linalg.inv(x + 20 * np.eye(2)), [WHOLE[:, 1:]], {}),
    "a system": (lambda x: np.linalg.solve(x + 20 * np.eye(2), x), [WHOLE[:, 1:]], {}),
    "a plain system": (np.linalg.solve, [np.array([[2.0, 1], [1, 5]]), WHOLE], {}),
    "a determinant": (np.linalg.det, [np.stack([WHOLE[:, 1:], WHOLE[:, :2]])], {}),
    "power of a matrix": (np.linalg.matrix_power, [WHOLE[:, 1:], 3], {}),
    "quantiles": (np.quantile, [WHOLE, [0.3, 0.9]], {"axis": 1, "keepdims": True}),
    "quantiles of whole numbers": (np.quantile, [WHOLE, 0.3], {"method": "lower"}),
    "percentiles": (np.percentile, [WHOLE, 30], {"method": "weibull"}),
    "quantiles over axes": (np.quantile, [WHOLE.reshape(3, 1, -1), [0.3, 0.9]], {"axis": (0, -1)}),
    "percentiles that keep axes": (np.percentile, [WHOLE, 30], {"axis": (1, 0), "keepdims": True}),
    "many axes": (np.add, [np.ones((1,) * 40), np.ones((2,) + (1,) * 20)], {}),
}
"""Calls that had wrong results, or were refused."""


@functools.cache
def counts():
    """Counts by function, in a process of their own: NumPy's tests change what they test."""
    command = [sys.executable, Path(__file__).with_name("numpy_cases.py"), "--json", "--most", "8", *FAST]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(told.stdout.splitlines()[-1])


def test_no_result_is_wrong():
    assert {name for name, own in counts().items() if own.get("wrong")} == set()
    assert sum(own.get("right", 0) for own in counts().values()) > 1500


def test_functions_that_move_elements_are_right():
    right = {name for name, own in counts().items() if own.get("right")}
    assert {each.__name__ for each in MOVING} - right <= ELSEWHERE


@pytest.mark.parametrize("name", FOUND)
def test_what_was_wrong_is_not(name):
    function, arguments, options = FOUND[name]
    wanted = called(function, arguments, options)
    verdicts = list(judged(function, arguments, options, wanted))
    assert verdicts
    assert [each.told for each in verdicts if each.found == "wrong"] == []
