"""Files of encrypted integers between the client in WebAssembly and Python: NumPy judges both."""

import json
import subprocess

import numpy as np
import pytest

import hemera as hm

from ..test_wasm_client import ROOT, module

__all__ = ["module"]


def run(module, folder):
    script = ROOT / "clients" / "javascript" / "test" / "integers.mjs"
    command = ["node", str(script), str(module), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("bits", [16, 64])
def test_files_go_both_ways(module, tmp_path, bits):
    maps = hm.integers.Context(bits, preset="test-exact").maps
    limits = np.iinfo(np.int16)
    count = 2 * (maps["slots"] // (bits // 4)) + 2  # a value more than two ciphertexts, and one
    whole = np.random.default_rng(3).integers(limits.min, limits.max, count, endpoint=True)
    whole[:4] = limits.min, limits.max, -1, 0
    (tmp_path / "maps.json").write_text(json.dumps(maps))
    (tmp_path / "numbers.json").write_text(json.dumps(whole.tolist()))
    errors = run(module, tmp_path)["errors"]
    refused = ["MismatchError"] * (bits == 16) + ["ParameterError", "MismatchError", "LevelError"]
    assert [each.partition(":")[0] for each in errors if each] == [*refused, "SecurityError"]
    ints = hm.integers.Context(bits, preset="test-exact", secret_key=tmp_path / "secret")
    wide = whole * 2**48 + 1
    expected = {
        "uint8": whole.astype(np.uint8).reshape(2, -1),
        "int16": whole.astype(np.int16),
        "bool": whole > 0,
        "int8": np.array([-128], np.int8),
        **({"int64": wide, "uint64": wide.astype(np.uint64)} if bits == 64 else {}),
    }
    given = {name: ints.load(tmp_path / name) for name in expected}
    for name, values in expected.items():
        found = ints.decrypt(given[name])
        assert (found.dtype, found.tolist()) == (values.dtype, values.tolist())
    answers = {name: (given[name], values) for name, values in expected.items()}
    if bits == 16:
        answers["sum"] = given["int16"] + 1, expected["int16"] + np.int16(1)
        answers["less"] = given["int16"] < 0, expected["int16"] < 0
    (tmp_path / "answers").mkdir()
    for name, (y, _) in answers.items():
        y.shrink().save(tmp_path / "answers" / name)
    told = run(module, tmp_path)
    damaged, other = told.pop("errors")
    assert damaged.startswith("FormatError")
    assert other.startswith("NoiseError")
    for name, (_, values) in answers.items():
        flat, kind = values.ravel().tolist(), values.dtype.name
        assert told[name]["values"] == [str(each).lower() for each in flat]
        assert told[name]["shape"] == list(values.shape)
        typed = {"bool": "", "int64": "BigInt64", "uint64": "BigUint64"}
        assert told[name]["type"] == typed.get(kind, kind.replace("u", "U").capitalize()) + "Array"
