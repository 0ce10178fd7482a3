"""Rows that are compared: in the clear, encrypted, or as pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import FormatError, ParameterError
from hemera.inputs.fields import Kind, Whole
from hemera.objects.context import Context
from hemera.search import wire
from hemera.search.comparisons.circuit import Block
from hemera.search.comparisons.program import Comparisons
from hemera.search.messages import (
    GONE,
    Given,
    Group,
    Header,
    pack_ciphertexts,
    read_ids,
    require_form,
    rows_for,
    take_ciphertexts,
)
from hemera.search.settings import Errors

Tables = Sequence[NDArray[Any]]


class _ComparedRows:
    """Blocks of rows that share ciphertexts."""

    def __init__(self, program: Comparisons, context: Context) -> None:
        self._program, self._context = program, context
        self._blocks: list[Block] = []
        self._places = np.empty(0, np.int64)  # the ids of all places, GONE where there is no row

    @property
    def ids(self) -> NDArray[np.int64]:
        return np.asarray(self._places[self._places != GONE])

    @property
    def blocks_count(self) -> int:
        return len(self._blocks)

    @property
    def memory_bytes(self) -> int:
        return len(self._blocks) * self._program.block_bytes

    def answers(self, group: Group, header: Header) -> list[bytes]:
        return self._program.answers(group, header, self._blocks, self._places)

    def _filled(self, ids: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Ids, and GONE in places after them."""
        return np.concatenate([ids, np.full(count - len(ids), GONE)])


