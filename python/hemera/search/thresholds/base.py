"""What clear and encrypted indexes with thresholds have in common: the answer to a query."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.inputs.arguments import in_own_words
from hemera.objects.batches import stack
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.cost import Cost
from hemera.objects.evaluator import Evaluator
from hemera.search.any_settings import AnySettings
from hemera.search.requests import IDS, places_of
from hemera.search.thresholds import circuit
from hemera.search.thresholds.comparing import GONE, ComparingIndex
from hemera.search.thresholds.messages import Query, pack_answer, unpack_query
from hemera.search.thresholds.settings import ThresholdSettings

__all__ = ["GONE", "BaseThresholdIndex", "Block"]


@dataclass
class Block:
    """Rows that share ciphertexts."""

    ids: NDArray[np.int64]  # [rows]
    columns: circuit.Columns
    payloads: list[Plaintext] | list[Ciphertext]


@in_own_words
class BaseThresholdIndex(ComparingIndex[ThresholdSettings, Query]):
    """Rows that are compared with encrypted thresholds: `ThresholdIndex` or `EncryptedThresholdIndex`. Any
    thread may use one; one call runs at a time."""

    settings_type: ClassVar[type[AnySettings]] = ThresholdSettings
    _query_kind: ClassVar[str] = "threshold query"

    def _open(self, settings: ThresholdSettings, device: str, threads: int | None) -> None:
        super()._open(settings, device, threads)
        self._blocks: list[Block] = []

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids of the rows, in the order of places: a copy."""
        places = self._places
        return np.asarray(places[places != GONE])

    @property
    def _places(self) -> NDArray[np.int64]:
        """The ids of all places of all blocks."""
        return np.concatenate([np.empty(0, np.int64), *(block.ids for block in self._blocks)])

    def cost(self, device: str | None = None) -> Cost:
        """Keys and operations of a query for the number and the payloads of matches, and with the name of a
        table of measured times (`hemera.cost`) the seconds."""
        return circuit.cost_of(self._settings, device, max(1, len(self._blocks)))

    def _key_cost(self) -> Cost:
        return circuit.cost_of(self._settings)

    def _compared(self, header: dict[str, Any]) -> int:
        count = header.get("thresholds")
        return -(-count // self._settings.layout.copies) if isinstance(count, int) else 1

    @property
    def _blocks_count(self) -> int:
        return len(self._blocks)

    def _read(self, query: bytes, ev: Evaluator) -> Query:
        return unpack_query(query, self._settings, ev)

    def _answers(self, ev: Evaluator, asked: Sequence[tuple[str, Query]]) -> list[bytes]:
        settings, blocks = self._settings, self._blocks
        columns = [block.columns for block in blocks]
        parts = circuit.products(ev, [query.x for _, query in asked], columns, settings)
        halves = iter(circuit.scores(ev, parts, settings))
        of_queries = [list(itertools.islice(halves, len(blocks))) for _ in asked]
        differences = (
            half - threshold
            for of_query, (_, query) in zip(of_queries, asked, strict=True)
            for threshold in query.thresholds
            for half in of_query
        )
        found = iter(circuit.matches(ev, differences, settings))
        answers = []
        for name, query in asked:
            own = [list(itertools.islice(found, len(blocks))) for _ in range(len(query.thresholds))]
            answers.append(self._packed(ev, name, query.want, own))
        return answers

    def _packed(self, ev: Evaluator, name: str, want: str, matches: Sequence[Sequence[Ciphertext]]) -> bytes:
        """The answer to a query.

        Args:
            matches: of each ciphertext of thresholds those of each block.
        """
        settings, blocks = self._settings, self._blocks
        header = {**self._answer_header(name), "want": want, "blocks": 0}
        if want == "count":
            totals = circuit.counts(ev, matches, [block.ids != GONE for block in blocks], settings)
            return pack_answer("threshold answer", header, np.empty(0, np.int64), [stack(totals)])
        (found,) = matches
        results = [stack([each.shrink() for each in found])]
        if want == "payloads":
            of_blocks = [
                stack([circuit.payloads(each, numbers) for numbers in block.payloads])
                for each, block in zip(found, blocks, strict=True)
            ]
            results.append(stack(of_blocks))
        header["blocks"] = len(blocks)
        return pack_answer("threshold answer", header, self._places, results)

    def remove(self, ids: ArrayLike) -> None:
        """Remove rows. A block's memory comes back when all of its rows are removed.

        Raises:
            ParameterError: if no row has one of the ids, or one repeats. The index is unchanged.
        """
        with self._lock:
            places = self._places
            gone = places_of(ids, np.where(places == GONE, IDS, places))
            rows = self._settings.rows
            for number in np.unique(gone // rows).tolist():
                self._clear(self._blocks[number], gone[gone // rows == number] % rows)
            self._blocks = [block for block in self._blocks if (block.ids != GONE).any()]
            self._changed()

    def _clear(self, block: Block, places: NDArray[Any]) -> None:
        block.ids[places] = GONE
