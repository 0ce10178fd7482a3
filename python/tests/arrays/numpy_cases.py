"""The calls that NumPy's own tests make of the functions which take encrypted arrays.

    python python/tests/arrays/numpy_cases.py [--all] [--json] [--most N] [--names NAME,...] [MODULE...]

runs the tests of NumPy's wheel, records each call of these functions with small arrays of real numbers,
repeats it with encrypted arrays, in the clear, and prints how many are right, refused and wrong.
"""

import argparse
import collections
import contextlib
import functools
import io
import json
import os
import pickle

import numpy as np
import pytest
from judged import called, canonical, is_real, judged, leaves

from hemera.arrays.numpy_functions import COMPUTING
from hemera.arrays.numpy_moves import MOVING
from hemera.arrays.numpy_ufuncs import UFUNCS

CORE = """array_coercion einsum function_base half indexing item_selection multiarray nep50_promotions numeric
regression scalarmath shape_base ufunc umath"""
LIB = """arraypad arraysetops function_base histograms index_tricks nanfunctions polynomial regression
shape_base stride_tricks twodim_base ufunclike"""
MODULES = [
    *(f"numpy._core.tests.test_{name}" for name in CORE.split()),
    *(f"numpy.lib.tests.test_{name}" for name in LIB.split()),
    *(f"numpy.linalg.tests.test_{name}" for name in ("linalg", "regression")),
]
"""NumPy's tests of functions of arrays."""
SLOW = "not (huge or fuzz or count_nonzero_all or gh_29003_Fraction)"
"""Tests that take most of the time, of few functions, are left out."""
MOST = 128
"""Elements of the largest argument."""
PLAIN = (type(None), bool, int, float, str, slice, type, np.dtype, type(Ellipsis))
KINDS = {"moving": MOVING, "computing": COMPUTING, "of single elements": UFUNCS}


@functools.cache
def functions():
    """The functions that take encrypted arrays, by name."""
    return {each.__name__: each for kind in KINDS.values() for each in kind}


class Recording:
    """Functions of NumPy in whose place others keep their calls: a plugin of pytest."""

    def __init__(self, most):
        self.most = most
        self.calls = {}
        self.counts = collections.Counter()
        self.test = ""
        self.is_busy = False
        self.own = {id(each): self._wrapped(name, each) for name, each in functions().items()}

    def _wrapped(self, name, function):
        if isinstance(function, np.ufunc):
            return _Ufunc(self, name, function)

        @functools.wraps(function)
        def call(*arguments, **options):
            self.keep(name, function, arguments, options)
            return function(*arguments, **options)

        return call

    def keep(self, name, function, arguments, options):
        """Keep a call, if it is one of small real arrays and plain values. Calls in here are no tests'."""
        if not self.is_busy:
            self.is_busy = True
            try:
                self._keep(name, function, arguments, options)
            finally:
                self.is_busy = False

    def _keep(self, name, function, arguments, options):
        if self.counts[name] >= self.most or "out" in options:
            return
        values = [*arguments, *options.values()]
        if not all(map(_is_kept, values)) or not any(map(is_real, leaves(values))):
            return
        call = [canonical(each) for each in arguments], {at: canonical(x) for at, x in options.items()}
        key = pickle.dumps((name, call))
        if key not in self.calls:
            self.counts[name] += 1
            self.calls[key] = (name, function, *call)

    def pytest_runtest_setup(self, item):
        """Count anew for each test, but not for each of its parameters."""
        test = item.nodeid.partition("[")[0]
        if test != self.test:
            self.test = test
            self.counts.clear()

    def pytest_collection_finish(self, session):
        """Put the functions in place, in NumPy's namespaces and in the tests'."""
        for module in (np, np.linalg, *{each.module for each in session.items if hasattr(each, "module")}):
            for name, value in list(vars(module).items()):
                if id(value) in self.own:
                    setattr(module, name, self.own[id(value)])


def _is_kept(value):
    """Whether an argument is a small real array, a plain value, or a sequence of these."""
    if type(value) in (list, tuple):
        return len(value) <= MOST and all(map(_is_kept, value))
    return isinstance(value, PLAIN) or (getattr(value, "size", 1) <= MOST and is_real(value))


class _Ufunc:
    """A function of single elements, with its methods."""

    def __init__(self, recording, name, ufunc):
        self._recording, self._name, self._ufunc = recording, name, ufunc

    def __call__(self, *arguments, **options):
        self._recording.keep(self._name, self._ufunc, arguments, options)
        return self._ufunc(*arguments, **options)

    def __getattr__(self, name):
        found = getattr(self._ufunc, name)
        return self._recording._wrapped(f"{self._name}.{name}", found) if callable(found) else found


def recorded(modules, most):
    """The calls in the tests of these modules."""
    recording = Recording(most)
    before = {module: dict(vars(module)) for module in (np, np.linalg)}
    options = ["-q", "-c", os.devnull, "-p", "no:cacheprovider", "-W", "ignore", "-k", SLOW, "--pyargs"]
    with contextlib.redirect_stdout(io.StringIO()) as told:
        pytest.main([*options, *modules], plugins=[recording])
    for module, names in before.items():
        for name, value in names.items():
            setattr(module, name, value)
    if not recording.calls:
        raise RuntimeError(told.getvalue()[-2000:])
    return list(recording.calls.values())


def verdicts(calls):
    """The verdicts on calls, one for each choice of encrypted arguments."""
    for call in calls:
        name, function, arguments, options = call
        is_free = name == "argsort" and "stable" not in options  # in the order of equal elements
        wanted = called(function, arguments, {**options, **({"kind": "stable"} if is_free else {})})
        for verdict in judged(function, arguments, options, wanted):
            yield call, verdict


def kind_of(name):
    """The row of the table in which a function is."""
    if "." in name:
        return "methods of these"
    return next(kind for kind, known in KINDS.items() if functions()[name] in known)


def main():
    """Print the counts, and what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--all", action="store_true", help="print each verdict")
    parser.add_argument("--json", action="store_true", help="print the counts of each function alone")
    parser.add_argument("--names", type=lambda text: text.split(","), help="of functions")
    parser.add_argument(
        "--most", type=int, default=32, help="calls of one function in one test (default: 32)"
    )
    parser.add_argument("modules", nargs="*", default=MODULES)
    asked = parser.parse_args()
    counts = collections.defaultdict(collections.Counter)
    calls = [
        each for each in recorded(asked.modules, asked.most) if not asked.names or each[0] in asked.names
    ]
    for (name, _, arguments, options), verdict in verdicts(calls):
        counts[name][verdict.found] += 1
        if (asked.all or verdict.found == "wrong") and not asked.json:
            text = f"{verdict.found}: np.{name} of {arguments}, {options}: {verdict.told}"
            print(" ".join(text.split())[:600], flush=True)
    if asked.json:
        print(json.dumps(counts))
        return
    kinds = collections.defaultdict(collections.Counter)
    for name, own in sorted(counts.items()):
        print(name, dict(own))
        kinds[kind_of(name)] += own
        kinds["all"] += own
    for kind, own in kinds.items():
        print(f"| {kind} | {own['right']:,} | {own['refused']:,} | {own['wrong']:,} |")


if __name__ == "__main__":
    main()
