"""What messages say to install is what pyproject.toml has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hemera._extras import EXTRAS, how_to_install

ROOT = Path(__file__).parents[2]


def test_packages_are_those_of_the_extras() -> None:
    tomllib = pytest.importorskip("tomllib")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name, packages in EXTRAS.items():
        assert sorted(packages) == sorted(re.split("[<>=]", own)[0] for own in extras[name])
    assert set(extras) - set(EXTRAS) == {"dev"}


def test_what_is_told() -> None:
    assert how_to_install("plots") == "pip install matplotlib (in a clone of Hemera: pip install '.[plots]')"
    assert how_to_install("serving", "httpx").startswith("pip install httpx (")


def test_no_text_names_a_package_that_is_not_on_the_index() -> None:
    files = [ROOT / "README.md", *(ROOT / "python" / "hemera").rglob("*.py"), *(ROOT / "docs").rglob("*.md")]
    assert len(files) > 100
    assert not [path for path in files if "hemera[" in path.read_text(encoding="utf-8")]
