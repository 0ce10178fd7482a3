"""Maps of models: a client of some lines of NumPy, which knows no layout, computes with them."""

import base64
import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import hemera as hm
from hemera import _core
from hemera.errors import ParameterError
from hemera.package.maps import client_maps
from hemera.search.maps import search_maps
from hemera.serving.settings import Settings

from ..refusals import raises
from ..search.threshold_cases import in_small_rings
from .conftest import serving
from .server_requests import code

RNG = np.random.default_rng(7)
MATRIX = RNG.normal(size=(8, 8)) / 4
TABLE = RNG.normal(size=(60, 5)) * [1, 2, 3, 4, 5] + [0, 1, 2, 3, 4]
KINDS = TABLE @ [3, -1, 1, 0, 0.5] > 2
ORIGIN = "https://app.example.org"


def words(text):
    return np.frombuffer(base64.b64decode(text), "<i4")


def by_maps(package, *given):
    """The results of arrays, each of one sample or of as many rows as a request has."""
    told = json.loads(json.dumps(client_maps(package.interface)))
    ctx = hm.Context(hm.load_parameters(base64.b64decode(told["parameters"])), device="cpu")
    secret = ctx.generate_secret_key()
    needs, _ = _core.load_needed_keys(ctx._native, base64.b64decode(told["keys"]))
    keys = hm.Keys(_core.generate_needed_keys(secret._native, needs), ctx)
    ciphertexts = []
    for spec, array in zip(told["inputs"], given, strict=True):
        flat = np.asarray(array).reshape(-1, len(spec["factors"]))
        flat = (flat - spec["numbers"]) / spec["factors"] if package.scheme == "ckks" else flat
        if spec["clip"] is not None:
            flat = np.clip(flat, -spec["clip"], spec["clip"])
        for each in spec["ciphertexts"]:
            places = words(each["slots"]).reshape(max(1, each["batch"]), -1)
            places = np.tile(places, each["count"] // places.shape[1])
            slots = np.where(places < 0, 0, flat.ravel()[places])
            ciphertexts.append(
                ctx.encrypt(ctx.encode(slots if each["batch"] else slots[0], level=each["level"]), secret)
            )
    answers = package.prepare(ctx).run(keys, ciphertexts)
    values = {
        spec.name: np.atleast_2d(np.real(ctx.decrypt(answer, secret)))
        for spec, answer in zip(package.outputs, answers, strict=True)
    }
    found = []
    for out in told["outputs"]:
        slots, places = np.concatenate([values[name] for name in out["ciphertexts"]]), words(out["places"])
        flat = slots[places // out["width"], places % out["width"]]
        shape = out["shape"] if told["rows"] is None else [told["rows"], *out["shape"]]
        found.append((flat * out["factors"][0] + out["numbers"][0]).reshape(shape))
    return found


def test_numbers_of_one_sample():
    plan = hm.compile(lambda x: (x.mean(), x.var()), hm.ArraySpec((500,), range=(0, 1)))
    x = RNG.uniform(0, 1, 500)
    np.testing.assert_allclose(by_maps(plan.package, x), [x.mean(), x.var()], atol=1e-5)


def test_several_arrays_and_a_shape():
    plan = hm.compile(lambda x, y: x @ MATRIX + y.T, *(hm.ArraySpec((8, 8), range=(-1, 1)) for _ in range(2)))
    x, y = RNG.uniform(-1, 1, (2, 8, 8))
    (found,) = by_maps(plan.package, x, y)
    np.testing.assert_allclose(found, x @ MATRIX + y.T, atol=1e-5)


@pytest.mark.parametrize(("layout", "count"), [("slots", 64), ("ciphertexts", 2048)])
def test_samples_of_one_request(layout, count):
    samples = RNG.uniform(-1, 1, (count, 8))
    plan = hm.compile(
        lambda x: (x @ MATRIX) ** 2, hm.ArraySpec((8,), range=(-1, 1)), samples=count, layout=layout
    )
    (found,) = by_maps(plan.package, samples)
    np.testing.assert_allclose(found, (samples @ MATRIX) ** 2, atol=1e-4)


def test_whole_numbers():
    plan = hm.compile(lambda x: (x * x).sum(), hm.ArraySpec((16,), range=(-50, 50)), scheme="bfv")
    x = RNG.integers(-50, 51, 16)
    assert plan.package.scheme != "ckks"
    assert by_maps(plan.package, x) == [(x * x).sum()]


def test_rows_of_an_estimator_are_scaled_and_read():
    model = LogisticRegression().fit(TABLE, np.where(KINDS, "yes", "no"))
    package = hm.compile(model, calibrate=TABLE).package
    told = client_maps(package.interface)
    rows = TABLE[np.arange(told["rows"]) % len(TABLE)]
    scores = by_maps(package, rows)[0]
    np.testing.assert_allclose(scores.ravel(), model.decision_function(rows), atol=1e-3)
    assert told["outputs"][0]["read"] == "sign"
    assert told["outputs"][0]["labels"] == ["no", "yes"]


def test_models_that_need_more_are_refused_with_the_way_out():
    plan = hm.compile(lambda x: x.mean(), hm.ArraySpec((8,), range=(0, 1)), share=True)
    with pytest.raises(ParameterError, match=r"decrypted for others, which .* use hm.Client"):
        client_maps(plan.package.interface)


def test_a_server_gives_them_to_its_clients(home):
    token = home.clients.add("alice")
    with serving(home) as server, server.http(token) as http:
        told = http.get("/v1/models/scores/maps").json()
        package = server.service.model("scores", "alice").package
        assert told == {**client_maps(package.interface), "digest": package.digest}
        assert code(http.get("/v1/models/no/maps")) == (404, "unknown_model")
        assert http.get("/v1/models/scores/maps", headers={"Authorization": "Bearer x"}).status_code == 401


def preflight(http, origin):
    asked = {"Origin": origin, "Access-Control-Request-Method": "PUT"}
    return http.options(
        "/v1/models/scores/keys",
        headers={**asked, "Access-Control-Request-Headers": "authorization,content-type,hemera-model"},
    )


def test_pages_of_named_origins_may_ask(home):
    token = home.clients.add("alice")
    with serving(home, origins=[ORIGIN]) as server, server.http(token) as http:
        answer = preflight(http, ORIGIN)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == ORIGIN
        assert "PUT" in answer.headers["access-control-allow-methods"]
        assert "access-control-allow-credentials" not in answer.headers
        told = http.get("/v1/models", headers={"Origin": ORIGIN}).headers
        assert told["access-control-allow-origin"] == ORIGIN
        assert "Hemera-Keys" in told["access-control-expose-headers"]
        for other in ("https://app.example.org.evil.com", "http://app.example.org", "null"):
            assert preflight(http, other).status_code == 400
            told = http.get("/v1/models", headers={"Origin": other}).headers
            assert "access-control-allow-origin" not in told


def test_no_page_may_ask_where_no_origin_is_named(home):
    with serving(home) as server, server.http(home.clients.add("alice")) as http:
        assert preflight(http, ORIGIN).status_code == 405
        assert "access-control-allow-origin" not in http.get("/v1/models", headers={"Origin": ORIGIN}).headers


@pytest.mark.parametrize("origin", ["*", "app.example.org", "https://app.example.org/", "https://a/b", ""])
def test_what_is_no_origin_is_refused(origin):
    raises(ParameterError, "an origin is a scheme and a host", Settings, origins=[origin])


@pytest.mark.parametrize("answers", [None, hm.search.Threshold(), hm.search.Top()], ids=["", "near", "top"])
def test_maps_of_an_index_have_its_keys(answers):
    with in_small_rings():
        settings = hm.search.Index(MATRIX, answers=answers).settings
        client, told = hm.search.Client(settings), json.loads(json.dumps(search_maps(settings)))
        ctx = client.secret_key.context
        keys = ctx.load(client.keys)
    needs, public_key = _core.load_needed_keys(ctx._native, base64.b64decode(told["keys"]))
    assert {need.galois_element for need in needs if need.kind == "galois"} == set(keys.galois_elements)
    assert ([need.kind for need in needs].count("relinearization"), public_key) == (bool(answers), False)
    assert told["key_bytes"] <= len(client.keys) <= told["key_bytes"] + 1000 * len(needs) + 1000
