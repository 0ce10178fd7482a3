"""Scores: what clients and indexes of them compute, and their messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.errors import FormatError, NoiseError, ParameterError
from hemera.inputs.fields import Kind, Whole
from hemera.objects.context import Context
from hemera.objects.keys import Keys, SecretKey
from hemera.search import wire
from hemera.search.messages import (
    Group,
    Header,
    keys_of,
    name_of,
    not_prepared,
    opened,
    read_ids,
    require_keys,
)
from hemera.search.scores.scales import MOST_MESSAGES, USED, Scales
from hemera.search.settings import Errors
from hemera.search.vectors import encrypted_squares, message, quantized, warn_of_wrong_neighbours

SEED_BYTES = 32
MOST_PREPARED = 100_000
"""Queries of one message."""
_EXPANDED_BYTES = 1 << 30
"""The most bytes of the queries of one pass in a device's memory, unless one alone takes more."""
_ROW_BYTES = 12
"""Bytes of an answer for each row, in addition to its numbers: an id, and a squared norm."""
_QUERY_FIELDS: dict[str, Kind] = {"count": Whole(1)}
ANSWER_FIELDS: dict[str, Kind] = {
    "query": str,
    "index_version": Whole(),
    "rows": Whole(1),
    "count": Whole(1),
    "has_ids": bool,
    "parts": list,
}
"""Fields of answers; those of encrypted indexes have `is_single` too. The query of an answer in the clear is
""; the others' `is_single` means nothing."""


class Query(NamedTuple):
    """Encrypted queries: a seed, and numbers [query, limb, dims]."""

    seed: bytes
    numbers: NDArray[np.uint64]


class Asked(NamedTuple):
    """What decrypting the answer to queries needs: norms [query], of exact ones squares; and whether it is
    one query alone."""

    norms: NDArray[Any]
    is_single: bool


