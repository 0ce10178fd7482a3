"""What the server answers to clients, in bodies of any pieces, and what docs/server.md says of it."""

import contextlib
import dataclasses
import importlib.util
import json
import logging
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import hemera as hm
from hemera import errors
from hemera.client.problems import ServerError
from hemera.client.wire import BodyReader, Memory, read_body, write_body
from hemera.serving import export
from hemera.serving.configuration import written
from hemera.serving.home import Home
from hemera.serving.logs import _Lines
from hemera.serving.server import listen
from hemera.serving.settings import Settings

from ..refusals import raises
from .conftest import client_of, require_scores, serving, wait_until
from .server_requests import EVALUATE, KEYS, code, request_of


def test_keys_are_sent_once(server, home, tmp_path):
    token = home.clients.add("alice")
    rows = np.ones((2, 8))
    sent, told = [], list[int]()
    for _ in range(2):
        with client_of(
            server.url, token, folder=tmp_path / "mine", progress=lambda *each: sent.append(each)
        ) as client:
            told.append(client.upload_bytes("scores"))
            for _ in range(2):
                require_scores(client, rows)
            assert client.predict("scores", rows[0]).shape == (3,)
            assert client.upload_bytes("scores") == 0
    assert server.metric("hemera_key_uploads_total", status="201") == 1
    uploads = [each for each in sent if each[0] == "upload"]
    assert uploads[0][1] == 0
    assert uploads[-1][1] == uploads[-1][2] == pytest.approx(told[0], rel=0.01)
    assert told[0] > 100_000
    assert told[1] == 0  # the server has them, and the folder knows which
    (secret,) = (tmp_path / "mine").glob("secret-*")
    assert secret.stat().st_mode & 0o077 == 0
    # Gone from the server: they are sent again.
    with client_of(server.url, token, folder=tmp_path / "mine") as client:
        client.predict("scores", rows)
        server.service.remove_keys(server.service.clients.of_token(token) or "", "scores")
        require_scores(client, rows)
        client.remove_keys("scores")
        assert client.upload_bytes("scores") == told[0]
        with server.http(token) as http:
            assert code(http.get(KEYS)) == (404, "no_keys")
        client.predict("scores", rows)


def test_descriptions(server, home, package):
    token = home.clients.add("alice")
    with client_of(server.url, token) as client:
        (told,) = client.models()
        assert (told["name"], told["digest"]) == ("scores", package.digest)
        described = client.describe("scores")
        assert described["limits"]["evaluations"] == 32
        assert described["parameters"] == package.describe()["parameters"]
        with pytest.raises(ServerError, match="no model") as error:
            client.describe("other")
        assert (error.value.status, error.value.code) == (404, "unknown_model")
    health = httpx.get(server.url + "/health", trust_env=False).json()
    assert (health["status"], health["models"]) == ("ok", ["scores"])


def test_logs_tell_what_happened_and_nothing_secret(server, home, local, keys, caplog):
    token = home.clients.add("alice")
    body = request_of(local, np.ones(8))
    with caplog.at_level(logging.INFO, logger="hemera.serving"), server.http(token) as http:
        http.put(KEYS, content=keys)
        http.post(EVALUATE, content=body)
        http.post(EVALUATE, content=b"some payload")
        http.get(f"/v1/nothing?token={token}")
        wait_until(lambda: sum(r.getMessage() == "request" for r in caplog.records) == 4)
    lines = [_Lines().format(record) for record in caplog.records]
    told = [json.loads(line) for line in lines]
    answered = [each for each in told if each["event"] == "request"]
    assert [each["status"] for each in answered] == [201, 200, 422, 404]
    assert (answered[1]["received"], answered[1]["batch"], answered[1]["model"]) == (len(body), 1, "scores")
    assert answered[2]["code"] == "format"
    digest = server.service.models["scores"].digest
    assert [each.get("digest") for each in answered] == [None, digest, digest, None]
    assert all(each["client"].startswith("alice.") for each in answered[:3])
    for line in lines:
        assert token.partition(".")[2] not in line
        assert "payload" not in line


