"""A model that is replaced under its name: a client that runs on reads the new one's results, and never by
the description of the old one."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import hemera as hm
from hemera import errors
from hemera.client.problems import ServerError
from hemera.package.local_model import LocalModel
from hemera.serving import export

from ..refusals import raises
from .conftest import BOUND, client_of, rollout, serving
from .server_requests import code, request_of

RANDOM = np.random.default_rng(1)
CENTRES = {name: RANDOM.uniform(-0.8, 0.8, 8) for name in "abcd"}


def data(names):
    x = np.concatenate([CENTRES[each] + 0.1 * RANDOM.standard_normal((40, 8)) for each in names])
    x[0], x[1] = -1, 1  # one range for all, and so the same parameters
    return np.clip(x, -1, 1), np.repeat(list(names), 40)


@pytest.fixture(scope="module")
def classifiers():
    """Version 1 knows a, b and c, version 2 b, c and d; both have the same parameters."""
    found = []
    for names in ("abc", "bcd"):
        x, y = data(names)
        model = LogisticRegression(C=10).fit(x, y)
        found.append((model, hm.compile(model, name="risk", calibrate=x).package))
    assert found[0][1].params == found[1][1].params
    assert found[0][1].digest != found[1][1].digest
    return found


@pytest.mark.parametrize("keeps", ["a folder", "no folder"])
def test_labels_are_those_of_the_model_that_computed(classifiers, tmp_path, keeps):
    (old, first), (new, second) = classifiers
    x = data("bc")[0][::4]
    folder = tmp_path / "own" if keeps == "a folder" else None
    with rollout(tmp_path, first) as (server, token):  # noqa: SIM117  # whose address the client needs
        with client_of(server.running.url, token, folder=folder, patience=BOUND) as client:
            assert (client.predict("risk", x) == old.predict(x)).all()
            secret = client.local("risk").secret_key
            for package, model in ((second, new), (first, old), (second, new)):
                server.start(package)
                assert (client.predict("risk", x) == model.predict(x)).all()
                assert client.local("risk").interface.outputs == package.outputs
            # Parameters and keys are the same: the secret key stays, and nothing was sent again.
            assert client.local("risk").secret_key is secret
            assert server.running.metric("hemera_key_uploads_total", status="201") == 0


def package_of(weights, *, degree=1024, power=1):
    """A small model: (x @ weights) ** power."""
    params = hm.ckks.Parameters.for_circuit(depth=3, scale_bits=40, slots=16, security=None, degree=degree)

    def model(x):
        y = x @ weights
        return y * y if power == 2 else y

    return export(
        model, inputs=len(weights), name="risk", params=params, outputs={"output": weights.shape[1]}
    )


@pytest.mark.parametrize("keeps", ["a folder", "no folder"])
def test_other_rows_keys_and_parameters(tmp_path, keeps):
    """A client goes on whatever has changed: the weights, the number of features, the keys, the ring."""
    folder = tmp_path / "own" if keeps == "a folder" else None
    versions = [(8, {}), (8, {}), (12, {}), (12, {"power": 2}), (12, {"degree": 2048}), (8, {})]
    client = None
    uploads = []
    made = [RANDOM.uniform(-1, 1, (features, 2)) for features, _ in versions]
    packages = [package_of(weights, **more) for weights, (_, more) in zip(made, versions, strict=True)]
    with rollout(tmp_path, packages[0]) as (server, token):
        for weights, package, (_, more) in zip(made, packages, versions, strict=True):
            server.start(package)
            client = client or client_of(server.running.url, token, folder=folder, patience=BOUND)
            rows = RANDOM.uniform(-1, 1, (3, len(weights)))
            want = (rows @ weights) ** more.get("power", 1)
            np.testing.assert_allclose(client.predict("risk", rows), want, atol=1e-5)
            uploads.append(server.running.metric("hemera_key_uploads_total", status="201"))
            # Rows that the model does not take are refused as ever.
            raises(errors.MismatchError, "", client.predict, "risk", rows[:, :5])
    assert client is not None
    client.close()
    # Keys are sent where those there do not do, and only there: for products, and for another ring.
    assert uploads[:2] == [1, 0]
    assert uploads[3:5] == [1, 1]


def test_a_model_that_is_replaced_between_the_parts_of_a_call(tmp_path, home):
    """All parts are of one model: those before are asked for again, and nothing of them is decrypted."""
    weights = [RANDOM.uniform(-1, 1, (8, 2)) for _ in range(2)]
    packages = [package_of(each) for each in weights]
    rows = RANDOM.uniform(-1, 1, (5, 8))
    with rollout(tmp_path, packages[0]) as (server, token):  # noqa: SIM117
        with client_of(server.running.url, token, patience=BOUND) as client:
            client.predict("risk", rows)
            object.__setattr__(client._models["risk"], "limits", {"evaluations": 2})
            steps = []

            def replace(what, done, _):
                if what == "predict":
                    steps.append(done)
                    if len(steps) == 3:
                        server.start(packages[1])

            client._transport.progress = replace
            read = []
            decrypt = LocalModel.decrypt

            def noted(self, files):
                read.append(1)
                return decrypt(self, files)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(LocalModel, "decrypt", noted)
                found = client.predict("risk", rows)
            np.testing.assert_allclose(found, rows @ weights[1], atol=1e-5)
            assert steps[:3] == [0, 2, 4]
            assert len(read) == 1  # the new description's limits take all rows at once
    assert home.root.exists()


def test_a_request_for_another_digest_is_refused_before_its_body_is_read(home, package, local):
    other = ("0" if package.digest[0] != "0" else "1") + package.digest[1:]
    rows = RANDOM.uniform(-1, 1, (2, 8))
    with serving(home) as server, server.http(home.clients.add("alice")) as http:
        for path, method in (("/v1/models/scores/keys", "PUT"), ("/v1/models/scores/evaluate", "POST")):
            with server.connect() as connection:
                token = http.headers["Authorization"]
                head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n"
                head += f"Hemera-Model: {other}\r\nContent-Length: 100000000\r\nExpect: 100-continue\r\n\r\n"
                connection.sendall(head.encode())
                answer = connection.recv(65536)  # and nothing of the body is sent
                assert answer.startswith(b"HTTP/1.1 409"), answer
                while b"model_changed" not in answer:
                    answer += connection.recv(65536)
                assert package.digest.encode() in answer
        keys = local.generate_keys()
        for headers, status in (({}, 201), ({"Hemera-Model": package.digest}, 201)):
            assert http.put("/v1/models/scores/keys", content=keys, headers=headers).status_code == status
        for headers in ({}, {"Hemera-Model": package.digest}):  # older clients name none
            answered = http.post(
                "/v1/models/scores/evaluate", content=request_of(local, rows), headers=headers
            )
            assert answered.status_code == 200
            told = http.get("/v1/models/scores").json()
            assert answered.headers["Hemera-Model"] == package.digest == told["digest"]
        for wrong in (other, package.digest[:16], package.digest.upper(), ""):
            refused = http.post("/v1/models/scores/evaluate", content=b"x", headers={"Hemera-Model": wrong})
            assert code(refused) == (409, "model_changed"), wrong
        assert server.metric("hemera_requests_total", model="scores", status="409") == 5
        assert server.metric("hemera_model_info", digest=package.digest, model="scores") == 1
        assert server.metric("hemera_model_info", digest=other, model="scores") == 0


def test_answers_of_another_model_are_not_decrypted(home, monkeypatch):
    """A proxy takes the header away from requests: the answer's own header shows the other model."""
    rows = np.zeros((1, 8))
    with serving(home) as server, client_of(server.url, home.clients.add("alice")) as client:
        client.predict("scores", rows)
        now = client._models["scores"]
        stale = type(now)(now.name, "0" * 64, now.local, now.limits, now.keys)
        client._models["scores"] = stale
        monkeypatch.setattr(type(now), "headers", property(lambda _: {}))
        read = []
        monkeypatch.setattr(now.local, "decrypt", lambda files: read.append(files))
        client.predict("scores", rows)
        assert read == []
        assert client._models["scores"].digest == now.digest


def test_a_model_that_is_replaced_again_and_again(home, monkeypatch):
    with serving(home) as server, client_of(server.url, home.clients.add("alice")) as client:
        describe = client.describe
        asked = []

        def other(model):
            asked.append(model)
            return {**describe(model), "digest": f"{len(asked):064}"}

        monkeypatch.setattr(client, "describe", other)
        with pytest.raises(ServerError) as refused:
            client.predict("scores", np.zeros((1, 8)))
        assert (refused.value.status, refused.value.code) == (409, "model_changed")
        assert len(asked) == 3


def test_a_server_that_names_no_digest(home, monkeypatch):
    """As a client that describes models by its own means would have it: no header, and no refusal."""
    with serving(home) as server, client_of(server.url, home.clients.add("alice")) as client:
        describe = client.describe
        monkeypatch.setattr(
            client, "describe", lambda model: {k: v for k, v in describe(model).items() if k != "digest"}
        )
        assert client.predict("scores", np.zeros((1, 8))).shape == (1, 3)
        assert client._models["scores"].headers == {}
