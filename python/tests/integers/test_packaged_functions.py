"""Functions of encrypted integers as models: NumPy judges what clients in Python and JavaScript get."""

import json
import subprocess

import numpy as np
import pytest

import hemera as hm
from hemera.errors import FormatError, LevelError, MismatchError, MissingKeyError, ParameterError
from hemera.serving import Package, export_integers
from hemera.serving.home import Home

from ..refusals import raises
from ..serving.conftest import serving
from ..test_wasm_client import ROOT, module

__all__ = ["module"]

TABLE = np.arange(16, dtype=np.uint8)[::-1].copy()
RANDOM = np.random.default_rng(5)


def ledger(balance, amount):
    """Pays where the balance is large enough."""
    return np.where(balance < amount, balance, balance - amount)


def mixed(x, mask):
    """Places, a table, sums and shifts."""
    looked = hm.integers.Table(TABLE)[x[::2]] if not isinstance(x, np.ndarray) else TABLE[x[::2] % 16]
    return np.concatenate([looked, (np.where(mask, x, 3)[1:] * 5) >> 1, np.stack([x[:2], x[2:4]]).ravel()])


def packaged(function, *, name, **inputs):
    return export_integers(function, inputs=inputs, bits=8, preset="test-exact", name=name)


@pytest.fixture(scope="module")
def packages():
    eight, four = np.zeros(8, np.uint8), np.zeros((2, 2), np.int8)
    return {
        "ledger": packaged(ledger, balance=eight, amount=eight, name="ledger"),
        "mixed": packaged(mixed, x=eight, mask=np.zeros(8, np.bool_), name="mixed"),
        "signed": packaged(lambda x, y: (x * y - 3) < y, x=four, y=four, name="signed"),
        "sum": packaged(lambda x: x.sum(), x=eight, name="sum"),
    }


def arrays():
    balance, amount, x = RANDOM.integers(0, 256, (3, 8), dtype=np.uint8)
    signed = RANDOM.integers(-128, 128, (2, 2, 2), dtype=np.int8)
    return {
        "ledger": {"balance": balance, "amount": amount},
        "mixed": {"x": x, "mask": np.arange(8) % 3 == 0},
        "signed": {"x": signed[0], "y": signed[1]},
        "sum": {"x": x},
    }


def expected(given):
    x, y = given["signed"].values()
    return {
        "ledger": ledger(*given["ledger"].values()),
        "mixed": mixed(*given["mixed"].values()),
        "signed": (x * y - np.int8(3)) < y,
        "sum": given["sum"]["x"].sum(dtype=np.uint8),
    }


def test_clear_results_are_numpys_also_of_files(packages):
    given = arrays()
    for name, wanted in expected(given).items():
        for package in (packages[name], Package.load(bytes(packages[name]))):
            found = package.evaluate_clear(given[name])
            np.testing.assert_array_equal(found, wanted, strict=True)


def test_a_server_computes_them(packages, module, tmp_path):
    """Clients in Python and JavaScript, with keys of their own."""
    home, given = Home(tmp_path / "home"), arrays()
    for package in packages.values():
        home.add_model(package)
    wanted = expected(given)
    asked = [
        {"model": name, "arrays": {key: [x.dtype.name, list(map(str, x.ravel()))] for key, x in each.items()}}
        for name, each in given.items()
    ]
    wrong = [
        {"model": "ledger", "arrays": {"balance": ["list", ["1"] * 7], "amount": ["list", ["1"] * 8]}},
        {"model": "ledger", "arrays": {"balance": ["list", ["256"] * 8], "amount": ["list", ["1"] * 8]}},
    ]
    token, other = home.clients.add("page"), home.clients.add("python")
    with serving(home) as server:
        file = tmp_path / "asked.json"
        file.write_text(json.dumps({"url": server.url, "token": token, "asked": asked + wrong}))
        script = ROOT / "clients" / "javascript" / "test" / "served_integers.mjs"
        command = ["node", str(script), str(module), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        with hm.Client(server.url, token=other, security=None) as client:
            found = {name: client.predict(name, given[name]) for name in ("ledger", "signed")}
            both = {key: np.stack([x, x[::-1]]) for key, x in given["ledger"].items()}
            batch = client.predict("ledger", both)
    for name, own in found.items():
        np.testing.assert_array_equal(own, wanted[name], strict=True)
    np.testing.assert_array_equal(batch, np.stack([wanted["ledger"], wanted["ledger"][::-1]]), strict=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    for name, answer in zip(wanted, told["answers"][:4], strict=True):
        assert "error" not in answer, answer
        kind = "Array" if wanted[name].dtype.kind == "b" else "Uint8Array"
        assert (answer["kind"], answer["shape"]) == (kind, list(wanted[name].shape))
        assert answer["values"] == [str(each).lower() for each in wanted[name].ravel()]
    assert [each["error"] for each in told["answers"][4:]] == ["MismatchError", "RangeError"]
    assert told["inputs"][0] == {
        **{"name": "balance", "shape": [8], "dtype": "uint8"},
        **dict.fromkeys(("low", "high", "step")),
    }


def test_keys_are_needed(packages):
    package = packages["ledger"]
    ctx = hm.Context(package.params, device="cpu", threads=1)
    with pytest.raises(MissingKeyError, match=r"integers of 8 bits; the public key"):
        package.check(ctx, ctx.generate_keys(ctx.generate_secret_key(), public_key=False))


EIGHT = np.zeros(8, np.uint8)


@pytest.mark.parametrize(
    ("function", "options", "error"),
    [
        (lambda x: x / 2, {}, TypeError),
        (lambda x: np.sin(x), {}, TypeError),
        (lambda x: x if x[0] else -x, {}, TypeError),
        (lambda x: (x, x), {}, TypeError),
        (lambda x: x + 0.5, {}, TypeError),
        (lambda x: x.astype(np.uint16), {}, MismatchError),
        (lambda x: x + 1, {"bits": 12}, ParameterError),
        (lambda x: x + 1, {"levels": 99}, LevelError),
        (lambda x: x + 1, {"preset": "test-40"}, ParameterError),
        (lambda x: x + 1, {"inputs": {}}, ParameterError),
    ],
)
def test_what_they_do_not_take_is_refused(function, options, error):
    told = {"inputs": {"x": EIGHT}, "bits": 8, "preset": "test-exact", "name": "m", **options}
    raises(error, "", export_integers, function, **told)


TEXT = '{"inputs":[["uint8",[4]]],"calls":[%s],"result":1}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        TEXT % "",
        TEXT % '["sin",[{"value":0}],{}]',
        TEXT % '["add",[{"value":1},1],{}]',
        TEXT % '["add",[{"value":-3},1],{}]',
        TEXT % '["add",[{"value":0},0.5],{}]',
        TEXT % '["broadcast_to",[{"value":0},[4000000,4]],{}]',
        TEXT % '["getitem",[{"value":0},{"array":["float64",[1],[0]]}],{}]',
        TEXT.replace("[4]", "[100000000]") % '["add",[{"value":0},1],{}]',
        TEXT.replace("uint8", "float64") % '["add",[{"value":0},1],{}]',
        TEXT % f'["add",[{{"value":0}},{10**400}],{{}}]',
        TEXT % ("[" * 100_000),
    ],
)
def test_forged_functions_are_refused(text):
    raises(FormatError, "", hm.integers.recorded.Replayed, text)
