"""Comparisons: what clients and indexes of them compute, and their messages."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.errors import FormatError, MismatchError, ParameterError, RangeError
from hemera.inputs.plain import plain_array
from hemera.objects.batches import stack
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.cost import Cost
from hemera.objects.evaluator import Evaluator
from hemera.objects.keys import Keys, SecretKey
from hemera.search import messages, wire
from hemera.search.comparisons import circuit
from hemera.search.comparisons.circuit import Block
from hemera.search.comparisons.slots import Asked, Slots
from hemera.search.messages import (
    GONE,
    Answer,
    Group,
    Header,
    Matches,
    Query,
    pack_ciphertexts,
    require_form,
    take_ciphertexts,
)
from hemera.search.settings import Errors

_ANSWER_FIELDS: dict[str, type] = {"query": str, "index_version": int}
MOST_THRESHOLDS = 4096
"""The most thresholds of one query."""
_DOUBT = 2.0**-14
"""A row whose 0 or 1 is further off is within the margin: others are within 2^-17, and noise."""
_LEAST_THRESHOLDS, _MOST_THRESHOLDS = 3, 64


class Relative(NamedTuple):
    """Thresholds as numbers from -1 to 1 (`Slots.relative`)."""

    levels: NDArray[np.float64]


class Waiting(NamedTuple):
    """The facts of a query for decrypting its answer: its result, the number of thresholds, whether the
    answer is for one number, and not for a list of numbers, and whether all thresholds are beyond all scores:
    then scores of 0 are compared, which are far from both ends."""

    want: str
    numbers: int = 1
    is_single: bool = True
    is_beyond: bool = False


Compared = tuple[NDArray[np.float64], Waiting]
"""The slots of thresholds, or ranks, in the clear, and the facts of the query."""


class Comparisons(Slots):
    """Scores in slots, and comparisons of them with thresholds."""

    wants: tuple[str, ...] = ("mask", "count", "payloads")
    """The results that a query may want."""
    largest_squares = (1.0, 1.0)
    """The largest squares of the compared vectors, as `errors` takes them."""
    query_fields: ClassVar[dict[str, type]] = {"thresholds": int}
    answer_fields: ClassVar[dict[str, type]] = {"blocks": int}
    """Fields of the headers of this kind alone."""
    queries_at_once = None

    @property
    def stride(self) -> int:
        """Places of a block's first copy between the results of rows."""
        return 1

    @property
    def blocks(self) -> int | None:
        """The number of blocks, where it is fixed."""
        return None

    @property
    def largest_errors(self) -> Errors:
        return self.errors(*self.largest_squares)

    def cost(self, device: str | None = None, blocks: int | None = None) -> Cost:
        """Keys and operations of a query for all results that the index can give of its rows.

        Args:
            device: a table of measured times. None: no seconds.
            blocks: of rows, where their number is not fixed.
        """
        count = self.blocks or blocks or 1
        return circuit.cost_of(self, device, count)

    @property
    def thresholds_of_round(self) -> int:
        """Thresholds of a round of `Client.top`: as many as the layout compares at once, from 3 to 64."""
        return min(_MOST_THRESHOLDS, max(_LEAST_THRESHOLDS, self.layout.copies))

    # --- Clients. ---

    @property
    def needed_keys(self) -> list[_core.KeyNeed]:
        """Some MB for each rotation."""
        return self.cost().needed_keys

    def generate_keys(self, secret_key: SecretKey) -> Keys:
        """All needed keys."""
        return Keys(_core.generate_needed_keys(secret_key._native, self.needed_keys), secret_key.context)

    def encrypt(
        self, secret_key: SecretKey, vectors: NDArray[Any], payloads: ArrayLike | None
    ) -> list[bytes]:
        """The columns of each block, then its payloads."""
        context, rows, parts = secret_key.context, self.scaled(vectors), list[bytes]()
        numbers = self.as_payloads(payloads, len(rows))
        for first in range(0, len(rows), self.rows):
            part = slice(first, first + self.rows)
            plain = [context.encode(each, level=self.top) for each in self.columns_of(rows[part])]
            plain += [context.encode(each, level=1) for each in self.numbers_of(numbers[part])]
            parts += pack_ciphertexts([context.encrypt(each, secret_key) for each in plain])
        return parts

    def require_want(self, want: str) -> None:
        """ParameterError for a result that the index does not have."""
        if want not in self.wants:
            raise ParameterError(f"a query wants one of {', '.join(self.wants)}, not {want!r}")
        if want == "payloads" and self.payload == 0:
            raise ParameterError("the rows of this index have no payloads; give payloads= when it is made")

    def query(
        self, secret_key: SecretKey, x: NDArray[Any], threshold: Any, k: int | None, want: str
    ) -> tuple[bytes, Any]:
        """The message of a query, and what decrypting the answer needs."""
        self.require_want(want)
        asked = self.asked(x)
        compared, waiting = self.compared(asked, threshold, k, want)
        context = secret_key.context
        plain = (
            context.encode(asked.slots * (not waiting.is_beyond), level=self.top),
            context.encode(compared, level=self.compared_level),
        )
        own = dict.fromkeys(self.query_fields, waiting.numbers)
        header = {"settings": self.settings.digest, "want": want, **own}
        parts = pack_ciphertexts([context.encrypt(each, secret_key) for each in plain])
        return wire.pack(self.settings.kind("query"), header, *parts), waiting

    def compared(self, asked: Asked, threshold: Any, k: int | None, want: str) -> Compared:
        """A query's thresholds, or ranks. ParameterError, RangeError."""
        if threshold is None or k is not None:
            raise ParameterError(
                "this index compares scores with a threshold: query(x, threshold); Client.top has the first k"
            )
        is_relative = isinstance(threshold, Relative)
        levels = plain_array(threshold.levels if is_relative else threshold, "a threshold", np.float64)
        if levels.ndim > 1 or levels.size == 0 or (want != "count" and levels.size != 1):
            raise ParameterError(f"a query for the {want} of rows has no {levels.shape} thresholds")
        if levels.size > MOST_THRESHOLDS:
            raise ParameterError(f"a query has up to {MOST_THRESHOLDS} thresholds, not {levels.size}")
        flat = levels.reshape(-1)
        found = flat if is_relative else self.relative(flat, asked.norm)
        beyond = np.abs(found) > 1 + _DOUBT
        if 0 < beyond.sum() < len(beyond):
            raise RangeError(
                f"thresholds {flat[beyond][:3].tolist()} are beyond all scores; ask for them by themselves"
            )
        slots = self.layout.of_thresholds(np.clip(found, -1, 1) / 2)
        return slots, Waiting(want, levels.size, levels.ndim == 0, bool(beyond.all()))

    def read(
        self, secret_key: SecretKey, data: bytes, k: int | None, asked: Callable[[str], Waiting]
    ) -> tuple[str, Callable[[], Any]]:
        if k is not None:
            raise ParameterError("decrypt(answer, k) ranks scores, and this answer has none")
        answer = self.unpack_answer(data, secret_key.context)
        waiting = asked(answer.name)
        if waiting.want != answer.want:
            raise MismatchError(f"the {answer.want} of a query for the {waiting.want} of rows")

        def slots(result: Ciphertext) -> NDArray[np.float64]:
            return np.asarray(secret_key.context.decrypt(result, secret_key, dtype=np.float64))

        def decrypted() -> Any:
            if answer.want != "count":
                return self._matches(answer, slots)
            numbers = slots(answer.results[0]).reshape(-1, self.rows)[:, 0] * self.rows
            if len(numbers) < waiting.numbers:
                raise MismatchError(f"the answer has {len(numbers)} counts of {waiting.numbers} thresholds")
            found = numbers[: waiting.numbers]
            return np.asarray(found[0] if waiting.is_single else found)

        return answer.name, decrypted

    def _matches(self, answer: Answer, slots: Callable[[Ciphertext], NDArray[np.float64]]) -> Matches:
        stride, layout = self.stride, self.layout
        mask = slots(answer.results[0])[:, : layout.rows : stride].reshape(-1) / 2
        numbers = None
        if answer.want == "payloads":
            of_blocks = [layout.numbers_of(each, self.payload) for each in slots(answer.results[1])]
            numbers = np.concatenate(of_blocks)[::stride] * self.payload_bound
        is_there = answer.ids != GONE
        is_match = (mask > 0.5) & is_there
        is_doubtful = (np.abs(mask - np.rint(np.clip(mask, 0, 1))) > _DOUBT) & is_there
        return Matches(
            answer.ids[is_match], answer.ids[is_doubtful], None if numbers is None else numbers[is_match]
        )

    def unpack_answer(self, data: bytes, context: Context) -> Answer:
        """An answer from its message. FormatError, MismatchError."""
        header, want, body = self._opened("answer", data, {**_ANSWER_FIELDS, **self.answer_fields})
        results, rest = take_ciphertexts(body, 2 if want == "payloads" else 1, context, "answer")
        if len(rest) % 8 == 0 and all(x.slots == self.layout.slots for x in results):
            answer = Answer(header["query"], want, messages.read_ids(rest), results)
            shapes = [x.shape for x in results]
            if want == "count":
                is_right = results[0].ndim == 1 and len(rest) == 0 and header["blocks"] == 0
            else:
                blocks = self.blocks or header["blocks"]
                expected = [(blocks,), (blocks, self.payloads)][: len(shapes)]
                is_right = shapes == expected and len(answer.ids) == blocks * self.layout.rows // self.stride
            if is_right:
                return answer
        raise FormatError("the ciphertexts of the answer, or its ids, have other shapes")

    def _opened(
        self, what: str, data: bytes, fields: Mapping[str, type]
    ) -> tuple[dict[str, Any], str, memoryview]:
        """The header, the wanted results and the body of a message. FormatError, MismatchError."""
        kind = self.settings.kind(what)
        header, body = messages.opened(kind, data, {"want": str, **fields}, self.settings)
        try:
            self.require_want(header["want"])
        except ParameterError as error:
            raise FormatError(f"the message is damaged: {error}") from None
        return header, header["want"], body

    # --- Indexes. ---

    def require_keys(self, keys: Keys) -> None:
        elements = {each.galois_element for each in self.needed_keys if each.kind == "galois"}
        messages.require_keys(keys, elements, products=True)

    @property
    def key_bytes(self) -> int:
        return self.cost().key_bytes

    def count(self, query: bytes) -> int:
        header, _, _ = self._opened("query", query, self.query_fields)
        return int(-(-header.get("thresholds", 1) // self.layout.copies))

    def seed(self, _: bytes) -> None:
        """There is no seed under which there may be no other query."""

    def seeds(self, _: bytes) -> list[bytes]:
        """MismatchError: there are no prepared queries."""
        raise messages.not_prepared(self.settings)

    def answer_bytes(self, count: int, blocks: int) -> int:
        results = max(count, blocks * (1 + self.payloads))
        return int(results * self.params.ciphertext_bytes) + 8 * blocks * self.rows

    def groups(self, context: Context, asked: Sequence[tuple[bytes, bytes | Keys]]) -> list[Group]:
        """Queries of one client go through the comparison together, in batches of ciphertexts; those of
        several clients share nothing, since each client has keys of its own (docs/search.md)."""
        of_clients: dict[bytes | int, list[int]] = {}
        for at, (_, keys) in enumerate(asked):
            of_clients.setdefault(keys if isinstance(keys, bytes) else id(keys), []).append(at)
        found = []
        for places in of_clients.values():
            ev = context.bind(messages.keys_of(asked[places[0]][1], context, "query"))
            names = [messages.name_of(asked[at][0]) for at in places]
            found.append(Group(places, names, ev, [self.unpack(asked[at][0], ev) for at in places]))
        return found

    def unpack(self, query: bytes, ev: Evaluator) -> Query:
        """A query from its message. FormatError, MismatchError."""
        header, want, body = self._opened("query", query, self.query_fields)
        (x, compared), rest = take_ciphertexts(body, 2, ev, "query")
        if len(rest):
            raise FormatError(f"the query of a search has {len(rest)} bytes after its ciphertexts")
        shape = self.compared_shape(header)
        require_form(x, (1 + self.entries - self.dims,), self.top, "query")
        require_form(compared, shape, self.compared_level, "query")
        return Query(want, x, list(compared) if shape else [compared])

    def answers(
        self, group: Group, header: Header, blocks: Sequence[Block], places: NDArray[np.int64]
    ) -> list[bytes]:
        """The answers to queries of one client.

        Args:
            blocks: of rows.
            places: the ids of the places of all.
        """
        ev: Evaluator = group.keys
        found = iter(self.found(ev, group.queries, blocks))
        answers = []
        for name, query in zip(group.names, group.queries, strict=True):
            matches = [list(itertools.islice(found, len(blocks))) for _ in query.compared]
            if query.want == "count":
                are_there = (places != GONE).reshape(len(blocks), -1)
                results, ids = [stack(circuit.counts(ev, matches, are_there, self))], places[:0]
            else:
                results, ids = [stack([each.shrink() for each in matches[0]])], places
                if query.want == "payloads":
                    pairs = zip(matches[0], blocks, strict=True)
                    results.append(stack([circuit.payloads(each, block.payloads) for each, block in pairs]))
            own = dict.fromkeys(self.answer_fields, len(blocks) if len(ids) else 0)
            fields = {**header(name), "want": query.want, **own}
            parts = (*pack_ciphertexts(results), ids.astype("<i8").tobytes())
            answers.append(wire.pack(self.settings.kind("answer"), fields, *parts))
        return answers

    def compared_shape(self, header: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape of the ciphertexts that scores are compared with. FormatError."""
        count, want = header["thresholds"], header["want"]
        if not 1 <= count <= (MOST_THRESHOLDS if want == "count" else 1):
            raise FormatError(f"a query of {count} thresholds for the {want} of rows")
        return (-(-count // self.layout.copies),)

    def compare(
        self, ev: Evaluator, halves: Iterable[Ciphertext], queries: Sequence[Query], blocks: Sequence[Block]
    ) -> list[Ciphertext]:
        """2 for rows that match, 0 for others, at the level RESULT_LEVELS or below: for each query, each
        ciphertext of its thresholds or ranks, and each block. `halves` are half the scores."""
        left = iter(halves)
        differences = (
            half - threshold
            for query, of_query in [(query, list(itertools.islice(left, len(blocks)))) for query in queries]
            for threshold in query.compared
            for half in of_query
        )
        return circuit.batched(ev, lambda each: self.step(ev.declare(each, 1)) + 1, differences, self)

    def found(self, ev: Evaluator, queries: Sequence[Query], blocks: Sequence[Block]) -> list[Ciphertext]:
        """The same of queries."""
        parts = circuit.products(ev, [query.x for query in queries], blocks, self)
        return self.compare(ev, circuit.scores(ev, parts, self), queries, blocks)
