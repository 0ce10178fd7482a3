"""The client in Go over the C interface: its tests, and its program with a server, judged by NumPy."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.serving.home import Home

from .serving.conftest import serving
from .test_c_interface import DEFAULT, LIBRARY

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """In which Go finds the library that `make test` builds, and parameters."""
    if shutil.which("go") is None:
        pytest.skip("there is no go on this machine (package golang-go)")
    named = os.environ.get("HEMERA_C_FOLDER")
    folder = Path(named or DEFAULT)
    if named is None and not (folder / LIBRARY).exists():
        pytest.skip(f"the C interface is not built: there is no {folder / LIBRARY} (make test builds it)")
    made = tmp_path_factory.mktemp("go")
    parameters = made / "parameters"
    parameters.write_bytes(bytes(hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=8)))
    return {
        **os.environ,
        "CGO_CFLAGS": f"-I{ROOT / 'include'}",
        "CGO_LDFLAGS": f"-L{folder}",
        "LD_LIBRARY_PATH": str(folder),
        "GOFLAGS": "-mod=mod",
        "GOCACHE": str(made / "cache"),
        "HEMERA_PARAMETERS": str(parameters),
    }


def go(environment: dict[str, str], *command: str, **given: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["go", *command],
        cwd=ROOT / "clients" / "go",
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        **given,
    )


def test_its_own_tests(environment: dict[str, str]) -> None:
    done = go(environment, "test", "-count=1", "./...")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok" in done.stdout


def test_its_program_asks_a_server(environment: dict[str, str], tmp_path: Path) -> None:
    x = np.random.default_rng(3).uniform(0, 1, 100)
    matrix = np.random.default_rng(4).normal(size=(100, 4)) / 10
    home = Home(tmp_path / "home")
    home.add_model(
        hm.compile(
            lambda x: (x - x.mean()) @ matrix, hm.ArraySpec((100,), range=(0, 1)), name="study"
        ).package
    )
    with serving(home) as server:
        told = {**environment, "HEMERA_TOKEN": home.clients.add("go")}
        given = " ".join(map(repr, x.tolist()))
        done = go(told, "run", "./example", server.url, "study", input=given)
        assert done.returncode == 0, done.stderr
        np.testing.assert_allclose(np.array(done.stdout.split(), float), (x - x.mean()) @ matrix, atol=1e-5)
        refused = go(told, "run", "./example", server.url, "study", input=f"7 {given}")
        assert refused.returncode != 0
        assert "from 0 to 1, not 7" in refused.stderr
        absent = go(told, "run", "./example", server.url, "absent", input=given)
        assert "unknown_model" in absent.stderr
