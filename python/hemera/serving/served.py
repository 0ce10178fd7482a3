"""What a server has for its clients: a model or an index, for which they upload keys and send requests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from hemera._inspect import HEMERA
from hemera._process import cached_property
from hemera.client.wire import KEYS_FILE
from hemera.errors import FormatError
from hemera.inputs.fields import as_base64
from hemera.inputs.source import read_bytes
from hemera.objects.devices import DeviceOptions
from hemera.package.maps import client_maps
from hemera.package.package import Package
from hemera.search import Index
from hemera.search.maps import search_maps
from hemera.serving.clients import plain_name, version_of
from hemera.serving.reasons import MODEL_CHANGED
from hemera.serving.session_cache import QUERY, IndexSession, Session, request_of
from hemera.serving.sessions import Loader, memory_of
from hemera.serving.settings import Settings

_FACTS = ("dims", "metric", "exact", "margin", "payload")
"""Fields of settings that a list of indexes has, where there are such."""


class Served(ABC):
    """A model or an index of a server. `name` is that of addresses, keys and metrics.

    Args:
        settings: limits of the server.
    """

    kind: ClassVar[str]
    """"model" or "index"."""
    joins: ClassVar[bool]
    """Whether requests of several clients run as one batch."""
    name: str
    digest: str | None = None
    """The digest that clients encode for; None: there is none."""

    @property
    def key_name(self) -> str:
        """The name under which clients' keys are kept: that of all versions of a model."""
        return plain_name(self.name)

    def __init__(self, settings: Settings) -> None:
        self._limits = settings
        self._is_current = True

    def is_current(self) -> bool:
        """Whether no other one has taken its place."""
        return self._is_current

    def retire(self) -> None:
        """Another one takes its place: its sessions serve no more requests."""
        self._is_current = False

    @abstractmethod
    def prepare(self, number: int, options: DeviceOptions) -> None:
        """Make what requests need of it on a device; in the device's thread. Errors of files and devices."""

    @property
    @abstractmethod
    def devices(self) -> str:
        """The names of its devices, with commas."""

    @property
    @abstractmethod
    def key_limit(self) -> int:
        """Bytes that an upload of Hemera's keys may have: some more than it needs."""

    @abstractmethod
    def entry(self) -> dict[str, Any]:
        """What a list has of it."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The facts of it that a client needs, as JSON takes them."""

    @property
    @abstractmethod
    def maps(self) -> dict[str, Any]:
        """The description for clients of any language. ParameterError where they can not use it."""

    def limits(self, **most: int) -> dict[str, int]:
        """The limits of its clients, with the most that one request has."""
        return {"request_bytes": self._limits.request_bytes, "key_bytes": self.key_limit, **most}

    @abstractmethod
    def memory_of(self, library: str, files: Mapping[str, bytes]) -> int:
        """Bytes of memory that a request of a client of this library will take besides its body, until its
        answer is sent. Raises what is wrong with the files."""

    @abstractmethod
    def session(self, device: int, library: str, files: Mapping[str, Path]) -> Session:
        """A client's keys on a device; in its thread.

        Raises:
            FormatError, MismatchError: when they are damaged, or of other parameters.
            MissingKeyError, LevelError: when they lack what it needs.
        """

    def require_digest(self, digest: str | None) -> None:
        """Refused (409) where a client has encoded for another model than the one that has this name now;
        None: the client names none."""
        if digest is not None and self.digest not in (None, digest):
            raise MODEL_CHANGED.refused(name=self.name, digest=self.digest)


