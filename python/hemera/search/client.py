"""The client of an index: it encrypts queries and decrypts scores."""

from __future__ import annotations

import math
import secrets
from collections import deque
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera._process import OfProcess
from hemera.errors import FormatError, MismatchError, NoiseError, ParameterError
from hemera.inputs.arguments import as_integer, in_own_words
from hemera.inputs.fields import Kind, Whole
from hemera.inputs.plain import plain_array
from hemera.objects.keys import Keys
from hemera.search import quantization, wire
from hemera.search.any_client import AnyClient
from hemera.search.any_settings import AnySettings, Metric
from hemera.search.neighbours import warn_of_wrong_neighbours
from hemera.search.requests import MOST_PREPARED, new_ids
from hemera.search.settings import USED, Settings, encrypted_errors

__all__ = ["Client"]

ANSWER_FIELDS: dict[str, Kind] = {
    "settings": str,
    "query": str,
    "index_version": Whole(),
    "rows": Whole(1),
    "count": Whole(1),
    "has_ids": bool,
    "parts": list,
}
ENCRYPTED_ANSWER_FIELDS: dict[str, Kind] = {**ANSWER_FIELDS, "is_single": bool}
"""Fields of answers of encrypted indexes. The query of one in the clear is ""; the others' `is_single` means
nothing."""


_Prepared = tuple[bytes, NDArray[np.uint64]]
"""A seed, and the numbers of its encryption of zero."""


@dataclass(frozen=True)
class _Asked:
    """What decrypting the answer to a query needs of it."""

    norms: NDArray[Any]  # [query]; squares of integers where scores are exact
    is_single: bool


