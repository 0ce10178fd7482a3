"""Answers to other requests, and of proxies: a client takes none of them for its own."""

import functools
import http.server
from contextlib import contextmanager
from types import SimpleNamespace

import httpx
import numpy as np
import pytest

from hemera import errors
from hemera.client.problems import ServerError
from hemera.client.transport import Transport

from ..beside import answering
from ..hostile_damage import NESTED
from ..refusals import raises
from .conftest import BOUND, ROWS, client_of, require_scores
from .server_requests import EVALUATE, KEYS, request_of

NONCE = "Hemera-Nonce"


class Between:
    """A proxy before a server, which changes answers as the test wants."""

    def __init__(self, url):
        self.server, self.url = url, ""
        self.change = lambda _: None
        self.seen = []
        """Method and nonce of each request."""


@contextmanager
def between(url):
    proxy = Between(url)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def _pass_on(self):
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            proxy.seen.append((self.command, self.headers[NONCE]))
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            answer = httpx.request(
                self.command, url + self.path, headers=headers, content=body, trust_env=False, timeout=BOUND
            )
            dropped = ("content-length", "connection", "date", "server")
            kept = {name: value for name, value in answer.headers.items() if name not in dropped}
            status, content, told = proxy.change(answer) or (answer.status_code, answer.content, kept)
            self.send_response(status)
            for name, value in {**told, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = _pass_on  # noqa: N815

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with answering(server) as proxy.url:
        yield proxy


def test_a_server_repeats_the_name_of_each_request(server, home, local):
    name = "0123456789abcdef" * 2
    with server.http(home.clients.add("alice")) as http:
        for method, path, status in (
            ("GET", "/health", 200),
            ("GET", "/v1/models", 200),
            ("GET", "/v1/models/nothing", 404),
            ("POST", "/v1/models", 405),
            ("GET", KEYS, 404),
            ("POST", EVALUATE, 409),
            ("PUT", KEYS, 422),
        ):
            for sent in (name, name[::-1]):
                content = b"x" if method != "GET" else None
                answer = http.request(method, path, headers={NONCE: sent}, content=content)
                assert (answer.status_code, answer.headers.get(NONCE)) == (status, sent), path
        assert NONCE not in http.get("/health").headers
        for wrong in (name[1:], name + "0", name.upper(), "<script>", name[1:] + "\xe9"):
            assert NONCE not in http.get("/health", headers={NONCE: wrong.encode("latin-1")}).headers
        twice = httpx.Headers([(NONCE, name), (NONCE, name[::-1])])
        assert NONCE not in http.get("/health", headers=twice).headers
        http.put(KEYS, content=local.generate_keys())
        answer = http.post(EVALUATE, content=request_of(local, ROWS), headers={NONCE: name})
        assert (answer.status_code, answer.headers[NONCE]) == (200, name)


def test_the_answer_to_another_request_is_refused(server, home):
    with between(server.url) as proxy, client_of(proxy.url, home.clients.add("alice")) as client:
        require_scores(client)
        before = []

        def swap(answer):
            """The answer to the request before this one."""
            before.append(answer)
            last = before[-2] if len(before) > 1 else answer
            kept = ("content-type", "hemera-keys", "hemera-model", "hemera-nonce")
            return last.status_code, last.content, {k: v for k, v in last.headers.items() if k in kept}

        proxy.change = swap
        require_scores(client)
        decrypted = []
        local = client.local("scores")
        local.decrypt = lambda files: decrypted.append(files)
        for ask in (lambda: client.predict("scores", ROWS + 1), client.models):
            raises(errors.MismatchError, "the answer to another request", ask)
        del local.decrypt
        assert decrypted == []
        proxy.change = lambda _: None
        require_scores(client)
    names = [name for _, name in proxy.seen]
    assert len(set(names)) == len(names) > 5
    assert all(len(each) == 32 for each in names)


@pytest.mark.parametrize("status", [502, 504])
def test_a_proxy_whose_server_is_away_is_waited_for(server, home, status):
    """But a server's own answer of this status is the last word."""
    page = b"<html><h1>Bad Gateway</h1></html>"
    left = [3]

    def fail(_):
        left[0] -= 1
        return None if left[0] < 0 else (status, page, {"Content-Type": "text/html"})

    token = home.clients.add("alice")
    with between(server.url) as proxy, client_of(proxy.url, token, patience=30) as client:
        proxy.change = fail
        require_scores(client)
        assert len(proxy.seen) == 3 + 4  # describe with its three refusals, GET and PUT of keys, POST
        assert len({name for _, name in proxy.seen}) == 7  # each time it is sent
        told = b'{"error": {"code": "timeout", "message": "not answered in 1 second"}}'
        proxy.seen.clear()
        proxy.change = lambda _: (status, told, {"Content-Type": "application/json"})
        with pytest.raises(ServerError) as refused:
            client.predict("scores", ROWS)
        assert (refused.value.status, refused.value.code, len(proxy.seen)) == (status, "timeout", 1)
    with between(server.url) as proxy, client_of(proxy.url, token, patience=1.5) as client:
        left[0] = 1000
        proxy.change = fail
        with pytest.raises(ServerError) as refused:
            client.models()
        assert (refused.value.status, refused.value.code) == (status, "http")
        assert 2 <= len(proxy.seen) <= 5  # at once, then after 0.1, 0.3, 0.7 and 1.5 seconds at the earliest


def test_connections_that_gave_another_answer_are_let_go(server):
    transport = Transport(
        server.url, token="x", certificates=None, seconds=BOUND, patience=0.0, progress=None
    )
    first = transport._http.value
    transport.json("GET", "/health")
    assert transport._http.value is first
    first._transport = httpx.MockTransport(lambda _: httpx.Response(200, headers={NONCE: "0" * 32}, json={}))
    raises(errors.MismatchError, "", transport.json, "GET", "/health")
    assert transport._http.value is not first
    assert transport.json("GET", "/health")["status"] == "ok"
    transport.close()


OTHER = "0123456789abcdef" * 2


def transport_of(monkeypatch, answer, **options):
    """A client's transport to a server that answers so."""
    made = functools.partial(httpx.Client, transport=httpx.MockTransport(answer))
    monkeypatch.setattr(httpx, "Client", made)
    plain = {"token": "x", "certificates": None, "seconds": 1, "patience": 0, "progress": None}
    return Transport("http://there/", **plain | options)


@pytest.mark.parametrize("status", [200, 201, 404, 409, 422, 503])
@pytest.mark.parametrize("before", ["nothing", "its own", "none"])
@pytest.mark.parametrize("told", ["its own", OTHER, "none"])
def test_whose_answer_is_read(monkeypatch, status, before, told):
    """Also of the first request on a connection, and of refusals: one that names another request is read
    never, one that names none where the server has named none, or it is a refusal."""
    sent = []
    plan = [*([(200, before)] if before != "nothing" else []), *[(status, told)] * 9]

    def answer(request):
        sent.append(request.headers[NONCE])
        code, name = plan.pop(0)
        headers = {} if name == "none" else {NONCE: sent[-1] if name == "its own" else name}
        return httpx.Response(code, headers=headers, json={"error": {"code": "word", "message": "why"}})

    client = transport_of(monkeypatch, answer)
    if before != "nothing":
        client.request("GET", "/v1/models")
    is_read = told == "its own" or (told == "none" and (before != "its own" or status >= 400))
    if is_read and status < 400:
        assert client.request("GET", "/v1/models").status_code == status
        return
    with pytest.raises(ServerError if is_read else errors.MismatchError) as error:
        client.request("GET", "/v1/models")
    if is_read:
        assert (error.value.status, error.value.code) == (status, "word")
    assert len(sent) == len(set(sent)) == 1 + (before != "nothing")


@pytest.mark.parametrize(
    ("wait", "patience", "slept"),
    [
        ("0", 2.0, [0.1, 0.2, 0.4, 0.8]),  # 1.6 more would be too late
        ("7", 21.0, [7, 7, 7]),
        ("7", 20.9, [7, 7]),
        ("100", 1000.0, [30.0] * 31),  # never longer than 30 at a time
        (None, 2.5, [1.0, 1.0]),
        ("away", 20.0, [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]),
        ("silent", 20.0, []),
        ("500", 20.0, []),
    ],
)
def test_how_long_a_client_waits(monkeypatch, wait, patience, slept):
    """A client waits as long as it is asked to, or each time twice as long, and never beyond its patience."""
    now, found = [50.0], []

    def sleep(seconds):
        found.append(seconds)
        now[0] += seconds

    def answer(_):
        if wait in ("away", "silent"):
            raise (httpx.ConnectError if wait == "away" else httpx.ReadTimeout)("no")
        status = 500 if wait == "500" else 503
        return httpx.Response(status, headers={} if wait is None else {"Retry-After": wait}, json={})

    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
    monkeypatch.setattr("hemera.client.transport.time", clock)
    client = transport_of(monkeypatch, answer, patience=patience)
    with pytest.raises(ServerError) as error:
        client.request("GET", "/v1/models")
    np.testing.assert_allclose(found, slept)
    assert error.value.status == {"away": 0, "silent": 0, "500": 500}.get(str(wait), 503)


@pytest.mark.parametrize("begins", [[0], [0, 0, 0], [0, 3, 5, 7]])
def test_a_body_that_goes_on_has_its_patience_anew_with_each_byte(monkeypatch, begins):
    now, sent, left = [50.0], list[bytes](), list(begins)

    def answer(request):
        sent.append(request.read())
        assert (request.headers["Authorization"], request.headers["X-Own"]) == ("Bearer x", "y")
        if left:
            now[0] += 10.0  # all of its patience
            raise httpx.WriteTimeout("no")
        return httpx.Response(200, headers={NONCE: request.headers[NONCE]})

    def part():
        begin = left.pop(0) if left else 9
        return begin, {"X-Own": "y"}, iter([b"some data"[begin:]])

    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda _: None)
    monkeypatch.setattr("hemera.client.transport.time", clock)
    client = transport_of(monkeypatch, answer, patience=11.0)
    if begins == [0, 0, 0]:
        raises(ServerError, "in time", client.request, "PUT", "/keys", part)
        assert len(sent) == 2
    else:
        assert client.request("PUT", "/keys", part).status_code == 200
        assert sent == [b"some data"[begin:] for begin in (*begins, 9)][: len(sent)]


