"""The client in WebAssembly beside the library's scalar code: python bench/javascript.py MODULE

MODULE: hemera_client.wasm, which `tools/build-wasm` makes. N = 2^14, one thread, by Node. Both sides run by
turns, and the least of all runs counts. The first answer is that of a study of 100 numbers, from the module's
bytes to the result, with keys that are made and sent."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hemera as hm
from hemera import _core
from hemera.serving.home import Home
from results_file import write_results
from server_process import serving

TIMES = Path(__file__).resolve().parents[1] / "clients" / "javascript" / "test" / "times.mjs"
VALUES = 100
RUNS = 5


def node(*words: str, **environment: str) -> dict[str, Any]:
    """The object that times.mjs prints, in a process of its own."""
    done = subprocess.run(
        ["node", str(TIMES), *words], check=True, capture_output=True, env={**os.environ, **environment}
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def least(body: Callable[[], object]) -> float:
    """Milliseconds."""
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        body()
        times.append(time.perf_counter() - began)
    return 1e3 * min(times)


def native(params: hm.ckks.Parameters) -> dict[str, float]:
    """Milliseconds of the same operations, with files, by this process."""
    os.environ["HEMERA_ISA"] = "scalar"
    context = hm.Context(params, device="cpu", threads=1)
    del os.environ["HEMERA_ISA"]
    secret = context.generate_secret_key()
    needs = [_core.key_need(params._native, 2, 1, params.levels - 1)]
    values = np.sin(np.arange(params.degree // 2))
    file = bytes(context.encrypt(values, secret))
    return {
        "key": least(lambda: _core.save(_core.generate_needed_keys(secret._native, needs), 0)),
        "encrypt": least(lambda: bytes(context.encrypt(values, secret))),
        "decrypt": least(lambda: context.decrypt(context.load(file), secret)),
    }


def core(module: str, turns: int) -> dict[str, object]:
    """A row of operations, by turns, and of a fresh process."""
    params = hm.ckks.Parameters.for_circuit(depth=6, scale_bits=40, degree=1 << 14)
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(bytes(params))
        both = [(node(module, file.name, str(RUNS)), native(params)) for _ in range(turns)]
    row: dict[str, object] = {"degree": params.degree, "log_modulus": round(params.log_modulus)}
    for name in ("key", "encrypt", "decrypt"):
        here, there = (min(each[at][name] for each in both) for at in (1, 0))
        row |= {f"{name}_native_ms": here, f"{name}_wasm_ms": there, f"{name}_ratio": there / here}
    row["cold_to_secret_ms"] = min(found["cold"] for found, _ in both)
    row["ten_keys_mb"] = both[0][0]["ten_keys"] / 1e6
    row["memory_with_ten_keys_mb"] = max(found["memory"] for found, _ in both) / 1e6
    row["error"] = max(found["error"] for found, _ in both)
    return row


def first_answer(module: str, turns: int) -> dict[str, object]:
    """A row of the first answer of a study, which NumPy judges."""
    matrix = np.random.default_rng(4).normal(size=(VALUES, 16)) / 10
    spec = hm.ArraySpec((VALUES,), range=(0, 1))
    study = hm.compile(lambda x: (x - x.mean()) @ matrix, spec, name="study", precision_bits=20)
    x = (np.arange(VALUES) % 17) / 17
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        home.add_model(study.package)
        with serving(home, {}) as url:
            for at in range(turns):
                token = home.clients.add(f"client{at}")
                found = node(module, url, "study", HEMERA_TOKEN=token, HEMERA_VALUES=str(VALUES))
                np.testing.assert_allclose(found["values"], (x - x.mean()) @ matrix, atol=1e-5)
                seconds.append(found["first"])
    interface = study.package.interface
    return {
        "key_mb": interface.key_bytes_at_most / 1e6,
        "degree": study.package.params.degree,
        "first_s": min(seconds),
    }


def sizes(module: str) -> dict[str, object]:
    """A row of the module's bytes."""
    data = Path(module).read_bytes()
    read = "require('fs').readFileSync(process.argv[1])"
    script = f"process.stdout.write(require('zlib').brotliCompressSync({read}))"
    packed = subprocess.run(["node", "-e", script, module], check=True, capture_output=True).stdout
    return {
        "wasm_bytes": len(data),
        "wasm_gzip_bytes": len(gzip.compress(data, 9)),
        "wasm_brotli_bytes": len(packed),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="results that are written")
    options = parser.parse_args()
    rows = [
        core(options.module, options.turns),
        first_answer(options.module, options.turns),
        sizes(options.module),
    ]
    for row in rows:
        row.update(
            {
                name: round(value, 3)
                for name, value in row.items()
                if isinstance(value, float) and name != "error"
            }
        )
        print(json.dumps(row))
    if options.json:
        write_results(options.json, "wasm of one thread in Node; native: scalar, 1 thread", rows)


if __name__ == "__main__":
    main()