def test_multipart_answers_of_several_inputs_and_outputs(tmp_path):
    params = hm.bfv.Parameters.from_bits(
        degree=1024, plain_modulus=12289, prime_bits=[45, 45], special_bits=[49], security=None
    )

    def both(x, y):
        return {"sum": x + y, "product": x * y}

    package = export(both, inputs=[4, 4], name="both", params=params)
    package.save(tmp_path / "both.hemera-model")
    home = Home(tmp_path / "home")
    home.add_model(tmp_path / "both.hemera-model")
    rows = np.arange(12).reshape(3, 4)
    with serving(home) as server, client_of(server.url, home.clients.add("alice")) as client:
        for x, y in ((rows, rows + 1), (rows[0], rows[1])):
            found = client.predict("both", [x, y])
            np.testing.assert_array_equal(found["sum"][..., :4], x + y)
            np.testing.assert_array_equal(found["product"][..., :4], x * y)
        local = client.local("both")
        kind, pieces = write_body(local.encrypt(local.interface.encode([rows[0], rows[1]])))
        with server.http(home.clients.add("bob")) as http:
            assert http.put("/v1/models/both/keys", content=local.generate_keys()).status_code == 201
            response = http.post(
                "/v1/models/both/evaluate", content=b"".join(pieces), headers={"Content-Type": kind}
            )
        files = read_body(response.headers["Content-Type"], response.content, "sum")
        assert sorted(files) == ["product", "sum"]


def test_clients_say_what_is_wrong(home, tmp_path, monkeypatch):
    monkeypatch.delenv("HEMERA_TOKEN", raising=False)
    raises(errors.ParameterError, "needs its token", hm.Client, "http://127.0.0.1:1")
    raises(errors.ParameterError, "begins with http", hm.Client, "127.0.0.1:1", token="x")
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(ServerError, match="not to be reached"):
        hm.Client(f"http://127.0.0.1:{port}", token="x", patience=0).models()
    raises(errors.DeviceError, "cannot listen", listen, "203.0.113.1", 80)
    with serving(home) as server:
        with (
            pytest.raises(ServerError, match="token") as refused,
            client_of(server.url, "alice.wrong") as client,
        ):
            client.predict("scores", np.ones(8))
        assert refused.value.status == 401
        with (
            client_of(server.url, home.clients.add("alice"), folder=tmp_path / "f") as client,
            pytest.raises(errors.MismatchError),
        ):
            client.predict("scores", np.ones(9))


@pytest.mark.skipif(
    importlib.util.find_spec("uvloop") is not None, reason="uvloop accepts by itself, and without the delays"
)
def test_answers_do_not_wait_for_acknowledgements(server, home, monkeypatch):
    """Nagle's algorithm and delayed acknowledgements would add 40 ms to each answer."""
    accepted = []
    accept = socket.socket.accept

    def noted(self):
        found, address = accept(self)
        accepted.append(found)
        return found, address

    monkeypatch.setattr(socket.socket, "accept", noted)
    with server.http(home.clients.add("alice")) as http:
        assert http.get("/v1/models").status_code == 200
        assert accepted
        assert all(each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for each in accepted)


def test_a_terminal_shows_the_address_and_a_file_does_not(home):
    ours, theirs = pty.openpty()
    given = [sys.executable, "-m", "hemera", "serve", str(home.root), "--port", "0"]
    with subprocess.Popen(given, stdout=theirs, stderr=subprocess.DEVNULL) as shown:
        os.close(theirs)
        line = os.read(ours, 200).decode()
        found = re.fullmatch(r"Serving at (http://127\.0\.0\.1:\d+) \(Ctrl-C stops it\)\s*", line)
        assert found is not None, line
        assert httpx.get(found[1] + "/health", trust_env=False).status_code in (200, 503)
        shown.send_signal(signal.SIGINT)
        assert shown.wait(30) == 0
    os.close(ours)
    with subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as logged:
        assert logged.stderr is not None
        assert '"listening"' in next(line for line in logged.stderr if "listening" in line)
        logged.send_signal(signal.SIGTERM)
        assert logged.communicate(timeout=30)[0] == ""


PAGE = (Path(__file__).parents[3] / "docs" / "server.md").read_text(encoding="utf-8")


def test_the_client(tmp_path, monkeypatch):
    rows = np.random.default_rng(7).normal(size=(40, 5))
    model = LogisticRegression().fit(rows, rows[:, 0] > 0)
    home = Home(tmp_path / "home")
    plan = hm.compile(model, name="tumours", calibrate=rows, method="predict_proba")
    plan.save(tmp_path / "tumours.hemera-model")
    home.add_model(tmp_path / "tumours.hemera-model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEMERA_TOKEN", home.clients.add("alice"))
    np.save("rows.npy", rows)
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    with serving(home) as server:
        space = {}
        exec(
            compile(program.replace("https://models.example.org", server.url), "docs/server.md", "exec"),
            space,
        )
    np.testing.assert_allclose(space["probabilities"], model.predict_proba(rows), atol=1e-4)