class ServedModel(Served):
    """A packaged model of a server.

    Args:
        name: its full name.
        package: the model.
        settings: limits of the server.
        loaders: of each device.
    """

    kind, joins = "model", False

    def __init__(self, name: str, package: Package, settings: Settings, loaders: Sequence[Loader]) -> None:
        super().__init__(settings)
        self.package, self._loaders = package, loaders
        self.name, self.digest = name, package.digest

    def prepare(self, number: int, options: DeviceOptions) -> None:  # noqa: ARG002
        self._loaders[number].prepare(self.package)

    def retire(self) -> None:
        super().retire()
        for loader in self._loaders:
            loader.forget(self.package)

    @property
    def devices(self) -> str:
        return ",".join(loader.context(self.package).device for loader in self._loaders)

    @property
    def key_limit(self) -> int:
        needed, key = self.package.interface.key_bytes_at_most, self.package.params.switching_key_bytes
        return min(self._limits.key_bytes, 2 * needed + max(key, 1 << 20))

    def entry(self) -> dict[str, Any]:
        told = {"name": self.name, "description": self.package.description, "digest": self.digest}
        return {**told, "version": version_of(self.name)}

    def describe(self) -> dict[str, Any]:
        limits = self.limits(evaluations=self._limits.batch)
        return {**self.package.describe(), "version": version_of(self.name), "limits": limits}

    @cached_property
    def maps(self) -> dict[str, Any]:
        return {**client_maps(self.package.interface), "digest": self.digest}

    def memory_of(self, library: str, files: Mapping[str, bytes]) -> int:
        if library == HEMERA:
            return memory_of(self.package, files, self._limits.batch)
        # Files of other libraries hold one ciphertext each.
        return len(files) * self.package.params.ciphertext_bytes

    def session(self, device: int, library: str, files: Mapping[str, Path]) -> Session:
        return self._loaders[device].load(self.package, library, files)


class ServedIndex(Served):
    """An index of a server, with a copy in the memory of each device.

    Args:
        name: in addresses.
        path: of its file.
        settings: limits of the server.
    """

    kind, joins = "index", True

    def __init__(self, name: str, path: Path, settings: Settings) -> None:
        super().__init__(settings)
        self.name, self._path = name, path
        self._copies: dict[int, Index] = {}
        self._key_bytes = 0

    def prepare(self, number: int, options: DeviceOptions) -> None:
        """Make the copy of a device.

        Raises:
            FormatError, FileError: when the file is damaged, or can not be read.
            DeviceError, OutOfMemoryError: as for an index.
            MismatchError: when it has no row.
        """
        index = Index.load(
            self._path, device=options.device, threads=options.threads, limit=self._limits.index_bytes
        )
        index.require_rows()
        # Some kinds count for a while: not where requests wait.
        self._key_bytes = index.settings.program.key_bytes
        self._copies[number] = index

    @property
    def devices(self) -> str:
        return ",".join(copy.device for copy in self._copies.values())

    @property
    def _index(self) -> Index:
        return next(iter(self._copies.values()))

    @property
    def key_limit(self) -> int:
        return min(self._limits.key_bytes, 2 * self._key_bytes + (1 << 20))

    @property
    def queries(self) -> int:
        """How many take one pass together, and may come in one request; where scores are compared, encrypted
        thresholds."""
        at_once = self._index.settings.program.queries_at_once
        return self._limits.batch if at_once is None else min(self._limits.batch, at_once)

    def entry(self) -> dict[str, Any]:
        fields = self._index.settings.to_fields()
        facts = {name: fields[name] for name in _FACTS if name in fields}
        return {"name": self.name, "kind": self._index.kind, "rows": len(self._index), **facts}

    def describe(self) -> dict[str, Any]:
        settings, params = self._index.settings, self._index.settings.params
        errors = self._index.expected_error
        return {
            **self.entry(),
            "version": self._index.version,
            "settings": settings.to_fields(),
            "expected_error": {"noise": errors.noise, "quantization": errors.quantization},
            "fingerprint": params.fingerprint,
            "degree": params.degree,
            "log_modulus": params.log_modulus,
            "security": params.security,
            "parameters": as_base64(params),
            "limits": self.limits(queries=self.queries),
        }

    @cached_property
    def maps(self) -> dict[str, Any]:
        return {**search_maps(self._index.settings), "queries": self.queries}

    def memory_of(self, library: str, files: Mapping[str, bytes]) -> int:  # noqa: ARG002
        name, data, count = request_of(files, self._index, self.queries)
        return 2 * len(data) + self._index.answer_bytes(count) if name == QUERY else 0

    def session(self, device: int, library: str, files: Mapping[str, Path]) -> IndexSession:  # noqa: ARG002
        if set(files) != {KEYS_FILE}:
            raise FormatError("an index takes keys of Hemera's clients (`keys` of hemera.search.Client)")
        index = self._copies[device]
        return IndexSession(
            index,
            index.load_keys(read_bytes(files[KEYS_FILE])),
            queries=self.queries,
            prepared_bytes=self._limits.prepared_bytes,
            is_current=self.is_current,
        )