class ClearRows(_ComparedRows):
    """Rows in the clear that are compared with thresholds: float32, and columns of slots. Removed rows leave
    empty places; those of a block come back when all of it is removed."""

    file_fields: ClassVar[dict[str, Kind]] = {"counts": list}
    _type: ClassVar[str] = "<f4"

    def __init__(self, program: Comparisons, context: Context) -> None:
        super().__init__(program, context)
        vectors = np.empty((0, program.entries), self._type)
        # All places that were used: ids, vectors and payloads.
        self._tables: Tables = (np.empty(0, np.int64), vectors, np.empty((0, program.payload)))

    @property
    def errors(self) -> Errors:
        vectors, count = self._tables[1], max(1, len(self.ids))
        return self._errors(np.einsum("ij,ij->j", vectors, vectors, dtype=np.float64) / count)

    def _errors(self, squares: NDArray[np.float64]) -> Errors:
        """The errors by mean squares of entries."""
        dims = self._program.dims
        parts = float(squares[:dims].sum()), float(squares[dims:].sum())
        return self._program.errors(*parts, self._type == "<f4", len(self._blocks))

    def read(self, rows: Any, payloads: ArrayLike | None, ids: ArrayLike | None) -> Given:
        scaled = self._program.scaled(rows).astype(self._type)
        return Given(len(scaled), ids, (scaled, self._program.as_payloads(payloads, len(scaled))))

    def add(self, named: NDArray[np.int64], given: Given) -> None:
        full = len(self._tables[0]) // self._program.rows
        pairs = zip(self._tables, (named, *given.data), strict=True)
        self._set([np.concatenate(each) for each in pairs], self._blocks[:full])

    def remove(self, places: NDArray[Any]) -> None:
        """Nothing of removed rows goes into later answers."""
        rows, tables = self._program.rows, [each.copy() for each in self._tables]
        gone = np.flatnonzero(tables[0] != GONE)[places]
        for table, nothing in zip(tables, (GONE, 0, 0), strict=True):
            table[gone] = nothing
        of_places = np.arange(len(tables[0])) // rows
        left = np.unique(of_places[tables[0] != GONE])
        changed = set((gone // rows).tolist())
        blocks = [None if at in changed else self._blocks[at] for at in left.tolist()]
        self._set([table[np.isin(of_places, left)] for table in tables], blocks)

    def _set(self, tables: Tables, blocks: Sequence[Block | None] = ()) -> None:
        """Take these rows, whose first blocks are known but for those that are None. Others are encoded, and
        all where blocks are turned now, or no more."""
        rows = self._program.rows
        starts = range(0, len(tables[0]), rows)
        is_turned = self._program.is_turned(len(starts))
        known = [block if block and block.is_turned == is_turned else None for block in blocks]
        known += [None] * (len(starts) - len(known))
        self._blocks = [
            block or self._block(is_turned, *(table[at : at + rows] for table in tables[1:]))
            for at, block in zip(starts, known, strict=True)
        ]
        self._tables, self._places = tables, self._filled(tables[0], len(starts) * rows)

    def _block(self, is_turned: bool, vectors: NDArray[Any], numbers: NDArray[Any], bias: Any = 0.0) -> Block:
        context, program = self._context, self._program
        return Block(
            [context.encode(each, level=program.top) for each in program.columns_of(vectors, is_turned)],
            [context.encode(each, level=1) for each in program.numbers_of(numbers)],
            bias,
            is_turned,
        )

    def contents(self) -> tuple[dict[str, Any], Sequence[wire.Part]]:
        rows, parts, counts = self._program.rows, list[bytes](), []
        _, vectors, numbers = self._tables
        for at in range(0, len(vectors), rows):
            part = slice(at, at + rows)
            counts.append(len(vectors[part]))
            arrays = (self._places[part].astype("<i8"), vectors[part], numbers[part].astype("<f8"))
            parts += [each.tobytes() for each in arrays]
        return {"counts": counts}, parts

    @classmethod
    def memory_of(cls, program: Comparisons, header: dict[str, Any]) -> int:
        return len(header["counts"]) * program.block_bytes

    def fill(self, header: dict[str, Any], body: memoryview) -> None:
        counts, rows, program = header["counts"], self._program.rows, self._program
        full = counts[:-1] == [rows] * (len(counts) - 1)
        if not full or not all(type(count) is int and 1 <= count <= rows for count in counts):
            raise FormatError("the header of the index has no numbers of rows")
        size = 4 * program.entries + 8 * program.payload
        if len(body) != 8 * rows * len(counts) + size * sum(counts):
            raise FormatError(f"the index has {len(body)} bytes for {len(counts)} blocks of rows")
        found = []
        for count in counts:
            if (read_ids(body[8 * count : 8 * rows]) != GONE).any():
                raise FormatError("the index has ids in places without rows")
            ids, body = read_ids(body[: 8 * count]), body[8 * rows :]
            found.append((ids, *self._rows_of(body, count)))
            body = body[size * count :]
        if found:
            self._set([np.concatenate(each) for each in zip(*found, strict=True)])

    def _rows_of(self, body: memoryview, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """So many rows and payloads of a file. FormatError."""
        program, kind = self._program, np.dtype(self._type)
        size = kind.itemsize * count * program.entries
        vectors = np.frombuffer(body[:size], kind).reshape(count, program.entries)
        payloads = body[size : size + 8 * count * program.payload]
        numbers = np.frombuffer(payloads, "<f8").reshape(count, program.payload)
        program.require_scaled(vectors, numbers)
        return vectors, numbers


class PairedRows(ClearRows):
    """Few rows in the clear whose scores are compared with each other: blocks have all pairs."""

    file_fields: ClassVar[dict[str, Kind]] = {"count": Whole()}
    _type: ClassVar[str] = "<f8"

    @property
    def errors(self) -> Errors:
        """Errors of differences of two rows, whose mean squares are twice the variance of their entries."""
        vectors = self._tables[1]
        squares = 2 * vectors.var(axis=0, ddof=1) if len(vectors) > 1 else np.zeros(vectors.shape[1])
        return self._errors(squares)

    def add(self, named: NDArray[np.int64], given: Given) -> None:
        count, room = len(self.ids) + len(named), self._program.rows
        if count > room:
            raise ParameterError(
                f"there is room for {room} rows, and not for {count}: make it with Top(rows=) of all to come"
            )
        super().add(named, given)

    def remove(self, places: NDArray[Any]) -> None:
        self._set([np.delete(each, places, axis=0) for each in self._tables])

    def _set(self, tables: Tables, blocks: Sequence[Block | None] = ()) -> None:  # noqa: ARG002
        """All pairs are encoded anew: differences of scaled rows, zeros where no row is before another one,
        and -1 for pairs of a row with itself, or without a row, which is never before another."""
        (ids, vectors, numbers), program, room = tables, self._program, self._program.rows
        is_there = np.arange(room) < len(ids)
        whole = np.zeros((room, program.entries))
        whole[is_there] = vectors
        never = -(np.eye(room, dtype=bool) | ~is_there[None, :]).astype(float)
        of_block = program.layout.rows // room  # rows of a block
        made = []
        for at in range(0, room, of_block):
            part, pairs = slice(at, at + of_block), of_block * room
            differences = whole[None, :] - whole[part, None]
            differences[:, ~is_there] = 0
            of_pairs = np.zeros((of_block, room, program.payload))  # a row's payload lies with its first pair
            of_pairs[: len(numbers[part]), 0] = numbers[part]
            own = differences.reshape(pairs, program.entries), of_pairs.reshape(pairs, program.payload)
            is_turned = program.is_turned(program.blocks or 0)
            made.append(self._block(is_turned, *own, program.layout.in_copies(never[part].reshape(-1))))
        self._blocks, self._places, self._tables = made, self._filled(ids, room), tables

    def contents(self) -> tuple[dict[str, Any], Sequence[wire.Part]]:
        arrays = zip(self._tables, ("<i8", "<f8", "<f8"), strict=True)
        return {"count": len(self.ids)}, [each.astype(kind).tobytes() for each, kind in arrays]

    @classmethod
    def memory_of(cls, program: Comparisons, header: dict[str, Any]) -> int:  # noqa: ARG003
        blocks = program.blocks or 0
        return 8 * program.rows**2 * program.payload + blocks * program.block_bytes

    def fill(self, header: dict[str, Any], body: memoryview) -> None:
        count, program = header["count"], self._program
        if count > program.rows or len(body) != 8 * count * (1 + program.entries + program.payload):
            raise FormatError(f"the index has {len(body)} bytes for {count} rows")
        self._set((read_ids(body[: 8 * count]), *self._rows_of(body[8 * count :], count)))


class EncryptedRows(_ComparedRows):
    """Encrypted rows, and payloads, that are compared with thresholds. Rows of a message begin blocks of
    their own; the server can not clear their places."""

    file_fields: ClassVar[dict[str, Kind]] = {"blocks": Whole()}

    @property
    def memory_bytes(self) -> int:
        return 2 * super().memory_bytes

    @property
    def errors(self) -> Errors:
        return self._program.largest_errors  # the server knows no other rows

    def read(self, rows: Any, payloads: ArrayLike | None, ids: ArrayLike | None) -> Given:
        _, count, named, body = rows_for(self._program.settings, rows, payloads, ids)
        return Given(count, named, self._blocks_of(body, -(-count // self._program.rows)))

    def add(self, named: NDArray[np.int64], given: Given) -> None:
        places = self._filled(named, len(given.data) * self._program.rows)
        self._places = np.concatenate([self._places, places])
        self._blocks = [*self._blocks, *given.data]

    def remove(self, places: NDArray[Any]) -> None:
        self._places[np.flatnonzero(self._places != GONE)[places]] = GONE
        is_left = (self._places.reshape(-1, self._program.rows) != GONE).any(axis=1)
        self._blocks = [block for block, is_kept in zip(self._blocks, is_left, strict=True) if is_kept]
        self._places = self._places[np.repeat(is_left, self._program.rows)]

    def contents(self) -> tuple[dict[str, Any], Sequence[wire.Part]]:
        parts = [self._places.astype("<i8").tobytes()]
        for block in self._blocks:
            parts += pack_ciphertexts([*block.columns, *block.payloads])
        return {"blocks": len(self._blocks)}, parts

    @classmethod
    def memory_of(cls, program: Comparisons, header: dict[str, Any]) -> int:
        return 8 * int(header["blocks"]) * program.rows  # ciphertexts take what they have in the file

    def fill(self, header: dict[str, Any], body: memoryview) -> None:
        size = 8 * header["blocks"] * self._program.rows
        if len(body) < size:
            raise FormatError(f"the index of {header['blocks']} blocks has {len(body)} bytes")
        self._places = read_ids(body[:size])
        self._blocks = self._blocks_of(body[size:], header["blocks"])

    def _blocks_of(self, body: memoryview, count: int) -> list[Block]:
        """So many blocks of a message or file. FormatError, MismatchError."""
        program, found = self._program, list[Block]()
        for _ in range(count):
            parts, body = take_ciphertexts(
                body, program.columns + program.payloads, self._context, "message of rows"
            )
            for number, each in enumerate(parts):
                require_form(each, (), program.top if number < program.columns else 1, "message of rows")
            found.append(Block(parts[: program.columns], parts[program.columns :]))
        if len(body):
            raise FormatError(f"the message of rows has {len(body)} bytes after its ciphertexts")
        return found
