"""What indexes that compare scores have in common: queries by the keys that the circuit asks for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from hemera.errors import MissingKeyError
from hemera.inputs.arguments import in_own_words
from hemera.objects.cost import Cost
from hemera.objects.evaluator import Evaluator
from hemera.objects.keys import Keys
from hemera.search import wire
from hemera.search.any_index import AnyIndex
from hemera.search.requests import keys_of, name_of, require_settings
from hemera.search.settings import Errors
from hemera.search.thresholds.noise import errors_of
from hemera.search.thresholds.settings import ThresholdSettings

__all__ = ["GONE", "ComparingIndex", "T"]

GONE = -1
"""In the place of the id of a row that was removed, or that there is not yet."""

T = TypeVar("T", bound=ThresholdSettings)
Q = TypeVar("Q")
"""A query that was read."""


@in_own_words
class ComparingIndex(AnyIndex[T], Generic[T, Q]):
    """An index whose answers tell the results of comparisons, and not scores."""

    _query_kind: ClassVar[str]
    """The kind of its messages."""

    def __repr__(self) -> str:
        settings = self._settings
        return (
            f"<{type(self).__name__} of {len(self)} rows of {settings.dims} numbers{self._room}, "
            f"{settings.metric!r}, margin {settings.margin:g}>"
        )

    @property
    def _room(self) -> str:
        """For `repr`: how many rows there may be, where it is limited."""
        return ""

    @property
    def expected_error(self) -> Errors:
        """The errors of scores, or of their differences, before they are compared, for a query of norm 1: as
        standard deviations over all rows; of encrypted ones at most (docs/search.md). They are far below the
        margin. Of "dot" and "l2" in the units of scores."""
        return errors_of(self._settings, *self._row_squares(), self._are_singles)

    _are_singles: ClassVar[bool] = False
    """Whether rows are kept as float32."""

    @abstractmethod
    def _row_squares(self) -> tuple[float, float]:
        """Mean squares of what is compared, as `errors_of` takes them."""

    @abstractmethod
    def cost(self, device: str | None = None) -> Cost:
        """Keys and operations of a query for all that the index can tell of its rows, and with the name of a
        table of measured times (`hemera.cost`) the seconds."""

    @abstractmethod
    def _key_cost(self) -> Cost:
        """The cost that clients make their keys by."""

    def require_keys(self, keys: Keys) -> None:
        """MissingKeyError unless a client's keys are all that its queries take."""
        needs = self._key_cost().needed_keys
        there = set(keys.galois_elements)
        missing = sorted({each.galois_element for each in needs if each.kind == "galois"} - there)
        if missing:
            raise MissingKeyError(
                f"the keys lack the automorphism X -> X^{missing[0]}; send those that the client makes for "
                "such an index (its keys)"
            )
        if not keys.has_relinearization:
            raise MissingKeyError(
                "the keys lack the one for products; send those that the client makes for such an index"
            )

    def query(self, query: bytes, keys: bytes | Keys) -> bytes:
        """Compare all rows.

        Args:
            query: from the `query` of a client of this index.
            keys: the same client's: its `keys`, or what `load_keys` made of them.

        Returns:
            The message for the client's `decrypt`, or of counts for `decrypt_count`.

        Raises:
            FormatError: if the query, or the keys, are damaged.
            MismatchError: if the query is for another index's settings, the keys belong to other parameters,
                or the index has no row.
            MissingKeyError: if the keys lack one that the client makes for such an index.
            OutOfMemoryError: if the device has no room.
        """
        return self.query_many([(query, keys)])[0]

    def query_many(self, asked: Sequence[tuple[bytes, bytes | Keys]]) -> list[bytes]:
        """Answer several messages. Those of one client go through the comparison together, in batches of
        ciphertexts; those of several clients share nothing, since each client has keys of its own
        (docs/search.md). Each answer has the bits of an answer by itself.

        Args:
            asked: as of `query`. Messages of one client have the same keys: the same object, or equal bytes.

        Returns:
            The answers in the same order.

        Raises:
            FormatError, MismatchError, MissingKeyError, OutOfMemoryError: as `query`; then none is answered.
        """
        of_clients: dict[bytes | int, list[int]] = {}
        for at, (_, keys) in enumerate(asked):
            of_clients.setdefault(keys if isinstance(keys, bytes) else id(keys), []).append(at)
        read: list[tuple[Evaluator, list[tuple[str, Q]]]] = []
        for places in of_clients.values():
            ev = self._context.bind(keys_of(asked[places[0]][1], self._context, "query"))
            read.append((ev, [(name_of(asked[at][0]), self._read(asked[at][0], ev)) for at in places]))
        answers: dict[int, bytes] = {}
        for places, (ev, queries) in zip(of_clients.values(), read, strict=True):
            with self._searching():
                answers.update(zip(places, self._answers(ev, queries), strict=True))
        return [answers[at] for at in range(len(asked))]

    @abstractmethod
    def _read(self, query: bytes, ev: Evaluator) -> Q:
        """A query from its message. FormatError, MismatchError."""

    @abstractmethod
    def _answers(self, ev: Evaluator, asked: Sequence[tuple[str, Q]]) -> list[bytes]:
        """The answers to queries of one client, each with its name. No other call runs, there are rows."""

    # --- For servers. ---

    @property
    def key_bytes(self) -> int:
        return self._key_cost().key_bytes

    @property
    def queries_at_once(self) -> int | None:
        return None

    def count(self, query: bytes) -> int:
        header, _ = wire.unpack_any(self._query_kind, query)
        require_settings(str(header.get("settings")), self._settings, "query")
        return self._compared(header)

    def _compared(self, header: dict[str, Any]) -> int:  # noqa: ARG002
        """Encrypted numbers that each row is compared with, by a query's header."""
        return 1

    def answer_bytes(self, count: int) -> int:
        settings = self._settings
        results = max(count, self._blocks_count * (1 + settings.payloads))
        return results * settings.params.ciphertext_bytes + 8 * self._blocks_count * settings.rows

    @property
    @abstractmethod
    def _blocks_count(self) -> int:
        """Ciphertexts of a mask."""
