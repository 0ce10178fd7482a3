"""What all indexes have in common: settings, rows with ids, clients' keys, files."""

from __future__ import annotations

import contextlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera._process import Lock
from hemera.errors import MismatchError
from hemera.inputs.arguments import in_own_words, require_type
from hemera.inputs.fields import Kind, Whole, damaged, require_memory
from hemera.inputs.source import Source, read_bytes, write_bytes
from hemera.objects.context import Context
from hemera.objects.keys import Keys
from hemera.search import wire
from hemera.search.any_settings import AnySettings
from hemera.search.requests import IDS, keys_of
from hemera.search.settings import Errors

if sys.version_info >= (3, 11):
    from typing import Self
else:
    from typing_extensions import Self

__all__ = ["AnyIndex", "S"]

S = TypeVar("S", bound=AnySettings)
_FILE_FIELDS: dict[str, Kind] = {"settings": dict, "index_version": Whole(), "next_id": Whole(0, IDS)}
MOST_BYTES = 4 << 30
"""The most memory of an index that is read, unless its file has a 128th of it."""


@in_own_words
class AnyIndex(ABC, Generic[S]):
    """A database of vectors that answers encrypted queries. Any thread may use it; one call runs at a time.

    Each kind of index has settings of its own type."""

    kind: ClassVar[str]
    """The kind of its files, which `hemera.search.load` knows it by."""
    settings_type: ClassVar[type[AnySettings]]
    """The type of its settings."""
    _file_fields: ClassVar[dict[str, Kind]]
    """Fields of the header of its files, in addition to those of all indexes."""

    _settings: S

    def _open(self, settings: S, device: str, threads: int | None) -> None:
        """Begin without rows."""
        self._settings = settings
        self._context = Context(settings.params, device, threads=threads)
        self._next_id = 0
        self._version = 0
        self._lock = Lock()

    @property
    def settings(self) -> S:
        """What clients need to know."""
        return self._settings

    @property
    @abstractmethod
    def ids(self) -> NDArray[np.int64]:
        """The ids of the rows in the order of answers: a copy."""

    @property
    def version(self) -> int:
        """The number of changes so far. Answers carry it."""
        return self._version

    @property
    def device(self) -> str:
        """The device of the database."""
        return self._context.device

    @property
    @abstractmethod
    def expected_error(self) -> Errors:
        """The errors of scores, for a query of norm 1, as standard deviations over all rows
        (docs/search.md)."""

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.ids)

    def require_rows(self) -> None:
        """MismatchError unless there is a row to search."""
        if len(self) == 0:
            raise MismatchError("the index has no row to search")

    @abstractmethod
    def remove(self, ids: ArrayLike) -> None:
        """Remove rows.

        Raises:
            ParameterError: if no row has one of the ids, or one repeats. The index is unchanged.
        """

    def _changed(self, named: NDArray[np.int64] | None = None) -> None:
        """Count a change, and the ids that rows have got by it."""
        if named is not None:
            self._next_id = max(self._next_id, int(named.max(initial=-1)) + 1)
        self._version += 1

    # --- Queries. ---

    def load_keys(self, keys: bytes) -> Keys:
        """A client's keys in the index's memory, from its `keys`: for many queries of one client.

        Raises:
            FormatError: if they are damaged.
            MismatchError: if they belong to other parameters.
        """
        require_type(keys, bytes, "load_keys", "the bytes of a client's keys")
        return keys_of(keys, self._context, "load_keys")

    @abstractmethod
    def require_keys(self, keys: Keys) -> None:
        """MissingKeyError unless a client's keys are all that its queries take."""

    @abstractmethod
    def query_many(self, asked: Sequence[tuple[bytes, bytes | Keys]]) -> list[bytes]:
        """Answer several messages, of one client or several. Each answer is as if it were asked for alone:
        clients do not see each other's queries.

        Args:
            asked: for each message the query, from a client's `query`, and the keys of the same client.

        Returns:
            The answers in the same order, each for the `decrypt` of its own client.

        Raises:
            FormatError, MismatchError, MissingKeyError: if one of the messages has what `query` refuses; then
                none is answered.
            OutOfMemoryError: if the device has no room.
        """

    @contextlib.contextmanager
    def _searching(self) -> Iterator[None]:
        """Within it no other call runs. MismatchError unless there is a row to search."""
        with self._lock:
            self.require_rows()
            yield

    def _answer_header(self, name: str) -> dict[str, Any]:
        """The fields that the headers of all answers have, to the query of this name."""
        return {"settings": self._settings.digest, "query": name, "index_version": self._version}

    # --- For servers. ---

    @property
    @abstractmethod
    def key_bytes(self) -> int:
        """Bytes of one client's keys, at the most."""

    @property
    @abstractmethod
    def queries_at_once(self) -> int | None:
        """Queries of several clients that one pass over the rows answers with 1 GiB of memory; None: only
        those of one client are answered together."""

    @abstractmethod
    def count(self, query: bytes) -> int:
        """The queries of a message, or encrypted thresholds of one query, that its work grows with. The
        message is not read further.

        Raises:
            FormatError: if it is damaged.
            MismatchError: if it is for another index's settings.
        """

    @abstractmethod
    def answer_bytes(self, count: int) -> int:
        """Bytes of the answer to a message of so many queries, at the most, apart from its header."""

    # --- Files. ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file, which appears under its name only when it is complete.

        Raises:
            FileError: if it can not be written.
        """
        with self._lock:
            fields, parts = self._contents()
            header = {
                "settings": self._settings.to_fields(),
                **fields,
                "index_version": self._version,
                "next_id": self._next_id,
            }
            data = wire.pack(self.kind, header, *parts)
        write_bytes(path, data)

    @classmethod
    def load(
        cls,
        source: Source,
        *,
        device: str = "cpu",
        threads: int | None = None,
        limit: int = MOST_BYTES,
    ) -> Self:
        """An index from a file's path, or its bytes.

        Args:
            source: what `save` wrote.
            device: the device of the database, as for `hemera.Context`.
            threads: the number of threads of the CPU; None: as many as the process may run on.
            limit: bytes of memory that its rows may take, or 128 times the file's bytes, if that is more.

        Raises:
            FormatError: if it is damaged, or its rows would take more memory than the limit.
            FileError: if the file can not be read.
            DeviceError, OutOfMemoryError: as for an index.
        """
        data = read_bytes(source)
        header, body = wire.unpack(cls.kind, data, {**_FILE_FIELDS, **cls._file_fields})
        settings: Any = cls.settings_type.from_fields(header["settings"])
        with damaged(f"the {cls.kind}"):
            needed = cls._memory_of(settings, header)
        way = "load it with limit= (of a server: --max-index)"
        require_memory(needed, len(data), limit, f"the {cls.kind}", way)
        index = cls.__new__(cls)
        index._open(settings, device, threads)
        index._next_id, index._version = header["next_id"], header["index_version"]
        with damaged(f"the {cls.kind}"):
            index._fill(header, body)
        return index

    @classmethod
    @abstractmethod
    def _memory_of(cls, settings: Any, header: dict[str, Any]) -> int:
        """Bytes that the rows of a file with this header take on the device and on the host."""

    @abstractmethod
    def _contents(self) -> tuple[dict[str, Any], Sequence[wire.Part]]:
        """The header's own fields and the body of a file."""

    @abstractmethod
    def _fill(self, header: dict[str, Any], body: memoryview) -> None:
        """Take the rows of a file, where there are none. FormatError."""
