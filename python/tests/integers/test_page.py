"""The programs of docs/integers.md run as written, in turn, at the test preset."""

import ast
import functools
import re
from pathlib import Path

import numpy as np
import pytest

import hemera as hm

PAGE = Path(__file__).parents[3] / "docs" / "integers.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_page_has_programs():
    assert len(PROGRAMS) == 5
    assert sum(program.count("  # array(") for program in PROGRAMS) == 3


@pytest.mark.usefixtures("whole_ring")
def test_programs(tmp_path, monkeypatch):
    """Each value is the one beside it."""
    of_numpy = {"array": np.array, "uint64": np.uint64}
    make = hm.integers.Context
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        hm.integers, "Context", lambda bits=64, **options: make(bits, preset="test-exact", **options)
    )
    export = functools.partial(hm.serving.export_integers, preset="test-exact")
    monkeypatch.setattr(hm.serving, "export_integers", export)
    names = {}
    for program in PROGRAMS:
        lines = program.splitlines()
        for statement in ast.parse(program).body:
            beside = lines[statement.end_lineno - 1].partition("  # ")[2]
            if isinstance(statement, ast.Expr) and beside.startswith("array("):
                found = eval(compile(ast.Expression(statement.value), "page", "eval"), names)
                expected = eval(beside, dict(of_numpy))
                np.testing.assert_array_equal(found, expected)
                assert found.dtype == expected.dtype
            else:
                exec(compile(ast.Module([statement], []), "page", "exec"), names)
    assert names["c"].failure_log2 < -128
    arrays = {"balance": np.full(100, 7, np.uint32), "amount": np.arange(100, dtype=np.uint32)}
    assert names["ledger"].evaluate_clear(arrays)[[7, 8]].tolist() == [0, 7]
    assert names["step"].is_recorded == names["ints"].evaluator.context.device.startswith("cuda")
    np.testing.assert_array_equal(names["ints"].decrypt(names["w"]), (3 * np.arange(50) + 1).astype(np.uint8))
    np.testing.assert_array_equal(
        names["client"].decrypt(names["client"].load("y.hemera")), 3 * np.arange(1000, dtype=np.uint32)
    )
