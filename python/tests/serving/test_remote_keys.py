"""Keys of clients at a server: when they are sent, and rotation of the secret key."""

import dataclasses
import hashlib
import json
import re

import httpx
import numpy as np
import pytest

import hemera as hm
from hemera import errors
from hemera._files import read_files, write_files
from hemera.client.problems import ServerError
from hemera.client.remote_keys import RemoteKeys
from hemera.errors import MismatchError, SecurityError
from hemera.package.local_model import LocalModel
from hemera.package.rotation import reencrypted
from hemera.package.sharing import Sharing
from hemera.serving import export

from ..refusals import raises
from .conftest import expected
from .test_named_files import ANY, ROWS, Files, run

KEYS = b"evaluation keys"
DIGEST = hashlib.sha256(b"4:keys" + KEYS).hexdigest()


class Server:
    """A transport, and what there is behind it."""

    def __init__(self, digest=None):
        self.digest = digest
        self.seen = []
        self.url = "http://x"
        self.held = 0
        self.progress = lambda *_: None

    def request(self, method, path, body=None, **options):
        self.seen.append(method)
        if method == "PUT":
            assert re.fullmatch("/v1/models/m/keys/[0-9a-f]{32}", path)
            begin, headers, pieces = body()
            data = b"".join(pieces)
            assert options == {"headers": {"Hemera-Model": "ab"}}
            self.digest = hashlib.sha256(b"4:keys" + data).hexdigest()
            told = {"Upload-Offset": "0", "Hemera-Keys": self.digest, "Content-Length": str(len(data))}
            assert (begin, headers) == (0, told)
            return httpx.Response(201, request=httpx.Request("PUT", "http://x", headers=headers))
        assert path == "/v1/models/m/keys"
        if self.digest is None:
            raise ServerError("there are none", 404, "no_keys")
        self.digest = None
        return None

    def json(self, method, path):
        if path.count("/") == 5:  # no bytes of any upload
            return {"bytes": self.held}
        assert (method, path) == ("GET", "/v1/models/m/keys")
        self.seen.append("GET")
        if self.digest is None:
            raise ServerError("there are none", 404, "no_keys")
        return {"digest": self.digest}


def keys_of(server, secret=b"secret", expected=0, **options):
    given = {"limit": None, "folder": None, "headers": {"Hemera-Model": "ab"}, **options}
    make = lambda write, _: write(KEYS)  # noqa: E731
    return RemoteKeys(server, "/v1/models/m", "m", secret, make, expected=lambda: expected, **given)


def answers(*told):
    """Requests whose answers name these keys, or fail."""
    left = list(told)

    def send():
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return f"{len(left)} left", found

    return send


NONE = ServerError("there are none", 409, "no_keys")
LACKING = errors.MissingKeyError("other keys")
LOW = errors.LevelError("keys of a lower level")
ACTIONS = {
    "ensure": lambda keys: keys.ensure(),
    "anew": lambda keys: keys.ensure(anew=True),
    "remove": lambda keys: keys.remove(),
    "own": lambda keys: keys.answer(answers(DIGEST)),
    "untold": lambda keys: keys.answer(answers(None)),
    "lost": lambda keys: keys.answer(answers(NONE, DIGEST)),
    "others": lambda keys: keys.answer(answers("cd", "cd", DIGEST)),
    "others thrice": lambda keys: keys.answer(answers("cd", "cd", "cd")),
    "lacking": lambda keys: keys.answer(answers(LACKING, DIGEST)),
    "low": lambda keys: keys.answer(answers(LOW, DIGEST)),
    "busy": lambda keys: keys.answer(answers(ServerError("busy", 503, "busy"))),
}


