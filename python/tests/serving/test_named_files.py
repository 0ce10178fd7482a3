"""Files of requests and answers name their model: another one of its name does not compute them, and its
description does not read them."""

import json

import numpy as np
import pytest

import hemera as hm
from hemera import errors
from hemera.cli import main
from hemera.inputs.source import MAGIC, model_of, named, opened
from hemera.package.local_model import LocalModel
from hemera.serving import Interface, export

from ..interop.foreign_files import OpenFheFiles
from ..refusals import raises
from .conftest import expected, serving
from .server_requests import EVALUATE, KEYS, code
from .test_replaced_models import classifiers, data

__all__ = ["classifiers"]

RANDOM = np.random.default_rng(4)
ROWS = RANDOM.uniform(-1, 1, (3, 8))
ANY = ("--any-security",)


def run(*words):
    return main([str(word) for word in words])


class Files:
    """The files of a client and of the one who computes, by the command line."""

    def __init__(self, folder):
        self._folder = folder

    def __getattr__(self, name):
        return self._folder / name

    def describe(self, package, name):
        model, told = self._folder / f"{name}.hemera-model", self._folder / f"{name}.json"
        package.save(model)
        assert run("run", model, "--describe", told) == 0
        return model, told

    def encrypt(self, told, rows):
        np.save(self._folder / "rows.npy", rows)
        assert run("client", "keys", told, self.keys, "--folder", self.own, *ANY) == 0
        assert (
            run(
                "client", "encrypt", told, self._folder / "rows.npy", self.request, "--folder", self.own, *ANY
            )
            == 0
        )

    def compute(self, model, *options):
        return run(
            "run", model, self.keys, self.request, self.answer, "--device", "cpu", "--threads", 1, *options
        )

    def decrypt(self, told, count):
        return run(
            "client", "decrypt", told, self.answer, self.results, "--rows", count, "--folder", self.own, *ANY
        )

    @property
    def results(self):
        return self._folder / "results.csv"


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


def test_files_of_one_version_are_not_computed_or_read_by_another(classifiers, files, capsys):
    (old, first), (new, second) = classifiers
    x = data("bc")[0][::8]
    old_model, old_told = files.describe(first, "old")
    new_model, new_told = files.describe(second, "new")
    files.encrypt(old_told, x)
    assert files.compute(new_model) == 1
    told = capsys.readouterr().err
    assert first.digest in told
    assert second.digest in told
    assert not files.answer.exists()
    for model, description, other, judge in (
        (old_model, old_told, new_told, old),
        (new_model, new_told, old_told, new),
    ):
        files.encrypt(description, x)
        assert files.compute(model) == 0
        assert files.decrypt(other, len(x)) == 1
        assert "the answer is of the model" in capsys.readouterr().err
        assert not files.results.exists()
        assert files.decrypt(description, len(x)) == 0
        assert files.results.read_text().split()[-len(x) :] == list(judge.predict(x))
        files.results.unlink()


def test_files_that_name_no_model_are_taken_for_ever(package, files):
    """Files of 0.2, and files for a description of 0.2."""
    model, told = files.describe(package, "scores")
    description = json.loads(told.read_text())
    assert description.pop("takes_named_files") is True
    older = files.older
    older.write_text(json.dumps(description))
    files.encrypt(older, ROWS)
    assert files.request.read_bytes()[:8] != MAGIC
    assert files.compute(model) == 0
    assert files.answer.read_bytes()[:8] != MAGIC
    for each in (told, older):
        assert files.decrypt(each, len(ROWS)) == 0
        np.testing.assert_allclose(np.loadtxt(files.results, delimiter=","), expected(ROWS), atol=1e-5)
    # One that names a model is read by a description without a digest.
    files.encrypt(told, ROWS)
    assert files.request.read_bytes()[:8] == MAGIC
    assert files.compute(model) == 0
    assert files.answer.read_bytes()[:8] == MAGIC
    del description["digest"]
    older.write_text(json.dumps(description))
    assert files.decrypt(older, len(ROWS)) == 0
    np.testing.assert_allclose(np.loadtxt(files.results, delimiter=","), expected(ROWS), atol=1e-5)


def test_each_file_of_several_names_the_model(files, tmp_path):
    params = hm.bfv.Parameters.from_bits(
        degree=1024, plain_modulus=12289, prime_bits=[45, 45], special_bits=[49], security=None
    )
    versions = [
        export(lambda x, y, n=n: {"sum": x + n * y, "more": x - y}, inputs=[4, 4], name="both", params=params)
        for n in (1, 2)
    ]
    first, second = (
        LocalModel(Interface.from_dict(each.describe()), security=None, digest=each.digest)
        for each in versions
    )
    arrays, _ = first.encode([np.arange(4), np.arange(4) + 1])
    last = first.interface.inputs[-1].name
    mixed = {**first.encrypt(arrays, names_model=True), last: second.encrypt(arrays, names_model=True)[last]}
    assert {model_of(each)[0] for each in mixed.values()} == {each.digest for each in versions}
    (tmp_path / "request").mkdir()
    for name, each in mixed.items():
        (tmp_path / "request" / f"{name}.hemera").write_bytes(each)
    (tmp_path / "keys").write_bytes(first.generate_keys())
    for version in versions:
        model, _ = files.describe(version, "both")
        assert files.compute(model) == 1
    (tmp_path / "request" / f"{last}.hemera").write_bytes(first.encrypt(arrays, names_model=True)[last])
    model, _ = files.describe(versions[0], "both")
    assert files.compute(model) == 0
    answer = {each.stem: each.read_bytes() for each in files.answer.iterdir()}
    assert {model_of(each)[0] for each in answer.values()} == {versions[0].digest}
    found = first.decode(first.decrypt(answer), True, None)
    np.testing.assert_array_equal(found["sum"][:4], np.arange(4) * 2 + 1)
    raises(errors.MismatchError, "the answer is of the model", second.decrypt, answer)


