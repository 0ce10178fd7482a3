"""What `import hemera` adds to NumPy in a fresh process: few modules, and none of the heavy ones."""

import json
import re
from pathlib import Path

import pytest

import hemera as hm
import hemera._extras
import hemera_apps._extras
from hemera.objects import keys

from .beside import printed

OWN = 50
"""The most modules of Hemera. Modules that few users need are imported at their first use."""
OTHERS = 22
"""The most other modules, beyond those of `import numpy.typing`: today 18, all of the standard library."""
# Each takes milliseconds, or imports many others, or is a package that a user of ciphertexts may lack.
HEAVY = {
    *("asyncio", "concurrent", "ctypes.util", "email", "http", "importlib.metadata", "importlib.resources"),
    *("logging", "multiprocessing", "socket", "sqlite3", "ssl", "subprocess", "unittest", "urllib.request"),
    *("fastapi", "httptools", "httpx", "prometheus_client", "pydantic", "rich", "starlette", "uvicorn"),
    *("cupy", "jax", "lightgbm", "matplotlib", "pandas", "pyarrow", "scipy", "sklearn", "tenseal", "torch"),
    *("hemera.cli", "hemera.commands", "hemera.compat", "hemera.serving", "hemera.trees", "hemera_apps"),
    "xgboost",
}
SCRIPT = """
import json, sys
import numpy.typing
before = set(sys.modules)
import hemera
print(json.dumps(sorted(set(sys.modules) - before)))
"""

WITHOUT_SERVER = """
import importlib, pkgutil, sys
for name in ("fastapi", "httptools", "httpx", "prometheus_client", "pydantic", "starlette", "uvicorn"):
    sys.modules[name] = None
import hemera.commands
names = [each.name for each in pkgutil.iter_modules(hemera.commands.__path__)]
for name in names:
    importlib.import_module(f"hemera.commands.{name}")
print(*names)
"""


@pytest.fixture(scope="module")
def added():
    """The names of the modules that `import hemera` adds."""
    return json.loads(printed(SCRIPT))


def test_heavy_modules_stay_away(added):
    assert "hemera._core" in added
    found = [name for name in added if any(name == heavy or name.startswith(heavy + ".") for heavy in HEAVY)]
    assert found == []


def test_commands_start_without_the_packages_of_a_server():
    assert {"run", "serve", "plan"} <= set(printed(WITHOUT_SERVER).split())


def test_the_number_of_modules_does_not_creep(added):
    own = [name for name in added if name.partition(".")[0] == "hemera"]
    others = sorted(set(added) - set(own))
    assert len(own) <= OWN, own
    assert len(others) <= OTHERS, others


def test_names_that_are_imported_at_their_first_use():
    script = (
        "import sys, hemera; from hemera import *; "
        "assert isinstance(__version__, str) and hemera.__version__ is __version__; "
        "assert set(hemera.__all__) <= set(globals())"
    )
    printed(script)


def test_names_that_are_to_go_work_and_tell_the_way_out():
    with pytest.warns(DeprecationWarning, match=r"sum_slots=slots\) makes the keys of sums"):
        assert hm.rotations_for_sum is keys.rotations_for_sum
    with pytest.warns(DeprecationWarning, match="`hemera bench multiply` reports"):
        assert all("HEMERA_GMP=ON" in line for line in hm.multiply.missing())


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
