"""Limits of a server."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from hemera.errors import ParameterError

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class Settings:
    """What a server takes, keeps and waits for. Sizes in bytes, times in seconds."""

    device: str = "auto"
    threads: int | None = None

    request_bytes: int = 256 * MIB
    """Largest body of a request."""
    key_bytes: int = 8 * GIB
    """Largest body of an upload of keys."""
    store_bytes: int = 64 * GIB
    """All keys on disk together; nothing is evicted, uploads beyond it are refused."""
    loaded_key_bytes: int = 8 * GIB
    """Keys in the device's memory, with captured graphs, and contexts of other libraries' clients; those used
    least recently make room."""
    graphs: int = 8
    """Captured graphs of one client and model, on a GPU; 0: none."""

    waiting_requests: int = 64
    """Requests of one client and model that may wait."""
    waiting_bytes: int = 1 * GIB
    """Bodies of all requests that arrive, wait or are computed."""
    uploads: int = 4
    """Uploads of keys at once."""
    batch: int = 32
    """Largest number of evaluations that run together, and that one request has."""

    requests_per_second: float = math.inf
    """Of each client, on average, whatever they ask for; infinite: no limit."""
    bytes_per_second: float = math.inf
    """Of the bodies that each client sends, keys and requests, on average."""
    burst_seconds: float = 10.0
    """For so long a client may save up what it does not use of these two."""

    request_seconds: float = 300.0
    """From a request's arrival to its answer."""
    body_seconds: float = 60.0
    """Longest pause of a client that sends a body."""
    shutdown_seconds: int = 30
    """For requests that run, when the server is told to stop."""
    connections: int = 512
    """Connections at once."""

    def __post_init__(self) -> None:
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
