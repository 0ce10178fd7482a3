"""tools/check_stub.py: what of stubtest's report counts."""

import importlib.util
from pathlib import Path


def load():
    path = Path(__file__).resolve().parents[2] / "tools" / "check_stub.py"
    spec = importlib.util.spec_from_file_location("check_stub", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_leaves_out_what_every_nanobind_module_gives():
    report = """
hemera._core.save is not a function
hemera._core.Context is inconsistent, metaclass differs
hemera._core.Context is a disjoint base at runtime, but isn't marked with @disjoint_base in the stub
hemera._core.Context.__init__ is inconsistent, stub does not have *args parameter "args"
hemera._core.Scheme.__nb_enum__ is not present in stub
"""
    assert load().differences(report) == []


def test_keeps_missing_and_superfluous_names_and_failures():
    lines = [
        "hemera._core.save is not present in stub",
        "hemera._core.nothing is not present at runtime",
        'hemera._core.Scheme.bfv is inconsistent, stub parameter "x" differs',
        "ModuleNotFoundError: No module named 'hemera'",
    ]
    assert load().differences("\n".join(["hemera._core.load is not a function", *lines])) == lines
