"""A plugin of pytest, `-p corpus_records`: records what programs of tests cost, in HEMERA_CORPUS.

It notes each program that a test, a fixture or a recipe compiles or exports, each packaged model that it
loads, each `hemera.cost`, and the operations of each context of SCRIPTS. Tests judge values; the records hold
parameters, levels, keys, operations, expected bits, and results in the clear of draws with a fixed seed.
"""

from __future__ import annotations

import functools
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = tuple(str(ROOT / folder) for folder in ("python/tests/", "python/apps/tests/"))
ROOMS = (
    "python/tests/compiler/test_choice_of_layouts.py",
    "python/tests/compiler/test_compile.py",
    "python/tests/compiler/test_compile_bootstraps.py",
    "python/tests/compiler/test_estimators_all.py",
    "python/tests/compiler/test_exact_tables.py",
    "python/tests/compiler/test_table_bits.py",
    "python/tests/compiler/test_tables.py",
    "python/tests/serving/test_dry_runs.py",
    "python/tests/test_cost.py",
    "python/tests/test_examples.py",
    "python/tests/test_recipes.py",
    "python/tests/test_released_files.py",
    "python/apps/tests/test_official_digits.py",
    "python/apps/tests/test_official_entry.py",
    "python/apps/tests/test_official_products.py",
)
"""Where records are made."""
SCRIPTS = ("test_examples.py", "test_recipes.py", "test_official_")
"""Where the operations of contexts are counted: programs without circuits of the compiler."""
UNSTEADY = (
    "[13_serve_a_model]",
    "[22_serve_an_index]",
    "[25_studies_over_sites]",
    "[26_keys_that_nobody_has]",
    "[LogisticRegressionCV]",
)
"""Servers and parties take what is there as they look; a fit that compares fits may take another as good."""
SHOWN = 4
"""Values of results that a record has."""
MOST_VALUES = 1 << 20
"""The most values of all operations of a program that is run in the clear."""

Record = dict[str, Any]


class Recorder:
    """The records of this process."""

    def __init__(self) -> None:
        folder = Path(os.environ["HEMERA_CORPUS"]).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / f"{os.getpid()}.jsonl"
        self.item: pytest.Item | None = None
        self.records: dict[str, Record] = {}
        self.contexts: list[Any] = []
        self._count = 0

    def begin(self, item: pytest.Item | None) -> None:
        self.item, self._count, self.contexts = item, 0, []

    @property
    def is_recorded(self) -> bool:
        """Whether the running test has records. What Hypothesis draws differs from run to run."""
        item = self.item
        if item is None or hasattr(getattr(item, "obj", None), "hypothesis"):
            return False
        return item.nodeid.startswith(ROOMS) and not item.nodeid.endswith(UNSTEADY)

    @property
    def counts_operations(self) -> bool:
        """Whether the contexts of the running test count their operations."""
        return self.is_recorded and self.item is not None and self.item.path.name.startswith(SCRIPTS)

    def add(self, kind: str, record: Record) -> None:
        """A record under the name of the test, or of the fixture or cached function that tests share."""
        assert self.item is not None
        shared = _shared_origin(sys._getframe(1))
        if shared is None:
            self._count += 1
            origin = f"{self.item.nodeid} {self._count}"
        else:
            origin = shared
        key = f"{origin} {kind}"
        same = 1
        while shared is not None and self.records.get(key, record) != record:
            same += 1
            key = f"{origin} {kind} {same}"
        if key not in self.records:
            self.records[key] = record
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, record]) + "\n")


def _shared_origin(frame: FrameType | None) -> str | None:
    """The fixture, with its parameter, or the cached function that is running, for any test."""
    while frame is not None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if file.startswith(FOLDERS):
            own = frame.f_globals.get(name)
            if hasattr(own, "cache_info") or type(own).__name__ == "FixtureFunctionDefinition":
                given = getattr(frame.f_locals.get("request"), "param", None)
                of = f"[{given}]" if isinstance(given, str) else ""
                return f"{Path(file).relative_to(ROOT).as_posix()}::{name}{of}"
        frame = frame.f_back
    return None


def _operations(counts: dict[str, int]) -> dict[str, int]:
    return {kind: count for kind, count in counts.items() if count}


def _params(params: Any) -> str:
    return repr(params).strip("<>").replace(".Parameters", "")


def _of_cost(cost: Any) -> Record:
    return {
        "levels": [cost.level, cost.result_level],
        "keys": len(cost.needed_keys),
        "key_bytes": cost.key_bytes,
        "operations": _operations(cost.operations),
    }


