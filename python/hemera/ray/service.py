"""A server whose replicas compute: HTTP, clients and keys on disk as of one machine."""

from __future__ import annotations

import math
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

from hemera.errors import DeviceError, ParameterError
from hemera.ray.cluster import Cluster
from hemera.ray.dispatch import Dispatcher, Limits
from hemera.ray.replica import KeyFiles, ModelFile
from hemera.serving.admission import Admission
from hemera.serving.home import Home
from hemera.serving.served import Served
from hemera.serving.service import Service
from hemera.serving.session_cache import SessionCache
from hemera.serving.settings import Settings
from hemera.serving.uploads import Upload

if TYPE_CHECKING:
    from hemera.ray.dispatch import Spawner

_STEP = 4
"""The number of batches at a replica from which on a tenant gets another replica: docs/scaling.md."""


class RayService(Service):
    """A server's state where replicas compute. HOME lies in storage that all hosts share, under one path.

    Args:
        home: its folder.
        settings: its limits; those of devices are each replica's.
        spawner: of the replicas, given the models and the settings.
        limits: of requests and supervision.
    """

    def __init__(self, home: Home, settings: Settings, spawner: Spawner, limits: Limits) -> None:
        super().__init__(home, settings)
        self._dispatcher = Dispatcher(
            spawner, self._key_files, limits, ran=self.metrics.ran, failed=self._fail
        )
        self.scheduler = self._dispatcher
        # Replicas take turns themselves, and a client's keys come to another one where its requests wait.
        self.admission = Admission(math.inf, settings.waiting_requests)
        self.caches = [_Elsewhere(self._dispatcher)]
        self.metrics.watch(
            "hemera_replaced_replicas",
            "Replicas that took the place of others",
            lambda: self._dispatcher.replaced,
        )

    @property
    def device(self) -> str:
        """Where the replicas compute."""
        return self._dispatcher.device or self.settings.device

    def prepare(self) -> None:
        """Wait for replicas. DeviceError where none comes up."""
        if not self._dispatcher.wait():
            raise DeviceError(
                "no replica has come up: see whether the cluster has a device free for one (ray status)"
            )
        for model in self.models.values():
            self._tell_model(model)

    def _reload_models(self) -> None:
        """ParameterError where models changed: replicas read them when they start."""
        packages, _ = self._home.models()
        now = {(name, each.digest) for name, each in packages.items()}
        changed = now ^ {(name, each.digest) for name, each in self.models.items()}
        if changed:
            raise ParameterError(
                f"replicas of Ray read models at their start: start the server anew for what is in "
                f"{self._home.root} now, of {', '.join(sorted({name for name, _ in changed}))}"
            )

    def sweep_indexes(self) -> None:
        """Nothing: replicas have no indexes."""

    def load_upload(self, served: Served, library: str, upload: Upload, device: int) -> None:  # noqa: ARG002
        """Have a replica load keys that were uploaded, which is how they are checked."""
        files = {name: str(path) for name, path in upload.files.items()}
        self._dispatcher.check(served.name, KeyFiles(upload.digest, library, files))

    def _key_files(self, client: str, model: str, gone: KeyFiles | None) -> KeyFiles:
        found = self.keys(client, model)
        if gone is not None and found.digest == gone.digest and not found.is_there():
            self.store.forget(found)
            found = self.keys(client, model)
        return KeyFiles.of(found)

    def _fail(self) -> None:
        self.failed = True
        signal.raise_signal(signal.SIGTERM)


class _Elsewhere(SessionCache):
    """Sessions that replicas hold, as the server's metrics count them. Keys that were removed leave the
    replicas when others need their room."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        super().__init__(0)
        self._dispatcher = dispatcher

    @property
    def bytes(self) -> int:
        return self._dispatcher.held[1]

    def __len__(self) -> int:
        return self._dispatcher.held[0]


def limits_of(settings: Settings, replicas: int) -> Limits:
    """The limits of several replicas, by the settings of one machine: a client may have as many requests at
    each replica as it may have there."""
    own = settings.waiting_requests
    return Limits(
        client_requests=own * replicas, replica_requests=2 * own, step=min(_STEP * settings.batch, own)
    )


def on_cluster(home: Home, settings: Settings, *, address: str, replicas: int | None) -> RayService:
    """The service of a folder on a cluster of Ray: see `hemera.ray.cluster.Cluster`. ParameterError for a
    folder with an index."""
    home = Home(home.root.absolute())
    indexes, _ = home.indexes()
    if indexes:
        raise ParameterError(
            f"replicas of Ray compute models, and {home.root} has the index {next(iter(indexes))!r}: serve "
            "indexes without --ray, from a folder of their own (`hemera serve HOME --remove-index NAME`)"
        )
    packages, _ = home.models()
    files = {name: ModelFile(str(home.model_file(name)), each.digest) for name, each in packages.items()}
    requests = limits_of(settings, 1).replica_requests
    own = replace(settings, waiting_requests=requests)  # here it is the server that refuses
    cluster = Cluster(address, files, own, replicas=replicas)
    return RayService(home, settings, cluster, limits_of(settings, cluster.count))
