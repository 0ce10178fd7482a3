"""Damaged files and messages of strangers are read, or are errors of Hemera's; files are a FormatError."""

from collections import Counter

import numpy as np
import pytest

import hemera as hm

from .hostile_damage import Target, outcome
from .hostile_files import targets
from .search.threshold_cases import in_small_rings

NAMES = [
    *("index", "exact index", "encrypted index", "threshold index", "encrypted threshold index", "top index"),
    *("query", "preparation", "rows", "answer", "encrypted answer", "answer to a clear query"),
    *("threshold query", "threshold answer", "threshold rows"),
    *("TenSEAL: context", "TenSEAL: public context", "TenSEAL: vector", "TenSEAL: tensor"),
    *("TenSEAL: plain tensor", "integers", "integers for inspect", "packaged model"),
    *("linear model", "xgboost model", "LightGBM model", "ONNX network"),
    *("table of times", "table of numbers", "table of lines", "body of a request"),
]
NAMES += [f"settings of the {name}" for name in NAMES[:6]]
ROWS = ("arrays", "tables", "rows", "encrypted integers")
NAMES += [f"packaged model of {name}" for name in ("integers", *ROWS)]
NAMES += [f"description of a model of {name}" for name in ROWS]
MESSAGES = ("query", "preparation", "rows", "answer")
"""Ends of the names of kinds for which another settings' digest, or name of a query, is a MismatchError."""


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    with in_small_rings():
        yield targets(tmp_path_factory.mktemp("hostile"))


def test_all_are_tried(known):
    assert sorted(known) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_damage_is_an_error_of_hemera(known, name):
    target = known[name]
    assert outcome(target, target.data) in ("read", "FormatError" if "inspect" in name else "read")
    found = Counter()
    for what, data in target.damaged():
        try:
            found[outcome(target, data)] += 1
        except Exception as error:
            raise AssertionError(f"{name}: {what}") from error
    random = np.random.default_rng(1)
    for _ in range(100):
        found[outcome(target, target.random(random))] += 1
    allowed = {"read", "FormatError"}
    if name.endswith(MESSAGES) or name == "answer to a clear query":
        allowed |= {"MismatchError", "NoiseError", "ParameterError"}
    if name in ("xgboost model", "LightGBM model"):
        allowed |= {"ParameterError"}  # of models that are not read
    if name == "ONNX network":  # of networks that are not compiled
        allowed |= {"MismatchError", "ParameterError", "PrecisionError", "RangeError"}
    assert set(found) <= allowed, found
    assert found["FormatError"] > 30


def test_a_target_tells_what_is_none_of_hemeras():
    """The driver does not take other exceptions for errors."""

    def fails(data):
        raise ZeroDivisionError(str(len(data)))

    with pytest.raises(ZeroDivisionError):
        outcome(Target(b"", fails), b"x")

    def refuses(data):
        raise hm.errors.FormatError(str(len(data)))

    assert outcome(Target(b"", refuses), b"") == "FormatError"
