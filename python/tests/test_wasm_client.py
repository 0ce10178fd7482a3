"""The client in WebAssembly, run by Node. Python computes on its ciphertexts, NumPy judges its results."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hemera as hm

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = ROOT / "build" / "wasm" / "src" / "hemera_client.wasm"
ROWS = np.arange(-512, 512).reshape(2, 512)
MOST_BYTES = 1000 * 1024
FORGED = ROOT / "tests" / "vectors" / "beyond-32-bits"
"""Ciphertexts that have 2^32 more slots, or elements of the batch, than they have, under right checksums."""
# What a host must give; nothing of files, sockets or the environment but its size, which is 0.
IMPORTS = {
    "hemera.entropy",
    "env.emscripten_notify_memory_growth",
    "wasi_snapshot_preview1.clock_time_get",
    "wasi_snapshot_preview1.environ_get",
    "wasi_snapshot_preview1.environ_sizes_get",
    "wasi_snapshot_preview1.proc_exit",
}


@pytest.fixture(scope="module")
def module() -> Path:
    named = os.environ.get("HEMERA_WASM")
    file = Path(named or DEFAULT)
    if named is None and not file.exists():
        pytest.skip(
            f"the client for WebAssembly is not built: there is no {file} (tools/build-wasm builds it)"
        )
    if shutil.which("node") is None:
        pytest.skip("there is no node on this machine (package nodejs)")
    return file


def parameters() -> dict[str, Any]:
    return {
        "ckks": hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=512),
        "bfv": hm.bfv.Parameters.for_circuit(depth=1, plain_bits=20, slots=512),
        "bgv": hm.bgv.Parameters.for_circuit(depth=1, plain_bits=20, slots=512),
    }


def run(module: Path, folder: Path) -> dict[str, Any]:
    script = ROOT / "clients" / "javascript" / "test" / "round_trip.mjs"
    done = subprocess.run(
        ["node", str(script), str(module), str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_takes_little_of_its_host(module: Path, tmp_path: Path) -> None:
    assert module.stat().st_size <= MOST_BYTES
    found = run_first(module, tmp_path)
    assert set(found["imports"]) <= IMPORTS
    assert found["version"] == hm.__version__


def run_first(module: Path, folder: Path) -> dict[str, Any]:
    for scheme, params in parameters().items():
        (folder / f"{scheme}.parameters").write_bytes(bytes(params))
    values = np.sin(ROWS).ravel()
    (folder / "numbers.json").write_text(json.dumps([int(1000 * value) for value in values]))
    return run(module, folder)


def test_python_computes_on_what_it_encrypts(module: Path, tmp_path: Path) -> None:
    first = run_first(module, tmp_path)
    values = np.array(json.loads((tmp_path / "numbers.json").read_text())).reshape(2, 512)
    for scheme, params in parameters().items():
        told = first["schemes"][scheme]
        bits = {">=128": 128, ">=192": 192, ">=256": 256}[params.security]
        assert told["describes"] == {
            "scheme": scheme,
            "security": bits,
            "degree": params.degree,
            "slots": params.max_slots,
            "levels": params.levels,
            "plainModulus": 0 if scheme == "ckks" else params.plain_modulus,
        }
        kinds = {name: error[0] for name, error in told["errors"].items()}
        assert kinds == {
            "kind": "ParameterError",
            "rows": "ParameterError",
            "level": "LevelError",
            "numbers": "ParameterError",
            "security": "ParameterError",
            "damaged": "FormatError",
        }
        ctx = hm.Context(params, device="cpu")
        secret = ctx.load((tmp_path / f"{scheme}.secret").read_bytes())
        x = ctx.load((tmp_path / f"{scheme}.x").read_bytes())
        np.testing.assert_allclose(
            np.real(ctx.decrypt(x, secret)), values, atol=1e-5 if scheme == "ckks" else 0
        )
        keys = ctx.load((tmp_path / f"{scheme}.keys").read_bytes())
        # Under the public key of these keys, and of the secret alone: what Python sends back.
        evaluator = ctx.bind(keys)
        y = evaluator.conjugate(evaluator.rotate(x, 1)) if scheme == "ckks" else x + x
        (tmp_path / f"{scheme}.answer").write_bytes(bytes(y))
    shutil.copytree(FORGED, tmp_path / FORGED.name)
    second = run(module, tmp_path)
    for scheme in parameters():
        told = second["schemes"][scheme]
        wanted = np.roll(values, -1, axis=1) if scheme == "ckks" else 2 * values
        np.testing.assert_allclose(
            np.reshape(told["answer"], (2, -1)), wanted, atol=1e-4 if scheme == "ckks" else 0
        )
    # 2^32 + 512 slots are not 512 where sizes have 32 bits.
    assert len(second["forged"]) == 2
    for name, text in second["forged"]:
        assert name == "FormatError"
        assert "beyond this machine's 32 bits" in text


@pytest.mark.parametrize("field", ["slots", "batch"])
def test_sizes_beyond_32_bits_are_refused_here_too(field: str) -> None:
    params = hm.ckks.Parameters.load(FORGED / "parameters")
    with pytest.raises((hm.errors.FormatError, hm.errors.MismatchError)):
        hm.Context(params, device="cpu").load((FORGED / field).read_bytes())
