"""Clients in Go and R over the C interface: their tests, and programs with a server, judged by NumPy; and
programs in Rust and Java."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.serving.home import Home

from .serving.conftest import serving
from .test_c_interface import DEFAULT, LIBRARY

CLIENTS = Path(__file__).resolve().parents[2] / "clients"
INCLUDE = f"-I{CLIENTS.parent / 'include'}"
X = (np.arange(1, 101) % 17) / 17
HALF = 0.5
MATRIX = np.random.default_rng(4).normal(size=(100, 4)) / 10


@pytest.fixture(scope="module")
def folder():
    """The folder of the library that `make test` builds."""
    named = os.environ.get("HEMERA_C_FOLDER")
    found = Path(named or DEFAULT)
    if named is None and not (found / LIBRARY).exists():
        pytest.skip(f"the C interface is not built: there is no {found / LIBRARY} (make test builds it)")
    return found


@pytest.fixture(scope="module")
def environment(folder, tmp_path_factory):
    """In which programs find the library, and parameters."""
    made = tmp_path_factory.mktemp("parameters") / "parameters"
    made.write_bytes(bytes(hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=8)))
    return {**os.environ, "LD_LIBRARY_PATH": str(folder), "HEMERA_PARAMETERS": str(made)}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of a server with models of 100 numbers, an alias, and a token."""
    home = Home(tmp_path_factory.mktemp("server") / "home")
    for name, factor in (("study", 1), ("study@2", 2)):
        spec = hm.ArraySpec((100,), range=(0, 1))
        study = hm.compile(lambda x, by=factor: (x - x.mean()) @ (by * MATRIX), spec, name="study")
        study.package.save(home.root.parent / f"{name}.hemera-model")
        home.add_model(home.root.parent / f"{name}.hemera-model")
    home.aliases.put("live", {"study@2": 1}, home.models()[0])
    numbers = hm.ArraySpec((100,), range=(0, 1), step=1 / 17)
    for name, compared in (("above", lambda x: x[:8] > HALF), ("count", lambda x: (x[:8] > HALF).sum())):
        hm.compile(compared, numbers, name=name).package.save(home.root.parent / f"{name}.hemera-model")
        home.add_model(home.root.parent / f"{name}.hemera-model")
    with serving(home) as running:
        yield running.url, home.clients.add("other")


def run(environment, where, *command, **given):
    options = {"capture_output": True, "text": True, "timeout": 500, "check": False}
    return subprocess.run(command, cwd=where, env=environment, **options, **given)


MODELS = {"study": 1, "study@2": 2, "live": 2}


def judged(text, *factors):
    """Compares what a program has printed with the models in NumPy."""
    expected = np.outer(factors, (X - X.mean()) @ MATRIX).ravel()
    np.testing.assert_allclose(np.array(text.split(), float), expected, atol=1e-5)


def judged_types(text):
    """Compares what a program has printed of the models "above" and "count" with NumPy's results."""
    above = X[:8] > HALF
    assert text.lower().split() == [*(str(each).lower() for each in above), str(above.sum())]


@pytest.fixture(scope="module")
def of_go(environment, folder):
    if shutil.which("go") is None:
        pytest.skip("there is no go on this machine (package golang-go)")
    return {**environment, "CGO_CFLAGS": INCLUDE, "CGO_LDFLAGS": f"-L{folder}"}


def test_go_has_tests_of_its_own(of_go):
    done = run(of_go, CLIENTS / "go", "go", "test", "-count=1", "./...")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok" in done.stdout


def test_a_program_in_go_asks_a_server(of_go, server, tmp_path):
    url, token = server
    given = " ".join(map(repr, X.tolist()))
    program = tmp_path / "program"
    built = run(of_go, CLIENTS / "go", "go", "build", "-o", program, "./example")
    assert built.returncode == 0, built.stderr

    def ask(model, numbers):
        return run({**of_go, "HEMERA_TOKEN": token}, tmp_path, program, url, model, input=numbers)

    for model, factor in MODELS.items():
        done = ask(model, given)
        assert done.returncode == 0, done.stderr
        judged(done.stdout, factor)
    judged_types("".join(ask(model, given).stdout for model in ("above", "count")))
    refused = ask("study", f"7 {given}")
    assert refused.returncode != 0
    assert "from 0 to 1, not 7" in refused.stderr
    assert "unknown_model" in ask("absent", given).stderr


def test_a_program_in_r_asks_a_server(environment, folder, server, tmp_path):
    if shutil.which("R") is None:
        pytest.skip("there is no R on this machine (packages r-base-core, r-cran-curl and r-cran-jsonlite)")
    if run(environment, tmp_path, "Rscript", "-e", "library(curl); library(jsonlite)").returncode != 0:
        pytest.skip("R lacks curl or jsonlite on this machine (packages r-cran-curl and r-cran-jsonlite)")
    shutil.copy(CLIENTS / "r" / "hemera.c", tmp_path)
    flags = {"PKG_CPPFLAGS": INCLUDE, "PKG_LIBS": f"-L{folder} -lhemera_c"}
    built = run({**environment, **flags}, tmp_path, "R", "CMD", "SHLIB", "-o", "hemera.so", "hemera.c")
    assert built.returncode == 0, built.stderr
    url, token = server
    told = {**environment, "HEMERA_TOKEN": token, "HEMERA_R": str(tmp_path / "hemera.so")}
    asked = ["test.R", environment["HEMERA_PARAMETERS"], url, *MODELS, "above", "count"]
    done = run(told, CLIENTS / "r", "Rscript", *asked)
    assert done.returncode == 0, done.stderr
    judged(" ".join(done.stdout.split()[:12]), *MODELS.values())
    judged_types(" ".join(done.stdout.split()[12:]))


JNA = Path("/usr/share/java/jna.jar")


@pytest.mark.parametrize("language", ["rust", "java"])
def test_programs_in_rust_and_java(language, environment, folder, tmp_path):
    source = str(*(CLIENTS / language).iterdir())
    if shutil.which("rustc" if language == "rust" else "java") is None or not JNA.exists():
        pytest.skip("there are no rustc, java and JNA here (openjdk-17-jdk-headless and libjna-java)")
    program = ["java", "-cp", str(JNA), f"-Djna.library.path={folder}", source]
    if language == "rust":
        program = [str(tmp_path / "client")]
        built = run(environment, tmp_path, "rustc", "-D", "warnings", "-L", str(folder), source)
        assert built.returncode == 0, built.stderr
    done, refused = (run(environment, tmp_path, *program, least) for least in ("128", "256"))
    found = np.array(done.stdout.split(), float)
    np.testing.assert_allclose(found, [1.5, -2, 3], atol=1e-6, err_msg=done.stderr)
    assert refused.returncode != 0
    assert "256 were asked for" in refused.stderr
