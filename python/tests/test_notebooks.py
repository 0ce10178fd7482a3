"""The notebooks run from the first cell to the last, and hold the results that they give."""

import json
from pathlib import Path

import pytest

from run_notebooks import dumped, main, results, stored

from .refusals import refuse

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["01_statistics", "02_network", "03_survey"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_files_are_notebooks_of_format_4(path):
    notebook = read(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in cells:
        wanted = {"cell_type", "id", "metadata", "source"}
        if cell["cell_type"] == "code":
            wanted |= {"execution_count", "outputs"}
        assert cell.keys() == wanted
    # As the tool writes them, so that changes of a cell are the only ones in a diff.
    assert path.read_text(encoding="utf-8") == dumped(notebook, stored(notebook))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.fact_of_the_cpu("names of devices")
def test_results_are_those_of_the_file(path):
    """If this fails after a change of results: tools/run_notebooks.py --write."""
    notebook = read(path)
    found = results(notebook, path.name)
    assert any(found)
    assert found == stored(notebook)


def test_other_results_are_noticed_and_errors_are_raised(tmp_path):
    path = tmp_path / "a.ipynb"

    def write(source):
        cell = {"cell_type": "code", "execution_count": None, "id": "a", "metadata": {}, "outputs": []}
        path.write_text(json.dumps({"cells": [{**cell, "source": [source]}]}))
        return str(path)

    name = write("print(1)\n1 + 1")
    assert main([name]) == 1
    assert main(["--write", name]) == 0
    assert main([name]) == 0
    printed, value = stored(read(path))[0]
    assert (printed["text"], value["data"]) == (["1\n"], {"text/plain": ["2"]})
    refuse((lambda: main([write("1 / 0")]), ZeroDivisionError, None))
