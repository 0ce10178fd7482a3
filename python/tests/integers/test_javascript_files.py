"""Files of encrypted integers between the client in WebAssembly and Python: NumPy judges both."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import hemera as hm

from ..test_wasm_client import ROOT, module

__all__ = ["module"]


def run(module: Path, folder: Path) -> dict[str, Any]:
    script = ROOT / "clients" / "javascript" / "test" / "integers.mjs"
    command = ["node", str(script), str(module), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_files_go_both_ways(module: Path, tmp_path: Path) -> None:
    maps = hm.integers.Context(16, preset="test-exact").maps
    limits = np.iinfo(np.int16)
    count = 2 * (maps["slots"] // 4) + 2  # a value more than two ciphertexts, and one
    whole = np.random.default_rng(3).integers(limits.min, limits.max, count, endpoint=True)
    whole[:4] = limits.min, limits.max, -1, 0
    (tmp_path / "maps.json").write_text(json.dumps(maps))
    (tmp_path / "numbers.json").write_text(json.dumps(whole.tolist()))
    errors = run(module, tmp_path)["errors"]
    assert [each.partition(":")[0] for each in errors] == [
        *("MismatchError", "ParameterError", "MismatchError", "LevelError", "SecurityError")
    ]
    ints = hm.integers.Context(16, preset="test-exact", secret_key=tmp_path / "secret")
    expected = {
        "uint8": whole.astype(np.uint8).reshape(2, -1),
        "int16": whole.astype(np.int16),
        "bool": whole > 0,
        "int8": np.array([-128], np.int8),
    }
    given = {name: ints.load(tmp_path / name) for name in expected}
    for name, values in expected.items():
        found = ints.decrypt(given[name])
        assert (found.dtype, found.tolist()) == (values.dtype, values.tolist())
    answers = {
        "sum": (given["int16"] + 1, expected["int16"] + np.int16(1), "Int16Array"),
        "bytes": (given["uint8"], expected["uint8"], "Uint8Array"),
        "less": (given["int16"] < 0, expected["int16"] < 0, "Array"),
        "one": (given["int8"], expected["int8"], "Int8Array"),
    }
    (tmp_path / "answers").mkdir()
    for name, (y, _, _) in answers.items():
        y.shrink().save(tmp_path / "answers" / name)
    told = run(module, tmp_path)
    damaged, other = told.pop("errors")
    assert damaged.startswith("FormatError")
    assert other.startswith("NoiseError")
    for name, (_, values, kind) in answers.items():
        assert told[name] == {
            "type": kind,
            "values": values.astype(int).ravel().tolist(),
            "shape": list(values.shape),
        }
