"""The packages in messages are those of pyproject.toml."""

import re
from pathlib import Path

import pytest

import hemera._extras
import hemera_apps._extras

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("folder", "known", "others"),
    [(".", hemera._extras.EXTRAS, {"dev", "site"}), ("python/apps", hemera_apps._extras.EXTRAS, set())],
)
def test_packages_are_those_of_the_extras(folder, known, others):
    tomllib = pytest.importorskip("tomllib")
    extras = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name, packages in known.items():
        usual = [own for own in extras[name] if "python_version <" not in own]
        assert sorted(packages) == sorted(re.split("[<>=]", own)[0] for own in usual)
    assert set(extras) - set(known) == others


def test_what_is_told():
    told = hemera._extras.how_to_install("models")
    assert told == "pip install scikit-learn (in a clone of Hemera: pip install '.[models]')"
    assert hemera._extras.how_to_install("serving", "httpx").startswith("pip install httpx (")
    told = hemera_apps._extras.how_to_install("plots")
    assert told == "pip install matplotlib (in a clone of Hemera: pip install './python/apps[plots]')"


def test_no_text_names_a_package_that_is_not_on_the_index():
    files = [ROOT / "README.md", *(ROOT / "python").rglob("hemera*/**/*.py"), *(ROOT / "docs").rglob("*.md")]
    assert len(files) > 100
    assert not [path for path in files if "hemera[" in path.read_text(encoding="utf-8")]
