"""The commands: a server's folder, a client over HTTP, and both by files alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hemera.cli import main
from hemera.serving import Package
from hemera.serving.home import Home

from .conftest import BOUND, Process, client_of, expected, serving

ROWS = np.random.default_rng(2).uniform(-1, 1, (5, 8))


@pytest.fixture
def model(tmp_path: Path, package: Package) -> Path:
    path = tmp_path / "scores.hemera-model"
    package.save(path)
    return path


ANY = ("--any-security",)
"""The tests' parameters are small."""


def run(*words: object) -> int:
    return main([str(word) for word in words])


def test_by_files(tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    described, mine = tmp_path / "model.json", tmp_path / "mine"
    keys, request, answer = (tmp_path / name for name in ("keys.hemera", "request.hemera", "answer.hemera"))
    rows = tmp_path / "rows.csv"
    np.savetxt(rows, ROWS, delimiter=",", header=",".join(f"x{at}" for at in range(8)), comments="")
    assert run("run", model, "--describe", described) == 0
    assert run("client", "keys", described, keys, "--folder", mine, *ANY) == 0
    assert run("client", "encrypt", described, rows, request, "--folder", mine, *ANY) == 0
    assert run("run", model, keys, request, answer, "--device", "cpu", "--threads", 1) == 0
    capsys.readouterr()
    assert run("client", "decrypt", described, answer, "--folder", mine, *ANY) == 0
    np.testing.assert_allclose(json.loads(capsys.readouterr().out)["results"], expected(ROWS), atol=1e-6)
    # The server's side takes no secret key, and says what else is wrong.
    (secret,) = mine.glob("secret-*")
    for wrong in ([model, secret, request, answer], [model, keys, secret, answer]):
        assert run("run", *wrong, "--device", "cpu") == 1
        assert "secret key" in capsys.readouterr().err
    assert run("run", model, keys) == 1
    assert "are needed" in capsys.readouterr().err
    assert run("client", "keys", model, keys, "--folder", mine) == 1
    assert "no description" in capsys.readouterr().err


def test_over_http(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("serve", home.root, "--add-client", "alice") == 0
    token = tmp_path / "token"
    token.write_text(capsys.readouterr().out)
    rows = tmp_path / "rows.npy"
    np.save(rows, ROWS)
    with serving(home) as server:
        own: list[Any] = ["--token-file", token]
        assert run("client", "models", server.url, *own) == 0
        assert json.loads(capsys.readouterr().out)["models"][0]["name"] == "scores"
        assert run("client", "describe", server.url, "scores", *own, "--json", tmp_path / "m.json") == 0
        assert json.loads((tmp_path / "m.json").read_text())["name"] == "scores"
        results = tmp_path / "results.npy"
        assert run("client", "predict", server.url, "scores", rows, results, *own, *ANY) == 0
        np.testing.assert_allclose(np.load(results), expected(ROWS), atol=1e-6)
        assert "sending keys\npredicting\n" in capsys.readouterr().err
        monkeypatch.setenv("HEMERA_TOKEN", token.read_text().strip())
        assert run("client", "predict", server.url, "scores", rows, *ANY) == 0
        found = json.loads(capsys.readouterr().out)
        np.testing.assert_allclose(found["results"], expected(ROWS), atol=1e-6)
        assert run("client", "predict", server.url, "other", rows) == 1
        assert "no model 'other'" in capsys.readouterr().err


def test_without_the_extra(tmp_path: Path) -> None:
    """What is not installed is asked for by name; the rest of the command line goes on."""
    program = f"""
import sys
for name in ("fastapi", "uvicorn", "httpx", "prometheus_client", "python_multipart"):
    sys.modules[name] = None
from hemera.cli import main
assert main(["serve", {str(tmp_path / "home")!r}]) == 1
assert main(["client", "models", "http://127.0.0.1:1"]) == 1
assert main(["info"]) == 0
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=BOUND,
        env={**os.environ, "HEMERA_TOKEN": "x"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("pip install '.[serving]'") == 2


def test_the_folder_of_a_server(tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "home"
    assert run("serve", home) == 1
    assert "--add-model" in capsys.readouterr().err
    assert run("serve", home, "--add-model", model) == 0
    assert run("serve", home, "--add-client", "alice") == 0
    token = capsys.readouterr().out.split()[-1]
    assert token.startswith("alice.")
    assert run("models", home) == 0
    assert run("clients", home, "list") == 0
    listed = capsys.readouterr().out
    assert "model   scores" in listed
    assert "client  alice" in listed
    assert token not in listed
    assert run("serve", home, "--remove-client", "alice") == 0
    assert run("serve", home, "--remove-client", "alice") == 1
    assert run("serve", home, "--remove-model", "scores") == 0
    assert run("serve", home, "--remove-model", "../scores") == 1
    assert run("serve", home, "--add-model", home / "nothing") == 1
    damaged = tmp_path / "damaged"
    damaged.write_bytes(model.read_bytes()[:-1])
    assert run("serve", home, "--add-model", damaged) == 1
    assert "hemera: " in capsys.readouterr().err
    (home / "models" / "other.hemera-model").write_bytes(model.read_bytes())
    assert run("serve", home) == 1
    assert "holds the model 'scores'" in capsys.readouterr().err
    (home / "models" / "other.hemera-model").write_bytes(b"rubbish")
    assert run("serve", home) == 1
    assert "other.hemera-model" in capsys.readouterr().err
    assert run("serve", home, "--remove-model", "other") == 0
    for wrong in (["--port", "70000"], ["--tls-key", "x"]):
        run("serve", home, "--add-model", model)
        assert run("serve", home, *wrong) == 1
    assert run("serve", home, "--max-store", "many") == 1


PROGRAM = """
import sys

import numpy as np

import hemera as hm

plan = hm.compile(
    lambda x: x @ np.arange(8.0).reshape(4, 2), hm.ArraySpec((4,), range=(-1, 1)), security=None, name="sums"
)
sys.exit(plan.serve(sys.argv[1], port=0, device="cpu", batch=2))
"""


def test_compiled_programs_serve_themselves(tmp_path: Path) -> None:
    """Beside the models that the folder has, with its clients, until it is stopped."""
    home = Home(tmp_path / "home")
    token = home.clients.add("alice")
    with Process(home.root, program=PROGRAM) as process:
        with client_of(process.url, token) as client:
            x = np.array([0.5, -1.0, 0.25, 1.0])
            found = client.predict("sums", x)
            np.testing.assert_allclose(found, x @ np.arange(8.0).reshape(4, 2), atol=1e-4)
        assert process.stop() == 0
    models, damaged = home.models()
    assert list(models) == ["sums"]
    assert not damaged
