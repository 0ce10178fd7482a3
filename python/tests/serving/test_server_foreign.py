"""Clients of SEAL and OpenFHE: their files as they are, on files that the libraries wrote."""

import json

import numpy as np
import pytest

import hemera as hm
from hemera.client.wire import write_body
from hemera.interop import seal
from hemera.objects.devices import DeviceOptions
from hemera.serving import export
from hemera.serving.home import Home
from hemera.serving.session_cache import SessionCache
from hemera.serving.sessions import Loader

from ..interop.foreign_files import VECTORS, OpenFheFiles
from .conftest import serving


def home_with(folder, package):
    package.save(folder / "m.hemera-model")
    home = Home(folder / "home")
    home.add_model(folder / "m.hemera-model")
    return home


def put(http, files):
    kind, pieces = write_body(files)
    return http.put("/v1/models/m/keys", content=b"".join(pieces), headers={"Content-Type": kind})


@pytest.mark.parametrize("whose", ["Hemera's", "the client's"])
def test_a_client_of_seal(tmp_path, whose):
    """With a model for Hemera's own parameters, and one that was exported for the client's."""
    files = VECTORS / "seal" / "bfv"
    session = seal.Session(files / "parms.zstd.seal", device="cpu")

    def squares(x):
        return x * x + 1

    degree = session.params.degree
    plain = json.loads((files / "values.json").read_text())["parameters"]["plain_modulus"]
    params = session.params
    if whose == "Hemera's":
        params = hm.bfv.Parameters.from_bits(
            degree=degree, plain_modulus=plain, prime_bits=[45, 45], special_bits=[49], security=None
        )
    home = home_with(tmp_path, export(squares, inputs=degree, name="m", params=params))
    keys = {
        "context": (files / "parms.zlib.seal").read_bytes(),
        "relinearization": (files / "relin_keys.seeded.seal").read_bytes(),
    }
    secret = session.load_secret_key(files / "secret_key.seal")
    x = (files / "ct_a.zlib.seal").read_bytes()
    values = session.context.decrypt(session.load_ciphertext(x), secret)
    with serving(home) as server, server.http(home.clients.add("alice")) as http:
        for name in ("relinearization", "galois", "public_key", "context"):
            wrong = {**keys, name: (files / "secret_key.seal").read_bytes()}
            response = put(http, wrong)
            assert response.status_code == 422
            if name != "context":  # which a secret key is not, so that it tells of none
                assert response.json()["error"]["code"] == "secret_key"
        assert put(http, {"context": keys["context"]}).status_code == 422
        assert put(http, {**keys, "relinearization": b"rubbish"}).status_code == 422
        for data in (b"", b"rubbish", b"\x5e\xa1\x10\x04\x01\x00\x00\x00" + b"\xff" * 8):
            rubbish = put(http, {"context": data, "relinearization": data})
            assert (rubbish.status_code, rubbish.json()["error"]["code"]) == (422, "format")
        missing = {"context": keys["context"], "galois": (files / "galois_keys.seeded.seal").read_bytes()}
        assert put(http, missing).json()["error"]["code"] == "missing_key"
        response = put(http, keys)
        assert response.status_code == 201
        assert response.json()["library"] == "SEAL"
        for _ in range(2):
            answer = http.post("/v1/models/m/evaluate", content=x)
            assert answer.status_code == 200
            found = session.context.decrypt(session.load_ciphertext(answer.content), secret)
            np.testing.assert_array_equal((found - (values.astype(object) ** 2 + 1)) % plain, 0)
            # Whoever reads it can see that it is the model's whose description it has.
            assert answer.headers["Hemera-Model"] == http.get("/v1/models/m").json()["digest"]
            other = {"Hemera-Model": answer.headers["Hemera-Model"][::-1]}
            assert http.post("/v1/models/m/evaluate", content=x, headers=other).status_code == 409
        assert server.metric("hemera_batch_requests_count", model="m") == 2
        # A file of Hemera's, or of other parameters, is not for this session.
        assert http.post("/v1/models/m/evaluate", content=b"\x89HEM").status_code == 422
        other = (VECTORS / "seal" / "ckks" / "ct_b.seal").read_bytes()
        assert http.post("/v1/models/m/evaluate", content=other).status_code == 422
    # After a restart the keys are there.
    with serving(home) as server, server.http(home.clients.add("bob")) as http:
        assert len(server.service.store) == 1
        assert http.post("/v1/models/m/evaluate", content=x).status_code == 409


