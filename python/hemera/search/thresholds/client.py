"""The client of a threshold index: it encrypts queries and thresholds, and decrypts results."""

from __future__ import annotations

import functools
import math
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import MismatchError, ParameterError
from hemera.inputs.arguments import as_integer, in_own_words, require_type
from hemera.inputs.source import Source
from hemera.objects.context import Context
from hemera.objects.keys import SecretKey
from hemera.search import quantization, wire
from hemera.search.requests import name_of, new_ids
from hemera.search.thresholds import circuit
from hemera.search.thresholds.base import GONE
from hemera.search.thresholds.circuit import Want
from hemera.search.thresholds.encrypted_index import pack_rows
from hemera.search.thresholds.messages import MOST_THRESHOLDS, Answer, pack_ciphertexts, require_want
from hemera.search.thresholds.rows import as_payloads, settings_for
from hemera.search.thresholds.scores import Asked, columns_of, scaled_rows
from hemera.search.thresholds.settings import ThresholdMetric, ThresholdSettings

__all__ = ["Matches", "ThresholdClient"]

_DOUBT = 2.0**-14
"""A row whose 0 or 1 is further off is within the margin: others are within 2^-17, and noise."""
_COUNT_DOUBT = 2.0**-5
_LEAST_THRESHOLDS = 3
_MOST_THRESHOLDS = 64
"""Of a round of `ThresholdClient.top`."""


@dataclass(frozen=True)
class Matches:
    """The rows above a threshold."""

    ids: NDArray[np.int64]
    """[matches], in the index's order."""
    doubtful: NDArray[np.int64]
    """Ids of rows, matches or not, that are known to lie within the margin. Such rows may be missing here."""
    payloads: NDArray[np.float64] | None = None
    """[matches, numbers], if they were asked for. Those of doubtful matches are not right."""

    def __len__(self) -> int:
        return len(self.ids)


def matches_of(
    mask: NDArray[np.float64], ids: NDArray[np.int64], numbers: NDArray[np.float64] | None
) -> Matches:
    """The matches of decrypted values near 0 and 1 [places], with payloads [places, numbers] if there are
    any."""
    is_there = ids != GONE
    is_match = (mask > 0.5) & is_there
    is_doubtful = (np.abs(mask - np.rint(np.clip(mask, 0, 1))) > _DOUBT) & is_there
    return Matches(ids[is_match], ids[is_doubtful], None if numbers is None else numbers[is_match])


@dataclass(frozen=True)
class _Waiting:
    """What decrypting the answer to a query needs of it."""

    want: str
    thresholds: int
    is_single: bool