@pytest.mark.parametrize(
    ("there", "noted", "steps", "seen"),
    [
        # What the server has, whether another process noted its own; then the requests, and the error.
        (None, False, ["ensure", "ensure"], "PUT"),
        (None, True, ["ensure", "own"], "GET PUT"),
        (DIGEST, False, ["ensure"], "PUT"),  # nobody knows whose they are
        (DIGEST, True, ["ensure", "own", "untold"], "GET"),
        ("cd", True, ["ensure"], "GET PUT"),
        (DIGEST, True, ["anew"], "PUT"),
        (None, False, ["ensure", "remove", "ensure"], "PUT DELETE GET PUT"),
        (None, False, ["ensure", "remove", "remove"], "PUT DELETE DELETE no_keys"),
        (None, False, ["ensure", "lost"], "PUT GET"),
        (None, False, ["ensure", "others"], "PUT GET GET"),
        (None, False, ["ensure", "others thrice"], "PUT GET GET other_keys"),
        (None, False, ["ensure", "lacking"], "PUT MissingKeyError"),  # they were made for this model
        (DIGEST, True, ["ensure", "lacking"], "GET PUT"),  # for a model before
        (DIGEST, True, ["ensure", "low", "own"], "GET PUT"),
        (None, False, ["ensure", "busy"], "PUT busy"),
    ],
)
def test_keys_are_sent_where_the_server_has_none_of_this_secret_key(tmp_path, there, noted, steps, seen):
    if noted:
        keys_of(Server(), folder=tmp_path).ensure()
    server = Server(there)
    keys = keys_of(server, folder=tmp_path)
    for step in steps:
        try:
            ACTIONS[step](keys)
        except errors.Error as error:
            server.seen.append(error.code if isinstance(error, ServerError) else type(error).__name__)
    assert " ".join(server.seen) == seen


@pytest.mark.parametrize("limit", [len(KEYS) - 1, len(KEYS), None])
def test_no_more_bytes_are_sent_than_the_server_takes(tmp_path, limit):
    server = Server()
    keys = keys_of(server, limit=limit, folder=tmp_path)
    if limit != len(KEYS) - 1:
        keys.ensure()
        assert server.digest == DIGEST
        return
    for _ in range(2):
        with pytest.raises(ServerError, match=f"of 'm' have {len(KEYS)} bytes, .* takes {limit}") as refused:
            keys.ensure()
        assert (refused.value.status, refused.value.code) == (413, "too_large")
    assert server.seen == []


@pytest.mark.parametrize("secret", [b"secret", b"another"])
def test_keys_of_a_model_before_are_known_by_their_secret_key(secret):
    before = keys_of(Server())
    before.ensure()
    server = Server(DIGEST)
    keys_of(server, secret, before=before).ensure()
    assert server.seen == (["GET"] if secret == b"secret" else ["PUT"])


def test_the_newest_thousand_are_noted(tmp_path):
    keys = keys_of(Server(), folder=tmp_path)
    (path,) = [keys._notes]
    assert path is not None
    path.write_text(json.dumps({"digests": [str(at) for at in range(1000)]}))
    keys._note("new")
    assert json.loads(path.read_bytes())["digests"] == [*map(str, range(1, 1000)), "new"]
    for damaged in (b"", b"[]", b"{}", b'{"digests": 5}', b"\xff"):
        path.write_bytes(damaged)
        server = Server(DIGEST)
        keys_of(server, folder=tmp_path).ensure()
        assert server.seen == ["PUT"]  # then they are sent again
        assert json.loads(path.read_bytes()) == {"digests": [DIGEST]}


@pytest.mark.parametrize("held", [-1, len(KEYS) + 1, 1 << 80, "0", 1.0, None, True, [0]])
def test_a_server_that_has_more_than_there_is_is_not_believed(held):
    server = Server()
    server.held = held
    raises(errors.FormatError, "says that it has", keys_of(server).ensure)
    assert server.seen == []


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


def secret_of(files):
    (path,) = files.own.glob("secret-*")
    return path.read_bytes()


def rotate(files, told, to):
    return run("client", "rotate", told, to, "--folder", files.own, *ANY)


