"""The programs of pages for beginners run, and print what stands beside them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hemera

DOCS = Path(__file__).parents[2] / "docs"


def sections(page: str) -> dict[str, str]:
    """The programs of each section of a page that has some, as one text."""
    found = {}
    for part in re.split(r"^## ", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        programs = re.findall(r"^```python\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
        if programs:
            found[part.partition("\n")[0]] = "\n".join(programs)
    return found


START = sections("start.md")
OTHERS = sections("coming-from.md")
IMPORTS = "import numpy as np\nimport hemera as hm\n"
OF_ORION = sections("orion.md")
IMPORT_OF_TENSEAL = "import hemera.compat.tenseal as ts\n"


def numbers(text: str) -> list[float]:
    return [float(each) for each in re.findall(r"-?\d+(?:\.\d*)?(?:e-?\d+)?", text)]


def test_the_pages_have_programs() -> None:
    assert len(START) == 3
    assert list(OTHERS) == [f"From {name}" for name in ("TenSEAL", "OpenFHE", "SEAL", "Concrete ML", "Orion")]


@pytest.mark.parametrize("title", START)
def test_start(title: str, capsys: Any) -> None:
    exec(compile(IMPORTS + START[title], title, "exec"), {})
    text = capsys.readouterr().out
    if title.startswith("2."):
        first, last = text.splitlines()
        assert np.abs(np.subtract(*numbers(first))) < 1e-4
        assert last == "[ 10  40  90 160]"
    elif title.startswith("3."):
        np.testing.assert_allclose(numbers(text), 2, atol=1e-4)
    else:
        assert len(text.splitlines()) > 10
        np.testing.assert_allclose(numbers(text.splitlines()[-1]), [0, 0], atol=0.1)


@pytest.mark.parametrize("title", OTHERS)
def test_coming_from(title: str, capsys: Any) -> None:
    """Lines that print a difference print small ones; others print the comment beside them."""
    program = OTHERS[title]
    exec(compile(IMPORTS + program, title, "exec"), {})
    shown = capsys.readouterr().out.splitlines()
    beside = [line.partition("  # ")[2] for line in program.splitlines() if line.startswith("print(")]
    # A report has several lines; it comes before the differences.
    for line, wanted in zip(shown[-len(beside) :], beside, strict=True):
        if wanted:
            assert line == wanted
        elif re.fullmatch(r"[0-9.e-]+", line):
            assert float(line) < 1e-2


def test_reference_has_every_error() -> None:
    """Errors of the compiled core, which the site does not read, with their docstrings."""
    rows = re.findall(
        r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", (DOCS / "reference" / "errors.md").read_text(), re.MULTILINE
    )
    kinds = [getattr(hemera.errors, name) for name in hemera.errors.__all__]
    expected = [
        (kind.__name__, ", ".join(f"`{base.__name__}`" for base in kind.__bases__), kind.__doc__)
        for kind in kinds
        if not issubclass(kind, Warning)
    ]
    assert rows == expected


@pytest.mark.parametrize("title", sections("tenseal.md"))
def test_tenseal(title: str, capsys: Any) -> None:
    """Each line prints about the numbers beside it."""
    program = IMPORT_OF_TENSEAL + sections("tenseal.md")[title]
    exec(compile(program, title, "exec"), {})
    beside = [line.partition("  # ")[2] for line in program.splitlines() if line.startswith("print(")]
    shown = capsys.readouterr().out.splitlines()
    for line, wanted in zip(shown, beside, strict=True):
        np.testing.assert_allclose(numbers(line), numbers(wanted), atol=1e-4)


@pytest.mark.parametrize("title", OF_ORION)
def test_orion(title: str, capsys: Any) -> None:
    """Each line prints what stands beside it."""
    program = OF_ORION[title]
    if "import orion.nn" in program:
        pytest.importorskip("orion", reason="Orion is no requirement: pip install orion-fhe")
    exec(compile(program, title, "exec"), {})
    beside = [line.partition("  # ")[2] for line in program.splitlines() if line.startswith("print(")]
    assert capsys.readouterr().out.splitlines()[-len(beside) :] == beside
