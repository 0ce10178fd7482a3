"""Versions of a model side by side: which one a client gets, and that its answers are read by that one."""

import collections
import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import hemera as hm
from hemera import errors
from hemera.cli import main
from hemera.serving.clients import Aliases, chosen, is_model
from hemera.serving.home import Home

from ..refusals import raises
from .conftest import BOUND, Process, client_of, serving, wait_until
from .server_requests import code
from .test_replaced_models import data, package_of

CLIENTS = [f"client{at}.{at:016x}" for at in range(4000)]


def got(weights, alias="m"):
    return [chosen(alias, weights, client) for client in CLIENTS]


@pytest.mark.parametrize("weights", [(1, 1), (90, 10), (0.5, 0.3, 0.2), (1e-9, 1), (3,)])
def test_clients_are_shared_out_by_weights(weights):
    """Within six standard deviations of the binomial distribution of each share."""
    named = {f"m@{at}": weight for at, weight in enumerate(weights)}
    count = collections.Counter(got(named))
    for model, weight in named.items():
        share = weight / sum(weights)
        expected = len(CLIENTS) * share
        assert abs(count[model] - expected) <= 6 * np.sqrt(expected * (1 - share)) + 1e-9
    assert got(named) == got({model: 7 * weight for model, weight in reversed(named.items())})


def test_another_weight_moves_clients_to_what_gained_alone():
    steps = [{"m@1": 100 - part, "m@2": part} for part in (1, 10, 11, 50, 99)]
    for before, after in itertools.pairwise(map(got, steps)):
        moved = {pair for pair in zip(before, after, strict=True) if len(set(pair)) == 2}
        assert moved == {("m@1", "m@2")}
    three = got({"m@1": 1, "m@2": 1, "m@3": 1})
    two = got({"m@1": 1, "m@2": 1})
    assert all(now == before for now, before in zip(two, three, strict=True) if before != "m@3")
    assert got(steps[3]) != got(steps[3], "other")  # a client is no canary of all models


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("m", True), ("m@1", True), ("m@2026-11.b", True), ("m@", False), ("@1", False), ("m@1@2", False)],
)
def test_full_names(name, is_one):
    assert is_model(name) == is_one


def test_an_alias_is_of_models_that_there_are(tmp_path):
    aliases, reader = Aliases(tmp_path / "aliases"), Aliases(tmp_path / "aliases")
    there = ["m@1", "m@2"]
    assert aliases.names() == []
    for weight in (-1e-9, float("inf"), float("nan")):
        raises(errors.ParameterError, "from 0", aliases.put, "m", {"m@1": weight}, there)
    raises(errors.MismatchError, "no model 'm@3': m@1, m@2", aliases.put, "m", {"m@3": 1}, there)
    raises(errors.ParameterError, "needs a name", aliases.put, "m@1", {"m@1": 1}, there)
    assert reader.model("m", "alice", there) == "m"
    for weights in ({"m@1": 1.0}, {"m@1": 0.0, "m@2": 2.5}):
        aliases.put("m", weights, there)
        kept = {model: weight for model, weight in weights.items() if weight}
        assert reader.weights("m") == kept  # of another process, at once
        assert reader.model("m", "alice", there) == next(iter(kept))
        assert reader.model("m@1", "alice", there) == "m@1"
        assert reader.model("m", "alice", []) == "m"  # none of them is served
    assert reader.names() == ["m"]
    aliases.forget("m@1")
    assert reader.weights("m") == {"m@2": 2.5}
    aliases.forget("m@2")
    assert (reader.weights("m"), reader.names()) == ({}, [])
    for damaged in (b"", b"[]", b'{"m@1": 0}', b'{"m@1": "x"}', b'{"m@1": NaN}'):
        (tmp_path / "aliases" / "m.json").write_bytes(damaged)
        raises(errors.FileError, "cannot read the file of the name 'm'", reader.weights, "m")


@pytest.fixture(scope="module")
def versions():
    """Version 1 knows a, b and c, version 2 b, c and d: whoever reads by the other's labels is always wrong.
    Both have the same parameters, and so the same keys do."""
    found = []
    for names in ("abc", "bcd"):
        x, y = data(names)
        model = LogisticRegression(C=10).fit(x, y)
        params = hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=8, security=None, degree=1024)
        found.append((model, hm.compile(model, name="risk", calibrate=x, params=params).package))
    assert found[0][1].digest != found[1][1].digest
    return found


@pytest.fixture
def home(tmp_path, versions):
    found = Home(tmp_path / "home")
    for at, (_, package) in enumerate(versions, 1):
        package.save(tmp_path / f"risk@{at}.hemera-model")
        assert found.add_model(tmp_path / f"risk@{at}.hemera-model") == f"risk@{at}"
    return found