def test_a_late_answer_to_a_try_before_is_another_ones(monkeypatch):
    """Each time that a request is sent it has a name of its own."""
    sent = []

    def answer(request):
        sent.append(request.headers[NONCE])
        status = 503 if len(sent) == 1 else 200
        return httpx.Response(status, headers={NONCE: sent[0], "Retry-After": "0"}, json={})

    client = transport_of(monkeypatch, answer, patience=9)
    raises(errors.MismatchError, "another request", client.request, "GET", "/v1/models")
    assert len(set(sent)) == 2


@pytest.mark.parametrize("status", [200, 400, 501, 503])
@pytest.mark.parametrize("body", [NESTED, b"", b"\xff", b"[]", b"{", b'"error"', b'{"error": [1e999]}'])
@pytest.mark.parametrize("wait", ["nan", "-inf", "1e999", "soon"])
def test_whatever_a_server_answers_is_an_error_of_hemera(monkeypatch, status, body, wait):
    """Also JSON that is nested too deeply, and times to wait that are none."""
    answer = httpx.Response(status, content=body, headers={"Retry-After": wait})
    transport = transport_of(monkeypatch, lambda _: answer, patience=0.01, progress=lambda *_: None)
    if status == 200 and body.startswith(b"{") and body.endswith(b"}"):
        assert transport.json("GET", "/v1/models") == {"error": [np.inf]}
        return
    raises(errors.FormatError if status == 200 else ServerError, "", transport.json, "GET", "/v1/models")
