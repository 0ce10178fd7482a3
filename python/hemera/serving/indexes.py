"""Indexes that a server has, each with a copy in the memory of each device."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hemera.client.wire import KEYS_FILE
from hemera.errors import FormatError
from hemera.inputs.source import read_bytes
from hemera.objects.devices import DeviceOptions
from hemera.search import Index
from hemera.serving.index_sessions import QUERY, IndexSession, request_of
from hemera.serving.settings import Settings

_FACTS = ("dims", "metric", "exact", "margin", "payload")
"""Fields of settings that a list of indexes has, where there are such."""


class ServedIndex:
    """An index of a server.

    Args:
        name: in addresses.
        path: of its file.
        settings: limits of the server.
    """

    def __init__(self, name: str, path: Path, settings: Settings) -> None:
        self.name = name
        self._path = path
        self._limits = settings
        self._copies: dict[int, Index] = {}
        self._key_bytes = 0
        self._is_current = True

    def prepare(self, number: int, options: DeviceOptions) -> None:
        """Make the copy of a device; in its thread.

        Raises:
            FormatError, FileError: when the file is damaged, or can not be read.
            DeviceError, OutOfMemoryError: as for an index.
            MismatchError: when it has no row.
        """
        index = Index.load(
            self._path, device=options.device, threads=options.threads, limit=self._limits.index_bytes
        )
        index.require_rows()
        self._key_bytes = (
            index.settings.program.key_bytes
        )  # which some kinds count for a while: not where requests wait
        self._copies[number] = index

    def retire(self) -> None:
        """Another one takes its place: its sessions serve no more requests."""
        self._is_current = False

    @property
    def devices(self) -> str:
        """The names of its devices, with commas."""
        return ",".join(copy.device for copy in self._copies.values())

    @property
    def _index(self) -> Index:
        return next(iter(self._copies.values()))

    @property
    def kind(self) -> str:
        """The kind of its file: "index", "encrypted index", "threshold index", ..."""
        return self._index.kind

    @property
    def queries(self) -> int:
        """How many take one pass together, and may come in one request; where scores are compared, encrypted
        thresholds."""
        at_once = self._index.settings.program.queries_at_once
        return self._limits.batch if at_once is None else min(self._limits.batch, at_once)

    @property
    def key_limit(self) -> int:
        """Bytes that an upload of keys may have: some more than it needs."""
        return min(self._limits.key_bytes, 2 * self._key_bytes + (1 << 20))

    def entry(self) -> dict[str, Any]:
        """The index in a list."""
        fields = self._index.settings.to_fields()
        facts = {name: fields[name] for name in _FACTS if name in fields}
        return {"name": self.name, "kind": self.kind, "rows": len(self._index), **facts}

    def describe(self) -> dict[str, Any]:
        """The facts of it that a client needs, as JSON takes it."""
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
            "parameters": base64.b64encode(bytes(params)).decode(),
            "limits": {
                "request_bytes": self._limits.request_bytes,
                "key_bytes": self.key_limit,
                "queries": self.queries,
            },
        }

    def memory_of(self, files: Mapping[str, bytes]) -> int:
        """Bytes of memory that a request will take besides its body, until its answer is sent. Raises as
        `request_of`."""
        name, data, count = request_of(files, self._index, self.queries)
        return 2 * len(data) + self._index.answer_bytes(count) if name == QUERY else 0

    def session(self, device: int, files: Mapping[str, Path]) -> IndexSession:
        """A client's keys on a device.

        Raises:
            FormatError, MismatchError: when they are damaged, or of other parameters than the index's.
            MissingKeyError: when they lack one.
        """
        if set(files) != {KEYS_FILE}:
            raise FormatError("an index takes keys of Hemera's clients (`keys` of hemera.search.Client)")
        index = self._copies[device]
        return IndexSession(
            index,
            index.load_keys(read_bytes(files[KEYS_FILE])),
            queries=self.queries,
            prepared_bytes=self._limits.prepared_bytes,
            is_current=lambda: self._is_current,
        )
