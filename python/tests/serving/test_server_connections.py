"""Connections without a token, or with one that stalls: who else is served beside them."""

import asyncio
import contextlib
import re
import socket
import ssl
import threading
import time
from unittest.mock import Mock

import httpx
import numpy as np
import pytest
import uvicorn
from uvicorn.server import ServerState

from hemera.serving.connections import Connections, _network
from hemera.serving.settings import Settings

from .conftest import BOUND, client_of, require_scores, serving, wait_until
from .server_requests import EVALUATE, KEYS

HALF = b"GET /health HTTP/1.1\r\nHost: x\r\nX-a: "


@contextlib.contextmanager
def opened(server, count, data=b"", source="127.0.0.1"):
    """So many connections from an address, each of which has sent some bytes."""
    host, _, port = server.url.partition("://")[2].partition(":")
    made = []
    try:
        for _ in range(count):
            made.append(socket.create_connection((host, int(port)), BOUND, (source, 0)))
            made[-1].sendall(data)
        yield made
    finally:
        for each in made:
            each.close()


def is_closed(connection):
    """Whether the server has closed it; nothing was received."""
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def answer(connection):
    """A whole answer: its status line."""
    connection.settimeout(BOUND)
    got = b""
    while b"\r\n\r\n" not in got:
        got += connection.recv(4096)
        assert got
    head, _, body = got.partition(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", head)[1])
    while len(body) < length:
        body += connection.recv(4096)
    return head.splitlines()[0]


def health(server):
    return httpx.get(server.url + "/health", trust_env=False, timeout=BOUND).status_code


@pytest.mark.parametrize("data", [b"", HALF], ids=["silent", "half a header"])
def test_a_header_has_its_time(home, data):
    with serving(home, header_seconds=0.5) as server, opened(server, 3, data) as silent:
        assert health(server) == 200
        assert not any(map(is_closed, silent))
        # Bytes that trickle put nothing off.
        end = time.monotonic() + BOUND
        while not all(map(is_closed, silent)):
            for each in silent:
                with contextlib.suppress(OSError):
                    each.send(b"a" if data else b"")
            assert time.monotonic() < end
            time.sleep(0.1)


def test_a_later_header_has_its_time_too(home):
    with serving(home, header_seconds=0.5) as server, opened(server, 1) as (connection,):
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 200 " in answer(connection)
        time.sleep(0.7)  # between requests there is more time
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 200 " in answer(connection)
        connection.sendall(HALF)
        wait_until(lambda: is_closed(connection))


def test_a_body_may_take_longer_than_a_header(home, keys):
    with serving(home, header_seconds=0.3) as server, opened(server, 1) as (connection,):
        token = home.clients.add("alice")
        head = f"PUT {KEYS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        connection.sendall(f"{head}Content-Length: {len(keys)}\r\n\r\n".encode() + keys[:100])
        time.sleep(0.6)
        connection.sendall(keys[100:])
        assert b" 201 " in answer(connection)


def test_a_header_has_a_size(home):
    with serving(home, header_seconds=2 * BOUND) as server, opened(server, 1, HALF) as (connection,):
        time.sleep(0.1)
        connection.sendall(b"a" * (60 << 10))
        time.sleep(0.1)
        assert not is_closed(connection)
        connection.setblocking(True)
        connection.sendall(b"a" * (5 << 10))
        wait_until(lambda: is_closed(connection))


def test_many_requests_in_one_piece_are_no_long_header(server):
    ask, count = b"GET /live HTTP/1.1\r\nHost: x\r\nX-a: " + b"a" * 900 + b"\r\n\r\n", 180  # 170 KB
    with opened(server, 1) as (connection,):
        sending = threading.Thread(target=connection.sendall, args=(ask * count,))
        sending.start()
        connection.settimeout(BOUND)
        got = b""
        while got.count(b"HTTP/1.1 200 OK") < count:
            data = connection.recv(1 << 16)
            assert data
            got += data
        sending.join(BOUND)


@pytest.mark.parametrize("data", [b"", HALF], ids=["silent", "half a header"])
def test_idle_connections_stop_nobody(home, data):
    """More of them than there may be, none of which times out here: neither others nor their own address."""
    token = home.clients.add("alice")
    rows = np.ones((2, 8))
    limits = {"connections": 24, "address_connections": 16, "header_seconds": BOUND}
    with serving(home, **limits) as server, contextlib.ExitStack() as stack:
        for source in ("127.0.0.2", "127.0.0.3", "127.0.0.1"):
            stack.enter_context(opened(server, 24, data, source))
        assert health(server) == 200
        with client_of(server.url, token, patience=0) as client:
            require_scores(client, rows)


def test_handshakes_that_never_end_stop_nobody(home, tls):
    """Connections of TLS, which are none of the server's protocol yet."""
    limits = {"connections": 24, "address_connections": 16, "header_seconds": BOUND}
    context = ssl.create_default_context(cafile=tls[0])
    with (
        serving(home, tls=tls, **limits) as server,
        httpx.Client(verify=context, trust_env=False) as http,
        contextlib.ExitStack() as stack,
    ):
        silent = []
        for source in ("127.0.0.2", "127.0.0.3", "127.0.0.1"):
            silent += stack.enter_context(opened(server, 24, source=source))
        assert http.get(server.url + "/health", timeout=BOUND).status_code == 200
        wait_until(lambda: sum(not is_closed(each) for each in silent) <= 24)
    with serving(home, tls=tls, header_seconds=0.3) as server, opened(server, 3) as silent:
        wait_until(lambda: all(map(is_closed, silent)))
        with httpx.Client(verify=context, trust_env=False) as http:
            for _ in range(2):  # the second time on the same connection
                assert http.get(server.url + "/health", timeout=BOUND).status_code == 200
                time.sleep(0.5)


def test_idle_connections_make_room_and_no_others(home):
    """The longest idle of the address that has most of them."""
    limits = {"connections": 6, "address_connections": 4, "header_seconds": BOUND}
    with (
        serving(home, **limits) as server,
        opened(server, 1, source="127.0.0.2") as few,
        opened(server, 4, source="127.0.0.3") as many,
        opened(server, 1, source="127.0.0.3"),  # beyond its address
    ):
        wait_until(lambda: is_closed(many[0]))
        assert not any(map(is_closed, [*many[1:], *few]))
        # The next one has an answer, and waits from then on.
        many[1].setblocking(True)
        many[1].sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 200 " in answer(many[1])
        with opened(server, 2, source="127.0.0.4"):  # beyond all
            wait_until(lambda: is_closed(many[2]))
            assert not any(map(is_closed, [many[1], many[3], *few]))


def test_connections_that_are_answered_hold_their_place(home, keys):
    token = home.clients.add("alice")
    head = f"PUT {KEYS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    part = f"{head}Content-Length: {len(keys)}\r\n\r\n".encode() + keys[:1000]
    with (
        serving(home, address_connections=2, client_uploads=4) as server,
        opened(server, 2, part) as arriving,
    ):
        wait_until(lambda: len(list(home.incoming.iterdir())) == 2)
        response = httpx.get(server.url + "/health", trust_env=False, timeout=BOUND)
        assert response.status_code == 503
        assert response.json()["error"]["code"] == "busy"
        assert response.headers["Retry-After"] == "1"
        with opened(server, 1, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", "127.0.0.2") as (other,):
            assert b" 200 " in answer(other)
        for each in arriving:
            each.sendall(keys[1000:])
            assert b" 201 " in answer(each)
        assert health(server) == 200


def test_an_answer_that_nobody_reads_is_given_up(home):
    """Answers that do not leave the server: its buffers are full, and the connection holds its place."""
    ask = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
    with serving(home, body_seconds=0.3) as server, opened(server, 1) as (silent,):
        silent.settimeout(0.5)
        with contextlib.suppress(OSError):
            for _ in range(100_000):
                silent.sendall(ask)
        wait_until(lambda: server.metric("hemera_connections") == 1)  # that which asks


@pytest.mark.parametrize(
    ("moves", "closed"),
    [
        ("pause", [3]),
        ("pause pause resume", [50]),
        ("pause resume", [50]),
        ("pause resume pause", [5]),
        ("pause resume pause resume", [50]),
        ("pause lost", []),
    ],
)
def test_each_answer_has_its_time_to_be_read(moves, closed):
    """A move a second, from the first on: when it closes, of 2 seconds for a body and 50 for a header."""
    now, found, loop = [0], [], asyncio.new_event_loop()
    loop.time = lambda: now[0]
    config = uvicorn.Config(lambda _: None, log_config=None)
    settings = Settings(body_seconds=2, header_seconds=50)
    own = Connections(settings).protocol(config, ServerState(), {}, loop)
    transport = Mock(**{"get_extra_info.return_value": None})
    transport.abort.side_effect = lambda: (found.append(now[0]), own.connection_lost(OSError()))
    own.connection_made(transport)
    calls = {"pause": own.pause_writing, "resume": own.resume_writing, "": int}
    for now[0], move in enumerate([*moves.split(), *[""] * 95], 1):
        calls.get(move, lambda: own.connection_lost(None))()
        loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert found == closed


def test_addresses():
    assert _network("192.0.2.7") == "192.0.2.7" != _network("192.0.2.8")
    assert _network("2001:db8:1:2:3::4") == _network("2001:db8:1:2:ffff::1") != _network("2001:db8:1:3::1")
    assert _network("::ffff:192.0.2.7") == "192.0.2.7"
    assert _network("fe80::1%eth0") == _network("fe80::2%eth1")
    assert _network("somewhere") == "somewhere"


def test_lengths_that_are_told_reserve_nothing(home, local, keys):
    """Requests whose bodies never come, and uploads that stand still, are nobody else's matter."""
    tokens = [home.clients.add(name) for name in ("alice", "bob")]
    alice = f"HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {tokens[0]}\r\n"
    (body,) = local.encrypt(local.interface.encode(np.ones(8))).values()
    with serving(home, request_bytes=1 << 20, waiting_bytes=4 << 20, uploads=3, client_uploads=2) as server:
        with server.http(tokens[0]) as http:
            assert http.put(KEYS, content=keys).status_code == 201
        told = f"POST {EVALUATE} {alice}Content-Length: {1 << 20}\r\n\r\n".encode()
        stalled = f"PUT {KEYS} {alice}Transfer-Encoding: chunked\r\n\r\n10\r\n".encode() + keys[:16]
        with opened(server, 8, told), opened(server, 4, stalled), server.http(tokens[1]) as bob:
            wait_until(lambda: len(list(home.incoming.iterdir())) == 2)
            assert bob.put(KEYS, content=keys).status_code == 201
            assert bob.post(EVALUATE, content=body).status_code == 200
            assert server.metric("hemera_waiting_bytes") == 0
            # Her own third upload is told so.
            with server.http(tokens[0]) as http:
                response = http.put(KEYS, content=keys)
            assert (response.status_code, response.json()["error"]["code"]) == (429, "busy")
        wait_until(lambda: not list(home.incoming.iterdir()))


def test_the_headers_of_many_requests_are_each_its_own(server):
    """30 of 4 KiB on one connection: 120 KiB together."""
    with opened(server, 1) as (connection,):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(30):
            connection.sendall(HALF)
            time.sleep(0.005)
            connection.sendall(b"a" * 4096)
            time.sleep(0.005)
            connection.sendall(b"\r\n\r\n")
            assert b" 200 " in answer(connection)
