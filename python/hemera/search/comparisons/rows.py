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
from hemera.search.comparisons.messages import GONE, pack_ciphertexts, require_form, take_ciphertexts
from hemera.search.comparisons.program import Comparisons
from hemera.search.messages import Given, Group, Header, read_ids, rows_for
from hemera.search.settings import Errors


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
        self._vectors = np.empty((0, program.entries), self._type)  # of all places that were used
        self._numbers = np.empty((0, program.payload))

    @property
    def errors(self) -> Errors:
        squares = np.einsum("ij,ij->j", self._vectors, self._vectors, dtype=np.float64) / max(
            1, len(self.ids)
        )
        dims = self._program.dims
        return self._program.errors(float(squares[:dims].sum()), float(squares[dims:].sum()), True)

    def read(self, rows: Any, payloads: ArrayLike | None, ids: ArrayLike | None) -> Given:
        scaled = self._program.scaled(rows).astype(self._type)
        return Given(len(scaled), ids, (scaled, self._program.as_payloads(payloads, len(scaled))))

    def add(self, named: NDArray[np.int64], given: Given) -> None:
        used = len(self._vectors)
        self._set(
            np.concatenate([self._places[:used], named]),
            np.concatenate([self._vectors, given.data[0]]),
            np.concatenate([self._numbers, given.data[1]]),
            self._blocks[: used // self._program.rows],
        )

    def remove(self, places: NDArray[Any]) -> None:
        """Nothing of removed rows goes into later answers."""
        rows, used = self._program.rows, len(self._vectors)
        gone = np.flatnonzero(self._places != GONE)[places]
        ids, vectors, numbers = (each.copy() for each in (self._places[:used], self._vectors, self._numbers))
        ids[gone], vectors[gone], numbers[gone] = GONE, 0, 0
        of_places = np.arange(used) // rows
        left = np.unique(of_places[ids != GONE])
        changed = set((gone // rows).tolist())
        blocks = [None if at in changed else self._blocks[at] for at in left.tolist()]
        kept = np.isin(of_places, left)
        self._set(ids[kept], vectors[kept], numbers[kept], blocks)

    def _set(
        self,
        ids: NDArray[np.int64],
        vectors: NDArray[np.floating],
        numbers: NDArray[np.float64],
        blocks: Sequence[Block | None] = (),
    ) -> None:
        """Take these rows, whose first blocks are known but for those that are None."""
        rows = self._program.rows
        starts = range(0, len(ids), rows)
        known = [*blocks, *[None] * (len(starts) - len(blocks))]
        self._blocks = [
            self._block(vectors[at : at + rows], numbers[at : at + rows]) if block is None else block
            for at, block in zip(starts, known, strict=True)
        ]
        self._places = self._filled(ids, len(starts) * rows)
        self._vectors, self._numbers = vectors, numbers

    def _block(self, vectors: NDArray[np.floating], numbers: NDArray[np.float64]) -> Block:
        context, program = self._context, self._program
        return Block(
            [context.encode(each, level=program.top) for each in program.columns_of(vectors)],
            [context.encode(each, level=1) for each in program.numbers_of(numbers)],
        )

    def contents(self) -> tuple[dict[str, Any], Sequence[wire.Part]]:
        rows, parts, counts = self._program.rows, list[bytes](), []
        for at in range(0, len(self._vectors), rows):
            part = slice(at, at + rows)
            counts.append(len(self._vectors[part]))
            for array, kind in ((self._places, "<i8"), (self._vectors, self._type), (self._numbers, "<f8")):
                parts.append(array[part].astype(kind).tobytes())
        return {"counts": counts}, parts

    @classmethod
    def memory_of(cls, program: Comparisons, header: dict[str, Any]) -> int:
        return len(header["counts"]) * program.block_bytes

    def fill(self, header: dict[str, Any], body: memoryview) -> None:
        counts, rows, program = header["counts"], self._program.rows, self._program
        full = counts[:-1] == [rows] * (len(counts) - 1)
        if not full or not all(type(count) is int and 1 <= count <= rows for count in counts):
            raise FormatError("the header of the index has no numbers of rows")
        if len(body) != sum(
            8 * rows + count * (4 * program.entries + 8 * program.payload) for count in counts
        ):
            raise FormatError(f"the index has {len(body)} bytes for {len(counts)} blocks of rows")
        found: list[tuple[NDArray[Any], ...]] = []
        for count in counts:
            ids, body = read_ids(body[: 8 * rows]), body[8 * rows :]
            if (ids[count:] != GONE).any():
                raise FormatError("the index has ids in places without rows")
            vectors, numbers, body = self._rows_of(body, count)
            found.append((ids[:count], vectors, numbers))
        if found:
            ids, vectors, numbers = (np.concatenate(each) for each in zip(*found, strict=True))
            self._set(ids, vectors, numbers)

    def _rows_of(
        self, body: memoryview, count: int
    ) -> tuple[NDArray[np.floating], NDArray[np.float64], memoryview]:
        """So many rows and payloads of a file, and what comes after them. FormatError."""
        program = self._program
        size = np.dtype(self._type).itemsize * count * program.entries
        end = size + 8 * count * program.payload
        vectors = np.frombuffer(body[:size], self._type).reshape(count, program.entries)
        numbers = np.frombuffer(body[size:end], "<f8").reshape(count, program.payload)
        program.require_scaled(vectors, numbers)
        return vectors, numbers, body[end:]


class PairedRows(ClearRows):
    """Few rows in the clear whose scores are compared with each other: blocks have all pairs."""

    file_fields: ClassVar[dict[str, Kind]] = {"count": Whole()}
    _type: ClassVar[str] = "<f8"

    @property
    def errors(self) -> Errors:
        """Errors of differences of two rows, whose mean squares are twice the variance of their entries."""
        dims, entries = self._program.dims, self._program.entries
        squares = 2 * self._vectors.var(axis=0, ddof=1) if len(self.ids) > 1 else np.zeros(entries)
        return self._program.errors(float(squares[:dims].sum()), float(squares[dims:].sum()))

    def add(self, named: NDArray[np.int64], given: Given) -> None:
        count, room = len(self.ids) + len(named), self._program.rows
        if count > room:
            raise ParameterError(
                f"there is room for {room} rows, and not for {count}: make it with Top(rows=) of all to come"
            )
        super().add(named, given)

    def remove(self, places: NDArray[Any]) -> None:
        kept = np.setdiff1d(np.arange(len(self.ids)), places)
        self._set(self.ids[kept], self._vectors[kept], self._numbers[kept])

    def _set(
        self,
        ids: NDArray[np.int64],
        vectors: NDArray[np.floating],
        numbers: NDArray[np.float64],
        blocks: Sequence[Block | None] = (),  # noqa: ARG002
    ) -> None:
        """All pairs are encoded anew: differences of scaled rows, zeros where no row is before another one,
        and -1 for pairs of a row with itself, or without a row, which is never before another."""
        program, count, room = self._program, len(ids), self._program.rows
        is_there = np.arange(room) < count
        whole = np.zeros((room, program.entries))
        whole[:count] = vectors
        never = -(np.eye(room, dtype=bool) | ~is_there[None, :]).astype(float)
        of_block = program.layout.rows // room  # rows of a block
        made = []
        for at in range(0, room, of_block):
            differences = whole[None, :] - whole[at : at + of_block, None]
            differences[:, ~is_there] = 0
            of_pairs = np.zeros((of_block, room, program.payload))  # a row's payload lies with its first pair
            own = numbers[at : at + of_block]
            of_pairs[: len(own), 0] = own
            pairs = of_block * room
            block = self._block(
                differences.reshape(pairs, program.entries), of_pairs.reshape(pairs, program.payload)
            )
            bias = program.layout.in_copies(never[at : at + of_block].reshape(-1))
            made.append(Block(block.columns, block.payloads, bias))
        self._blocks, self._places = made, self._filled(ids, room)
        self._vectors, self._numbers = vectors, numbers

    def contents(self) -> tuple[dict[str, Any], Sequence[wire.Part]]:
        arrays = (self.ids.astype("<i8"), self._vectors.astype("<f8"), self._numbers.astype("<f8"))
        return {"count": len(self.ids)}, [each.tobytes() for each in arrays]

    @classmethod
    def memory_of(cls, program: Comparisons, header: dict[str, Any]) -> int:  # noqa: ARG003
        blocks = program.blocks or 0
        return 8 * program.rows**2 * program.payload + blocks * program.block_bytes

    def fill(self, header: dict[str, Any], body: memoryview) -> None:
        count, program = header["count"], self._program
        if count > program.rows or len(body) != 8 * count * (1 + program.entries + program.payload):
            raise FormatError(f"the index has {len(body)} bytes for {count} rows")
        vectors, numbers, _ = self._rows_of(body[8 * count :], count)
        self._set(read_ids(body[: 8 * count]), vectors, numbers)


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