def test_a_client_of_openfhe(tmp_path):
    files = OpenFheFiles("ckks-flexibleauto")
    read, session, secret = files.bytes_of, files.session, files.secret
    session.load_keys(relinearization=read("eval_mult_key.bin"))
    x = session.load_ciphertext(read("ct_a.bin"))
    values = session.context.decrypt(x, secret)

    def squares(x):
        return x * x + 0.5

    home = home_with(tmp_path, export(squares, inputs=x.slots, name="m", params=session.params))
    keys = {"context": read("cryptocontext.bin"), "relinearization": read("eval_mult_key.bin")}
    with serving(home) as server, server.http(home.clients.add("alice")) as http:
        response = put(http, {**keys, "galois": read("secret_key.bin")})
        assert response.json()["error"]["code"] == "secret_key"
        response = put(http, keys)
        assert response.status_code == 201, response.text
        assert response.json()["library"] == "OpenFHE"
        answer = http.post("/v1/models/m/evaluate", content=read("ct_a.bin"))
        assert answer.status_code == 200, answer.text
        found = session.context.decrypt(session.load_ciphertext(answer.content), secret)
        np.testing.assert_allclose(found, values**2 + 0.5, atol=1e-5)
        response = http.post("/v1/models/m/evaluate", content=read("secret_key.bin"))
        assert response.status_code == 422


def test_damaged_texts_of_openfhe(tmp_path):
    """A name in a file that is no text is damage of the client's file, and no failure of the server."""
    files = OpenFheFiles("bfv")
    params = files.session.params
    home = home_with(tmp_path, export(lambda x: x + 1, inputs=params.degree, name="m", params=params))
    names = {"context": "cryptocontext.bin", "relinearization": "eval_mult_key.bin"}
    keys = {role: files.bytes_of(name) for role, name in names.items()}
    good = files.bytes_of("ct_a.bin")
    at = good.index(b"CiphertextImpl") if b"CiphertextImpl" in good else 45
    with serving(home) as server, server.http(home.clients.add("alice")) as http:
        assert put(http, keys).status_code == 201
        assert http.post("/v1/models/m/evaluate", content=good).status_code == 200
        for place in (at, 45):
            damaged = good[:place] + b"\xff" + good[place + 1 :]
            response = http.post("/v1/models/m/evaluate", content=damaged)
            assert (response.status_code, response.json()["error"]["code"]) == (422, "format"), response.text
        for name, data in keys.items():
            at = data.index(b"lbcrypto::") + 2
            response = put(http, {**keys, name: data[:at] + b"\xff" + data[at + 1 :]})
            assert response.status_code == 422, response.text


def test_what_a_foreign_client_holds_counts():
    """Its keys as its context has them, the weights that are encoded for it, and the context's tables."""
    files = VECTORS / "seal" / "bfv"
    session = seal.Session(files / "parms.zstd.seal", device="cpu")
    degree = session.params.degree

    def weighted(x):
        return x * np.arange(degree) + 1

    package = export(weighted, inputs=degree, name="m", params=session.params)
    own = session.load_keys(relinearization=files / "relin_keys.seeded.seal").memory_bytes
    names = {"context": "parms.zstd.seal", "relinearization": "relin_keys.seeded.seal"}
    paths = {name: files / file for name, file in names.items()}
    found = Loader(DeviceOptions("cpu", 1)).load(package, "SEAL", paths)
    primes = {prime for base in (*session.params.primes, session.params.special_primes) for prime in base}
    held = found.memory_bytes
    assert held >= own + 32 * degree * len(primes)
    request = found.load({"x": (files / "ct_a.zlib.seal").read_bytes()})
    found.run([request.values])
    del request
    assert found.memory_bytes >= held + 8 * degree  # the encoded weights
    cache = SessionCache(2 * held)
    cache.put("alice", "m", 1, Loader(DeviceOptions("cpu", 1)).load(package, "SEAL", paths))
    cache.put("bob", "m", 1, found)
    assert len(cache) == 1  # two fitted before the weights were there