def test_limits_are_those_of_the_settings():
    defaults = {each.name: each.default for each in dataclasses.fields(Settings)}
    rows = re.findall(r"^\| (`[a-z_]+`[^|]*) \|[^|]*\| ([^|]*) \|$", PAGE, re.MULTILINE)
    told = {}
    for names, values in rows:
        for name, value in zip(re.findall("`([a-z_]+)`", names), values.split(", "), strict=True):
            told[name] = value
            follows = value.startswith(("a ", "half ", "never"))
            assert defaults[name] is None if follows else written(name, defaults[name]).strip('"') == value
    apart = {"device", "threads", "storage", "keys", "origins", "page", "federations"}
    assert set(told) == set(defaults) - apart


BINARY = bytes(range(256)) * 3 + b"\r\n--\r\n\r\n--boundary"


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10_000])
@pytest.mark.parametrize(
    "files", [{"x": BINARY}, {"x": BINARY, "y": b"", "z.1": b"\r\n"}], ids=["one", "several"]
)
def test_what_was_written_is_read(files, size):
    kind, pieces = write_body(files)
    body = b"".join(pieces)
    memory = Memory()
    reader = BodyReader(kind, memory, "x")
    for begin in range(0, len(body), size):
        reader.feed(body[begin : begin + size])
    assert reader.close() == list(files)
    assert memory.files == files


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda body: body[:-8], "cut off"),
        (lambda body: body.replace(b'name="y"', b'name="x"'), "two parts"),
        (lambda body: body.replace(b'name="y"', b'name="../y"'), "needs a name"),
        (lambda body: body.replace(b'name="y"', b'name=""'), "needs a name"),
        (lambda body: body.replace(b"Content-Disposition", b"Content-Nothing"), "needs a name"),
        (lambda body: b"rubbish" + body, "no multipart"),
        (lambda body: b"", "cut off"),  # noqa: ARG005
    ],
)
def test_damaged_bodies_are_refused(change, message):
    kind, pieces = write_body({"x": b"1", "y": b"2"})
    raises(errors.FormatError, message, read_body, kind, change(b"".join(pieces)), "x")


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ('Content-Disposition: form-data; name="z.1"', "z.1"),
        ('content-disposition: form-data; name="z.1"', "z.1"),
        ('CONTENT-DISPOSITION: form-data; name="z.1"; filename="other"', "z.1"),
        ("Content-Type: text/plain\r\ncontent-disposition: form-data; name=z.1", "z.1"),
        ('Content-Disposition: form-data; name="z.1"\r\nX-Name: form-data; name="other"', "z.1"),
        ('X-Content-Disposition: form-data; name="z.1"', None),
        ('X-Name: form-data; name="z.1"; \r\nContent-Disposition: form-data; filename="a"', None),
        ('Content-Disposition: form-data; filename="z.1"', None),
        (f'Content-Disposition: form-data; name="{"z" * 64}"', "z" * 64),
        (f'Content-Disposition: form-data; name="{"z" * 65}"', None),
    ],
)
def test_names_of_parts_however_headers_are_written(header, name):
    first = '--b\r\nContent-Disposition: form-data; name="first"\r\n\r\n1\r\n'
    body = f"{first}--b\r\n{header}\r\n\r\n2\r\n--b--\r\n".encode()
    for kind in ("multipart/form-data; boundary=b", 'Multipart/Form-Data ; boundary="b"; charset=x'):
        if name is None:
            raises(errors.FormatError, "needs a name", read_body, kind, body, "x")
        else:
            assert read_body(kind, body, "x") == {"first": b"1", name: b"2"}
    assert read_body(None, body, "x") == {"x": body}


@given(st.binary(max_size=300), st.integers(1, 50))
def test_any_bytes_are_files_or_a_format_error(data, size):
    reader = BodyReader("multipart/form-data; boundary=b", Memory(), "x")
    body = b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n' + data
    with contextlib.suppress(errors.FormatError):
        for begin in range(0, len(body), size):
            reader.feed(body[begin : begin + size])
        reader.close()


def test_no_boundary_and_too_many_parts_are_refused():
    raises(errors.FormatError, "without a boundary", read_body, "multipart/form-data", b"", "x")
    kind, pieces = write_body({f"x{at}": b"" for at in range(64)})
    assert len(read_body(kind, b"".join(pieces), "x")) == 64
    kind, pieces = write_body({f"x{at}": b"" for at in range(65)})
    raises(errors.FormatError, "more than 64", read_body, kind, b"".join(pieces), "x")
