"""Exact programs compared with NumPy on int64 and with Python's integers."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hemera as hm

Values = NDArray[Any]
Spec = hm.ArraySpec
SCHEMES = ("bfv", "bgv")
both_schemes = pytest.mark.parametrize("scheme", SCHEMES)


def listed(result):
    if isinstance(result, dict):
        return result
    if isinstance(result, (list, tuple)):
        return {f"output{at}": each for at, each in enumerate(result)}
    return {"output": result}


def samples(specs, seed):
    """Values at both ends of the ranges, two random ones, and ends by chance."""
    rng = np.random.default_rng(seed)
    found = []
    for kind in ("low", "high", "random", "mixed", "random"):
        own = []
        for spec in specs:
            step = int(spec.step or 1)
            low, high = -(-int(spec.range[0]) // step), int(spec.range[1]) // step
            ends = {
                "low": np.full(spec.shape, low),
                "high": np.full(spec.shape, high),
                "random": rng.integers(low, high + 1, spec.shape),
                "mixed": np.where(rng.integers(0, 2, spec.shape) == 1, low, high),
            }
            own.append(np.asarray(ends[kind], np.int64) * step)
        found.append(own)
    return found


def assert_equal(found, expected):
    given, wanted = listed(found), listed(expected)
    assert given.keys() == wanted.keys()
    for name, value in wanted.items():
        assert given[name].dtype == (np.bool_ if np.asarray(value).dtype.kind == "b" else np.int64)
        assert given[name].shape == np.shape(value), name
        assert given[name].tolist() == np.asarray(value).astype(object).tolist(), name


def assert_exact(function, *specs, scheme="bfv", seed=0, **options):
    """Encrypted results of several samples, call after call, are the function's; so is the clear plan."""
    plan = hm.compile(function, *specs, scheme=scheme, **{"security": None, **options})
    assert plan.params.scheme == scheme
    for node in plan._program.nodes:
        assert all(end.is_integer() for end in node.range)
    run = plan.local(threads=1)
    for at, own in enumerate(samples(specs, seed)):
        for node, value in zip(
            plan._program.nodes, plan._program.values([x[None] for x in own]), strict=True
        ):
            assert node.range[0] <= value.min() <= value.max() <= node.range[1], node.where
        expected = function(*own)
        assert_equal(run(*own), expected)
        if at == 2:
            assert_equal(plan.evaluate_clear(*own), expected)
    return plan


def products(plan):
    counts = plan.package.program.operations
    return counts.get("multiply", 0) + counts.get("power", 0)
