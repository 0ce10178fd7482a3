"""Replicas as actors of Ray."""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

from hemera.errors import DeviceError, HemeraWarning, ParameterError
from hemera.ray.channel import connect
from hemera.ray.handles import Lost
from hemera.ray.installed import ENVIRONMENT, imported, keep_to_this_machine
from hemera.ray.replica import ModelFile, Replica
from hemera.ray.requests import Asking, answer_requests
from hemera.serving.settings import Settings

LOCAL = "local"
"""Ray's own word for a cluster of this process, which ends with it."""
_CONNECT_SECONDS = 2.0
_ANSWER_THREADS = 4
_CALLS = 64
"""Calls of a replica at once, by Ray: looks, and keys to check. Requests go past Ray."""


class Cluster:
    """A cluster of Ray, whose replicas live as long as this process.

    Args:
        address: "HOST:PORT" of its head, "auto" for the one of this machine, `LOCAL` for one of its own.
        models: of each replica.
        settings: of each replica.
        replicas: how many; None: one for each GPU, without any one for each node.

    Raises:
        ParameterError: without the extra "ray".
        DeviceError: when the cluster is not to be reached.
    """

    def __init__(
        self, address: str, models: Mapping[str, ModelFile], settings: Settings, *, replicas: int | None
    ) -> None:
        self._is_own = address == LOCAL
        if self._is_own:
            keep_to_this_machine()
        self._ray = ray = imported()
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        own_cpus = (replicas or 1) * (settings.threads or 1)
        try:
            own = {"num_cpus": max(os.cpu_count() or 1, own_cpus), "include_dashboard": False}
            ray.init(address=address, **quiet, **(own if self._is_own else {}))
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise DeviceError(f"no cluster of Ray is to be reached at {address!r}: {error}") from None
        self.gcs: str = ray.get_runtime_context().gcs_address
        if self._is_own and not ip_address(self._host).is_loopback:
            warnings.warn(
                f"Ray listens at {self._host}, not on loopback alone, as it was imported before: let a "
                "firewall keep others from its ports",
                HemeraWarning,
                stacklevel=2,
            )
        resources = ray.cluster_resources()
        gpus = int(resources.get("GPU", 0))
        on_gpus = settings.device.startswith("cuda") or (settings.device == "auto" and gpus > 0)
        if on_gpus and not gpus:
            ray.shutdown()
            raise ParameterError(f"the cluster at {address!r} has no GPU: give --device cpu")
        nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        self.count = replicas or (gpus if on_gpus else max(len(nodes), 1))
        """The number of replicas."""
        options = {"num_gpus": 1} if on_gpus else {"num_cpus": settings.threads or 1}
        self._actor = ray.remote(_Process).options(
            max_restarts=0,  # the server makes another one, under a handle of its own
            max_task_retries=0,
            max_concurrency=_CALLS,
            scheduling_strategy="SPREAD",
            # The variables of a cluster's nodes are not this process's.
            runtime_env={"env_vars": {name: os.environ[name] for name in ENVIRONMENT}},
            **options,
        )
        # Ray shows each replica its own GPU alone.
        own_settings = replace(settings, device="cuda" if on_gpus else "cpu")
        self._arguments = (dict(models), own_settings, not self._is_own)
        # Work after an answer may call Ray. Ray's own thread, which brings answers, must not.
        self._answers = ThreadPoolExecutor(_ANSWER_THREADS, thread_name_prefix="hemera-answers")

    def spawn(self) -> _Actor:
        """A replica, which Ray starts as soon as a node has room for it."""
        return _Actor(self._ray, self._actor.remote(*self._arguments), self._answers)

    @property
    def _host(self) -> str:
        return self.gcs.rpartition(":")[0].strip("[]")

    def alive(self) -> bool:
        """Whether the head is to be reached, and a node lives of a cluster of its own, which nobody mends."""
        port = int(self.gcs.rpartition(":")[2])
        try:
            with socket.create_connection((self._host, port), timeout=_CONNECT_SECONDS):
                return not self._is_own or any(node["Alive"] for node in self._ray.nodes())
        except (OSError, RuntimeError, self._ray.exceptions.RayError):
            return False

    def close(self) -> None:
        """End the replicas, and what belongs to a cluster of its own."""
        self._answers.shutdown(wait=False)
        self._ray.shutdown()


class _Process(Replica):
    """The actor: a replica that takes requests of its server past Ray.

    Args:
        models, settings: as of `Replica`.
        far: whether the server may be on another host.
    """

    def __init__(self, models: Mapping[str, ModelFile], settings: Settings, far: bool) -> None:
        super().__init__(models, settings)
        self._door = answer_requests(self, imported().util.get_node_ip_address() if far else None)

    async def ready(self) -> dict[str, Any]:
        return {**await super().ready(), "address": self._door.address}


class _Actor:
    """A `Handle`. Requests go by a channel, other calls by Ray."""

    def __init__(self, ray: Any, actor: Any, answers: Executor) -> None:
        self._ray = ray
        self._actor = actor
        self._answers = answers
        self._asking: Asking | None = None

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        found: Future[Any] = Future()
        try:
            if method == "evaluate":
                return self._asked().evaluate(*arguments)
            if method == "forget":
                self._asked().forget(*arguments)
                found.set_result(None)
                return found
            called: Future[Any] = getattr(self._actor, method).remote(*arguments).future()
        except Exception as error:
            found.set_exception(self._told(error))
            return found

        def done(future: Future[Any]) -> None:
            try:
                result = future.result()
                if method == "ready":
                    self._asking = Asking(connect(result.pop("address")))
            except BaseException as error:
                found.set_exception(self._told(error))
            else:
                found.set_result(result)

        called.add_done_callback(lambda future: self._answers.submit(done, future))
        return found

    def _asked(self) -> Asking:
        if self._asking is None:
            raise Lost("it is not ready")
        return self._asking

    def kill(self) -> None:
        if self._asking is not None:
            self._asking.close()
        self._ray.kill(self._actor)

    def _told(self, error: Any) -> Any:
        kinds = self._ray.exceptions
        if isinstance(error, kinds.RayTaskError):
            return error
        if isinstance(error, (kinds.RayError, ConnectionError)):  # actors, nodes, and answers that went too
            return Lost(str(error))
        return error
