"""The server's process: uvicorn around the application, with a certificate that is read anew."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import uvicorn

from hemera.errors import DeviceError, Error, FileError
from hemera.serving.app import make_app
from hemera.serving.configuration import Configuration
from hemera.serving.connections import Connections, Listener
from hemera.serving.logs import log, to_lines_of_json
from hemera.serving.service import Service

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider


class Certificate:
    """A certificate with its key, for all connections that begin after it was read.

    Args:
        certificate: PEM file with the certificate and those that it rests on.
        key: PEM file with its key.
        password: of the key's file.

    Raises:
        FileError: as `read`.
    """

    def __init__(self, certificate: Path, key: Path, password: str | None = None) -> None:
        self._files = certificate, key
        self._password = password or ""  # without any OpenSSL would ask for it at a terminal
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.read()

    def read(self) -> None:
        """Take what the files have now. FileError where they do not fit; then what was read before stays."""
        try:
            # First elsewhere: a context keeps a certificate whose key does not fit.
            for context in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), self.context):
                context.load_cert_chain(*self._files, password=self._password)
        except OSError as error:  # of files, and of TLS
            certificate, key = self._files
            why = getattr(error, "reason", None) or error.strerror or error
            raise FileError(f"cannot take the certificate {certificate} with the key {key}: {why}") from None


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


class Server(uvicorn.Server):
    """uvicorn's server, which goes on for a while after it is told to stop, and reads its files anew.

    Args:
        config: of uvicorn.
        service: what is served.
        connections: to it.
        certificate: of TLS, if there is one.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        service: Service,
        connections: Connections,
        certificate: Certificate | None,
    ) -> None:
        super().__init__(config)
        self._service, self._connections, self._certificate = service, connections, certificate
        self.is_to_reload = False
        """Set by a signal: the files are read anew, beside the requests."""
        self._reloading: asyncio.Task[None] | None = None

    async def on_tick(self, counter: int) -> bool:
        if self.is_to_reload and (self._reloading is None or self._reloading.done()):
            self.is_to_reload = False
            self._reloading = asyncio.create_task(self._reload())
        return await super().on_tick(counter)

    async def _reload(self) -> None:
        if self._certificate is not None:
            self._attempt(self._certificate.read)
        await asyncio.to_thread(self._attempt, self._service.reload)
        log("reloaded", models=sorted(self._service.models), indexes=sorted(self._service.indexes) or None)

    def _attempt(self, step: Callable[[], None]) -> None:
        """What can not be read anew stays as it is, and is in the log."""
        try:
            step()
        except Error as error:
            log("reload", level=logging.ERROR, why=str(error))
        except Exception as error:
            log("failure", level=logging.ERROR, error=error)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.drains = True
        self._connections.drain()
        seconds = self._service.settings.drain_seconds
        if seconds:
            log("draining", seconds=seconds)
        end = time.monotonic() + seconds
        while time.monotonic() < end and len(self._captured_signals) < 2 and not self.force_exit:
            await asyncio.sleep(0.05)
        self._connections.end()
        await super().shutdown(sockets)


def make_server(
    service: Service,
    listener: Listener,
    certificate: Certificate | None = None,
    spans: TracerProvider | None = None,
) -> Server:
    """uvicorn's server of a service, to be run with the listener."""
    connections = Connections(service.settings)
    listener.accepts = None if certificate is None else connections.accept
    service.metrics.watch_process()
    service.metrics.watch("hemera_connections", "Connections that are open", lambda: len(connections))
    config = uvicorn.Config(
        make_app(service, spans),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        # uvloop, where it is installed, would not end without clients that let go, nor say why it takes none.
        loop="asyncio",
        http=cast(Any, connections.protocol),
        ws="none",
        backlog=_BACKLOG,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=service.settings.shutdown_seconds,
    )
    if certificate is not None:
        config.load()  # which would make one that is not read anew
        config.ssl = certificate.context
    return Server(config, service, connections, certificate)


def serve(
    service: Service,
    configuration: Configuration,
    *,
    spans: TracerProvider | None = None,
    listening: Callable[[str], object] | None = None,
) -> int:
    """Serve until the process gets SIGINT or SIGTERM; requests that run are answered before it ends. SIGHUP
    has the certificate, models, indexes and clients read anew.

    Args:
        service: what is served.
        configuration: where it listens and logs. Of port 0 the log's line "listening" has the one that was
            free.
        spans: takes spans of the requests.
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
        server = make_server(service, listener, certificate, spans)

        def stop(*_: object) -> None:
            server.should_exit = True

        def reload(*_: object) -> None:
            server.is_to_reload = True

        signal.signal(signal.SIGHUP, reload)
        # uvicorn ends on these by itself, and gives them on when it has: that is no failure.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        server.run(sockets=[listener])
        if spans is not None:
            spans.shutdown()
    return 0 if server.started and not service.failed else 1
