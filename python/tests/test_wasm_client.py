"""The client in WebAssembly, run by Node. Python computes on its ciphertexts, NumPy judges its results."""

import functools
import itertools
import json
import os
import queue
import shutil
import subprocess
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import hemera as hm
from hemera.serving.home import Home

from .beside import answering, told_by_node
from .serving.conftest import Rollout, serving

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = ROOT / "build" / "wasm" / "src" / "hemera_client.wasm"
ROWS = np.arange(-512, 512).reshape(2, 512)
MOST_BYTES = 855_000
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
def module():
    named = os.environ.get("HEMERA_WASM")
    file = Path(named or DEFAULT)
    if named is None and not file.exists():
        pytest.skip(
            f"the client for WebAssembly is not built: there is no {file} (tools/build-wasm builds it)"
        )
    if shutil.which("node") is None:
        pytest.skip("there is no node on this machine (package nodejs)")
    return file


def parameters():
    return {
        "ckks": hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=512),
        "bfv": hm.bfv.Parameters.for_circuit(depth=1, plain_bits=20, slots=512),
        "bgv": hm.bgv.Parameters.for_circuit(depth=1, plain_bits=20, slots=512),
    }


def run(module, folder):
    return told_by_node("round_trip.mjs", module, folder)


def test_it_takes_little_of_its_host(module, tmp_path):
    assert module.stat().st_size <= MOST_BYTES
    found = run_first(module, tmp_path)
    assert set(found["imports"]) <= IMPORTS
    assert found["version"] == hm.__version__


def run_first(module, folder):
    for scheme, params in parameters().items():
        (folder / f"{scheme}.parameters").write_bytes(bytes(params))
    values = np.sin(ROWS).ravel()
    (folder / "numbers.json").write_text(json.dumps([int(1000 * value) for value in values]))
    return run(module, folder)


def test_python_computes_on_what_it_encrypts(module, tmp_path):
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
def test_sizes_beyond_32_bits_are_refused_here_too(field):
    params = hm.ckks.Parameters.load(FORGED / "parameters")
    with pytest.raises((hm.errors.FormatError, hm.errors.MismatchError)):
        hm.Context(params, device="cpu").load((FORGED / field).read_bytes())


RNG = np.random.default_rng(11)
MATRIX = RNG.normal(size=(8, 3)) / 4
TABLE = RNG.normal(size=(70, 5)) * [1, 2, 3, 4, 5] + [0, 1, 2, 3, 4]
KINDS = np.array(["a", "b", "c"])[np.argmax(TABLE @ RNG.normal(size=(5, 3)), axis=1)]


