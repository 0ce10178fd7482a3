"""Limits of a server."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hemera import _core, _machine
from hemera.errors import ParameterError
from hemera.objects.devices import DeviceOptions
from hemera.pool.members import Place, places_of
from hemera.serving.clients import require_name

MIB = 1 << 20
GIB = 1 << 30
WORK_BYTES = GIB
"""Memory of this process besides keys and requests: of one evaluation of N = 2^15, and of the program."""


def setting(default: Any, text: str, option: str | None = None, **more: Any) -> Any:
    """A field of a configuration, with the words that `--help` and `--print-config` have of it.

    Args:
        option: of the command; None: the file and the environment alone have it.
        more: `former`: the option is to go; `secret`: it is not printed; else as of `add_argument`.
    """
    return dataclasses.field(default=default, metadata={"text": text, "option": option, **more})


_NONE = ("graphs", "drain_seconds", "port")
"""Fields that may be 0."""
_LONGEST = 1e9
"""Seconds."""


@dataclass(frozen=True)
class Settings:
    """Limits of a server's intake, storage and waits. Sizes in bytes, times in seconds. Files and variables
    of the environment have them under these names (`hemera.serving.configuration`)."""

    device: str = setting(
        "auto",
        '"cpu", "cuda", "cuda:1", "cuda:*" for all GPUs, "cpu:*" for all sockets, or names with commas',
        "--device",
    )
    threads: int | None = setting(None, "threads of each device; unset: all processors", "--threads")
    storage: str = setting(
        "auto",
        "of evaluation keys in a GPU's memory: auto, words or packed, which takes 22 % less",
        "--storage",
    )
    keys: str = setting(
        "device",
        "where evaluation keys and models' plaintexts are: device, or host if a GPU lacks room",
        "--key-place",
    )
    origins: Sequence[str] = setting(
        (), "an origin whose pages may ask in a browser, as https://app.example.org", "--origin"
    )
    page: str | None = setting(
        None, "folder of a page for anyone, at /page/: that of the npm package hemera-client", "--page"
    )
    federations: Sequence[str] = setting(
        (),
        "keep the shared folder of a federation, HOME/federations/NAME, whose parties are clients",
        "--federation",
    )

    request_bytes: int = setting(256 * MIB, "a request's body", "--max-request", former=True)
    key_bytes: int = setting(8 * GIB, "an upload of keys, or a federation's file", "--max-keys", former=True)
    store_bytes: int = setting(
        64 * GIB, "all keys and federations on disk; nothing is evicted", "--max-store"
    )
    client_store_bytes: int | None = setting(
        None, "on disk of one client or party; unset: a quarter of all", "--max-client-store", former=True
    )
    unused_key_seconds: float | None = setting(
        None,
        "after which keys that no request has used leave the disk, and clients send them again; unset: never",
    )
    loaded_key_bytes: int | None = setting(
        None,
        "keys in each device's memory, with graphs and contexts of other libraries' clients; unset: half of "
        "what is left of it beside 1 GiB of work",
        "--max-loaded-keys",
    )
    prepared_bytes: int = setting(
        256 * MIB,
        "prepared answers of one client and index in each device's memory",
        "--max-prepared",
        former=True,
    )
    index_bytes: int = setting(
        4 * GIB,
        "rows of one index in each device's memory, unless its file has a 128th of it",
        "--max-index",
        former=True,
    )
    graphs: int = setting(
        8, "graphs captured for one client and model on a GPU; 0: none", "--max-graphs", former=True
    )

    waiting_requests: int = setting(
        64, "requests of one client and model that wait", "--max-queue", former=True
    )
    client_requests: int = setting(
        2, "requests of one client in progress for each device, while other clients ask"
    )
    waiting_bytes: int | None = setting(
        None,
        "all requests that arrive, wait or are computed; unset: a 16th of the memory, or request_bytes",
        "--max-waiting",
        former=True,
    )
    client_waiting_bytes: int | None = setting(
        None, "the same for one client; unset: a quarter of all", "--max-client-waiting", former=True
    )
    uploads: int = setting(16, "uploads of keys at once", "--max-uploads", former=True)
    client_uploads: int = setting(2, "the same for one client", "--max-client-uploads", former=True)
    upload_seconds: float = setting(86400.0, "how long an upload that was interrupted waits to go on")
    batch: int = setting(32, "evaluations that run together, or in one request", "--max-batch")
    batch_seconds: float = setting(0.05, "time of a batch, unless two evaluations take longer")

    requests_per_second: float = setting(
        math.inf, "requests of each client, on average, else 429", "--rate-requests", former=True
    )
    bytes_per_second: float = setting(
        math.inf, "bytes of each client's bodies, on average", "--rate-bytes", former=True
    )
    burst_seconds: float = setting(
        10.0, "seconds of unused rates that a client may save up", "--burst-seconds", former=True
    )

    request_seconds: float = setting(300.0, "time from arrival to answer", "--request-seconds", former=True)
    body_seconds: float = setting(
        60.0,
        "time that a body may lag behind 16 KiB/s, or an answer be left unread",
        "--body-seconds",
        former=True,
    )
    drain_seconds: float = setting(
        0.0, "time after SIGTERM in which requests are still taken, and /ready says 503"
    )
    shutdown_seconds: int = setting(
        30, "time for running requests after that", "--shutdown-seconds", former=True
    )
    header_seconds: float = setting(10.0, "time for the header of a request", "--header-seconds", former=True)
    connections: int = setting(
        512, "connections at once; one that waits for a request makes room", "--max-connections"
    )
    address_connections: int = setting(
        256,
        "the same from one address, of IPv6 from one network of 64 bits",
        "--max-address-connections",
        former=True,
    )
    sweep_seconds: float = setting(
        10.0, "between looks for clients that were removed, and for indexes that were replaced"
    )

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
            if not isinstance(value, (int, float)):
                continue
            if value > 0 or (field.name in _NONE and value == 0):
                if field.name.endswith("_seconds") and not value < _LONGEST:
                    raise ParameterError(f"{field.name} must be below {_LONGEST:g}, not {value}")
                continue
            raise ParameterError(f"{field.name} must be above 0, not {value}")
        if self.request_bytes > self.waiting_of_all:
            raise ParameterError(
                f"no request of {self.request_bytes} bytes would ever be taken where all that wait may have "
                f"{self.waiting_of_all} together"
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
    def limits(self) -> dict[str, float]:
        """The limits that are numbers, with those that follow from the machine."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        found.update(loaded_key_bytes=self.loaded_of_device, waiting_bytes=self.waiting_of_all)
        numbers = {name: value for name, value in found.items() if isinstance(value, (int, float))}
        return {name: float(value) for name, value in numbers.items() if math.isfinite(value)}

    @property
    def time_of_batch(self) -> float:
        """Seconds that a batch may take; infinite where that is no less than a request may."""
        return self.batch_seconds if self.batch_seconds < self.request_seconds else math.inf

    @property
    def store_of_client(self) -> int:
        """Bytes of one client's keys on disk."""
        return self.client_store_bytes or self.store_bytes // 4

    @property
    def waiting_of_all(self) -> int:
        """Bytes of all requests that arrive, wait or are computed: their bodies, and their ciphertexts in
        memory."""
        return self.waiting_bytes or max(_machine.memory_bytes() // 16, self.request_bytes)

    @property
    def waiting_of_client(self) -> int:
        """The same of one client. One request is always taken."""
        return self.client_waiting_bytes or max(self.waiting_of_all // 4, self.request_bytes)

    @property
    def loaded_of_device(self) -> int:
        """Bytes of keys in each device's memory."""
        if self.loaded_key_bytes is not None:
            return self.loaded_key_bytes
        gpus = [each.memory_bytes for each in _core.find_cuda_devices().devices if not each.problem]
        if gpus and not self.device.startswith("cpu"):
            return _left(min(gpus))
        return _left(_machine.memory_bytes()) // len(self.places)


def _left(memory: int) -> int:
    """Bytes of keys where there is so much memory."""
    return max((memory - WORK_BYTES) // 2, memory // 4)