def test_versions_in_a_folder(home, tmp_path, capsys):
    def listed(*words):
        assert main(["models", str(home.root), *words]) == 0
        return [line.split() for line in capsys.readouterr().out.splitlines()]

    digests = {name: package.digest[:16] for name, package in home.models()[0].items()}
    assert list(digests) == ["risk@1", "risk@2"]
    none = ["keys", "of", "0", "clients,", "0", "B"]
    rows = [["model", name, name, digest, "100", "%", *none] for name, digest in digests.items()]
    # The first version of a name has all of its clients.
    assert listed() == [["model", "risk", "risk@1", digests["risk@1"], "100", "%", *none], *rows]
    shares = listed("risk", "risk@1=3", "risk@2=1")
    assert [row[2:6] for row in shares] == [
        [each, digests[each], *share] for each, share in (("risk@1", ["75", "%"]), ("risk@2", ["25", "%"]))
    ]
    for wrong, why in (("risk@3=1", "no model 'risk@3'"), ("risk@2=-1", "from 0"), ("risk@2=nan", "from 0")):
        assert main(["models", str(home.root), "risk", wrong]) == 1
        assert why in capsys.readouterr().err
    for wrong in ("risk@2", "risk@2=x"):
        raises(SystemExit, "", main, ["models", str(home.root), "risk", wrong])
    # Keys are those of the name: they go with its last version.
    kept = [home.keys / "alice.1" / "risk", home.incoming / f"bob.1+{'0' * 32}+risk"]
    others = [home.keys / "alice.1" / "risk2", home.incoming / f"bob.1+{'0' * 32}+risk2"]
    for folder in (*kept, *others):
        folder.mkdir(parents=True)
    home.remove_model("risk@1")
    assert listed("risk")[0][2:6] == ["risk@2", digests["risk@2"], "100", "%"]
    assert [folder.exists() for folder in (*kept, *others)] == [True] * 4
    home.remove_model("risk@2")
    assert [folder.exists() for folder in (*kept, *others)] == [False, False, True, True]
    assert home.aliases.names() == []
    for name in ("risk@.hemera-model", "risk@a b.hemera-model", "risk@1@2.hemera-model"):
        (tmp_path / "risk@1.hemera-model").rename(tmp_path / name)
        raises(errors.ParameterError, "needs a name", home.add_model, tmp_path / name)
        (tmp_path / name).rename(tmp_path / "risk@1.hemera-model")


def test_what_a_client_is_told_of_versions(home, versions):
    x = data("bc")[0][:3]
    digests = [package.digest for _, package in versions]
    home.aliases.put("live", {"risk@2": 1}, home.models()[0])
    token = home.clients.add("alice")
    with serving(home) as server, client_of(server.url, token) as client:
        told = {each["name"]: (each["version"], each["digest"]) for each in client.models()}
        one, two = ("1", digests[0]), ("2", digests[1])
        assert told == {"risk": one, "risk@1": one, "risk@2": two, "live": two}
        assert client.describe("live")["version"] == "2"
        for name, (_, digest) in told.items():
            want = versions[digests.index(digest)][0].predict(x)
            assert (client.predict(name, x) == want).all()
        # One set of keys for all versions, from one secret key.
        assert server.metric("hemera_key_uploads_total", status="201") == 1
        assert len(server.service.store) == 1
        assert server.metric("hemera_model_info", digest=digests[1], model="risk@2") == 1
        client.remove_keys("risk@2")
        with server.http(token) as http:
            assert code(http.get("/v1/models/risk@1/keys")) == (404, "no_keys")
            assert code(http.get("/v1/models/risk@3")) == (404, "unknown_model")


def test_no_answer_is_read_by_another_version_while_weights_change(home, versions):
    """A server in a process of its own under load: clients that run on, and such as begin during the
    roll-out, read 1,000 labels. Both models give these rows the same ones, and either's numbers of classes
    are wrong by the other's labels."""
    x = data("bc")[0][2:]
    right = versions[0][0].predict(x)
    assert (right == versions[1][0].predict(x)).all()
    tokens = [home.clients.add(f"client{at}") for at in range(4)]
    shares = [(100, 0), (90, 10), (50, 50), (0, 100), (100, 0), (20, 80), (0, 100)]
    wrong = []
    read = []

    def ask(at, url):
        client = client_of(url, tokens[at], patience=BOUND)
        random = np.random.default_rng(at)
        for turn in itertools.count():
            if at % 2 and turn % 10 == 9:  # a new one
                client.close()
                client = client_of(url, tokens[at], patience=BOUND)
            rows = random.integers(0, len(x), 5)
            found = client.predict("risk", x[rows])
            wrong.extend((at, turn) for _ in np.flatnonzero(found != right[rows]))
            read.append(len(rows))
            if sum(read) >= 1000:
                client.close()
                return

    with Process(home.root, "--threads", "1") as process, ThreadPoolExecutor(len(tokens)) as pool:
        running = [pool.submit(ask, at, process.url) for at in range(len(tokens))]
        for at, (first, second) in enumerate(shares):
            home.aliases.put("risk", {"risk@1": first, "risk@2": second}, home.models()[0])
            wait_until(lambda at=at: sum(read) >= 140 * at or any(each.done() for each in running))
        for each in running:
            each.result(BOUND)
        assert process.stop() == 0
    assert (wrong, sum(read) >= 1000) == ([], True)
    # Clients were moved while they asked, and the log names the model of each answer.
    lines = [each for each in process.lines if each.get("path", "").endswith("/evaluate")]
    count = collections.Counter(each["digest"] for each in lines if each["status"] == 200)
    assert set(count) == {package.digest for _, package in versions}
    assert min(count.values()) > 20
    assert any(each.get("code") == "model_changed" for each in lines)


def test_versions_of_other_parameters_by_turns(tmp_path):
    """Keys are kept for the name without its version: those of another ring are sent anew."""
    home, (rows, *weights) = Home(tmp_path / "home"), np.random.default_rng(0).uniform(-1, 1, (3, 4, 4))
    for at, own in enumerate(weights):
        package_of(own, degree=1024 << at).save(file := tmp_path / f"risk@{at}.hemera-model")
        home.add_model(file)
    token = home.clients.add("alice")
    with serving(home) as running, client_of(running.url, token, patience=BOUND) as client:
        for at in (0, 1, 0, 0, 1):
            np.testing.assert_allclose(client.predict(f"risk@{at}", rows), rows @ weights[at], atol=1e-5)
        assert running.metric("hemera_key_uploads_total", status="201") == 4
