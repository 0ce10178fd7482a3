"""What clear and encrypted indexes have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera.errors import MissingKeyError
from hemera.inputs.arguments import in_own_words
from hemera.objects.keys import Keys
from hemera.search.any_index import AnyIndex
from hemera.search.any_settings import AnySettings
from hemera.search.requests import keys_of, name_of, unpack_query
from hemera.search.settings import Settings

__all__ = ["BaseIndex"]

Asked = list[tuple[_core.EvaluationKeys, bytes, NDArray[np.uint64]]]
"""For each client its keys, a seed, and numbers [query, limb, dims]."""
_EXPANDED_BYTES = 1 << 30
"""The most bytes of the queries of one pass in a device's memory, unless one alone takes more."""
_ROW_BYTES = 12
"""Bytes of an answer for each row, in addition to its numbers: an id, and a squared norm."""


@in_own_words
class BaseIndex(AnyIndex[Settings]):
    """A database of vectors that answers encrypted queries with scores: `Index` or `EncryptedIndex`."""

    settings_type: ClassVar[type[AnySettings]] = Settings
    _ids: NDArray[np.int64]

    @property
    @abstractmethod
    def memory_bytes(self) -> int:
        """Bytes of the database in the device's memory."""

    def __repr__(self) -> str:
        settings = self._settings
        exact = ", exact" if settings.exact else ""
        return (
            f"<{type(self).__name__} of {len(self)} x {settings.dims}, {settings.metric!r}{exact}; "
            f"{self.memory_bytes / 2**20:.1f} MiB on {self.device}>"
        )

    # --- Queries. ---

    def require_keys(self, keys: Keys) -> None:
        """MissingKeyError unless a client's keys are all that its queries take."""
        degree = self._settings.degree
        elements = {(degree >> i) + 1 for i in range(degree.bit_length() - 1)}
        missing = sorted(elements.difference(keys.galois_elements))
        if missing:
            raise MissingKeyError(
                f"the keys lack the automorphism X -> X^{missing[0]}; send those that the client makes for "
                "searches (hemera.search.Client.keys)"
            )
        if self._settings.owner and not keys.has_relinearization:
            raise MissingKeyError(
                "the keys lack the one for products; send those of the encrypted index's owner"
            )

    def query_many(self, asked: Sequence[tuple[bytes, bytes | Keys]]) -> list[bytes]:
        """Answer the queries of several messages, of one client or several, by one pass over the database.
        Each has the bits of an answer by itself: clients do not see each other's queries.

        Args:
            asked: for each message the query, from `Client.query`, and the keys of the same client.

        Returns:
            The answers in the same order, each for the `Client.decrypt` of its own client.

        Raises:
            FormatError, MismatchError, MissingKeyError: if one of the messages has what `query` refuses; then
                none is answered.
            OutOfMemoryError: if the device has no room for the expanded queries of all.

        Examples:
            >>> index = hm.search.Index(np.eye(4, dtype=np.float32), metric="dot")
            >>> alice, bob = (hm.search.Client(index.settings) for _ in range(2))
            >>> asked = [(alice.query([9, 1, 2, 3]), alice.keys), (bob.query([1, 2, 9, 3]), bob.keys)]
            >>> answers = index.query_many(asked)
            >>> [int(client.decrypt(a, k=1)[1][0]) for client, a in zip((alice, bob), answers)]
            [0, 2]
        """
        if len(asked) == 0:
            return []
        sent = [unpack_query(query, self._settings) for query, _ in asked]
        loaded = [keys_of(keys, self._context, "query")._native for _, keys in asked]
        return self._answers(
            [(keys, each.seed, each.numbers) for keys, each in zip(loaded, sent, strict=True)],
            [name_of(query) for query, _ in asked],
        )

    @property
    @abstractmethod
    def _blocks(self) -> int:
        """Blocks of rows in the device's memory: answers have the numbers of all."""

    @abstractmethod
    def _answers(self, asked: Asked, names: Sequence[str]) -> list[bytes]:
        """The messages to clients, for queries of these names."""

    # --- For servers. ---

    @property
    def key_bytes(self) -> int:
        params = self._settings.params
        return (params.degree.bit_length() + 1) * params.switching_key_bytes

    @property
    def queries_at_once(self) -> int | None:
        return max(1, _EXPANDED_BYTES // self._settings.expanded_bytes)

    def count(self, query: bytes) -> int:
        return len(unpack_query(query, self._settings).numbers)

    def answer_bytes(self, count: int) -> int:
        settings = self._settings
        rows = self._blocks * settings.degree
        if settings.owner and settings.metric == "l2":
            count += 1  # the squared norms, as of one query more
        return rows * (count * 2 * settings.kept_bytes + _ROW_BYTES)
