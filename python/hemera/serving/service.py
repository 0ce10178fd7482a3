"""What a server has and does, apart from HTTP: models, clients, keys on disk and on the device."""

from __future__ import annotations

import contextlib
import functools
import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from hemera import errors
from hemera._inspect import HEMERA
from hemera.pool.members import bind_thread
from hemera.serving.files import locked, write_atomically
from hemera.serving.logs import log
from hemera.serving.metrics import Metrics
from hemera.serving.package import Package
from hemera.serving.problems import Refused
from hemera.serving.rates import Rates
from hemera.serving.scheduler import Device, Scheduler, Scheduling
from hemera.serving.sessions import Loader, Session, SessionCache, memory_of
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

    def add_model(self, source: Path | Package) -> Package:
        """Copy a packaged model, or a file of one, into the folder, in place of one of its name. A server
        reads it at its start.

        Raises:
            FormatError: when it is damaged.
            ParameterError: when its name can not be part of an address.
            FileError: when files can not be read or written.
        """
        package = source if isinstance(source, Package) else Package.load(source)
        require_name(package.name, "a model that is served")
        write_atomically(self.model_file(package.name), bytes(package))
        return package

    def remove_model(self, name: str) -> None:
        """MismatchError where it is not there."""
        try:
            self.model_file(require_name(name, "a model")).unlink()
        except FileNotFoundError:
            raise errors.MismatchError(f"there is no model {name!r}") from None

    def remove_client(self, name: str) -> None:
        """Removes a client's token and its keys. MismatchError where it is not there."""
        owner = self.clients.remove(name)
        shutil.rmtree(self.keys / owner, ignore_errors=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Within it, no other server has the folder. FileError where one has it."""
        try:
            with locked(self.root / "lock", wait=False):
                yield
        except BlockingIOError:
            raise errors.FileError(f"another server runs on {self.root}") from None

    def models(self) -> tuple[dict[str, Package], dict[str, str]]:
        """All models by name, and what is wrong with each that can not be served: one damaged file keeps no
        other model from its clients."""
        found: dict[str, Package] = {}
        damaged: dict[str, str] = {}
        for path in sorted((self.root / "models").glob(f"*{_SUFFIX}")):
            name = path.name.removesuffix(_SUFFIX)
            try:
                package = Package.load(path)
                package.describe()
                if package.name != name:
                    raise errors.FormatError(
                        f"the file holds the model {package.name!r}: add models by --add-model"
                    )
            except errors.Error as error:
                damaged[name] = f"{path}: {error}"
            else:
                found[name] = package
        return found, damaged

    def model_file(self, name: str) -> Path:
        return self.root / "models" / f"{name}{_SUFFIX}"


class Service:
    """A server's state. Models are read when it is made; those that can not be are in the log and in
    `damaged`.

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
        self.models, self.damaged = home.models()
        for name, why in self.damaged.items():
            _report(name, why)
        self.store = Store(home.keys, home.incoming, settings.store_bytes, settings.store_of_client)
        self.failed = False
        """Whether it ended by itself."""
        self.metrics = Metrics()
        self.rates = Rates(
            settings.requests_per_second,
            settings.bytes_per_second,
            settings.burst_seconds,
            refused=self.metrics.limited,
            clock=clock,
        )
        places = settings.places
        self._loaders = [Loader(place.options, settings.graphs) for place in places]
        self.caches = [SessionCache(settings.loaded_key_bytes) for _ in places]
        self.scheduler: Scheduling = Scheduler(
            [
                Device(
                    functools.partial(self._session, number),
                    functools.partial(self._ready, number),
                    self.caches[number],
                    functools.partial(bind_thread, place.processors),
                )
                for number, place in enumerate(places)
            ],
            waiting=settings.waiting_requests,
            batch=settings.batch,
            metrics=self.metrics,
        )
        self.metrics.watch("hemera_waiting_requests", "Requests that wait", lambda: self.scheduler.waiting)
        self.metrics.watch("hemera_stored_key_bytes", "Bytes of keys on disk", lambda: self.store.bytes)
        self.metrics.watch("hemera_stored_key_sets", "Key sets on disk", lambda: len(self.store))
        self.metrics.watch(
            "hemera_loaded_key_bytes",
            "Bytes of keys in the devices' memory, with their graphs and contexts",
            lambda: sum(cache.bytes for cache in self.caches),
        )
        self.metrics.watch(
            "hemera_captured_graphs",
            "Captured graphs",
            lambda: sum(cache.graphs for cache in self.caches),
        )
        self.metrics.watch(
            "hemera_loaded_key_sets",
            "Key sets in the devices' memory; one set counts on each device that holds it",
            lambda: sum(map(len, self.caches)),
        )

    @property
    def device(self) -> str:
        """Where it computes: the names of its devices, with commas."""
        for package in self.models.values():
            return ",".join(loader.context(package).device for loader in self._loaders)
        return self.settings.device

    def prepare(self) -> None:
        """Make contexts and prepared models in the devices' threads; called before requests come, when the
        scheduler runs. Models that can not be prepared join the damaged ones."""
        for name, package in list(self.models.items()):
            prepared = [
                self.scheduler.call(functools.partial(loader.prepare, package), number)
                for number, loader in enumerate(self._loaders)
            ]
            try:
                for each in prepared:
                    each.result()
            except errors.Error as error:
                self.damaged[name] = str(error)
                del self.models[name]
                _report(name, str(error))

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

    def device_for_keys(self) -> int:
        """The number of the device that keys are uploaded to: the one with the fewest bytes of them."""
        return min(range(len(self.caches)), key=lambda number: self.caches[number].bytes)

    def load_upload(self, package: Package, library: str, upload: Upload, device: int) -> Session | None:
        """The session of keys that were uploaded, which is how they are checked; None where it is elsewhere.
        In the device's thread."""
        try:
            return self._loaders[device].load(package, library, upload.files)
        except errors.OutOfMemoryError:
            self.caches[device].drop_others("", "")
            return self._loaders[device].load(package, library, upload.files)

    def accept(self, upload: Upload, library: str, session: Session | None, device: int) -> KeySet:
        """Checked keys become the client's; they are on disk when this returns."""
        found = self.store.commit(upload, library)
        for number, cache in enumerate(self.caches):
            if number != device:
                cache.drop(upload.client, upload.model)  # those before
        if session is not None:
            session.digest = found.digest
            self.caches[device].put(upload.client, upload.model, found.generation, session)
        return found

    def remove_keys(self, client: str, model: str) -> bool:
        """Whether there were any."""
        for cache in self.caches:
            cache.drop(client, model)
        return self.store.remove(client, model)

    def memory_of(self, package: Package, client: str, files: Mapping[str, bytes]) -> int:
        """Bytes that a request will take beside its files when it is loaded (`sessions.memory_of`); of other
        libraries' clients, whose files hold one ciphertext each, those of as many fresh ones."""
        if self.keys(client, package.name).library == HEMERA:
            return memory_of(package, files, self.settings.batch)
        return len(files) * package.params.ciphertext_bytes

    def key_limit(self, package: Package) -> int:
        """Bytes that an upload of Hemera's keys for a model may have: some more than it needs."""
        needed = package.interface.key_bytes_at_most
        return min(self.settings.key_bytes, 2 * needed + max(package.params.switching_key_bytes, 1 << 20))

    def sweep(self) -> None:
        """Forget keys whose files are gone, also on the device: those of clients that were removed."""
        for found in self.store.sets():
            if not found.is_there():
                self.store.forget(found)
                for cache in self.caches:
                    cache.drop(found.client, found.model, found.generation)

    def _session(self, device: int, client: str, model: str) -> Session:
        """The keys of a client on a device."""
        package = self.model(model)
        while True:
            found = self.keys(client, model)
            try:
                return self.caches[device].get(
                    client, model, found.generation, functools.partial(self._load, device, package, found)
                )
            except errors.FileError:
                if found.is_there():
                    raise
                if self.store.find(client, model) == found:  # and were not replaced meanwhile
                    self.store.forget(found)

    def _ready(self, device: int, client: str, model: str) -> Session | None:
        """The same, if it is there already."""
        found = self.store.find(client, model)
        return None if found is None else self.caches[device].peek(client, model, found.generation)

    def _load(self, device: int, package: Package, found: KeySet) -> Session:
        """The session of stored keys: from another device that holds them, else from their files."""

        def load() -> Session:
            for cache in self.caches:
                other = cache.peek(found.client, found.model, found.generation)
                if other is not None and (copied := other.copied_to(self._loaders[device])) is not None:
                    return copied
            return self._loaders[device].load(package, found.library, found.files)

        try:
            session = load()
        except errors.OutOfMemoryError:
            self.caches[device].drop_others(found.client, found.model)
            session = load()
        session.digest = found.digest
        return session


def _report(model: str, why: str) -> None:
    log("damaged", level=logging.ERROR, model=model, why=why)


def _no_keys(model: str) -> Refused:
    return Refused(
        HTTPStatus.CONFLICT,
        "no_keys",
        f"the server has no keys of yours for {model!r}: PUT /v1/models/{model}/keys first",
    )
