"""Whole programs of TenSEAL's interface: with one changed import they give what NumPy gives."""

import importlib
import runpy
from pathlib import Path

import numpy as np
import pytest

BENCH = runpy.run_path(str(Path(__file__).parents[3] / "bench" / "compare_tenseal.py"))
PROGRAMS = [path for path in BENCH["PROGRAMS"] if path.stem != "estimator"]
"""But for the one that fits a pipeline of scikit-learn, and computes as `scores` does."""
ERRORS = {
    "scoring": 2**-3,
    "training": 2**-3,
    "mnist_cnn": 2**-6,
    "convolution": 2**-6,
    "mean_and_variance": 2**-4,
}
"""For scales of 20 to 26 bits, and for variances of some hundred; of the others 2^-10."""


@pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parents[1].name}-{path.stem}")
def test_programs_give_what_numpy_gives(path):
    found = BENCH["loaded"](path, "hemera.compat.tenseal")
    error = ERRORS.get(path.stem, 2**-10)
    np.testing.assert_allclose(found["run"](found["values"]), found["expected"], rtol=2**-10, atol=error)


@pytest.mark.parametrize(("name", "offset"), [("getting_started", 0), ("tensors", 2**-10), ("scoring", 3)])
def test_tenseal_runs_the_same_programs(name, offset):
    """SEAL's digits are 0 to q, so they have q / 2 at each place of the polynomial. Times the error of a key
    that is a constant at slot 0 of all ciphertexts: its deviation at scale 2^20, N = 4096 and with the four
    rotations of `scoring` is 2 (2 N / pi) * 3.2 sqrt(N) / sqrt(2) / 2 / 2^20 = 0.36, of which 3 is eight."""
    theirs = pytest.importorskip("tenseal", reason="TenSEAL is a requirement of benchmarks alone")
    (path,) = (path for path in PROGRAMS if path.stem == name)
    found = BENCH["loaded"](path, "tenseal")
    assert found["context"].__class__ is theirs.Context
    errors = np.asarray(found["run"](found["values"])) - found["expected"]
    assert abs(errors.mean()) <= offset
    np.testing.assert_allclose(errors, errors.mean(), rtol=0, atol=0.5)  # the same one in every row


@pytest.mark.fact_of_the_cpu("threads")
def test_the_number_of_threads_is_that_of_the_comparison():
    library = importlib.import_module("hemera.compat.tenseal")
    (path,) = (path for path in PROGRAMS if path.stem == "stock_value")  # asks for two
    original = library.context
    found = BENCH["loaded"](path, "hemera.compat.tenseal", 1)
    assert "1 thread" in found["context"]._home.description
    assert library.context is original
