"""A replica: the one process of a device. It holds contexts, models and tenants' keys for its life."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import mmap
import os
import platform
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import numpy as np

from hemera._process import Lock
from hemera.client.problems import Refused, refusal_of
from hemera.errors import FileError, FormatError, OutOfMemoryError
from hemera.package.package import Package
from hemera.ray.channel import Buffer
from hemera.ray.worth import WorthCache
from hemera.serving.evaluation import Device, Evaluation
from hemera.serving.metrics import Metrics
from hemera.serving.scheduler import Scheduler
from hemera.serving.session_cache import Answer, Session
from hemera.serving.sessions import Loader
from hemera.serving.settings import Settings
from hemera.serving.store import KeySet

_MOST_BATCHES = 10_000
"""Batches that are noted between two looks."""


@dataclass(frozen=True)
class ModelFile:
    """Where a packaged model lies, and the SHA-256 of the file."""

    path: str
    digest: str

    def load(self) -> Package:
        """The model. FormatError where the file has other content."""
        package = Package.load(self.path)
        if package.digest != self.digest:
            raise FormatError(
                f"{self.path} has the digest {package.digest[:16]}, not {self.digest[:16]}: it was replaced "
                "after the server had started; start it again"
            )
        return package


@dataclass(frozen=True)
class KeyFiles:
    """The place of a tenant's keys in the storage that all hosts share. Places travel, keys do not."""

    digest: str
    """As of `KeySet`."""
    library: str
    files: Mapping[str, str]

    @classmethod
    def of(cls, found: KeySet) -> KeyFiles:
        """The files of a set in a store."""
        return cls(found.digest, found.library, {name: str(path) for name, path in found.files.items()})

    def require_content(self) -> None:
        """FormatError where the files have another digest, FileError where one can not be read."""
        if digest_of({name: Path(path) for name, path in self.files.items()}) != self.digest:
            raise FormatError(
                "the files of these keys have another digest than the server named: send the keys again"
            )


def digest_of(files: Mapping[str, Path]) -> str:
    """The digest of files of keys, as `hemera.serving.store.Upload` computes it. They are mapped into memory:
    one read of the storage then serves all processes of a host. Raises FileError."""
    found = hashlib.sha256()
    for name, path in files.items():
        found.update(f"{len(name)}:{name}".encode())
        try:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
                found.update(data)
        except (OSError, ValueError) as error:
            raise FileError(f"cannot read {path}: {error}") from None
    return found.hexdigest()


@dataclass(frozen=True)
class Answered:
    """The answer of a replica: outputs, or why there are none."""

    files: Mapping[str, Buffer]
    batch: int = 0
    """The requests that ran together with this one, itself included."""
    refused: tuple[int, str, str, int | None] | None = None
    """Status, code, message and seconds as of `Refused`: exceptions of any kind need not be pickled."""
    gone: bool = False
    """Whether the keys' files can not be read: their client may have replaced or removed them."""

    @classmethod
    def of_error(cls, error: BaseException) -> Answered:
        """The answer to a request that raised this."""
        found = refusal_of(error)
        message = found.message
        if found.code == "internal":
            message = f"{message}: {type(error).__name__}: {error}"
        refused = (int(found.status), found.code, message, found.retry_after)
        return cls({}, refused=refused, gone=isinstance(error, FileError))

    def require(self) -> None:
        """Refused where there are no outputs."""
        if self.refused is not None:
            raise Refused(*self.refused)

    def result(self) -> dict[str, bytes]:
        """The outputs by name. Refused where there are none."""
        self.require()
        return {name: data.tobytes() for name, data in self.files.items()}


class _Batches(Metrics):
    """Notes batches for the server, which counts them."""

    def __init__(self) -> None:
        super().__init__()
        self._noted: deque[tuple[str, int, float]] = deque(maxlen=_MOST_BATCHES)

    def ran(self, model: str, requests: int, seconds: float) -> None:
        self._noted.append((model, requests, seconds))

    def take(self) -> list[tuple[str, int, float]]:
        """Model, requests and seconds of the batches since the last time."""
        return [self._noted.popleft() for _ in range(len(self._noted))]