class ScoreProgram(Scales):
    """Scores of rows whose integers are coefficients."""

    @property
    def largest_errors(self) -> Errors:
        if self.owner:
            return self.encrypted_errors(self.degree, MOST_MESSAGES)
        square = (self.scale if self.metric == "cosine" else self.row_bound) ** 2
        return self.clear_errors(square, self.degree * square)

    # --- Clients. ---

    @property
    def needed_keys(self) -> list[_core.KeyNeed]:
        """log2 N automorphisms, 0.6 MB (exact: 3.9 MB); for an encrypted index also that of products."""
        params, top = self.params._native, self.params.levels - 1
        needs = [_core.key_need(params, 1, each, top) for each in sorted(self.galois_elements)]
        return needs + [_core.key_need(params, 2, 1, top)] * bool(self.owner)

    def generate_keys(self, secret_key: SecretKey) -> Keys:
        """All needed keys."""
        return Keys(_core.generate_needed_keys(secret_key._native, self.needed_keys), secret_key.context)

    def encrypt(
        self, secret_key: SecretKey, vectors: NDArray[Any], payloads: ArrayLike | None
    ) -> list[bytes]:
        if payloads is not None:
            raise ParameterError("scores come without payloads; answers=hemera.search.Threshold() has them")
        rows = quantized(vectors, self)
        used = min(len(rows), self.degree)
        warn_of_wrong_neighbours(vectors, rows, self, self.encrypted_errors(used, 1))
        parts = []
        for first in range(0, len(rows), self.degree):
            block = np.ascontiguousarray(rows[first : first + self.degree])
            made = [_core.search_encrypt_rows(secret_key._native, block, 0)]
            if self.metric == "l2":
                squares = encrypted_squares(vectors[first : first + self.degree], self)
                made.append(_core.search_encrypt_rows(secret_key._native, *squares))
            for seed, numbers in made:
                parts += [seed, wire.pack_numbers(numbers, self.number_bytes)]
        return parts

    def zeros(self, secret_key: SecretKey) -> tuple[bytes, NDArray[np.uint64]]:
        """The seed and the numbers of an encryption of zero, for a prepared query."""
        return _core.search_encrypt(secret_key._native, np.zeros((1, self.dims), np.int64), 0)

    def query(
        self,
        secret_key: SecretKey,
        x: NDArray[Any],
        zeros: Callable[[], tuple[bytes, NDArray[np.uint64]]] | None = None,
    ) -> tuple[bytes, Asked]:
        """The message of queries, and what decrypting the answer needs.

        Args:
            x: [dims], or [queries, dims].
            zeros: takes the encryption of zero of a prepared query. None: it is not prepared.
        """
        queries = x[None] if x.ndim == 1 else x
        integers, shift, norms = message(queries, self)
        if zeros is None:
            seed, numbers = _core.search_encrypt(secret_key._native, integers, shift)
        elif len(integers) != 1:
            raise ParameterError(f"a prepared query is one, not {len(integers)}")
        else:
            seed, taken = zeros()
            numbers = _core.search_add_message(secret_key.context._native, taken, integers, shift)
            taken.fill(0)  # with the bytes that are sent they reveal the message
        header = {"settings": self.settings.digest, "count": len(queries)}
        sent = wire.pack("query", header, seed, wire.pack_numbers(numbers, self.number_bytes))
        return sent, Asked(norms, x.ndim == 1)

    def read(
        self, secret_key: SecretKey, data: bytes, k: int | None, asked: Callable[[str], Asked]
    ) -> tuple[str, Callable[[], Any]]:
        fields = {**ANSWER_FIELDS, "is_single": bool} if self.owner else ANSWER_FIELDS
        header, body = opened(self.answer_kind, data, fields, self.settings)
        count, rows, name = header["count"], header["rows"], header["query"]
        in_clear, blocks = bool(self.owner) and name == "", -(-rows // self.degree)
        sizes = self.sizes(rows, count, header["has_ids"], in_clear)
        if header["parts"] != sizes:
            raise FormatError(
                f"the answer of {rows} rows has parts of {header['parts']} bytes, and not {sizes}"
            )
        ends = np.cumsum(sizes)
        if in_clear:
            norms: NDArray[Any] = np.frombuffer(body[ends[2] : ends[3]], "<f8")
            if not ((norms >= 0) & (norms < np.inf)).all():
                raise FormatError("the answer has norms of queries that are no numbers")
            own = Asked(norms.astype(np.int64) if self.exact else norms, header["is_single"])
        else:
            own = asked(name)
        if count != len(own.norms) or (own.is_single and count != 1):
            raise FormatError(f"the answer is for {count} queries; {len(own.norms)} were asked")
        numbers = self._numbers(body[: ends[1]], blocks)
        has_squares = bool(self.owner) and self.metric == "l2"
        if has_squares:
            numbers = np.concatenate([numbers, self._numbers(body[ends[3] :], blocks)], axis=2)
        ids = read_ids(body[ends[1] : ends[2]]) if header["has_ids"] else np.arange(rows)
        there = ids >= 0 if self.owner else np.ones(rows, np.bool_)
        known: NDArray[Any] = np.frombuffer(b"" if self.owner else body[ends[2] : ends[3]], "<u4")

        def decrypted() -> Any:
            found = _core.search_decrypt(secret_key._native, numbers, self.packing[0])
            self._require_possible(found, own.norms)
            found = found[:, :rows][:, there]
            of_rows = found[-1] / self.square_scale if has_squares else known
            return self._best(self._scores(found[:count], own.norms, of_rows), ids[there], k, own.is_single)

        return ("" if in_clear else name), decrypted

    def _numbers(self, halves: memoryview, blocks: int) -> NDArray[np.uint64]:
        """The numbers [b or a, block, polynomial, N] of two parts of an answer."""
        return wire.unpack_numbers(halves, self.kept_bytes).reshape(2, blocks, -1, self.degree)

    def _require_possible(self, found: NDArray[np.int64], norms: NDArray[Any]) -> None:
        """NoiseError unless decrypted integers [query, place], and those of squared norms after them, can be
        those of rows within the settings' bound, and of the zeros of places without one: under other keys
        they are any below the modulus."""
        half = math.prod(self.params.primes[0]) / 2
        lengths = np.sqrt(norms.astype(np.float64)) if self.exact else np.ones(len(norms))
        # Noise is less than half of an exact score, and far below the modulus' part that scores do not use.
        noise = self.answer_scale / 2 if self.exact else (1 - USED) / 2 * half
        bounds = self.row_bound * self.answer_scale * lengths + noise
        if len(found) > len(norms):
            bounds = np.append(bounds, self.row_bound**2 * self.square_scale + (1 - USED) / 2 * half)
        if not (np.abs(found).max(axis=1) <= bounds).all():
            raise NoiseError(
                "the answer has scores that no row can have: it was made with the keys of another client, "
                "this is not the secret key of its query, or the server computed something else"
            )

    def _scores(self, found: NDArray[np.int64], norms: NDArray[Any], squares: NDArray[Any]) -> NDArray[Any]:
        """The scores [query, row] of the decrypted integers and the squared norms of rows and queries."""
        products: NDArray[Any]
        rows: NDArray[Any]
        if self.exact:
            products = np.rint(found / self.answer_scale).astype(np.int64)
            rows = np.rint(squares).astype(np.int64)
        else:
            cosines: NDArray[Any] = found / (self.answer_scale * self.scale)  # times the row's norm
            if self.metric == "cosine":
                return cosines
            products = cosines * norms[:, None]
            rows = squares / self.scale / self.scale
            norms = norms**2
        if self.metric == "dot":
            return products
        distances: NDArray[Any] = rows - 2 * products + norms[:, None]
        return distances

    def _best(
        self, scores: NDArray[Any], ids: NDArray[np.int64], k: int | None, is_single: bool
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        chosen = [_best(row, k, self.metric != "l2") for row in scores]
        best = np.stack([row[at] for row, at in zip(scores, chosen, strict=True)])
        if self.metric == "l2":
            best = np.maximum(best, 0)  # of noise alone
        named = np.stack([ids[at] for at in chosen])
        return (best[0], named[0]) if is_single else (best, named)

    # --- Indexes. ---

    @property
    def answer_kind(self) -> str:
        """The kind of the messages of answers."""
        return "encrypted answer" if self.owner else "answer"

    def sizes(self, rows: int, count: int, has_ids: bool, in_clear: bool) -> list[int]:
        """Bytes of the parts of an answer to `count` queries: b and a of scores; ids; and of a clear index
        the squared norms of rows, of an encrypted one the norms of queries in the clear, and b and a of
        squared norms."""
        half = -(-rows // self.degree) * self.degree * self.kept_bytes  # of one polynomial a block
        is_l2 = self.metric == "l2"
        own = [8 * count * in_clear, half * is_l2, half * is_l2] if self.owner else [4 * rows * is_l2]
        return [count * half, count * half, 8 * rows * has_ids, *own]

    def draft(self, header: dict[str, Any], ids: NDArray[np.int64], norms: NDArray[Any]) -> wire.Draft:
        """The message of an answer, whose b and a are to be written.

        Args:
            header: its fields, with the count of queries.
            ids: of all places of rows.
            norms: squared norms of rows, or the norms of queries in the clear, or none.
        """
        named = has_ids(ids)
        fields = {**header, "rows": len(ids), "has_ids": named}
        sizes = self.sizes(len(ids), header["count"], named, len(norms) > 0)
        answer = wire.Draft(self.answer_kind, fields, *sizes)
        if named:
            answer.part(2)[:] = ids.astype("<i8", copy=False).view(np.uint8)
        answer.part(3)[:] = norms.view(np.uint8)
        return answer

    def groups(self, context: Context, asked: Sequence[tuple[bytes, bytes | Keys]]) -> list[Group]:
        """All take one pass."""
        if not asked:
            return []
        sent = [self.unpack(query) for query, _ in asked]
        keys = [keys_of(keys, context, "query")._native for _, keys in asked]
        return [Group(range(len(asked)), [name_of(query) for query, _ in asked], keys, sent)]

    def answered(
        self, group: Group, header: Header, draft: Callable[[dict[str, Any]], wire.Draft], database: Any
    ) -> list[wire.Draft]:
        """The messages of answers by one pass over a database. `draft` makes one with the fields of a
        header."""
        pairs = zip(group.names, group.queries, strict=True)
        drafts = [draft({**header(name), "count": len(query.numbers)}) for name, query in pairs]
        asked = [(key, each.seed, each.numbers) for key, each in zip(group.keys, group.queries, strict=True)]
        database.answer(asked, *self.packing, [each.memory for each in drafts])
        return drafts

    @property
    def queries_at_once(self) -> int:
        """Queries of several clients that one pass over the rows answers with 1 GiB of memory."""
        return max(1, _EXPANDED_BYTES // self.expanded_bytes)

    @property
    def key_bytes(self) -> int:
        return (self.degree.bit_length() + 1) * self.params.switching_key_bytes

    @property
    def galois_elements(self) -> set[int]:
        """The Galois elements of the keys that an index needs."""
        return {(self.degree >> i) + 1 for i in range(self.degree.bit_length() - 1)}

    def require_keys(self, keys: Keys) -> None:
        require_keys(keys, self.galois_elements, products=bool(self.owner))

    def count(self, query: bytes) -> int:
        return len(self.unpack(query).numbers)

    def answer_bytes(self, count: int, blocks: int) -> int:
        if self.owner and self.metric == "l2":
            count += 1  # the squared norms, as of one query more
        return blocks * self.degree * (count * 2 * self.kept_bytes + _ROW_BYTES)

    def unpack(self, query: bytes) -> Query:
        """The queries of a message. FormatError, MismatchError."""
        header, body = opened("query", query, _QUERY_FIELDS, self.settings)
        count = header["count"]
        if len(body) != SEED_BYTES + count * self.limbs * self.dims * self.number_bytes:
            raise FormatError(f"the query has {len(body)} bytes of numbers for {count} queries")
        numbers = wire.unpack_numbers(body[SEED_BYTES:], self.number_bytes)
        return Query(bytes(body[:SEED_BYTES]), numbers.reshape(count, self.limbs, self.dims))

    def seed(self, query: bytes) -> bytes:
        """The seed of a query, under which there may be no other. FormatError, MismatchError."""
        return self.unpack(query).seed

    def seeds(self, preparation: bytes) -> list[bytes]:
        """The seeds of a message from `Client.prepare`. FormatError, MismatchError."""
        if self.owner:
            raise not_prepared(self.settings)
        header, body = opened("preparation", preparation, _QUERY_FIELDS, self.settings)
        count = header["count"]
        if not 1 <= count <= MOST_PREPARED or len(body) != count * SEED_BYTES:
            raise FormatError(f"the preparation of {count} queries has {len(body)} bytes of seeds")
        return [bytes(body[at : at + SEED_BYTES]) for at in range(0, len(body), SEED_BYTES)]


def has_ids(ids: NDArray[np.int64]) -> bool:
    """Whether answers need the ids of places: they are others than 0, 1, ..."""
    return not np.array_equal(ids, np.arange(len(ids)))


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
