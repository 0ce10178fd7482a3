"""tools/check_imports.py: each rule with an import that keeps it and one that breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest

import check_imports as check

REPOSITORY = Path(__file__).resolve().parents[2]


def write(root: Path, module: str, text: str = "") -> None:
    path = root / "python" / "hemera" / module
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def clashes(root: Path, module: str, text: str) -> list[str]:
    """What is reported of a module with this text beside empty ones."""
    top = ("__init__.py", "context.py", "evaluator.py", "keys.py", "ciphertext.py", "graph.py")
    folders = ("demo/__init__.py", "demo/model.py", "commands/__init__.py", "bench/__init__.py")
    for name in (*top, *folders):
        write(root, name)
    write(root, module, text)
    return [str(clash) for clash in check.find_clashes(root)]


TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("keys.py", "from hemera import _core\nfrom hemera._core import Error"),
        ("context.py", "from hemera.keys import Keys\nimport hemera.evaluator\nimport numpy, os"),
        ("context.py", "from .keys import Keys\nfrom . import evaluator"),
        ("keys.py", TYPES + "from hemera.context import Context"),
        ("ciphertext.py", TYPES + "from hemera.evaluator import Evaluator"),
        ("demo/client.py", "import hemera as hm\nfrom hemera import Context\nfrom hemera.demo import model"),
        ("demo/__init__.py", "from .client import Client"),
        ("commands/info.py", "from hemera.demo import client\nfrom hemera import bench"),
    ],
)
def test_accepts_imports_that_point_down(tmp_path: Path, module: str, text: str) -> None:
    assert clashes(tmp_path, module, text) == []


@pytest.mark.parametrize(
    ("module", "text", "report"),
    [
        (
            "keys.py",
            "\nfrom hemera.context import Context",
            "keys.py:2: imports hemera.context: keys may not",
        ),
        ("keys.py", "from hemera import context", "above it"),
        ("keys.py", "from . import context", "above it"),
        ("keys.py", "import hemera", "keys may not import hemera, which stands above it"),
        ("keys.py", "from hemera import Context", "keys may not import hemera, which stands above it"),
        ("keys.py", "from hemera.ciphertext import Ciphertext", "of its own row"),
        ("keys.py", "def f():\n    from hemera.context import Context", "keys.py:2: imports hemera.context"),
        ("keys.py", TYPES + "from hemera.evaluator import Evaluator", "above it"),
        ("graph.py", TYPES + "from hemera.evaluator import Evaluator", "above it"),
        ("_functions.py", TYPES + "from hemera.ciphertext import Ciphertext", "above it"),
        ("demo/client.py", "from hemera.commands import info", "demo may not import commands"),
        ("new.py", "from hemera import _core", "new stands in no row"),
    ],
)
def test_reports_file_line_and_rule(tmp_path: Path, module: str, text: str, report: str) -> None:
    (found,) = clashes(tmp_path, module, text)
    assert found.startswith(f"python/hemera/{module}:")
    assert report in found


def test_reports_circles_inside_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "demo/client.py", "from hemera.demo import layout")
    write(tmp_path, "demo/layout.py", "from hemera.demo import model")
    write(tmp_path, "demo/model.py", "from hemera.demo.client import Client")
    (report,) = [str(clash) for clash in check.find_clashes(tmp_path)]
    assert report.startswith("python/hemera/demo/model.py:1: imports hemera.demo.client: a circle")
    assert "hemera.demo.client -> hemera.demo.layout -> hemera.demo.model -> hemera.demo.client" in report


def test_exit_status_and_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([str(tmp_path)]) == 2
    write(tmp_path, "keys.py", "from hemera import _core")
    assert check.main([str(tmp_path)]) == 0
    write(tmp_path, "errors.py", "from hemera.keys import Keys")
    assert check.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.endswith("check_imports: 2 modules, 1 clashes\n")


def test_this_repository_is_clean() -> None:
    assert [str(clash) for clash in check.find_clashes(REPOSITORY)] == []