class Replica:
    """The work of an actor, without Ray. Batches are formed here, of the requests that wait.

    Args:
        models: the files of the models by name.
        settings: limits, and the device.

    Raises:
        FormatError, FileError: where a model can not be loaded.
    """

    def __init__(self, models: Mapping[str, ModelFile], settings: Settings) -> None:
        self._settings = settings
        self._packages = {name: found.load() for name, found in models.items()}
        self._loader = Loader(settings.options, settings.graphs)
        self._cache = WorthCache(settings.loaded_of_device)
        self._told: dict[tuple[str, str], KeyFiles] = {}
        self._running: dict[str, tuple[Evaluation, Future[Answered]]] = {}
        """Requests by number, and their answers to come."""
        self._lock = Lock()
        self._batches = _Batches()
        self._scheduler = Scheduler(
            [Device(self._session, lambda digest, model: self._cache.peek(digest, model, 0), self._cache)],
            waiting=settings.waiting_requests,
            batch=settings.batch,
            metrics=self._batches,
            seconds=settings.time_of_batch,
        )
        self._scheduler.start()
        self.computed = 0
        """Requests that were computed."""

    def inputs(self, model: str) -> list[str]:
        """The names of a model's inputs."""
        return [part.name for part in self._packages[model].inputs]

    async def ready(self) -> dict[str, Any]:
        """The device, host and process of the replica, when the models are prepared for its device."""
        for package in self._packages.values():
            prepare = functools.partial(self._loader.prepare, package)
            await asyncio.wrap_future(self._scheduler.call(prepare))
        device = next((self._loader.context(each).device for each in self._packages.values()), "")
        return {"device": device, "host": platform.node(), "process": os.getpid()}

    async def look(self) -> dict[str, Any]:
        """The keys, requests and batches of the replica. The answer shows that it lives."""
        return {
            "held": [digest for digest, _ in self._cache.places],
            "held_bytes": self._cache.bytes,
            "waiting": self._scheduler.waiting,
            "computed": self.computed,
            "batches": self._batches.take(),
        }

    def evaluate(
        self, number: str, model: str, keys: KeyFiles, files: Mapping[str, Buffer]
    ) -> Future[Answered]:
        """Compute a request. The future has an answer, whatever happens.

        Args:
            number: of the request. One that is sent again while it runs is not computed again.
            model: its name.
            keys: the tenant's.
            files: the inputs.
        """
        request = Evaluation(keys.digest, model, {name: data.tobytes() for name, data in files.items()})
        found: Future[Answered] = Future()
        with self._lock:
            running = self._running.setdefault(number, (request, found))
            if running[0] is not request:
                return running[1]
            self._told[keys.digest, model] = keys
        try:
            self._scheduler.submit(request)
        except Exception as error:
            self._end(number, Answered.of_error(error))
        else:
            request.answer.add_done_callback(functools.partial(self._came, number))
        return found

    def forget(self, number: str) -> None:
        """Nobody waits for a request any more."""
        with self._lock:
            running = self._running.get(number)
        if running is not None:
            running[0].answer.cancel()

    async def check(self, model: str, keys: KeyFiles) -> Answered:
        """Load keys, which is how they are checked; they are then there for the tenant's first request."""
        try:
            with self._lock:
                self._told[keys.digest, model] = keys
            await asyncio.wrap_future(self._scheduler.call(lambda: self._session(keys.digest, model)))
        except Exception as error:
            return Answered.of_error(error)
        return Answered({})

    def _came(self, number: str, answer: Future[Answer]) -> None:
        # Looked up, as the answer keeps this callback and the request has the answer.
        with self._lock:
            request, _ = self._running[number]
        if answer.cancelled():
            refused = (HTTPStatus.GATEWAY_TIMEOUT.value, "timeout", "nobody waits for it", None)
            self._end(number, Answered({}, refused=refused))
            return
        error = answer.exception()
        if error is not None:
            self._end(number, Answered.of_error(error))
            return
        files = {name: np.frombuffer(data, np.uint8) for name, data in answer.result().items()}
        self._end(number, Answered(files, batch=request.batch))

    def _end(self, number: str, answered: Answered) -> None:
        with self._lock:
            _, found = self._running.pop(number)
            self.computed += answered.refused is None
        found.set_result(answered)

    def _session(self, digest: str, model: str) -> Session:
        """The session of keys; in the computing thread."""
        with self._lock:
            keys = self._told[digest, model]
        return self._cache.get(digest, model, 0, lambda: self._load(self._packages[model], keys))

    def _load(self, package: Package, keys: KeyFiles) -> Session:
        keys.require_content()
        files = {name: Path(path) for name, path in keys.files.items()}
        try:
            session = self._loader.load(package, keys.library, files)
        except OutOfMemoryError:
            self._cache.drop_others("", "")
            session = self._loader.load(package, keys.library, files)
        session.digest = keys.digest
        return session
