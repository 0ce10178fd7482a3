"""What a server has and does, apart from HTTP: models, clients, keys on disk and on the device."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from hemera import errors
from hemera.serving.files import write_atomically
from hemera.serving.metrics import Metrics
from hemera.serving.package import Package
from hemera.serving.problems import Refused
from hemera.serving.rates import Rates
from hemera.serving.scheduler import Scheduler
from hemera.serving.sessions import Loader, Session, SessionCache
from hemera.serving.settings import Settings
from hemera.serving.store import KeySet, Store, Upload
from hemera.serving.tokens import Clients, require_name

__all__ = ["Home", "Service"]

_SUFFIX = ".hemera-model"


@dataclass(frozen=True)
class Home:
    """The folder of a server: its models, clients and their keys. It is all that a restart needs."""

    root: Path

    @property
    def clients(self) -> Clients:
        """Who may ask."""
        return Clients(self.root / "clients")

    @property
    def keys(self) -> Path:
        return self.root / "keys"

    @property
    def incoming(self) -> Path:
        return self.root / "incoming"

    def add_model(self, source: Path) -> Package:
        """Copy a packaged model into the folder, in place of one of its name; a server reads it at its start.

        Raises:
            FormatError: when it is damaged.
            ParameterError: when its name can not be part of an address.
            FileError: when files can not be read or written.
        """
        package = Package.load(source)
        require_name(package.name, "a model that is served")
        write_atomically(self._model(package.name), bytes(package))
        return package

    def remove_model(self, name: str) -> None:
        """MismatchError where it is not there."""
        try:
            self._model(require_name(name, "a model")).unlink()
        except FileNotFoundError:
            raise errors.MismatchError(f"there is no model {name!r}") from None

    def remove_client(self, name: str) -> None:
        """Removes a client's token and its keys. MismatchError where it is not there."""
        owner = self.clients.remove(name)
        shutil.rmtree(self.keys / owner, ignore_errors=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Within it, no other server has the folder. FileError where one has it."""
        path = self.root / "lock"
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise errors.FileError(f"cannot open {path}: {error.strerror}") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise errors.FileError(f"another server runs on {self.root}") from None
        finally:
            os.close(handle)

    def models(self) -> dict[str, Package]:
        """All models by name. FormatError where one is damaged."""
        found: dict[str, Package] = {}
        for path in sorted((self.root / "models").glob(f"*{_SUFFIX}")):
            try:
                package = Package.load(path)
            except errors.FormatError as error:
                raise errors.FormatError(f"{path}: {error}") from None
            if package.name != path.name.removesuffix(_SUFFIX):
                raise errors.FormatError(
                    f"{path} holds the model {package.name!r}: add models by --add-model"
                )
            found[package.name] = package
        return found

    def _model(self, name: str) -> Path:
        return self.root / "models" / f"{name}{_SUFFIX}"


class Service:
    """A server's state. Models are read when it is made.

    Args:
        home: its folder.
        settings: its limits.
        clock: what rates are counted by, in seconds.
    """

    def __init__(
        self, home: Home, settings: Settings, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.settings = settings
        self.clients = home.clients
        self.models: Mapping[str, Package] = home.models()
        self.store = Store(home.keys, home.incoming, settings.store_bytes)
        self.metrics = Metrics()
        self.rates = Rates(
            settings.requests_per_second,
            settings.bytes_per_second,
            settings.burst_seconds,
            refused=self.metrics.limited,
            clock=clock,
        )
        self.loader = Loader(settings.device, settings.threads, settings.graphs)
        self.cache = SessionCache(settings.loaded_key_bytes)
        self.scheduler = Scheduler(
            self._session,
            self.cache,
            ready=self._ready,
            waiting=settings.waiting_requests,
            batch=settings.batch,
            metrics=self.metrics,
        )
        self.metrics.watch("hemera_waiting_requests", "Requests that wait", lambda: self.scheduler.waiting)
        self.metrics.watch("hemera_stored_key_bytes", "Bytes of keys on disk", lambda: self.store.bytes)
        self.metrics.watch("hemera_stored_key_sets", "Key sets on disk", lambda: len(self.store))
        self.metrics.watch(
            "hemera_loaded_key_bytes",
            "Bytes of keys in the device's memory, with their graphs and contexts",
            lambda: self.cache.bytes,
        )
        self.metrics.watch("hemera_captured_graphs", "Captured graphs", lambda: self.cache.graphs)
        self.metrics.watch(
            "hemera_loaded_key_sets", "Key sets in the device's memory", lambda: len(self.cache)
        )

    @property
    def device(self) -> str:
        """Where it computes."""
        for package in self.models.values():
            return self.loader.context(package).device
        return self.settings.device

    def prepare(self) -> None:
        """Make contexts and prepared models; called before requests come."""
        for package in self.models.values():
            self.loader.prepare(package)

    def model(self, name: str) -> Package:
        """A model. Refused (404) where it is not there."""
        package = self.models.get(name)
        if package is None:
            raise Refused(HTTPStatus.NOT_FOUND, "unknown_model", f"there is no model {name[:64]!r}")
        return package

    def keys(self, client: str, model: str) -> KeySet:
        """A client's keys for a model. Refused (409) where it has none."""
        found = self.store.find(client, model)
        if found is None:
            raise _no_keys(model)
        return found

    def load_upload(self, package: Package, library: str, upload: Upload) -> Session:
        """The session of keys that were uploaded, which is how they are checked. In the computing thread."""
        try:
            return self.loader.load(package, library, upload.files)
        except errors.OutOfMemoryError:
            self.cache.drop_others("", "")
            return self.loader.load(package, library, upload.files)

    def accept(self, upload: Upload, client: str, package: Package, library: str, session: Session) -> KeySet:
        """Checked keys become the client's; they are on disk when this returns."""
        found = self.store.commit(upload, client, package.name, library)
        self.cache.put(client, package.name, found.generation, session)
        return found

    def remove_keys(self, client: str, model: str) -> bool:
        """Whether there were any."""
        self.cache.drop(client, model)
        return self.store.remove(client, model)

    def _session(self, client: str, model: str) -> Session:
        """The keys of a client on the device."""
        package = self.model(model)
        while True:
            found = self.keys(client, model)
            try:
                return self.cache.get(
                    client,
                    model,
                    found.generation,
                    lambda found=found: self._load(package, found),  # type: ignore[misc]
                )
            except errors.FileError:
                if all(path.exists() for path in found.files.values()):
                    raise
                if self.store.find(client, model) == found:  # and were not replaced meanwhile
                    self.store.forget(found)

    def _ready(self, client: str, model: str) -> Session | None:
        """The same, if it is there already."""
        found = self.store.find(client, model)
        return None if found is None else self.cache.peek(client, model, found.generation)

    def _load(self, package: Package, found: KeySet) -> Session:
        try:
            return self.loader.load(package, found.library, found.files)
        except errors.OutOfMemoryError:
            self.cache.drop_others(found.client, found.model)
            return self.loader.load(package, found.library, found.files)


def _no_keys(model: str) -> Refused:
    return Refused(
        HTTPStatus.CONFLICT,
        "no_keys",
        f"the server has no keys of yours for {model!r}: PUT /v1/models/{model}/keys first",
    )
