"""The client's side of indexes on a server that compare scores, and do not tell them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.client.remote_index import AnyRemoteIndex
from hemera.inputs.plain import plain_array
from hemera.search.ranks import TopClient
from hemera.search.thresholds import Matches, ThresholdClient
from hemera.search.thresholds.circuit import Want

__all__ = ["RemoteThresholdIndex", "RemoteTopIndex"]


class RemoteThresholdIndex(AnyRemoteIndex[ThresholdClient]):
    """An index with thresholds of a server: `hemera.Client.threshold_index`."""

    kinds = ("threshold index", "encrypted threshold index")
    method = "threshold_index"
    _client_type = ThresholdClient

    def query(self, x: ArrayLike, threshold: float, *, payloads: bool = False) -> Matches:
        """The rows above a threshold. The server sees neither the query nor the threshold.

        Args:
            x: [dims], as for `hemera.search.ThresholdClient.query`.
            threshold: as for it.
            payloads: whether to ask for payloads too. The server sees it.

        Raises:
            MismatchError, ParameterError, RangeError: for a query that the index does not take.
            NoiseError: when the answer can not be decrypted. The server must not learn it.
            ServerError: when the server refuses, is not to be reached, or remains too busy.
        """
        return self.query_many([x], threshold, payloads=payloads)[0]

    def query_many(
        self, x: Sequence[ArrayLike] | NDArray[Any], threshold: float, *, payloads: bool = False
    ) -> list[Matches]:
        """The rows above a threshold for each of several queries: a request each, all before the first answer
        is decrypted. Raises as `query`.

        Args:
            x: [queries, dims].
            threshold: as for `query`.
            payloads: as for `query`.
        """
        want: Want = "payloads" if payloads else "mask"
        return self._results((self._client.query(each, threshold, want) for each in x), self._client.decrypt)

    def count(self, x: ArrayLike, threshold: ArrayLike) -> NDArray[np.float64]:
        """The number of rows above a threshold, or above each of several: [thresholds], as
        `hemera.search.ThresholdClient.decrypt_count` tells it. Raises as `query`."""
        levels = plain_array(threshold, "a threshold")
        at_once = self._thresholds
        if levels.ndim != 1 or len(levels) <= at_once:
            sent = (self._client.query(x, each, "count") for each in (threshold,))
            return self._results(sent, self._client.decrypt_count)[0]
        parts = (levels[at : at + at_once] for at in range(0, len(levels), at_once))
        several = (self._client.query(x, part, "count") for part in parts)
        return np.concatenate(self._results(several, self._client.decrypt_count))

    def top(self, x: ArrayLike, k: int, *, payloads: bool = False) -> Matches:
        """The k nearest rows in several requests, whose number depends on the settings alone: as
        `hemera.search.ThresholdClient.top` finds them. Raises as `query`."""
        width = min(self._thresholds, self._client.thresholds_of_round)
        with self._doubting():
            return self._client.top(
                x, k, lambda query: self._ask([query])[0], payloads=payloads, thresholds=width
            )

    @property
    def _thresholds(self) -> int:
        """The number of thresholds that one request may have."""
        return self._most * self._client.settings.layout.copies


class RemoteTopIndex(AnyRemoteIndex[TopClient]):
    """An index of a server that ranks its rows: `hemera.Client.top_index`."""

    kinds = ("top index",)
    method = "top_index"
    _client_type = TopClient

    def query(self, x: ArrayLike, k: int = 10, *, payloads: bool = False) -> Matches:
        """The first k rows, in the index's order. The server sees neither the query nor k.

        Args:
            x: [dims], as for `hemera.search.TopClient.query`.
            k: 1 or more.
            payloads: whether to ask for payloads too. The server sees it.

        Raises:
            MismatchError, ParameterError, RangeError: for a query that the index does not take.
            NoiseError: when the answer can not be decrypted. The server must not learn it.
            ServerError: when the server refuses, is not to be reached, or remains too busy.
        """
        return self.query_many([x], k, payloads=payloads)[0]

    def query_many(
        self, x: Sequence[ArrayLike] | NDArray[Any], k: int = 10, *, payloads: bool = False
    ) -> list[Matches]:
        """The first k rows for each of several queries: a request each, all before the first answer is
        decrypted. Raises as `query`.

        Args:
            x: [queries, dims].
            k: as for `query`.
            payloads: as for `query`.
        """
        queries = (self._client.query(each, k, payloads=payloads) for each in x)
        return self._results(queries, self._client.decrypt)
