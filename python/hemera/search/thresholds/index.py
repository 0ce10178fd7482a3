"""The index with thresholds whose rows are in the clear."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import FormatError
from hemera.inputs.arguments import in_own_words
from hemera.inputs.fields import Kind
from hemera.search import quantization, wire
from hemera.search.any_settings import Metric
from hemera.search.requests import new_ids, require_ids
from hemera.search.thresholds.base import GONE, BaseThresholdIndex, Block
from hemera.search.thresholds.rows import as_payloads, block_bytes, require_scaled, settings_for
from hemera.search.thresholds.scores import columns_of, scaled_rows
from hemera.search.thresholds.settings import ThresholdSettings

__all__ = ["ThresholdIndex"]


@dataclass
class _ClearBlock(Block):
    vectors: NDArray[np.float32]  # [rows, entries], of norm 1 at most
    numbers: NDArray[np.float64]  # [rows, payload]
    squares: NDArray[np.float64]  # [entries]: sums over the rows; those of removed ones are 0


@in_own_words
class ThresholdIndex(BaseThresholdIndex):
    """A clear database of vectors that tells a client which of its rows are near an encrypted query, and not
    their scores: it compares all scores with an encrypted threshold.

    Args:
        vectors: [rows, dims], at least one; float32, float64 or int8.
        metric: "cosine": vectors are normalized, and so are queries; "dot": inner products; "l2": squares of
            distances, of which those below the threshold match.
        margin: rows whose score is nearer to the threshold may come out on either side. From 2^-11 to 1, of
            cosines, inner products divided by B |q|, and squared distances divided by B (2 |q| + B), with B
            the largest norm of a row and q the query. Half of it takes one level more.
        payloads: [rows, numbers]: numbers that answers give of the rows that match. None: there are none.
        payload_bound: the largest magnitude of a payload's number that is to fit. None: that of these.
        row_bound: the largest norm of a row that is to fit, unless the metric is "cosine". None: that of
            these.
        ids: the rows' names in answers: different integers from 0 to 2^62 - 1. None: 0, 1, ...
        device: the device of the database, as for `hemera.Context`.
        threads: the number of threads of the CPU; None: as many as the process may run on.

    Raises:
        DeviceError: if there is no such device.
        MismatchError: if vectors, payloads or ids have another shape.
        OutOfMemoryError: if the device has no room.
        ParameterError: if an argument is out of its range, ids repeat, or a vector is zero where the metric
            is "cosine".
        RangeError: if numbers are not finite, or above a bound.
        TypeError: if vectors have other numbers.
    """

    kind: ClassVar[str] = "threshold index"
    _file_fields: ClassVar[dict[str, Kind]] = {"counts": list}
    _are_singles: ClassVar[bool] = True
    _blocks: list[Any]

    def __init__(
        self,
        vectors: ArrayLike,
        metric: Metric = "cosine",
        *,
        margin: float = 2.0**-5,
        payloads: ArrayLike | None = None,
        payload_bound: float | None = None,
        row_bound: float | None = None,
        ids: ArrayLike | None = None,
        device: str = "cpu",
        threads: int | None = None,
    ) -> None:
        if isinstance(vectors, bytes):
            raise TypeError(
                "a threshold index has vectors in the clear; encrypted rows are those of an "
                "EncryptedThresholdIndex"
            )
        given = quantization.as_vectors(vectors, "the vectors of an index")
        self._open(settings_for(given, metric, margin, payloads, payload_bound, row_bound), device, threads)
        self.add(given, payloads=payloads, ids=ids)

    def add(
        self, vectors: ArrayLike, *, payloads: ArrayLike | None = None, ids: ArrayLike | None = None
    ) -> NDArray[np.int64]:
        """Add rows after the others.

        Args:
            vectors: as those of the index.
            payloads: as those of the index.
            ids: their names, which no row has. None: integers from the largest id so far on.

        Returns:
            The ids of the rows.

        Raises:
            MismatchError: if vectors, payloads or ids have another shape.
            OutOfMemoryError: if the device has no room. The index is unchanged.
            ParameterError: if an id is there already, or repeats; or a vector is zero where the metric is
                "cosine".
            RangeError: if a norm or a payload is above the settings' bound.
        """
        settings = self._settings
        unit = scaled_rows(vectors, settings, "vectors to add").astype(np.float32)
        numbers = as_payloads(payloads, len(unit), settings)
        with self._lock:
            named = new_ids(ids, len(unit), self.ids, self._next_id)
            blocks, first = list(self._blocks), 0
            if blocks:
                last = blocks[-1]
                used = len(last.vectors)
                first = min(settings.rows - used, len(unit))
                if first:
                    places = last.ids.copy()
                    places[used : used + first] = named[:first]
                    blocks[-1] = self._block(
                        places,
                        np.concatenate([last.vectors, unit[:first]]),
                        np.concatenate([last.numbers, numbers[:first]]),
                    )
            for begin in range(first, len(unit), settings.rows):
                part = slice(begin, begin + settings.rows)
                places = np.full(settings.rows, GONE)
                places[: len(named[part])] = named[part]
                blocks.append(self._block(places, unit[part], numbers[part]))
            self._blocks = blocks
            self._changed(named)
        return named

    def _row_squares(self) -> tuple[float, float]:
        dims, count = self._settings.dims, max(1, len(self))
        squares = sum((block.squares for block in self._blocks), np.zeros(self._settings.entries)) / count
        return float(squares[:dims].sum()), float(squares[dims:].sum())

    def _block(
        self, ids: NDArray[np.int64], vectors: NDArray[np.float32], numbers: NDArray[np.float64]
    ) -> _ClearBlock:
        settings, context = self._settings, self._context
        columns = [context.encode(column, level=settings.top) for column in columns_of(vectors, settings)]
        payloads = [
            context.encode(each, level=1)
            for each in settings.layout.of_numbers(numbers / (2 * settings.payload_bound))
        ]
        squares = np.einsum("ij,ij->j", vectors, vectors, dtype=np.float64)
        return _ClearBlock(ids, columns, payloads, vectors, numbers, squares)

    def _clear(self, block: Block, places: NDArray[Any]) -> None:
        assert isinstance(block, _ClearBlock)
        super()._clear(block, places)
        # Nothing of removed rows goes into later answers.
        vectors, numbers = block.vectors.copy(), block.numbers.copy()
        vectors[places], numbers[places] = 0, 0
        changed = self._block(block.ids, vectors, numbers)
        block.vectors, block.numbers = vectors, numbers
        block.columns, block.payloads, block.squares = changed.columns, changed.payloads, changed.squares

    # --- Files. ---

    def _contents(self) -> tuple[dict[str, Any], Sequence[wire.Part]]:
        parts = [
            array.astype(kind).tobytes()
            for block in self._blocks
            for array, kind in ((block.ids, "<i8"), (block.vectors, "<f4"), (block.numbers, "<f8"))
        ]
        return {"counts": [len(block.vectors) for block in self._blocks]}, parts

    @classmethod
    def _memory_of(cls, settings: ThresholdSettings, header: dict[str, Any]) -> int:
        return len(header["counts"]) * block_bytes(settings)

    def _fill(self, header: dict[str, Any], body: memoryview) -> None:
        settings, counts = self._settings, header["counts"]
        rows, dims, width = settings.rows, settings.entries, settings.payload
        if not all(type(count) is int and 1 <= count <= rows for count in counts):
            raise FormatError("the header of the index has no numbers of rows")
        if len(body) != sum(8 * rows + count * (4 * dims + 8 * width) for count in counts):
            raise FormatError(f"the index has {len(body)} bytes for {len(counts)} blocks of rows")
        for count in counts:
            sizes = np.cumsum([0, 8 * rows, 4 * count * dims, 8 * count * width]).tolist()
            ids, vectors, numbers = (body[begin:end] for begin, end in itertools.pairwise(sizes))
            body = body[sizes[-1] :]
            scaled = np.frombuffer(vectors, "<f4").reshape(count, dims).copy()
            carried = np.frombuffer(numbers, "<f8").reshape(count, width).copy()
            require_scaled(scaled, carried, settings)
            places = np.frombuffer(ids, "<i8").astype(np.int64)
            self._blocks.append(self._block(places, scaled, carried))
        require_ids(self.ids, self._next_id)