def _of_new(package: Any) -> Record:
    """A new model. AssertionError unless its operations tell the keys that a run of it asks for."""
    from hemera import Context
    from hemera.package.dry_run import keys_of_a_run

    told, asked = package.interface.keys, keys_of_a_run(package.interface, package.program)
    if told != asked:  # two levels may have one key
        ledger = Context(package.params, "ledger", threads=1)
        assert set(map(repr, told.needs(ledger))) == set(map(repr, asked.needs(ledger)))
    return _of_package(package)


def _of_package(package: Any) -> Record:
    """Parameters, keys and operations of a packaged model."""
    from hemera.errors import NoiseError

    try:
        return {"params": _params(package.params), **_of_cost(package.cost())}
    except NoiseError as error:
        return {"params": _params(package.params), "refused": str(error)}


def _shown(value: Any) -> list[float]:
    """The largest of values, and the first ones."""
    flat = np.asarray(value, np.float64).ravel()
    return [float(f"{each:.6g}") for each in (np.abs(flat).max(initial=0.0), *flat[:SHOWN])]


def _results(plan: Any) -> Record:
    """Expected bits of the compiled program next to the user's own function, and results in the clear."""
    from hemera.compiler.compiled import Compiled

    if not isinstance(plan, Compiled):
        return {}
    sizes = [math.prod(form.shape) * form.slots for form in plan._arrays.program.forms]
    if sum(sizes) > MOST_VALUES:
        return {}
    record: Record = {}
    if plan.params.scheme == "ckks":
        bits = plan.expected_bits()
        record["bits"] = round(bits, 1) if math.isfinite(bits) else None
    drawn = [each[0] for each in plan._draws.inputs]

    def clear(*inputs: Any) -> Any:
        return plan._arrays.evaluate_clear(inputs[0] if len(inputs) == 1 else list(inputs))

    if plan.params.scheme != "ckks":
        drawn = [np.rint(each).astype(np.int64) for each in drawn]
    found = plan._of_one(clear)(*drawn)
    named = found if isinstance(found, dict) else {"output": found}
    record["results"] = {name: _shown(value) for name, value in sorted(named.items())}
    return record


def _recorded(
    recorder: Recorder, function: Callable[..., Any], kind: str, tell: Callable[[Any], Record]
) -> Any:
    """The function, whose results are recorded where programs call it, not hemera itself: its searches may
    try more or less."""
    import hemera as hm

    own = f"{Path(hm.__file__).parent}{os.sep}"

    @functools.wraps(function)
    def run(*inputs: Any, **options: Any) -> Any:
        found = function(*inputs, **options)
        if recorder.is_recorded and not sys._getframe(1).f_code.co_filename.startswith(own):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                recorder.add(kind, tell(found))
        return found

    return run


def _of_plan(plan: Any) -> Record:
    return {**_of_new(plan.package), **_results(plan)}


def _patched(recorder: Recorder, patch: pytest.MonkeyPatch) -> None:
    """Have what makes programs record them."""
    import hemera as hm
    from hemera import serving
    from hemera.objects.context import Context
    from hemera.package.package import Package

    def of_cost(cost: Any) -> Record:
        return {"params": _params(cost._params), **_of_cost(cost)}

    patch.setattr(hm, "compile", _recorded(recorder, hm.compile, "compiled", _of_plan))
    patch.setattr(hm, "cost", _recorded(recorder, hm.cost, "cost", of_cost))
    patch.setattr(serving, "export", _recorded(recorder, serving.export, "export", _of_new))
    patch.setattr(Package, "load", staticmethod(_recorded(recorder, Package.load, "loaded", _of_package)))
    make = Context.__init__

    @functools.wraps(make)
    def made(self: Context, params: Any, device: str = "auto", *rest: Any, **options: Any) -> None:
        counted = recorder.counts_operations and device != "ledger" and type(self) is Context
        if counted:
            self._times_operations = True
        make(self, params, device, *rest, **options)
        if counted:
            recorder.contexts.append(self)

    patch.setattr(Context, "__init__", made)


_RECORDER = pytest.StashKey[Recorder]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_RECORDER] = Recorder()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    recorder = item.config.stash[_RECORDER]
    recorder.begin(item)
    with pytest.MonkeyPatch.context() as patch:
        if recorder.is_recorded:
            _patched(recorder, patch)
            np.random.seed(0)  # what scikit-learn fits by
        result = yield
        _count(recorder)
    recorder.begin(None)
    return result


def _count(recorder: Recorder) -> None:
    """Record the operations of the contexts that the test made."""
    from hemera import _core
    from hemera.circuits.needs import OPERATIONS

    for context in recorder.contexts:
        counted = _core.counted_cost(context._native)
        operations = _operations({kind: getattr(counted, kind) for kind in OPERATIONS})
        if operations:
            recorder.add("ran", {"params": _params(context.params), "operations": operations})
