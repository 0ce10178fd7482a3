"""Notebooks of TenSEAL are run cell by cell with two libraries."""

import contextlib
import functools
import json
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

import tenseal_notebooks

CELLS = [
    "sizes = [3, 4]\ntest_loader = range(100)",
    "!pip install nothing\nimport tenseal as ts\nimport tenseal.sealapi as seal",
    "%%time\nmade = ts.make(sizes)\nprint('value:', made, 'of <object at 0x7f00>')",
    "print('it took', made, 'seconds')",
    "print(len(test_loader), [*test_loader][-1])",
    "print(made)\nmade.missing",
    "bits = [\n    (4096, [20, 20]),\n    (2048, [20, 20]),\n]\nprint(f'{len(bits)} size, {made / 4:.2e}')",
    "with open('here.txt') as file:\n    print(file.read())",
]


@pytest.fixture
def notebook(tmp_path):
    path = tmp_path / "One.ipynb"
    cells = [{"cell_type": "code", "source": source.splitlines(keepends=True)} for source in CELLS]
    path.write_text(
        json.dumps({"cells": [{"cell_type": "markdown", "source": ["# x"]}, *cells]}), encoding="utf-8"
    )
    (tmp_path / "here.txt").write_text("1", encoding="utf-8")
    return path


@pytest.fixture
def libraries(monkeypatch):
    def made(sizes, add):
        time.sleep(0.05 + add / 4)
        return sum(sizes) + add

    for name, add in (("first_library", 0.0), ("second_library", 0.5)):
        module = ModuleType(name)
        module.__dict__["make"] = functools.partial(made, add=add)
        monkeypatch.setitem(sys.modules, name, module)
    return {"first_library": contextlib.nullcontext, "second_library": contextlib.nullcontext}


def test_rows(notebook, libraries):
    row = tenseal_notebooks.compared(notebook, libraries)
    assert row["notebook"] == "One.ipynb"
    assert row["cells"] == len(CELLS)
    failed = "cell 5: AttributeError: 'float' object has no attribute 'missing'"
    assert row["failed"] == [[failed], [failed]]
    assert row["cells_that_run"] == [len(CELLS) - 1] * 2
    # Neither the cell that fails nor the line of times and of addresses counts: 7 / 4 and 7.5 / 4 are left.
    assert row["distance_of_printed"] == pytest.approx(0.13, abs=0.01)
    assert row["seconds"][0] >= 0.05
    assert row["seconds"][1] >= 0.175
    assert row["faster"] == pytest.approx(row["seconds"][1] / row["seconds"][0], rel=0.05)
    assert all(own < whole / 2 for own, whole in zip(row["processor_seconds"], row["seconds"], strict=True))
    assert Path.cwd() != notebook.parent


def test_cells_are_prepared():
    assert tenseal_notebooks.prepared(CELLS[1], "hemera.compat.tenseal").split() == [
        *["import", "hemera.compat.tenseal", "as", "ts"]
    ]
    assert "2048" not in tenseal_notebooks.prepared(CELLS[6])
    names = {"ts"}
    assert tenseal_notebooks.using("def make(x):\n    return ts\nclass Model:\n    x = 1\ny = x = 1", names)
    assert names == {"ts", "make", "Model", "x", "y"}
    names = {"ts"}
    used = [tenseal_notebooks.using(tenseal_notebooks.prepared(cell), names) for cell in CELLS]
    assert used == [False, False, True, True, False, True, True, False]
    assert names == {"ts", "made", "bits"}


def test_names_are_cut_and_seeded(tmp_path):
    names = {"__name__": "x"}
    texts = []
    for _ in range(2):
        source = "import random\ntest_loader = iter(range(100))\nprint(random.random())"
        times, text, error = tenseal_notebooks.run(source, names, tmp_path)
        assert error is None
        assert min(times) >= 0
        assert names["test_loader"] == list(range(tenseal_notebooks.MOST["test_loader"]))
        texts.append(text)
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("ours", "theirs", "wanted"),
    [
        ("a 1.5 b -2e-3", "a 1 b 0", 0.5),
        ("1", "2\n3", 1),
        ("x1 y2", "x3 y4", None),
        ("time: 5 ms", "time: 7 ms", None),
        ("", "", None),
    ],
)
def test_distance_of_printed_numbers(ours, theirs, wanted):
    assert tenseal_notebooks.distance(ours, theirs) == wanted


def test_an_error_before_the_import_is_told(notebook):
    text = notebook.read_text(encoding="utf-8").replace("sizes = [3, 4]", "sizes = missing")
    notebook.write_text(text, encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"One\.ipynb, before the import: NameError"):
        tenseal_notebooks.compared(notebook, {})
