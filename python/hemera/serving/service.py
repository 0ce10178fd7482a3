"""A server apart from HTTP: models, indexes, clients, keys on disk and on the device."""

from __future__ import annotations

import functools
import logging
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import hemera
from hemera import errors
from hemera._files import which_file
from hemera._inspect import HEMERA
from hemera._process import Lock
from hemera.pool.members import bind_thread
from hemera.serving.admission import Admission, Rates
from hemera.serving.clients import plain_name
from hemera.serving.evaluation import Device
from hemera.serving.federations import SharedFolder
from hemera.serving.home import Home
from hemera.serving.logs import log
from hemera.serving.metrics import Metrics
from hemera.serving.reasons import KEYS_FIRST, UNKNOWN
from hemera.serving.scheduler import Scheduler, Scheduling
from hemera.serving.served import Served, ServedIndex, ServedModel
from hemera.serving.session_cache import Session, SessionCache
from hemera.serving.sessions import Loader, ModelSession
from hemera.serving.settings import Settings
from hemera.serving.store import KeySet, Store
from hemera.serving.uploads import Upload

_LOADED_BYTES = "Bytes of keys in the devices' memory, with their graphs and contexts"
_LOADED_SETS = "Key sets in the devices' memory; one set counts on each device that holds it"
_LOADS = "Key sets that came into the devices' memory"
_EVICTIONS = "Key sets that left the devices' memory for others"
_DAMAGED = "Models and indexes that can not be served"
_SHARES = "Shares of clients of models under a name that gives one of several"
_PREPARED = "Queries of indexes that are prepared, and have not come"
T = TypeVar("T")


