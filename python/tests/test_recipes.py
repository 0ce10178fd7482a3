"""The recipes: right, no longer than their TenSEAL twins, and typed (test_examples)."""

import os
import runpy
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "recipes"
COMPARE = runpy.run_path(str(FOLDER / "compare.py"))
NAMES = sorted(path.stem for path in (FOLDER / "tenseal").glob("*.py"))
ERRORS = {"mnist_cnn": 2**-9, "mean_and_variance": 2**-4}
"""Relative to results of about 1, but for variances of some hundred."""


def test_each_recipe_has_a_twin():
    own = {path.stem for path in FOLDER.glob("*.py")} - {"compare"}
    assert own == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_recipes_give_what_numpy_gives(name):
    found = COMPARE["loaded"](FOLDER / f"{name}.py")
    result = found["run"](found["values"])
    np.testing.assert_allclose(result, found["expected"], rtol=0, atol=ERRORS.get(name, 2**-11))


@pytest.mark.parametrize("name", NAMES)
def test_recipes_are_no_longer_than_tenseals(name):
    own, twin = (COMPARE["code_lines"](folder / f"{name}.py") for folder in (FOLDER, FOLDER / "tenseal"))
    assert own <= twin


def test_lines_of_code_leave_out_what_is_none(tmp_path):
    path = tmp_path / "some.py"
    told = [
        *('"""One', "", 'Two"""', "x = [", "    1,  # two", "]", "# three", "", "def f():"),
        '    """Four"""',
    ]
    path.write_text("\n".join([*told, "    return x"]))
    assert COMPARE["code_lines"](path) == 5


@pytest.mark.parametrize("name", NAMES)
def test_twins_give_what_numpy_gives(name):
    if name == "mnist_cnn" and os.environ.get("HEMERA_CI_ALL") != "1":
        pytest.skip("a program of TenSEAL's alone, which takes 9 s: HEMERA_CI_ALL=1 runs it")
    pytest.importorskip("tenseal", reason="TenSEAL is a requirement of benchmarks alone")
    found = COMPARE["loaded"](FOLDER / "tenseal" / f"{name}.py")
    result = found["run"](found["values"])
    np.testing.assert_allclose(result, found["expected"], rtol=0, atol=0.1)
