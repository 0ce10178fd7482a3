"""Rows in the clear for scores: int8, and polynomials in evaluation form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.errors import FormatError, ParameterError
from hemera.inputs.fields import Kind, Whole
from hemera.objects.context import Context
from hemera.objects.keys import Keys
from hemera.search import wire
from hemera.search.messages import Given, Group, Header, name_of, read_ids
from hemera.search.scores.neighbours import warn_of_wrong_neighbours
from hemera.search.scores.program import ScoreProgram
from hemera.search.scores.tickets import Ticket, Tickets
from hemera.search.settings import Errors
from hemera.search.vectors import as_vectors, quantized, squares

_NO_NAME = 32 * "0"
"""The name of a query that is not there yet."""
_KNOWN = (1, 2, 3)
"""Parts of an answer that do not depend on the query's numbers: all but b."""


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
        self._has_ids = False  # whether answers need them: they are not 0, 1, ...

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
        self._has_ids = self._has_ids or not np.array_equal(named, np.arange(first, last))
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
        self._has_ids = not np.array_equal(self.ids, np.arange(rows))
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
        return self._program.draft(header, self.ids, self._has_ids, squares.astype("<u4", copy=False))

    @property
    def ticket_bytes(self) -> int:
        """Bytes of a ticket for the rows that there are now: of the device's memory, and of the host's."""
        on_device = 8 * self._database.blocks * self._program.limbs * self._program.degree
        return on_device + sum(self._program.sizes(self._count, 1, self._has_ids, False))

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
        self._has_ids = not np.array_equal(self._ids, np.arange(rows))
        self._write_blocks(range(self._database.blocks))