def test_it_asks_a_server(module, tmp_path):
    """Models of several inputs, of rows, labels and whole numbers: NumPy and scikit-learn judge."""
    x, (u, v) = RNG.uniform(0, 1, 500), RNG.uniform(-1, 1, (2, 64))
    rows, whole = RNG.uniform(-1, 1, (50, 8)), RNG.integers(-50, 51, 16)
    classifier = LogisticRegression().fit(TABLE, KINDS)
    plans = {
        "study": hm.compile(lambda x: (x.mean(), x.var()), hm.ArraySpec((500,), range=(0, 1)), name="study"),
        "product": hm.compile(
            lambda u, v: u @ v,
            *(hm.ArraySpec((64,), range=(-1, 1)) for _ in range(2)),
            precision_bits=20,
            name="product",
        ),
        "rows": hm.compile(lambda x: x @ MATRIX, hm.ArraySpec((8,), range=(-1, 1)), samples=32, name="rows"),
        "kinds": hm.compile(classifier, calibrate=TABLE, name="kinds"),
        "whole": hm.compile(
            lambda x: (x * x).sum(), hm.ArraySpec((16,), range=(-50, 50)), scheme="bgv", name="whole"
        ),
        "shared": hm.compile(lambda x: x.mean(), hm.ArraySpec((8,), range=(0, 1)), share=True, name="shared"),
    }
    home = Home(tmp_path / "home")
    for plan in plans.values():
        home.add_model(plan.package)
    product = [each.name for each in plans["product"].package.inputs]
    given = [
        *(("study", x.tolist()), ("product", dict(zip(product, [u.tolist(), v.tolist()], strict=True)))),
        *(("rows", rows.tolist()), ("kinds", TABLE.tolist()), ("whole", whole.tolist())),
        *(("study", (x + 1).tolist()), ("study", x[:499].tolist()), ("shared", [0.5] * 8)),
        *(("absent", [0.5]), ("study", x.tolist())),
    ]
    rollout = Rollout(home)
    rollout.start(plans["study"].package)
    asked = {
        "url": f"http://127.0.0.1:{rollout.port}",
        "token": home.clients.add("page"),
        "asked": [{"model": name, "arrays": arrays} for name, arrays in given],
    }
    (tmp_path / "asked.json").write_text(json.dumps(asked))

    def replace():
        spec = hm.ArraySpec((500,), range=(0, 1))
        rollout.start(hm.compile(lambda x: 2 * x.mean(), spec, name="study").package)

    try:
        told = told_by_node("predict.mjs", module, tmp_path / "asked.json", meanwhile=replace)
    finally:
        rollout.stop()
    assert sorted(each["name"] for each in told["models"]) == sorted(plans)
    study, dot, scores, kinds, total, *refused, again = told["answers"]

    def value(answer, at=0):
        result = list(answer["results"].values())[at]
        return np.reshape(result["values"], result["shape"])

    for answer in (study, again):
        np.testing.assert_allclose([value(answer, 0), value(answer, 1)], [x.mean(), x.var()], atol=1e-5)
        assert answer["warnings"] == []
    np.testing.assert_allclose(value(dot), u @ v, atol=1e-4)
    np.testing.assert_allclose(value(scores), rows @ MATRIX, atol=1e-4)
    assert value(kinds).tolist() == classifier.predict(TABLE).tolist()
    assert value(total) == (whole * whole).sum()
    assert [each["error"] for each in refused] == [
        "ParameterError",
        "MismatchError",
        "ParameterError",
        "ServerError",
    ]
    assert "from 0 to 1" in refused[0]["text"]
    assert "use hm.Client" in refused[2]["text"]
    assert refused[3]["code"] == "unknown_model"
    # Keys were made and sent once, and what is sent is counted to its end.
    sent = [list(each) for each in told["events"]]
    assert sent[0] == ["predict", "keys", "upload", "request", "answer"]
    assert sent[-1] == ["predict", "request", "answer"]
    assert told["events"][0]["upload"][-1][0] == told["events"][0]["upload"][-1][1] > 10_000
    assert told["events"][2]["predict"] == [[0, 50], [32, 50], [50, 50]]
    # Rows for a model that was replaced since: those of its new description.
    assert len(told["replaced"]["results"]) == 1
    np.testing.assert_allclose(value(told["replaced"]), 2 * x.mean(), atol=1e-5)
    assert told["aborted"] == "AbortError"
    assert told["stranger"]["code"] == "unknown_token"


class Pages(ThreadingHTTPServer):
    """Serves the client's files and what a page asks for, and takes what it told."""

    def __init__(self, module, asked):
        self.told = queue.Queue()
        folder, told = ROOT / "clients" / "javascript", self.told

        class Handler(SimpleHTTPRequestHandler):
            extensions_map = {".mjs": "text/javascript", ".wasm": "application/wasm", ".html": "text/html"}  # noqa: RUF012

            def do_GET(self):
                own = {"/asked": json.dumps(asked).encode(), "/hemera_client.wasm": module.read_bytes()}
                if self.path not in own:
                    super().do_GET()
                    return
                self.send_response(200)
                self.send_header("Content-Type", self.guess_type(self.path))
                self.end_headers()
                self.wfile.write(own[self.path])

            def do_POST(self):
                told.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))


