"""Rows whose scores clients decrypt: in the clear, as polynomials; or encrypted, which their owner alone
reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.errors import FormatError, ParameterError, RangeError
from hemera.inputs.fields import Kind, Whole
from hemera.inputs.plain import plain_array
from hemera.objects.context import Context
from hemera.objects.keys import Keys
from hemera.search import wire
from hemera.search.messages import Given, Group, Header, name_of, read_ids, rows_for
from hemera.search.scores.program import SEED_BYTES, ScoreProgram, has_ids
from hemera.search.scores.scales import MOST_MESSAGES
from hemera.search.scores.tickets import Ticket, Tickets
from hemera.search.settings import Errors
from hemera.search.vectors import as_vectors, message, quantized, squares, warn_of_wrong_neighbours

_NO_NAME = 32 * "0"
"""The name of a query that is not there yet."""
_KNOWN = (1, 2, 3)
"""Parts of an answer that do not depend on the query's numbers: all but b."""
_LARGEST_INTEGER = 32767
"""The largest integer of queries in the clear: 16 bits."""


class ClearScoreRows:
    """Rows whose scores are products of polynomials with expanded queries."""

    file_fields: ClassVar[dict[str, Kind]] = {"rows": Whole()}

    def __init__(self, program: ScoreProgram, context: Context) -> None:
        self._program = program
        self._database = _core.SearchDatabase(context._native, program.dims)
        self._vectors = np.empty((0, program.dims), np.int8)  # with room for rows to come
        self._squares = np.empty(0, np.uint32)
        self._ids = np.empty(0, np.int64)
        self._count = 0

    @property
    def ids(self) -> NDArray[np.int64]:
        return self._ids[: self._count]

    @property
    def blocks_count(self) -> int:
        return self._database.blocks

    @property
    def memory_bytes(self) -> int:
        return self._database.memory_bytes

    @property
    def errors(self) -> Errors:
        squares = self._squares[: self._count].astype(np.float64)
        starts = np.arange(0, self._count, self._program.degree)
        sizes = np.diff(np.append(starts, self._count))
        of_blocks = float(np.average(np.add.reduceat(squares, starts), weights=sizes))
        return self._program.clear_errors(float(squares.mean()), of_blocks)

    def read(self, rows: Any, payloads: ArrayLike | None, ids: ArrayLike | None) -> Given:
        if payloads is not None:
            raise ParameterError("scores come without payloads; answers=hemera.search.Threshold() has them")
        given = as_vectors(rows, "vectors to add")
        return Given(len(given), ids, (given, quantized(given, self._program)))

    def add(self, named: NDArray[np.int64], given: Given) -> None:
        _, rows = given.data
        degree = self._program.degree
        first, last = self._count, self._count + len(rows)
        self._database.resize(-(-last // degree))
        self._make_room(last)
        self._vectors[first:last] = rows
        self._squares[first:last] = squares(rows)
        self._ids[first:last] = named
        self._count = last
        self._write_blocks(range(first // degree, self._database.blocks))

    def warn(self, given: Given) -> None:
        """Warn where rounding of rows that were added changes which are the nearest."""
        vectors, integers = given.data
        warn_of_wrong_neighbours(vectors, integers, self._program, self.errors)

    def remove(self, places: NDArray[Any]) -> None:
        """The last rows take the places of removed ones."""
        rows, degree = self._count - len(places), self._program.degree
        holes = places[places < rows]
        moved = np.setdiff1d(np.arange(rows, self._count), places)
        for array in (self._vectors, self._squares, self._ids):
            array[holes] = array[moved]
        blocks = -(-rows // degree)
        changed = set((holes // degree).tolist())
        if rows % degree:
            changed.add(blocks - 1)
        self._count = rows
        self._database.resize(blocks)
        self._write_blocks(sorted(changed))

    def _make_room(self, rows: int) -> None:
        if rows <= len(self._vectors):
            return
        room = rows if self._count == 0 else max(rows, self._count + self._count // 2)
        for name in ("_vectors", "_squares", "_ids"):
            old = getattr(self, name)
            new = np.empty((room, *old.shape[1:]), old.dtype)
            new[: self._count] = old[: self._count]
            setattr(self, name, new)

    def _write_blocks(self, blocks: Iterable[int]) -> None:
        degree = self._program.degree
        for block in blocks:
            part = self._vectors[block * degree : min((block + 1) * degree, self._count)]
            self._database.set_block(block, np.ascontiguousarray(part))

    # --- Answers. ---

    def answers(self, group: Group, header: Header) -> list[bytes]:
        return [each.finish() for each in self._program.answered(group, header, self._draft, self._database)]

    def _draft(self, header: dict[str, Any]) -> wire.Draft:
        squares = self._squares[: self._count * (self._program.metric == "l2")]
        return self._program.draft(header, self.ids, squares.astype("<u4", copy=False))

    @property
    def ticket_bytes(self) -> int:
        """Bytes of a ticket for the rows that there are now: of the device's memory, and of the host's."""
        on_device = 8 * self._database.blocks * self._program.limbs * self._program.degree
        return on_device + sum(self._program.sizes(self._count, 1, has_ids(self.ids), False))

    def ticket(self, keys: Keys, seed: bytes, header: Header) -> Ticket:
        """All of the answer to a query of this seed that does not depend on its numbers."""
        answer = self._draft({**header(_NO_NAME), "count": 1})
        half = self._database.prepare(keys._native, seed, *self._program.packing, answer.memory)
        answer.settle(*_KNOWN)
        return Ticket(half, answer, self.ticket_bytes)

    def finished(self, query: bytes, tickets: Tickets, version: int) -> bytes:
        """The answer to a query by its ticket."""
        asked = self._program.unpack(query)
        ticket = tickets.take(asked.seed, query, version)
        ticket.answer.rename(query=name_of(query))
        self._database.finish(ticket.half, asked.seed, asked.numbers, ticket.answer.memory)
        return ticket.answer.finish()

    # --- Files. ---

    def contents(self) -> tuple[dict[str, Any], Sequence[wire.Part]]:
        vectors = self._vectors[: self._count]
        return {"rows": self._count}, (self.ids.astype("<i8").tobytes(), vectors.tobytes())

    @classmethod
    def memory_of(cls, program: ScoreProgram, header: dict[str, Any]) -> int:
        rows = int(header["rows"])
        blocks = -(-rows // program.degree)
        return program.dims * ((8 * program.limbs + 1) * blocks * program.degree + rows)

    def fill(self, header: dict[str, Any], body: memoryview) -> None:
        rows, dims = header["rows"], self._program.dims
        if len(body) != rows * (8 + dims):
            raise FormatError(f"the index has {len(body)} bytes for {rows} rows of {dims}")
        self._ids, self._count = read_ids(body[: 8 * rows]), rows
        self._database.resize(-(-rows // self._program.degree))
        self._vectors = np.frombuffer(body[8 * rows :], np.int8).reshape(rows, dims).copy()
        self._squares = squares(self._vectors)
        self._write_blocks(range(self._database.blocks))


class EncryptedScoreRows:
    """Blocks of encrypted rows. The server can not clear or move a place of a ciphertext."""

    file_fields: ClassVar[dict[str, Kind]] = {"blocks": Whole()}

    def __init__(self, program: ScoreProgram, context: Context) -> None:
        self._program = program
        # Entries, and squared norms. Both have the same blocks.
        self._databases = [_core.SearchEncryptedDatabase(context._native, dims) for dims in program.widths]
        self._ids = np.empty((0, program.degree), np.int64)  # [block, place], -1 where there is no row
        self._used: list[int] = []  # places of each block from which on there never was a row
        self._messages: list[int] = []  # that were added up in each block

    @property
    def ids(self) -> NDArray[np.int64]:
        return self._ids[self._ids >= 0]

    @property
    def blocks_count(self) -> int:
        return len(self._used)

    @property
    def memory_bytes(self) -> int:
        return sum(database.memory_bytes for database in self._databases)

    @property
    def errors(self) -> Errors:
        sizes = (self._ids >= 0).sum(axis=1)
        used = float(np.average(self._used, weights=sizes)) if sizes.any() else 1.0
        messages = float(np.average(self._messages, weights=sizes)) if sizes.any() else 1.0
        return self._program.encrypted_errors(used, messages)

    def read(self, rows: Any, payloads: ArrayLike | None, ids: ArrayLike | None) -> Given:
        """For each block its rows, and for each database a seed and numbers."""
        _, count, named, body = rows_for(self._program.settings, rows, payloads, ids)
        program, degree, limbs = self._program, self._program.degree, self._program.limbs
        sizes = [dims * limbs * degree * program.number_bytes for dims in program.widths]
        blocks = -(-count // degree)
        if len(body) != blocks * sum(SEED_BYTES + size for size in sizes):
            raise FormatError(f"the message of {count} rows has {len(body)} bytes of ciphertexts")
        primes = np.array(program.params.primes[-1], np.uint64)
        found = []
        for block in range(blocks):
            of_block = []
            for dims, size in zip(program.widths, sizes, strict=True):
                seed, packed = bytes(body[:SEED_BYTES]), body[SEED_BYTES : SEED_BYTES + size]
                numbers = wire.unpack_numbers(packed, program.number_bytes).reshape(dims, limbs, degree)
                if (numbers.max(axis=(0, 2)) >= primes).any():
                    raise FormatError("the encrypted rows have a number that is no residue")
                of_block.append((seed, numbers))
                body = body[SEED_BYTES + size :]
            found.append((min(degree, count - block * degree), of_block))
        return Given(count, named, found)

    def add(self, named: NDArray[np.int64], given: Given) -> None:
        """The first rows join the last block if they fit, and it has been added to fewer than 16 times: its
        noise grows with the square root of these times."""
        sent, degree = given.data, self._program.degree
        before = len(self._used)
        first = self._used[-1] if before else degree
        joins = sent[0][0] <= degree - first and self._messages[-1] < MOST_MESSAGES
        places = [(before - 1, first)] if joins else []
        places += [(before + i, 0) for i in range(len(sent) - joins)]
        try:
            for database in self._databases:
                database.resize(before + len(sent) - joins)
            for (block, place), (size, parts) in zip(places, sent, strict=True):
                for database, (seed, numbers) in zip(self._databases, parts, strict=True):
                    database.place(block, place, size, seed, numbers)
        except BaseException:
            if joins:  # what was added stays, in places that no row has
                self._used[-1] = degree
                self._messages[-1] += 1
            for database in self._databases:
                database.resize(before)
            raise
        more = np.full((len(places) - joins, degree), -1)
        self._ids = np.concatenate([self._ids, more])
        self._used += [0] * len(more)
        self._messages += [0] * len(more)
        at = 0
        for (block, place), (size, _) in zip(places, sent, strict=True):
            self._ids[block, place : place + size] = named[at : at + size]
            self._used[block] = place + size
            self._messages[block] += 1
            at += size

    def remove(self, places: NDArray[Any]) -> None:
        """Memory comes back when all rows of a block are removed. Until then answers have their scores, which
        clients leave out."""
        self._ids.reshape(-1)[np.flatnonzero(self._ids >= 0)[places]] = -1
        for block in reversed(np.flatnonzero((self._ids < 0).all(axis=1)).tolist()):
            last = len(self._used) - 1
            if block != last:
                for database in self._databases:
                    database.move_block(block, last)
                self._ids[block] = self._ids[last]
                self._used[block], self._messages[block] = self._used[last], self._messages[last]
            self._ids = self._ids[:last]
            del self._used[last], self._messages[last]
        for database in self._databases:
            database.resize(len(self._used))

    # --- Answers. ---

    def answers(self, group: Group, header: Header) -> list[bytes]:
        drafts = self._program.answered(group, header, self._draft, self._databases[0])
        return [self._finished(each) for each in drafts]

    def clear_answer(self, x: ArrayLike, header: Header) -> bytes:
        """The answer to a query in the clear. Errors of `Client.query`, and RangeError for integers of more
        than 16 bits."""
        given = plain_array(x, "a query")
        queries = given[None] if given.ndim == 1 else given
        integers, shift, norms = message(queries, self._program)
        # The factor brings integers to the scale of encrypted ones.
        factor = 1 << shift
        if not self._program.exact:
            factor = -(-int(self._program.query_scale) // _LARGEST_INTEGER)
            integers = np.rint(integers / factor).astype(np.int64)
        elif np.abs(integers).max() > _LARGEST_INTEGER:
            raise RangeError(
                f"the query has an integer of magnitude {np.abs(integers).max()}, and those in the clear "
                f"have 16 bits, up to {_LARGEST_INTEGER}; let the owner encrypt it"
            )
        fields = {**header(""), "count": len(integers), "is_single": given.ndim == 1}
        answer = self._draft(fields, norms)
        small = integers.astype(np.int16)
        self._databases[0].answer_clear(small, factor, *self._program.packing, answer.memory, 1)
        return self._finished(answer)

    def _draft(self, header: dict[str, Any], norms: Any = ()) -> wire.Draft:
        """The message of an answer, whose halves are to be written; with the norms of queries in the
        clear."""
        ids = self._ids.reshape(-1)
        ids = ids[: int(np.flatnonzero(ids >= 0)[-1]) + 1]
        return self._program.draft({"is_single": False, **header}, ids, np.array(norms, "<f8"))

    def _finished(self, answer: wire.Draft) -> bytes:
        """The answer with the squared norms, a ciphertext for each block, where the metric needs them."""
        if self._program.metric == "l2":
            ones = np.ones((1, 1), np.int16)
            self._databases[1].answer_clear(ones, 1, *self._program.packing, answer.memory, 5)
        return answer.finish()

    # --- Files. ---

    def contents(self) -> tuple[dict[str, Any], Sequence[wire.Part]]:
        width, blocks = self._program.number_bytes, len(self._used)
        parts = [self._ids.astype("<i8").tobytes(), np.array([self._used, self._messages], "<i8").tobytes()]
        for block in range(blocks):
            parts += [wire.pack_numbers(d.residues(block), width) for d in self._databases]
        return {"blocks": blocks}, parts

    @classmethod
    def memory_of(cls, program: ScoreProgram, header: dict[str, Any]) -> int:
        entries = sum(program.widths) * int(header["blocks"]) * program.degree
        return 16 * program.limbs * entries

    def fill(self, header: dict[str, Any], body: memoryview) -> None:
        blocks, degree, width = header["blocks"], self._program.degree, self._program.number_bytes
        sizes = [2 * dims * degree * self._program.limbs * width for dims in self._program.widths]
        at = blocks * (8 * degree + 16)
        if len(body) != at + blocks * sum(sizes):
            raise FormatError(f"the encrypted index has {len(body)} bytes for {blocks} blocks")
        ids = read_ids(body[: 8 * blocks * degree]).reshape(blocks, degree)
        used, messages = read_ids(body[8 * blocks * degree : at]).reshape(2, blocks).tolist()
        unused = np.arange(degree) >= np.array(used, np.int64)[:, None]
        if (ids[unused] >= 0).any():
            raise FormatError("the encrypted index has a row in a place that was never used")
        if not all(1 <= u <= degree and 1 <= m <= MOST_MESSAGES for u, m in zip(used, messages, strict=True)):
            raise FormatError("the blocks of the encrypted index are damaged")
        if (ids < 0).all(axis=1).any():
            raise FormatError("the encrypted index has a block without rows")
        for database in self._databases:
            database.resize(blocks)
        for block in range(blocks):
            for database, size in zip(self._databases, sizes, strict=True):
                database.set_residues(block, wire.unpack_numbers(body[at : at + size], width))
                at += size
        self._ids, self._used, self._messages = ids, used, messages
