"""The server's process: uvicorn around the application."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable
from typing import Any, cast

import uvicorn

from hemera.errors import DeviceError
from hemera.serving.app import make_app
from hemera.serving.certificate import Certificate
from hemera.serving.configuration import Configuration
from hemera.serving.connections import Connections, Listener
from hemera.serving.logs import log, to_lines_of_json
from hemera.serving.service import Service

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_IDLE_SECONDS = 30
"""After which a connection is closed: later than usual clients close theirs, so that none is in use then."""


_BACKLOG = 256
"""Connections that are accepted at a time, before any of them can be refused."""


def listen(host: str, port: int) -> Listener:
    """A socket that listens. DeviceError when the address can not be listened at."""
    # asyncio turns Nagle's delays off for sockets that say that they are TCP, which create_server's do not.
    listener = Listener(
        socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise DeviceError(f"cannot listen at {host}, port {port}: {error.strerror or error}") from None
    return listener


def make_server(
    service: Service, listener: Listener, certificate: Certificate | None = None
) -> uvicorn.Server:
    """uvicorn's server of a service, to be run with the listener."""
    connections = Connections(service.settings)
    listener.accepts = None if certificate is None else connections.accept
    service.metrics.watch("hemera_connections", "Connections that are open", lambda: len(connections))
    config = uvicorn.Config(
        make_app(service),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        http=cast(Any, connections.protocol),
        ws="none",
        backlog=_BACKLOG,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=service.settings.shutdown_seconds,
    )
    if certificate is not None:
        config.load()  # which would make one that is not read anew
        config.ssl = certificate.context
    return uvicorn.Server(config)


def serve(
    service: Service, configuration: Configuration, *, listening: Callable[[str], object] | None = None
) -> int:
    """Serve until the process gets SIGINT or SIGTERM; requests that run are answered before it ends.

    Args:
        service: what is served.
        configuration: where it listens and logs. Of port 0 the log's line "listening" has the one that was
            free.
        listening: called with the server's address, a URL, when it listens.

    Returns:
        The exit status.

    Raises:
        DeviceError: when the address can not be listened at.
    """
    to_lines_of_json(configuration.log_file)
    host, port, certificate = configuration.host, configuration.port, None
    if configuration.tls_certificate is not None and configuration.tls_key is not None:
        certificate = Certificate(
            configuration.tls_certificate, configuration.tls_key, configuration.tls_key_password
        )
    with listen(host, port) as listener:
        bound = listener.getsockname()[1]
        log("listening", host=host, port=bound, tls=certificate is not None)
        if listening is not None:
            name = f"[{host}]" if ":" in host else host
            listening(f"http{'' if certificate is None else 's'}://{name}:{bound}")
        if certificate is None and host not in _LOOPBACK:
            log("readable", level=logging.WARNING, why="without TLS, whoever is between reads tokens")
        server = make_server(service, listener, certificate)

        def stop(*_: object) -> None:
            server.should_exit = True

        # uvicorn ends on these by itself, and gives them on when it has: that is no failure.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        server.run(sockets=[listener])
    return 0 if server.started and not service.failed else 1