def test_a_page_of_another_origin_asks_a_server(module, tmp_path):
    """A browser, the client in a Web Worker, and a server that names the page's origin."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("there is no chromium on this machine (package chromium)")
    x = RNG.uniform(0, 1, 500)
    plan = hm.compile(lambda x: (x.mean(), x.var()), hm.ArraySpec((500,), range=(0, 1)), name="study")
    home = Home(tmp_path / "home")
    home.add_model(plan.package)
    hm.search.Index(MATRIX.T, "dot").save(tmp_path / "rows.index")
    home.add_index(tmp_path / "rows.index")
    asked = {"token": home.clients.add("page"), "model": "study", "arrays": x.tolist()}
    pages = Pages(module, asked)
    with answering(pages) as origin, serving(home, origins=[origin]) as server:
        asked["url"] = server.url
        command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu"]
        command += [f"--user-data-dir={tmp_path / 'browser'}", f"{origin}/test/page.html"]
        told, again = (visited(command, pages) for _ in range(2))
    assert "failed" not in told, told["failed"]
    found = [result["values"][0] for result in told["answer"]["results"].values()]
    np.testing.assert_allclose(found, [x.mean(), x.var()], atol=1e-5)
    assert [name for name, _ in itertools.groupby(each[0] for each in told["events"])] == [
        *("predict", "keys", "upload"),
        *("request", "answer", "predict"),
    ]
    made = [each for each in told["events"] if each[0] == "keys"]
    assert made[0][1] == 0 < made[0][2]
    assert len(made) > 5
    assert [each[1] for each in made] == sorted(each[1] for each in made)
    scores = x[:8] @ MATRIX
    assert told["found"]["ids"] == again["found"]["ids"] == np.argsort(-scores).tolist()
    np.testing.assert_allclose(told["found"]["scores"], np.sort(scores)[::-1], atol=0.02)
    assert [each["searched"].count("keys") for each in (told, again)] == [1, 0]
    assert told["aborted"] == "AbortError"
    assert told["refused"] == "MismatchError"
    assert told["turns"] > 3  # the page stayed awake while keys were made
    # The next visit has the key of the first one, and sends none; no script reads it.
    assert "failed" not in again, again["failed"]
    found = [result["values"][0] for result in again["answer"]["results"].values()]
    np.testing.assert_allclose(found, [x.mean(), x.var()], atol=1e-5)
    assert [each[0] for each in again["events"]] == ["predict", "request", "answer", "predict"]
    assert told["exported"] == again["exported"] == "InvalidAccessError"
    secret = bytes(hm.Context(plan.package.params, device="cpu").generate_secret_key())
    assert again["sealed"]["count"] == 3
    assert again["sealed"]["bytes"] == len(secret) + 16  # with the tag of AES-GCM
    assert not secret.startswith(bytes(again["sealed"]["begin"]))


def visited(command, pages):
    """What a page told in a browser that ends then."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            return pages.told.get(timeout=120)
        finally:
            running.terminate()  # it writes its database
            running.wait(60)


def test_its_types_are_strict():
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("there is no tsc on this machine (package node-typescript)")
    command = [compiler, "-p", str(ROOT / "clients" / "javascript")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout


def test_its_package_has_the_version_and_its_files():
    folder = ROOT / "clients" / "javascript"
    told = json.loads((folder / "package.json").read_text())
    assert told["version"] == hm.__version__
    for entry in told["exports"].values():
        for name in [entry] if isinstance(entry, str) else entry.values():
            assert name == "./hemera_client.wasm" or (folder / name).is_file()


def test_its_package_installs(module, tmp_path):
    found = list(module.parents[1].glob("hemera-client-*.tgz"))
    if not found or shutil.which("npm") is None:
        pytest.skip("the npm package is not built beside the module (tools/build-wasm builds it, with npm)")
    script = """
        import { Client, ServerError } from 'hemera-client';
        import { Hemera } from 'hemera-client/hemera-client';
        import { readFile } from 'node:fs/promises';
        import { createRequire } from 'node:module';
        const file = createRequire(import.meta.url).resolve('hemera-client/hemera_client.wasm');
        const client = await Client.connect('http://127.0.0.1:1', 'token', await readFile(file));
        const hemera = await Hemera.load(await readFile(file));
        console.log(hemera.version, typeof client.predict, ServerError.name);
    """
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "program.mjs").write_text(script)
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120}
    install = ["npm", "install", "--offline", "--no-audit", "--no-fund", str(found[0])]
    done = subprocess.run(install, check=False, **options)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(["node", "program.mjs"], check=False, **options)
    assert done.stdout.split() == [hm.__version__, "function", "ServerError"], done.stderr
