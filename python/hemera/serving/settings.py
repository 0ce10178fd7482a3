"""Limits of a server."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hemera.errors import ParameterError
from hemera.objects.devices import DeviceOptions
from hemera.pool.members import Place, places_of
from hemera.serving.tokens import require_name

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class Settings:
    """Limits of a server's intake, storage and waits. Sizes in bytes, times in seconds."""

    device: str = "auto"
    """As of `Context`; or several, as of `hemera.Pool`: "cuda:*", "cpu:*", or names with commas."""
    threads: int | None = None
    """Threads of each device."""
    storage: str = "auto"
    """As of `Context`."""
    keys: str = "device"
    """As of `Context`."""
    origins: Sequence[str] = ()
    """Origins whose pages may ask in a browser, as "https://app.example.org"."""

    federations: Sequence[str] = ()
    """Names of federations whose shared folders the server keeps."""

    request_bytes: int = 256 * MIB
    """Largest body of a request."""
    key_bytes: int = 8 * GIB
    """Largest body of an upload of keys, and of a federation's file."""
    store_bytes: int = 64 * GIB
    """All keys and files of federations on disk; nothing is evicted, uploads beyond it are refused."""
    client_store_bytes: int | None = None
    """Keys on disk of one client, and files of one party of a federation; None: a quarter of all."""
    loaded_key_bytes: int = 8 * GIB
    """Keys in each device's memory, with captured graphs, and contexts of other libraries' clients; those
    used least recently make room."""
    prepared_bytes: int = 256 * MIB
    """Prepared answers of one client and index, in each device's memory."""
    index_bytes: int = 4 * GIB
    """Rows of one index in each device's memory, unless its file has a 128th of it."""
    graphs: int = 8
    """Captured graphs of one client and model, on a GPU; 0: none."""

    waiting_requests: int = 64
    """Requests of one client and model that may wait."""
    waiting_bytes: int = 1 * GIB
    """All requests that arrive, wait or are computed: their bodies, and their ciphertexts in memory."""
    client_waiting_bytes: int | None = None
    """The same of one client; None: a quarter of all, or the largest body. One request is always taken."""
    uploads: int = 16
    """Uploads of keys at once."""
    client_uploads: int = 2
    """The same of one client."""
    upload_seconds: float = 86400.0
    """Seconds for which an upload of keys that was interrupted waits to go on."""
    batch: int = 32
    """Largest number of evaluations that run together, and that one request has."""

    requests_per_second: float = math.inf
    """Requests of each client, on average, whatever they ask for; infinite: no limit."""
    bytes_per_second: float = math.inf
    """Bytes of the bodies that each client sends, keys and requests, on average."""
    burst_seconds: float = 10.0
    """Seconds for which a client may save up what it does not use of these two."""

    request_seconds: float = 300.0
    """Seconds from a request's arrival to its answer."""
    body_seconds: float = 60.0
    """Longest pause of a client that sends a body."""
    shutdown_seconds: int = 30
    """Seconds for requests that run when the server stops."""
    header_seconds: float = 10.0
    """Seconds from a connection, or the first byte of a later request, to the end of its header."""
    connections: int = 512
    """Connections at once. One that waits for a request makes room for another."""
    address_connections: int = 256
    """The same from one address: of IPv6, from one network of 64 bits."""
    sweep_seconds: float = 10.0
    """Between looks for clients that were removed, whose keys leave the device's memory, and for files of
    indexes that were replaced."""

    def __post_init__(self) -> None:
        self.options.require_valid()
        for origin in self.origins:
            if not re.fullmatch(r"https?://([A-Za-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]+)?", origin):
                raise ParameterError(
                    "an origin is a scheme and a host, with a port if it is another one, as "
                    f"https://app.example.org, not {origin!r}"
                )
        for name in self.federations:
            require_name(name, "a federation")
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, (int, float)) or value > 0 or (field.name == "graphs" and value == 0):
                continue
            raise ParameterError(f"{field.name} must be above 0, not {value}")
        if self.request_bytes > self.waiting_bytes:
            raise ParameterError(
                f"no request of {self.request_bytes} bytes would ever be taken where all that wait may have "
                f"{self.waiting_bytes} together"
            )

    @property
    def options(self) -> DeviceOptions:
        """Options of the contexts on the device, where it is one."""
        return DeviceOptions(self.device, self.threads, storage=self.storage, keys=self.keys)

    @property
    def places(self) -> list[Place]:
        """The devices. DeviceError and ParameterError as of `hemera.Pool`."""
        if self.device == "auto":  # the best one
            return [Place(self.options)]
        several = [name.strip() for name in self.device.split(",")]
        return places_of(self.device if len(several) == 1 else several, self.options)

    @property
    def store_of_client(self) -> int:
        """Bytes of one client's keys on disk."""
        return self.client_store_bytes or self.store_bytes // 4

    @property
    def waiting_of_client(self) -> int:
        """Bytes of one client's requests that arrive, wait or are computed."""
        return self.client_waiting_bytes or max(self.waiting_bytes // 4, self.request_bytes)