class Service:
    """A server's state. Models and indexes are found when it is made; those that can not be served are in the
    log and in `damaged`.

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
        self._home = home
        places = self._places = settings.places
        self._loaders = [Loader(place.options, settings.graphs) for place in places]
        packages, self.damaged = home.models()
        paths, clashing = home.indexes()
        self.models = {
            name: ServedModel(name, each, settings, self._loaders) for name, each in packages.items()
        }
        self.aliases = home.aliases
        self.damaged.update(clashing)
        self.indexes = {name: ServedIndex(name, path, settings) for name, path in paths.items()}
        self._seen = {name: which_file(path) for name, path in paths.items()}
        for name, why in self.damaged.items():
            self._damage(name, why)
        self.store = Store(home.keys, home.incoming, settings.store_bytes, settings.store_of_client)
        self.federations = {name: SharedFolder(name, home.federation(name)) for name in settings.federations}
        for folder in self.federations.values():
            folder.hold(self.store.besides)
        self.drains = False
        """Whether it is about to stop."""
        self._folder = Lock()
        """Held while the folder is looked through for changes."""
        self.failed = False
        """Whether it ended by itself."""
        self.metrics = Metrics()
        self.rates = Rates(settings, lambda limit: self.metrics.limited.labels(limit).inc(), clock)
        self.admission = Admission(
            settings.client_requests * len(places), settings.waiting_requests, clock=clock
        )
        self.caches = [SessionCache(settings.loaded_of_device) for _ in places]
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
            seconds=settings.time_of_batch,
        )
        for watched, what, number in (
            ("waiting_requests", "Requests that wait", lambda: self._waiting),
            ("stored_key_bytes", "Bytes of keys on disk", lambda: self.store.bytes),
            ("stored_key_sets", "Key sets on disk", lambda: len(self.store)),
            ("loaded_key_bytes", _LOADED_BYTES, lambda: sum(cache.bytes for cache in self.caches)),
            ("prepared_queries", _PREPARED, lambda: sum(cache.prepared for cache in self.caches)),
            ("captured_graphs", "Captured graphs", lambda: sum(cache.graphs for cache in self.caches)),
            ("loaded_key_sets", _LOADED_SETS, lambda: sum(map(len, self.caches))),
        ):
            self.metrics.watch(f"hemera_{watched}", what, number)
        self._tell_counts()

    @property
    def _waiting(self) -> int:
        return self.scheduler.waiting + self.admission.waiting

    @property
    def device(self) -> str:
        """Where it computes: the names of its devices, with commas."""
        for each in self._all:
            return each.devices
        return self.settings.device

    def prepare(self) -> None:
        """Make contexts, prepared models and indexes in the devices' threads; called before requests come,
        when the scheduler runs. Models that can not be made join the damaged ones."""
        for each in self._all:
            try:
                self._make(each)
            except errors.Error as error:
                self.of_kind(each.kind).pop(each.name)
                self._damage(each.name, str(error))
            else:
                self._tell_model(each)

    def _tell_counts(self) -> None:
        """Counts of what others hold, limits, and what the server is."""
        metrics, caches = self.metrics, self.caches
        metrics.count("hemera_key_loads", _LOADS, lambda: sum(each.loads for each in caches))
        metrics.count("hemera_key_evictions", _EVICTIONS, lambda: sum(each.evictions for each in caches))
        metrics.watch("hemera_damaged", _DAMAGED, lambda: len(self.damaged))
        build = [((hemera.__version__, platform.python_version()), 1.0)]
        metrics.tell("hemera_build_info", "Versions", ("version", "python"), lambda: build)
        limits = [((name,), number) for name, number in self.settings.limits.items()]
        metrics.tell("hemera_limit", "Limits of the server, by their setting", ("limit",), lambda: limits)
        metrics.tell("hemera_model_share", _SHARES, ("name", "model"), self._shares)

    def _shares(self) -> list[tuple[Sequence[str], float]]:
        found: list[tuple[Sequence[str], float]] = []
        for name in self.aliases.names():
            weights = self.aliases.weights(name)
            found += [((name, model), own / sum(weights.values())) for model, own in weights.items()]
        return found

    def _tell_model(self, served: Served | None, *, is_served: bool = True) -> None:
        """Have the metrics name a model that is served, or is not any more; they name no index."""
        if served is None or served.digest is None:
            return
        if is_served:
            self.metrics.models.labels(served.name, served.digest).set(1)
        else:
            self.metrics.models.remove(served.name, served.digest)

    def _damage(self, name: str, why: str) -> None:
        """A model or an index can not be served."""
        self.damaged[name] = why
        log("damaged", level=logging.ERROR, model=name, why=why)

    def _make(self, served: Served) -> None:
        """Prepare a model or an index, in the thread of each device."""
        running = [
            self.scheduler.call(functools.partial(served.prepare, number, place.options), number)
            for number, place in enumerate(self._places)
        ]
        for each in running:
            each.result()

    @property
    def _all(self) -> list[Served]:
        return [*self.models.values(), *self.indexes.values()]

    def of_kind(self, kind: str) -> dict[str, Any]:
        """The models, or the indexes, by name."""
        return self.models if kind == "model" else self.indexes

    def entries(self, kind: str, client: str) -> list[dict[str, Any]]:
        """What a list has for a client: the names of models, and aliases, or indexes."""
        there = self.of_kind(kind)
        names = {*there, *(self.aliases.names() if kind == "model" else ())}
        got = {name: self.aliases.model(name, client, there) for name in sorted(names)}
        return [{**there[each].entry(), "name": name} for name, each in got.items() if each in there]

    def served(self, kind: str, name: str, client: str) -> Served:
        """A model or an index. Refused (404) where it is not there."""
        return self.model(name, client) if kind == "model" else _found(self.indexes, name, kind)

    def model(self, name: str, client: str) -> ServedModel:
        """The model that a client gets under a name. Refused (404) where there is none."""
        return _found(self.models, self.aliases.model(name, client, self.models), "model")

    def federation(self, name: str) -> SharedFolder:
        """The shared folder of a federation. Refused (404) where it is not there."""
        return _found(self.federations, name, "federation")

    def keys(self, client: str, model: str) -> KeySet:
        """A client's keys for a model or an index. Refused (409) where it has none."""
        found = self.store.find(client, plain_name(model))
        if found is None:
            kinds = "indexes" if model in self.indexes else "models"
            raise KEYS_FIRST.refused(name=model, kinds=kinds)
        found.use()
        return found

    def device_for_keys(self) -> int:
        """The number of the device that keys are uploaded to: the one with the fewest bytes of them."""
        return min(range(len(self.caches)), key=lambda number: self.caches[number].bytes)

    def load_upload(self, served: Served, library: str, upload: Upload, device: int) -> Session | None:
        """The session of keys that were uploaded, which is how they are checked; None where it is elsewhere.
        In the device's thread."""
        self.caches[device].make_room(served.name)
        session = self._with_room(device, ("", ""), lambda: served.session(device, library, upload.files))
        session.is_wanted = served.is_current
        return session

    def _with_room(self, device: int, place: tuple[str, str], load: Callable[[], Session]) -> Session:
        """A session; where the device has no room for it, in the place of all others but that of a client
        and model."""
        try:
            return load()
        except errors.OutOfMemoryError:
            self.caches[device].drop_others(*place)
            return load()

    def accept(
        self, upload: Upload, library: str, session: Session | None, device: int, model: str
    ) -> KeySet:
        """Checked keys become the client's; they are on disk when this returns. Their session is for `model`,
        a full name."""
        found = self.store.commit(upload, library)
        for cache in self.caches:
            cache.drop(upload.client, upload.model)  # those before
        if session is not None:
            session.digest = found.digest
            self.caches[device].put(upload.client, model, found.generation, session)
        return found

    def remove_keys(self, client: str, model: str) -> bool:
        """Whether there were any."""
        for cache in self.caches:
            cache.drop(client, model)
        return self.store.remove(client, model)

    @property
    def is_ready(self) -> bool:
        """Whether requests are computed, and more may come."""
        return self.scheduler.alive and not self.drains

    def reload(self) -> None:
        """Take what the folder has now."""
        self.sweep()
        with self._folder:
            self._reload_models()
        self.sweep_indexes()

    def _reload_models(self) -> None:
        """Serve the models that the folder has now. Those whose files did not change go on as they are. Of
        one that changed, requests that wait are refused (409), and the client encodes them for the new one.
        A damaged file leaves the model before it."""
        packages, damaged = self._home.models()
        for name in self.models.keys() - packages.keys() - damaged.keys():
            self._replace("model", name, None)
        for name, package in packages.items():
            self.damaged.pop(name, None)
            before = self.models.get(name)
            if before is None or before.digest != package.digest:
                self._replace("model", name, ServedModel(name, package, self.settings, self._loaders))
        for name, why in damaged.items():
            self._damage(name, why)

    def _replace(self, kind: str, name: str, served: Any) -> None:
        """Serve another model or index under a name, or none (None); one that can not be made leaves the one
        before it. Clients keep their keys on the disk."""
        if served is not None:
            try:
                self._make(served)
            except errors.Error as error:
                self._damage(name, str(error))
                return
            self.damaged.pop(name, None)
        there = self.of_kind(kind)
        before = there.get(name)
        found = {other: each for other, each in there.items() if other != name}
        if served is not None:
            found[name] = served
        # A dictionary of its own: others read the one before in this moment.
        if kind == "model":
            self.models = found
        else:
            self.indexes = found
        if before is not None:
            before.retire()
            for cache in self.caches:
                cache.drop_all(name)
            self._tell_model(before, is_served=False)
        self._tell_model(served)
        rows = None if kind == "model" else 0 if served is None else served.entry()["rows"]
        told: dict[str, Any] = {kind: name, "digest": None if served is None else served.digest, "rows": rows}
        log(kind, **told)

    def sweep(self) -> None:
        """Forget keys whose files are gone, also on the device: those of clients that were removed. Remove
        keys that nobody used for too long, and discard uploads that have waited for too long. Folders of
        federations that were removed take no room any more."""
        self.store.besides.forget_folders()
        self.store.expire(self.settings.upload_seconds)
        for found in self.store.sets():
            if 0 < (self.settings.unused_key_seconds or 0) < found.unused_seconds:
                self.remove_keys(found.client, found.model)
                log("unused keys", client=found.client, name=found.model, bytes=found.bytes)
            if not found.is_there():
                self.store.forget(found)
                for cache in self.caches:
                    cache.drop(found.client, found.model, found.generation)

    def sweep_indexes(self) -> None:
        """Serve the indexes that the folder has now: those whose files were replaced, and new ones, are read
        and take the places of those before; those whose files are gone are dropped. A damaged file leaves
        the index before it."""
        with self._folder:
            self._sweep_indexes()

    def _sweep_indexes(self) -> None:
        paths, _ = self._home.indexes()
        for name in self.indexes.keys() - paths.keys():
            self._replace("index", name, None)
        seen, self._seen = self._seen, {name: which_file(path) for name, path in paths.items()}
        for name, path in paths.items():
            if self._seen[name] not in (None, seen.get(name)):
                self._replace("index", name, ServedIndex(name, path, self.settings))

    def _session(self, device: int, client: str, model: str) -> Session:
        """The keys of a client on a device."""
        while True:
            found = self.keys(client, model)
            try:
                return self.caches[device].get(
                    client, model, found.generation, functools.partial(self._load, device, found, model)
                )
            except errors.FileError:
                if found.is_there():
                    raise
                if self.store.find(client, found.model) == found:  # and were not replaced meanwhile
                    self.store.forget(found)

    def _ready(self, device: int, client: str, model: str) -> Session | None:
        """The same, if it is there already."""
        found = self.store.find(client, plain_name(model))
        return None if found is None else self.caches[device].peek(client, model, found.generation)

    def _load(self, device: int, found: KeySet, model: str) -> Session:
        """The session of stored keys for a model, a full name, or an index: from another device that holds
        them, else from their files."""

        served: Served = self.indexes.get(model) or _found(self.models, model, "model")

        def load() -> Session:
            if isinstance(served, ServedModel):
                for cache in self.caches:
                    other = cache.peek(found.client, model, found.generation)
                    if isinstance(other, ModelSession) and (copied := other.copied_to(self._loaders[device])):
                        return copied
            try:
                return served.session(device, found.library, found.files)
            except errors.MismatchError as error:
                if found.library != HEMERA:
                    raise
                # They came for another version, or for the model before this one, of other parameters.
                kinds = "models" if isinstance(served, ServedModel) else "indexes"
                raise KEYS_FIRST.refused(name=model, kinds=kinds) from error

        session = self._with_room(device, (found.client, model), load)
        session.digest, session.is_wanted = found.digest, served.is_current
        return session


def _found(there: Mapping[str, T], name: str, what: str) -> T:
    found = there.get(name)  # another thread may drop it
    if found is None:
        raise UNKNOWN.refused(kind=what, name=name[:64])
    return found