def test_a_server_computes_files_that_name_its_model(home, package):
    """As `curl` sends the files of `hemera client encrypt`."""
    local = LocalModel(package.interface, security=None, digest=package.digest)
    (array,), _ = local.encode(ROWS)
    (body,) = local.encrypt([array], names_model=True).values()
    other = named(model_of(body)[1], package.digest[::-1])
    with serving(home) as server, server.http(home.clients.add("alice")) as http:
        assert http.put(KEYS, content=local.generate_keys()).status_code == 201
        answer = http.post(EVALUATE, content=body)
        assert answer.status_code == 200
        assert model_of(answer.content)[0] == answer.headers["Hemera-Model"] == package.digest
        np.testing.assert_allclose(
            local.decode(local.decrypt({"output": answer.content}), False, len(ROWS)),
            expected(ROWS),
            atol=1e-5,
        )
        assert code(http.post(EVALUATE, content=other)) == (409, "model_changed")
        assert code(http.post(EVALUATE, content=body[:12] + b"\xff" + body[13:])) == (422, "format")
        assert code(http.post(EVALUATE, content=body[:47])) == (422, "format")
        assert code(http.post(EVALUATE, content=body[:48])) == (422, "format")
        secret = named(bytes(local.secret_key), package.digest)
        assert code(http.post(EVALUATE, content=secret)) == (422, "secret_key")
        plain = http.post(EVALUATE, content=model_of(body)[1])
        assert plain.status_code == 200
        assert model_of(plain.content)[0] is None


def test_the_name_before_a_file():
    digest, file = "0123456789abcdef" * 4, b"a file"
    data_of = named(file, digest)
    assert len(data_of) == len(file) + 48
    assert model_of(data_of) == (digest, file)
    assert model_of(named(b"", digest)) == (digest, b"")
    assert model_of(file) == (None, file)
    assert model_of(b"") == (None, b"")
    assert opened({"x": data_of, "y": file}) == ({"x": file, "y": file}, {digest})
    for at in range(8, 48):
        damaged = bytearray(data_of)
        damaged[at] ^= 1
        raises(errors.FormatError, "", model_of, bytes(damaged))
    for size in (8, 40, 47):
        raises(errors.FormatError, "", model_of, data_of[:size])


def test_inspect_tells_the_model(package):
    local = LocalModel(package.interface, security=None, digest=package.digest)
    (array,), _ = local.encode(ROWS)
    (plain,), (body,) = (local.encrypt([array], names_model=each).values() for each in (False, True))
    found, inner = hm.inspect(body), hm.inspect(plain)
    assert isinstance(found, type(inner))
    assert found.fields == {"model": package.digest, **inner.fields}
    assert (found.kind, found.bytes, inner.bytes) == ("ciphertext", len(body), len(plain))
    assert len(body) == len(plain) + 48
    raises(errors.FormatError, "", hm.inspect, body[:40])


def test_files_of_other_libraries_are_for_the_digest_that_is_asked_for(files, capsys):
    theirs = OpenFheFiles("ckks-flexibleauto")
    read, session, secret = theirs.bytes_of, theirs.session, theirs.secret
    session.load_keys(relinearization=read("eval_mult_key.bin"))
    x = session.load_ciphertext(read("ct_a.bin"))
    values = session.context.decrypt(x, secret)
    packages = [
        export(lambda x, n=n: x * x + n, inputs=x.slots, name="m", params=session.params) for n in (0.5, 1.5)
    ]
    files.keys.mkdir()
    (files.keys / "context").write_bytes(read("cryptocontext.bin"))
    (files.keys / "relinearization").write_bytes(read("eval_mult_key.bin"))
    files.request.write_bytes(read("ct_a.bin"))
    model, _ = files.describe(packages[0], "m")
    assert files.compute(model, "--digest", packages[1].digest) == 1
    assert packages[1].digest in capsys.readouterr().err
    for options in (("--digest", packages[0].digest), ()):
        assert files.compute(model, *options) == 0
        found = session.context.decrypt(session.load_ciphertext(files.answer.read_bytes()), secret)
        np.testing.assert_allclose(found, values**2 + 0.5, atol=1e-5)