@in_own_words
class Client(AnyClient[Settings, _Asked]):
    """A client of a search: keys, queries, scores.

    Args:
        settings: those of the index, `hemera.search.Index.settings`, or their bytes.
        secret_key: a key that an earlier client of such settings had, as bytes or a file's path
            (`client.secret_key.save(path)`). None: a fresh one; the settings of an encrypted index want its
            owner's.
        threads: the number of threads; None: as many as the process may run on.

    Raises:
        FormatError: if bytes are damaged.
        MismatchError: if the secret key belongs to other parameters.
        ParameterError: if the settings are an encrypted index's, and no secret key is given.

    Examples:
        >>> index = hm.search.Index(np.eye(4, dtype=np.float32), metric="dot")
        >>> client = hm.search.Client(index.settings)
        >>> query = client.query([0.1, 0.9, 0.3, 0.2])
        >>> answer = index.query(query, client.keys)
        >>> scores, ids = client.decrypt(answer, k=2)
        >>> ids.tolist(), scores.round(2).tolist()
        ([1, 2], [0.9, 0.3])
    """

    settings_type: ClassVar[type[AnySettings]] = Settings

    @classmethod
    def owning(
        cls,
        vectors: ArrayLike,
        metric: Metric = "cosine",
        *,
        exact: bool = False,
        largest: float | None = None,
        query_bound: int = 127,
        threads: int | None = None,
    ) -> Client:
        """The owner of an encrypted index for vectors such as these, with a fresh secret key: `encrypt` makes
        the rows of an `EncryptedIndex`, which only this key reads. Keep it, and the settings:
        `client.secret_key.save(path)`, `bytes(client.settings)`.

        Args:
            vectors: [rows, dims], as for `Index`; they give the scale. Floats are rounded far below the
                noise, not to int8.
            metric: as for `Index`.
            exact: as for `Index`.
            largest: as for `Index`.
            query_bound: as for `Index`.
            threads: the number of threads; None: as many as the process may run on.

        Raises:
            MismatchError, ParameterError, RangeError, TypeError: as for `Index`.

        Examples:
            >>> owner = hm.search.Client.owning(np.eye(4), metric="dot")
            >>> index = hm.search.EncryptedIndex(owner.encrypt(np.eye(4)))
            >>> answer = index.query(owner.query([0.1, 0.9, 0.3, 0.2]), owner.keys)
            >>> scores, ids = owner.decrypt(answer, k=2)
            >>> ids.tolist(), scores.round(2).tolist()
            ([1, 2], [0.9, 0.3])
        """
        given = quantization.as_vectors(vectors, "the vectors of an index")
        if len(given) == 0:
            raise MismatchError("an index begins with one vector at least")
        name = secrets.token_hex(16)
        return cls._owner_of(
            quantization.settings_of(given, metric, exact, largest, query_bound, name), threads
        )

    def _begin(self, settings: Settings, threads: int | None) -> None:
        super()._begin(settings, threads)
        # Encryptions of zero whose seeds an index knows. Their numbers are secret until a message is added.
        # Each process has its own: two queries with one seed would reveal the difference of their messages.
        self._prepared: OfProcess[deque[_Prepared]] = OfProcess(deque)

    def _generate_keys(self) -> Keys:
        """log2 N automorphisms, 0.6 MB (exact: 3.9 MB); for an encrypted index also that of products."""
        made = _core.search_generate_keys(self._secret_key._native, bool(self._settings.owner))
        return Keys(made, self._context)

    def encrypt(self, vectors: ArrayLike, *, ids: ArrayLike | None = None) -> bytes:
        """Encrypt rows for an `EncryptedIndex`.

        Args:
            vectors: [rows, dims], at least one, as those of `owning`.
            ids: the rows' names in answers, as for `Index`. They stay in the clear. None: the index numbers
                its rows.

        Returns:
            The message for `EncryptedIndex` or its `add`: 6 bytes a number (exact: 12) of whole blocks of
            4,096 (8,192) rows, so that a row costs as much as a block. With ids 8 bytes a row.

        Raises:
            MismatchError: if vectors or ids have another shape.
            ParameterError: if these settings are not of `owning`, an id repeats, or a vector is zero where
                the metric is "cosine".
            RangeError: if an entry is too large for the settings' scale.
            TypeError: if vectors have other numbers.
        """
        settings = self._settings
        if not settings.owner:
            raise ParameterError(
                "the rows of this client's index are in the clear; Client.owning encrypts rows"
            )
        given = quantization.as_vectors(vectors, "vectors to encrypt")
        rows = quantization.quantized(given, settings)
        if len(rows) == 0:
            raise MismatchError("there is no vector to encrypt")
        used = min(len(rows), settings.degree)
        warn_of_wrong_neighbours(given, rows, settings, encrypted_errors(settings, used, 1))
        named = None if ids is None else new_ids(ids, len(rows), np.empty(0, np.int64), 0)
        native, width = self._secret_key._native, settings.number_bytes
        parts: list[bytes] = [] if named is None else [named.astype("<i8").tobytes()]
        for first in range(0, len(rows), settings.degree):
            block = np.ascontiguousarray(rows[first : first + settings.degree])
            made = [_core.search_encrypt_rows(native, block, 0)]
            if settings.metric == "l2":
                of_block = given[first : first + settings.degree]
                squares, shift = quantization.encrypted_squares(of_block, settings)
                made.append(_core.search_encrypt_rows(native, squares, shift))
            for seed, numbers in made:
                parts += [seed, wire.pack_numbers(numbers, width)]
        header = {"settings": settings.to_fields(), "count": len(rows), "has_ids": named is not None}
        return wire.pack("rows", header, *parts)

    def prepare(self, count: int) -> bytes:
        """Encrypt zeros for later queries, and tell their seeds, so that an index can do most of its work
        before the queries are there: `Index.prepare`. The client keeps the rest, 6 bytes a number (exact: 12)
        in memory.

        Args:
            count: of queries, 1 to 100,000.

        Returns:
            The message for `Index.prepare`: 32 bytes for each query, and 200.

        Raises:
            ParameterError: if the count is out of its range, or the index is encrypted.
        """
        if self._settings.owner:
            raise ParameterError("an encrypted index has no prepared queries: query(x) makes others")
        if not 1 <= as_integer(count, "prepare", "count") <= MOST_PREPARED:
            raise ParameterError(f"prepare 1 to {MOST_PREPARED} queries at a time, not {count}")
        zeros = np.zeros((1, self._settings.dims), np.int64)
        made = [_core.search_encrypt(self._secret_key._native, zeros, 0) for _ in range(count)]
        with self._lock:
            self._prepared.value.extend(made)
        header = {"settings": self._settings.digest, "count": count}
        return wire.pack("preparation", header, *(seed for seed, _ in made))

    @property
    def prepared(self) -> int:
        """The number of prepared queries that are left. A child of `fork()` begins with none."""
        return len(self._prepared.value)

    def query(self, x: ArrayLike, *, prepared: bool = False) -> bytes:
        """Encrypt a query.

        Args:
            x: [dims], or several queries [queries, dims], which one pass over the database answers. Real
                numbers; integers up to `settings.query_bound` with exact scores.
            prepared: whether to take the oldest query of `prepare`, for which an index may have a ticket. It
                is used up. One query at a time.

        Returns:
            The message for `Index.query`. For each query dims numbers of 6 bytes (exact: 12); and 300 bytes.
            The client keeps the norm of each query until its answer is decrypted.

        Raises:
            MismatchError: if x has another number of dims.
            RangeError: if numbers, or their scores, are not finite, or too large for exact scores.
            ParameterError: if the metric is "cosine" and a query is zero.
            ParameterError: if no prepared query is left, or there are several queries for one.
            TypeError: if x has other numbers.
        """
        given = plain_array(x, "a query")
        queries = given[None] if given.ndim == 1 else given
        integers, shift, norms = quantization.message(queries, self._settings)
        if prepared:
            seed, numbers = self._with_message(integers, shift)
        else:
            seed, numbers = _core.search_encrypt(self._secret_key._native, integers, shift)
        sent = wire.pack(
            "query",
            {"settings": self._settings.digest, "count": len(queries)},
            seed,
            wire.pack_numbers(numbers, self._settings.number_bytes),
        )
        self._wait_for(sent, _Asked(norms, given.ndim == 1))
        return sent

    def _with_message(self, integers: NDArray[np.int64], shift: int) -> tuple[bytes, NDArray[np.uint64]]:
        """The oldest prepared encryption, with a message."""
        if len(integers) != 1:
            raise ParameterError(f"a prepared query is one, not {len(integers)}")
        with self._lock:
            left = self._prepared.value
            if not left:
                raise ParameterError(
                    "no prepared query is left: prepare(count) makes more, or prepared=False"
                )
            seed, zeros = left.popleft()
        numbers = _core.search_add_message(self._context._native, zeros, integers, shift)
        zeros.fill(0)  # together with what is sent they tell the message
        return seed, numbers

    def decrypt(
        self, answer: bytes, k: int | None = None
    ) -> tuple[NDArray[np.float64] | NDArray[np.int64], NDArray[np.int64]]:
        """The scores of an answer to one of this client's queries. Each answer is decrypted once.

        Args:
            k: the number of best rows; all if there are fewer. None: all rows, in the index's order.

        Returns:
            scores, ids: [k] each, or [queries, k] where several queries were asked at once; best first: the
            largest cosine or inner product, the smallest distance. Scores are float64, int64 if exact. Of
            equal scores the rows that the index has first come first.

        Raises:
            FormatError: if the answer is damaged.
            MismatchError: if it belongs to another index's settings, or to no query of this client that
                waits for its answer.
            NoiseError: if scores are larger than any row can have: keys and secret key do not belong
                together, or the server computed something else. The server must not learn of this error.
            ParameterError: if k is below 1.
        """
        settings = self._settings
        if k is not None and as_integer(k, "decrypt", "k") < 1:
            raise ParameterError(f"k must be 1 or more, not {k}")
        encrypted = bool(settings.owner)
        kind, fields = (
            ("encrypted answer", ENCRYPTED_ANSWER_FIELDS) if encrypted else ("answer", ANSWER_FIELDS)
        )
        header, body = wire.unpack(kind, answer, fields)
        if header["settings"] != settings.digest:
            raise MismatchError("the answer is of an index of other settings than this client's")
        count, rows = header["count"], header["rows"]
        blocks = -(-rows // settings.degree)
        in_clear = encrypted and header["query"] == ""
        has_squares = settings.metric == "l2"
        half = blocks * settings.degree * settings.kept_bytes  # of one polynomial a block
        sizes = [count * half, count * half, 8 * rows * header["has_ids"]]
        if encrypted:
            sizes += [8 * count * in_clear, half * has_squares, half * has_squares]
        else:
            sizes += [4 * rows * has_squares]
        if header["parts"] != sizes:
            raise FormatError(
                f"the answer of {rows} rows has parts of {header['parts']} bytes, and not {sizes}"
            )
        ends = np.cumsum(sizes)
        if in_clear:
            norms: NDArray[Any] = np.frombuffer(body[ends[2] : ends[3]], "<f8")
            if not ((norms >= 0) & (norms < np.inf)).all():
                raise FormatError("the answer has norms of queries that are no numbers")
            asked = _Asked(norms.astype(np.int64) if settings.exact else norms, header["is_single"])
        else:
            asked = self._asked(header["query"])
        if count != len(asked.norms) or (asked.is_single and count != 1):
            raise FormatError(f"the answer is for {count} queries; {len(asked.norms)} were asked")
        numbers = self._numbers(body[: ends[1]], blocks)
        if encrypted and has_squares:
            numbers = np.concatenate([numbers, self._numbers(body[ends[3] :], blocks)], axis=2)
        whole = _core.search_decrypt(self._secret_key._native, numbers, settings.dropped_bits)
        is_possible = self._is_possible(whole, asked.norms)
        found = whole[:, :rows]
        ids = (
            np.frombuffer(body[ends[1] : ends[2]], "<i8").astype(np.int64)
            if header["has_ids"]
            else np.arange(rows)
        )
        squares: NDArray[Any] = np.empty(0)
        if not encrypted:
            squares = np.frombuffer(body[ends[2] : ends[3]], "<u4")
        else:
            there = ids >= 0
            ids, found = ids[there], found[:, there]
            if has_squares:
                squares = found[-1] / settings.square_scale
        scores = self._scores(found[:count], asked.norms, squares)
        if not in_clear:
            self._answered(header["query"])
        if not is_possible:
            raise NoiseError(
                "the answer has scores that no row can have: it was made with the keys of another client, "
                "this is not the secret key of its query, or the server computed something else"
            )
        chosen = [_best(row, k, settings.metric != "l2") for row in scores]
        best = np.stack([row[at] for row, at in zip(scores, chosen, strict=True)])
        if settings.metric == "l2":
            best = np.maximum(best, 0)  # of noise alone
        named = np.stack([ids[at] for at in chosen])
        return (best[0], named[0]) if asked.is_single else (best, named)

    def _numbers(self, halves: memoryview, blocks: int) -> NDArray[np.uint64]:
        """The numbers [b or a, block, polynomial, N] of two parts of an answer."""
        settings = self._settings
        return wire.unpack_numbers(halves, settings.kept_bytes).reshape(2, blocks, -1, settings.degree)

    def _is_possible(self, found: NDArray[np.int64], norms: NDArray[Any]) -> bool:
        """Whether decrypted integers [query, place], and those of squared norms after them, can be those of
        rows within the settings' bound, and of the zeros of places without one: under other keys they are
        any below the modulus."""
        settings = self._settings
        half = math.prod(settings.params.primes[0]) / 2
        lengths = np.sqrt(norms.astype(np.float64)) if settings.exact else np.ones(len(norms))
        # Noise is less than half of an exact score, and far below the modulus' part that scores do not use.
        noise = settings.answer_scale / 2 if settings.exact else (1 - USED) / 2 * half
        bounds = settings.row_bound * settings.answer_scale * lengths + noise
        if len(found) > len(norms):
            bounds = np.append(bounds, settings.row_bound**2 * settings.square_scale + (1 - USED) / 2 * half)
        return bool((np.abs(found).max(axis=1) <= bounds).all())

    def _scores(self, found: NDArray[np.int64], norms: NDArray[Any], squares: NDArray[Any]) -> NDArray[Any]:
        """The scores [query, row] of the decrypted integers and the squared norms of rows and queries."""
        settings = self._settings
        products: NDArray[Any]
        rows: NDArray[Any]
        if settings.exact:
            products = np.rint(found / settings.answer_scale).astype(np.int64)
            rows = np.rint(squares).astype(np.int64)
        else:
            cosines: NDArray[Any] = found / (settings.answer_scale * settings.scale)  # times the row's norm
            if settings.metric == "cosine":
                return cosines
            products = cosines * norms[:, None]
            rows = squares / settings.scale / settings.scale
        if settings.metric == "dot":
            return products
        norms = norms if settings.exact else norms**2
        distances: NDArray[Any] = rows - 2 * products + norms[:, None]
        return distances


def _best(scores: NDArray[Any], k: int | None, descending: bool) -> NDArray[np.intp]:
    """Positions of the k best scores, best first; of equal ones the first. None: all, in order."""
    if k is None:
        return np.arange(len(scores))
    order = -scores if descending else scores
    if k < len(order):
        last = np.partition(order, k - 1)[k - 1]
        candidates = np.flatnonzero(order <= last)
    else:
        candidates = np.arange(len(order))
    return candidates[np.argsort(order[candidates], kind="stable")[:k]]
