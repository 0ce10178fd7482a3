"""The client of a threshold index: it encrypts queries and thresholds, and decrypts results."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import MismatchError, NoiseError, ParameterError
from hemera.inputs.arguments import as_integer, in_own_words
from hemera.inputs.plain import plain_array
from hemera.objects.cost import Cost
from hemera.search import quantization
from hemera.search.any_settings import AnySettings, Metric
from hemera.search.requests import new_ids
from hemera.search.thresholds import circuit
from hemera.search.thresholds.circuit import Want
from hemera.search.thresholds.comparing_client import ComparingClient, Matches
from hemera.search.thresholds.encrypted_index import pack_rows
from hemera.search.thresholds.messages import (
    MOST_THRESHOLDS,
    Answer,
    pack_query,
    require_want,
    unpack_answer,
)
from hemera.search.thresholds.rows import as_payloads, settings_for
from hemera.search.thresholds.scores import Asked, columns_of, scaled_rows
from hemera.search.thresholds.settings import ThresholdSettings

__all__ = ["Matches", "ThresholdClient"]

_COUNT_DOUBT = 2.0**-5
_LEAST_THRESHOLDS = 3
_MOST_THRESHOLDS = 64
"""The most thresholds of a round of `ThresholdClient.top`."""


@dataclass(frozen=True)
class _Waiting:
    """What decrypting the answer to a query needs of it."""

    want: str
    thresholds: int
    is_single: bool


@in_own_words
class ThresholdClient(ComparingClient[ThresholdSettings, _Waiting]):
    """A client of a threshold index: keys, queries, results.

    Args:
        settings: those of the index, `ThresholdIndex.settings`, or their bytes.
        secret_key: a key that an earlier client of such settings had, as bytes or a file's path. None: a
            fresh one; the settings of an encrypted index want its owner's.
        threads: the number of threads; None: as many as the process may run on.

    Raises:
        FormatError: if bytes are damaged.
        MismatchError: if the secret key belongs to other parameters.
        ParameterError: if the settings are an encrypted index's, and no secret key is given.
    """

    settings_type: ClassVar[type[AnySettings]] = ThresholdSettings

    @classmethod
    def owning(
        cls,
        vectors: ArrayLike,
        metric: Metric = "cosine",
        *,
        margin: float = 2.0**-5,
        payloads: ArrayLike | None = None,
        payload_bound: float | None = None,
        row_bound: float | None = None,
        threads: int | None = None,
    ) -> ThresholdClient:
        """The owner of an encrypted index for vectors such as these, with a fresh secret key: `encrypt` makes
        the rows of an `EncryptedThresholdIndex`. Keep the key, and the settings:
        `client.secret_key.save(path)`, `bytes(client.settings)`.

        Args:
            vectors: [rows, dims], as for `ThresholdIndex`. Their number gives that of a block.
            metric: as for `ThresholdIndex`.
            margin: as for `ThresholdIndex`.
            payloads: as for `ThresholdIndex`.
            payload_bound: as for `ThresholdIndex`.
            row_bound: as for `ThresholdIndex`.
            threads: the number of threads; None: as many as the process may run on.

        Raises:
            MismatchError, ParameterError, RangeError, TypeError: as for `ThresholdIndex`.
        """
        given = quantization.as_vectors(vectors, "the vectors of an index")
        name = secrets.token_hex(16)
        return cls._owner_of(
            settings_for(given, metric, margin, payloads, payload_bound, row_bound, name), threads
        )

    def encrypt(
        self, vectors: ArrayLike, *, payloads: ArrayLike | None = None, ids: ArrayLike | None = None
    ) -> bytes:
        """Encrypt rows for an `EncryptedThresholdIndex`.

        Args:
            vectors: [rows, dims], at least one, as those of `owning`.
            payloads: [rows, numbers], if the settings have some.
            ids: the rows' names in answers, as for `ThresholdIndex`. They stay in the clear. None: the index
                numbers its rows.

        Returns:
            The message for `EncryptedThresholdIndex` or its `add`: for each block of rows
            `settings.layout.steps` ciphertexts, and those of payloads.

        Raises:
            MismatchError: if vectors, payloads or ids have another shape.
            ParameterError: if these settings are not of `owning`, an id repeats, or a vector is zero where
                the metric is "cosine".
            RangeError: if a norm or a payload is above the settings' bound.
        """
        settings, layout, context = self._settings, self._settings.layout, self._context
        if not settings.owner:
            raise ParameterError(
                "the rows of this client's index are in the clear; ThresholdClient.owning encrypts rows"
            )
        rows = scaled_rows(vectors, settings, "vectors to encrypt")
        if len(rows) == 0:
            raise MismatchError("there is no vector to encrypt")
        numbers = as_payloads(payloads, len(rows), settings) / (2 * settings.payload_bound)
        named = None if ids is None else new_ids(ids, len(rows), np.empty(0, np.int64), 0)
        blocks = []
        for first in range(0, len(rows), settings.rows):
            part = slice(first, first + settings.rows)
            plain = [context.encode(each, level=settings.top) for each in columns_of(rows[part], settings)]
            plain += [context.encode(each, level=1) for each in layout.of_numbers(numbers[part])]
            blocks.append([context.encrypt(each, self._secret_key) for each in plain])
        return pack_rows(settings, len(rows), named, blocks)

    def _cost(self) -> Cost:
        return circuit.cost_of(self._settings)

    def query(self, x: ArrayLike, threshold: ArrayLike, want: Want = "mask") -> bytes:
        """Encrypt a query and its threshold.

        Args:
            x: [dims]: real numbers.
            threshold: a score. A row matches if its own is above it; its squared distance below it. With
                "count" also several: a block of few rows takes `settings.layout.copies` of them at once.
            want: "mask": which rows match; "count": how many; "payloads": which, and their payloads. The
                server sees it.

        Returns:
            The message for `ThresholdIndex.query`.

        Raises:
            MismatchError: if x has another number of dims.
            RangeError: if numbers are not finite, or a threshold is no cosine.
            ParameterError: if a query of cosines is zero, there are several thresholds, or no payloads.
        """
        settings = self._settings
        require_want(want, settings)
        asked = Asked.of(x, settings)
        levels = plain_array(threshold, "a threshold", np.float64)
        if levels.ndim > 1 or levels.size == 0 or (want != "count" and levels.size != 1):
            raise ParameterError(f"a query for the {want} of rows has no {levels.shape} thresholds")
        if levels.size > MOST_THRESHOLDS:
            raise ParameterError(f"a query has up to {MOST_THRESHOLDS} thresholds, not {levels.size}")
        relative = asked.relative(levels.reshape(-1), settings)
        return self._query(asked, relative, want, levels.ndim == 0)

    def _query(self, asked: Asked, relative: NDArray[np.float64], want: Want, is_single: bool) -> bytes:
        settings = self._settings
        layout, context = settings.layout, self._context
        halves = np.clip(relative, -1, 1) / 2
        slots = context.encode(asked.slots, level=settings.top)
        levels = context.encode(layout.of_thresholds(halves), level=settings.top - 1)
        encrypted = [context.encrypt(each, self._secret_key) for each in (slots, levels)]
        sent = pack_query("threshold query", settings, want, *encrypted, thresholds=len(relative))
        self._wait_for(sent, _Waiting(want, len(relative), is_single))
        return sent

    def _take(self, answer: bytes, is_count: bool) -> tuple[Answer, _Waiting]:
        unpacked = unpack_answer(answer, self._settings, self._context)
        asked = self._asked(unpacked.name)
        if (asked.want == "count") != is_count or asked.want != unpacked.want:
            raise MismatchError(
                f"the {unpacked.want} of a query for the {asked.want} of rows: decrypt_count reads "
                "numbers, decrypt masks and payloads"
            )
        self._answered(unpacked.name)
        return unpacked, asked

    def decrypt(self, answer: bytes) -> Matches:
        """The rows that match. Each answer is decrypted once.

        Raises:
            FormatError: if the answer is damaged.
            MismatchError: if it belongs to another index's settings, to no query of this client that waits
                for its answer, or to one for a count.
            NoiseError: if values are too large: the key is wrong, or the server computed something else. The
                server must not learn of this error.
        """
        return self._matches(self._take(answer, False)[0])

    def decrypt_count(self, answer: bytes) -> NDArray[np.float64]:
        """The number of rows above a threshold, or above each of several: [thresholds]. Rows within the
        margin count as numbers from 0 to 1, others within 2^-17. Each answer is decrypted once.

        Raises:
            FormatError, MismatchError, NoiseError: as `decrypt`.
        """
        layout = self._settings.layout
        unpacked, asked = self._take(answer, True)
        numbers = self._slots(unpacked.results[0]).reshape(-1, layout.rows)[:, 0] * layout.rows
        if len(numbers) < asked.thresholds:
            raise MismatchError(f"the answer has {len(numbers)} counts of {asked.thresholds} thresholds")
        found = numbers[: asked.thresholds]
        return np.asarray(found[0] if asked.is_single else found)

    @property
    def thresholds_of_round(self) -> int:
        """As many as the layout compares at once, from 3 to 64."""
        return min(_MOST_THRESHOLDS, max(_LEAST_THRESHOLDS, self._settings.layout.copies))

    def top(
        self,
        x: ArrayLike,
        k: int,
        ask: Callable[[bytes], bytes],
        *,
        payloads: bool = False,
        thresholds: int | None = None,
    ) -> Matches:
        """The k nearest rows: the client narrows a threshold by the numbers of rows above several, then asks
        for the rows above it. The number of rounds depends on the settings alone: a count that can not be
        decrypted is an error after the last round, so that the server does not learn of it.

        Args:
            x: [dims]: real numbers.
            k: 1 or more.
            ask: sends a query to the index and returns its answer, as `lambda q: index.query(q, keys)`.
            payloads: whether to ask for payloads too.
            thresholds: those of a round. None: `thresholds_of_round`.

        Returns:
            The k best rows, or all if there are fewer; and of others only rows whose score is within three
            margins of the k-th. `doubtful` has rows near the last threshold.

        Raises:
            ParameterError: if k is below 1, or there are no payloads.
            FormatError, MismatchError, NoiseError, RangeError: as `query` and `decrypt`.
        """
        settings = self._settings
        want: Want = "payloads" if payloads else "mask"
        require_want(want, settings)
        if as_integer(k, "top", "k") < 1:
            raise ParameterError(f"k must be 1 or more, not {k}")
        width = thresholds or self.thresholds_of_round
        asked = Asked.of(x, settings)
        low, high, certain = -1.0, 1.0, None
        failed: NoiseError | None = None
        sent: list[bytes] = []

        def answer_to(levels: NDArray[np.float64], what: Want) -> bytes:
            sent.append(self._query(asked, levels, what, what != "count"))
            return ask(sent[-1])

        try:
            for _ in range(math.ceil(math.log(2 / settings.margin) / math.log(width + 1) - 2**-20)):
                levels = np.linspace(low, high, width + 2)
                answer = answer_to(levels[1:-1], "count")
                try:
                    found = self.decrypt_count(answer)
                except NoiseError as error:
                    failed, found = error, np.zeros(width)
                exact = np.flatnonzero(np.abs(found - k) < _COUNT_DOUBT)
                if certain is None and len(exact):
                    certain = float(levels[1 + exact[len(exact) // 2]])
                place = int((found > k - 0.5).sum())
                low, high = float(levels[place]), float(levels[place + 1])
            # All of the k best are above the last threshold.
            last = low - settings.margin if certain is None else certain
            answer = answer_to(np.array([last]), want)
            if failed is not None:
                raise failed
            return self.decrypt(answer)
        finally:
            for query in sent:  # those that failed
                self.forget(query)