def test_answers_and_requests_of_the_old_key_are_of_the_new_one(package, files):
    model, told = files.describe(package, "scores")
    files.encrypt(told, ROWS)
    assert files.compute(model) == 0
    kept, asked, secrets = files.answer.read_bytes(), files.request.read_bytes(), {secret_of(files)}
    for number in (1, 2):  # the second turns what the first has turned
        assert rotate(files, told, switching := files.switching.with_suffix(f".{number}")) == 0
        secrets.add(secret_of(files))
        assert len(secrets) == number + 1
        files.answer.write_bytes(kept)
        assert files.decrypt(told, len(ROWS)) == 1, "the old key is gone"
        assert run("client", "reencrypt", told, switching, files.answer, files.answer) == 0
        assert files.decrypt(told, len(ROWS)) == 0
        np.testing.assert_allclose(np.loadtxt(files.results, delimiter=","), expected(ROWS), atol=1e-4)
        kept = files.answer.read_bytes()
        files.request.write_bytes(asked)
        assert run("client", "reencrypt", told, switching, files.request, files.request) == 0
        asked = files.request.read_bytes()
    assert run("client", "keys", told, files.keys, "--folder", files.own, *ANY) == 0
    assert files.compute(model) == 0
    assert files.decrypt(told, len(ROWS)) == 0
    np.testing.assert_allclose(np.loadtxt(files.results, delimiter=","), expected(ROWS), atol=1e-4)


def test_rotation_with_128_bits_of_security(files):
    weights, rows = np.linspace(-1, 1, 24).reshape(8, 3), np.random.default_rng(2).uniform(-1, 1, (5, 8))
    made = hm.compile(lambda x: x @ weights, hm.ArraySpec(8, range=(-1, 1)), samples=8, name="scores")
    model, told = files.describe(made.package, "scores")
    np.savetxt(files.rows, rows, delimiter=",")
    for words in (("keys", files.keys), ("encrypt", files.rows, files.request), ("rotate", files.switching)):
        assert run("client", words[0], told, *words[1:], "--folder", files.own) == 0
        assert words[0] != "encrypt" or files.compute(model) == 0
    assert run("client", "reencrypt", told, files.switching, files.answer, files.answer) == 0
    assert files.decrypt(told, len(rows)) == 0
    np.testing.assert_allclose(np.loadtxt(files.results, delimiter=","), rows @ weights, atol=1e-4)


def test_all_files_of_an_exact_answer_are_turned(files):
    params = hm.bfv.Parameters.from_bits(
        degree=1024, plain_modulus=12289, prime_bits=[45, 45], special_bits=[49], security=None
    )
    package = export(lambda x, y: {"product": x * y, "sum": x + y}, inputs=[4, 4], name="both", params=params)
    model, told = files.describe(package, "both")
    x, y = np.random.default_rng(1).integers(0, 70, (2, 4))
    assert run("client", "keys", told, files.keys, "--folder", files.own, *ANY) == 0
    local = LocalModel(package.interface, folder=files.own, security=None)
    arrays, _ = local.encode([x, y])
    write_files(files.request, local.encrypt(arrays))
    assert files.compute(model) == 0
    assert rotate(files, told, files.switching) == 0
    assert run("client", "reencrypt", told, files.switching, files.answer, files.turned) == 0
    local = LocalModel(package.interface, folder=files.own, security=None)
    found = local.decrypt(read_files(files.turned, ["product", "sum"]))
    for values, wanted in zip(found, (x * y, x + y), strict=True):
        np.testing.assert_array_equal(values[0][:4], wanted)


def test_a_rotation_that_fails_leaves_the_secret_key(package, files, capsys):
    _, told = files.describe(package, "scores")
    files.encrypt(told, ROWS)
    before = secret_of(files)
    files.switching.write_bytes(b"another")
    assert rotate(files, told, files.switching) == 1
    assert "name a new one" in capsys.readouterr().err
    assert rotate(files, told, files.switching / "below") == 1
    assert run("client", "rotate", told, files.other, "--folder", files.own) == 1
    assert "security" in capsys.readouterr().err
    assert secret_of(files) == before
    assert files.switching.read_bytes() == b"another"
    assert not files.other.exists()


def test_what_can_not_be_turned_is_refused(package, files):
    _, told = files.describe(package, "scores")
    files.encrypt(told, ROWS)
    assert rotate(files, told, files.switching) == 0
    interface, request = package.interface, {"x": files.request.read_bytes()}
    raises(MismatchError, "switching key is needed", reencrypted, interface, files.keys, request)
    with pytest.raises(MismatchError, match="no ciphertext"):
        reencrypted(interface, files.switching, {"x": files.keys.read_bytes()})
    shared = dataclasses.replace(interface, sharing=Sharing((0.1,), 1))
    raises(SecurityError, "shown to others", reencrypted, shared, files.switching, request)