@in_own_words
class ThresholdClient:
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

    def __init__(
        self,
        settings: ThresholdSettings | Source,
        secret_key: Source | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        self._secret_key: SecretKey
        given = settings if isinstance(settings, ThresholdSettings) else ThresholdSettings.load(settings)
        self._begin(given, threads)
        if secret_key is not None:
            loaded = self._context.load(secret_key)
            self._secret_key = require_type(loaded, SecretKey, "ThresholdClient", "a secret key")
        elif given.owner:
            raise ParameterError(
                "only the key of its owner reads an encrypted index: give secret_key=, or begin another "
                "index by ThresholdClient.owning(vectors)"
            )
        else:
            self._secret_key = self._context.generate_secret_key()

    @classmethod
    def owning(
        cls,
        vectors: ArrayLike,
        metric: ThresholdMetric = "cosine",
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
        client = cls.__new__(cls)
        client._begin(settings_for(given, metric, margin, payloads, payload_bound, row_bound, name), threads)
        client._secret_key = client._context.generate_secret_key()
        return client

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

    def _begin(self, settings: ThresholdSettings, threads: int | None) -> None:
        self._settings = settings
        self._context = Context(settings.params, "cpu", threads=threads)
        self._waiting: dict[str, _Waiting] = {}
        self._lock = threading.Lock()

    @property
    def settings(self) -> ThresholdSettings:
        """The settings of the index."""
        return self._settings

    @property
    def secret_key(self) -> SecretKey:
        """The key that decrypts results. It stays with the client; `save(path)` writes a file of it."""
        return self._secret_key

    @functools.cached_property
    def keys(self) -> bytes:
        """The keys that an index needs to answer: some MB for each rotation. They can not decrypt. Made at
        the first use."""
        plan = circuit.cost_of(self._settings)
        made = self._context.generate_keys(
            self._secret_key, public_key=False, relinearization=False, plan=plan
        )
        return made.to_bytes()

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
        levels = np.asarray(threshold, np.float64)
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
        header = {"settings": settings.digest, "want": want, "thresholds": len(relative)}
        encrypted = [context.encrypt(each, self._secret_key) for each in (slots, levels)]
        sent = wire.pack("threshold query", header, *pack_ciphertexts(encrypted))
        with self._lock:
            self._waiting[name_of(sent)] = _Waiting(want, len(relative), is_single)
        return sent

    def forget(self, query: bytes) -> None:
        """Give up a query whose answer will not come."""
        with self._lock:
            self._waiting.pop(name_of(query), None)

    def _take(self, answer: bytes, is_count: bool) -> tuple[Answer, _Waiting]:
        unpacked = Answer.unpack(answer, self._settings, self._context)
        with self._lock:
            asked = self._waiting.get(unpacked.name)
            if asked is None:
                raise MismatchError("the answer belongs to no query of this client that waits for one")
            if (asked.want == "count") != is_count or asked.want != unpacked.want:
                raise MismatchError(
                    f"the {unpacked.want} of a query for the {asked.want} of rows: decrypt_count reads "
                    "numbers, decrypt masks and payloads"
                )
            del self._waiting[unpacked.name]
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
        settings, layout = self._settings, self._settings.layout
        unpacked, _ = self._take(answer, False)
        rows = self._context.decrypt(unpacked.results[0], self._secret_key, dtype=np.float64)
        mask = rows[:, : layout.rows].reshape(-1) / 2
        numbers = None
        if unpacked.want == "payloads":
            slots = self._context.decrypt(unpacked.results[1], self._secret_key, dtype=np.float64)
            of_blocks = [layout.numbers_of(each, settings.payload) for each in slots]
            numbers = np.concatenate(of_blocks) * settings.payload_bound
        return matches_of(mask, unpacked.ids.reshape(-1), numbers)

    def decrypt_count(self, answer: bytes) -> NDArray[np.float64]:
        """The number of rows above a threshold, or above each of several: [thresholds]. Rows within the
        margin count as numbers from 0 to 1, others within 2^-17. Each answer is decrypted once.

        Raises:
            FormatError, MismatchError, NoiseError: as `decrypt`.
        """
        layout = self._settings.layout
        unpacked, asked = self._take(answer, True)
        slots = self._context.decrypt(unpacked.results[0], self._secret_key, dtype=np.float64)
        numbers = slots.reshape(-1, layout.rows)[:, 0] * layout.rows
        if len(numbers) < asked.thresholds:
            raise MismatchError(f"the answer has {len(numbers)} counts of {asked.thresholds} thresholds")
        found = numbers[: asked.thresholds]
        return np.asarray(found[0] if asked.is_single else found)

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
        for the rows above it. The number of rounds depends on the settings alone.

        Args:
            x: [dims]: real numbers.
            k: 1 or more.
            ask: sends a query to the index and returns its answer, as `lambda q: index.query(q, keys)`.
            payloads: whether to ask for payloads too.
            thresholds: those of a round. None: as many as the layout compares at once, from 3 to 64.

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
        width = thresholds or min(_MOST_THRESHOLDS, max(_LEAST_THRESHOLDS, settings.layout.copies))
        asked = Asked.of(x, settings)
        low, high, certain = -1.0, 1.0, None
        for _ in range(math.ceil(math.log(2 / settings.margin) / math.log(width + 1) - 2**-20)):
            levels = np.linspace(low, high, width + 2)
            found = self.decrypt_count(ask(self._query(asked, levels[1:-1], "count", False)))
            exact = np.flatnonzero(np.abs(found - k) < _COUNT_DOUBT)
            if certain is None and len(exact):
                certain = float(levels[1 + exact[len(exact) // 2]])
            place = int((found > k - 0.5).sum())
            low, high = float(levels[place]), float(levels[place + 1])
        # All of the k best are above the last threshold.
        last = low - settings.margin if certain is None else certain
        return self.decrypt(ask(self._query(asked, np.array([last]), want, True)))
