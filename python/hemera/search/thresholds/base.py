"""What clear and encrypted indexes with thresholds have in common: the answer to a query."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import FormatError, MismatchError
from hemera.inputs.arguments import in_own_words
from hemera.objects.batches import stack
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.context import Context
from hemera.objects.cost import Cost
from hemera.objects.keys import Keys
from hemera.search.requests import IDS, keys_of, name_of, places_of
from hemera.search.thresholds import circuit
from hemera.search.thresholds.messages import Query, pack_answer
from hemera.search.thresholds.settings import ThresholdSettings

__all__ = ["GONE", "BaseThresholdIndex", "Block", "require_ids"]

GONE = -1
"""In the place of the id of a row that was removed."""


@dataclass
class Block:
    """Rows that share ciphertexts."""

    ids: NDArray[np.int64]  # [rows]
    columns: circuit.Columns
    payloads: list[Plaintext] | list[Ciphertext]


@in_own_words
class BaseThresholdIndex(ABC):
    """Rows that are compared with encrypted thresholds: `ThresholdIndex` or `EncryptedThresholdIndex`. Any
    thread may use one; one call runs at a time."""

    def _open(self, settings: ThresholdSettings, device: str, threads: int | None) -> None:
        self._settings = settings
        self._context = Context(settings.params, device, threads=threads)
        self._blocks: list[Block] = []
        self._next_id = 0
        self._version = 0
        self._lock = threading.Lock()

    @property
    def settings(self) -> ThresholdSettings:
        """What clients need to know."""
        return self._settings

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids of the rows, in the order of places: a copy."""
        places = [block.ids for block in self._blocks]
        ids = np.concatenate([np.empty(0, np.int64), *places])
        return np.asarray(ids[ids != GONE])

    @property
    def version(self) -> int:
        """The number of changes so far. Answers carry it."""
        return self._version

    @property
    def device(self) -> str:
        """The device of the database."""
        return self._context.device

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        settings = self._settings
        return (
            f"<{type(self).__name__} of {len(self)} rows of {settings.dims} numbers, {settings.metric!r}, "
            f"margin {settings.margin:g}>"
        )

    def cost(self, device: str | None = None) -> Cost:
        """Keys and operations of a query for the number and the payloads of matches, and with the name of a
        table of measured times (`hemera.cost`) the seconds."""
        return circuit.cost_of(self._settings, device, max(1, len(self._blocks)))

    def load_keys(self, keys: bytes) -> Keys:
        """A client's keys in the index's memory, from `ThresholdClient.keys`.

        Raises:
            FormatError: if they are damaged.
            MismatchError: if they belong to other parameters.
        """
        return keys_of(keys, self._context, "load_keys")

    def query(self, query: bytes, keys: bytes | Keys) -> bytes:
        """Compare all rows with a query's threshold.

        Args:
            query: from `ThresholdClient.query`.
            keys: the same client's: `ThresholdClient.keys`, or what `load_keys` made of them.

        Returns:
            The message for `ThresholdClient.decrypt`.

        Raises:
            FormatError: if the query, or the keys, are damaged.
            MismatchError: if the query is for another index's settings, the keys belong to other parameters,
                or the index has no row.
            MissingKeyError: if the keys lack one that the client makes for such an index.
            OutOfMemoryError: if the device has no room.
        """
        settings = self._settings
        ev = self._context.bind(keys_of(keys, self._context, "query"))
        asked = Query.unpack(query, settings, ev)
        with self._lock:
            if len(self) == 0:
                raise MismatchError("the index has no row to search")
            rotated = circuit.rotations(asked.x, settings)
            halves = [circuit.scores(ev, rotated, block.columns, settings) for block in self._blocks]
            del rotated
            header = {
                "settings": settings.digest,
                "query": name_of(query),
                "index_version": self._version,
                "want": asked.want,
                "blocks": 0,
            }
            if asked.want == "count":
                there = [block.ids != GONE for block in self._blocks]
                totals = [
                    circuit.counts(
                        ev,
                        [
                            (circuit.matches(ev, half, threshold, settings), is_there)
                            for half, is_there in zip(halves, there, strict=True)
                        ],
                        settings,
                    )
                    for threshold in asked.thresholds
                ]
                return pack_answer(header, np.empty(0, np.int64), [stack(totals)])
            found = [circuit.matches(ev, half, asked.thresholds[0], settings) for half in halves]
            results = [stack([each.shrink() for each in found])]
            if asked.want == "payloads":
                of_blocks = [
                    stack([circuit.payloads(each, numbers) for numbers in block.payloads])
                    for each, block in zip(found, self._blocks, strict=True)
                ]
                results.append(stack(of_blocks))
            header["blocks"] = len(self._blocks)
            return pack_answer(header, np.stack([block.ids for block in self._blocks]), results)

    def remove(self, ids: ArrayLike) -> None:
        """Remove rows. A block's memory comes back when all of its rows are removed.

        Raises:
            ParameterError: if no row has one of the ids, or one repeats. The index is unchanged.
        """
        with self._lock:
            places = np.concatenate([np.empty(0, np.int64), *(block.ids for block in self._blocks)])
            gone = places_of(ids, np.where(places == GONE, IDS, places))
            rows = self._settings.rows
            for number in np.unique(gone // rows).tolist():
                self._clear(self._blocks[number], gone[gone // rows == number] % rows)
            self._blocks = [block for block in self._blocks if (block.ids != GONE).any()]
            self._version += 1

    def _clear(self, block: Block, places: NDArray[Any]) -> None:
        block.ids[places] = GONE

    @abstractmethod
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file, which appears under its name only when it is complete.

        Raises:
            FileError: if it can not be written.
        """


def require_ids(ids: NDArray[np.int64], next_id: int) -> None:
    """FormatError unless these are the ids of an index."""
    is_above = ids.max(initial=-1) < next_id <= IDS
    if len(np.unique(ids)) != len(ids) or not is_above or ids.min(initial=0) < 0:
        raise FormatError("the ids of the index are damaged")
