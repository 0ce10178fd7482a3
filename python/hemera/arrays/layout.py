"""Where the elements of an array lie: in which ciphertexts, and in which of their slots."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera._process import cached_property
from hemera.arrays.sparse_map import Indices, Shape
from hemera.arrays.tiling import Tiling, axes_before
from hemera.errors import FormatError, ParameterError

Complex = NDArray[np.complex128]

_GENERATOR = 5
"""The generator of the rotations of slots, which gives their order."""


@functools.lru_cache(maxsize=4)
def _powers(slots: int, size: int) -> Complex:
    """Powers of each slot's root of X^N + 1, for N = 2 `slots`: of shape (entries, entries, pairs), the
    exponents first."""
    exponents = [pow(_GENERATOR, slot, 4 * slots) for slot in range(slots)]
    roots: Complex = np.exp(1j * np.pi * np.array(exponents) / (2 * slots))
    return roots.reshape(1, size, -1) ** np.arange(size).reshape(-1, 1, 1)


def as_values(entries: NDArray[Any], size: int) -> Complex:
    """The values of lines of `size` entries, of shape (..., slots)."""
    own = entries.reshape(*entries.shape[:-1], size, -1)
    found: Complex = np.einsum("...up,usp->...sp", own, _powers(entries.shape[-1], size))
    return found.reshape(entries.shape)


def as_entries(values: NDArray[Any], size: int) -> Complex:
    """The entries of lines of such values."""
    own = values.reshape(*values.shape[:-1], size, -1)
    found: Complex = np.einsum("...sp,usp->...up", own, np.conj(_powers(values.shape[-1], size)) / size)
    return found.reshape(values.shape)


Place = tuple[int, int]

COPY: Place = (-1, 0)
"""A bit of the slot's number on which the contents do not depend: copies lie in both halves."""

FREE: Place = (-2, 0)
"""A bit of the slot's number that is 0 where elements lie; the slots where it is 1 may hold anything."""

_MOST_BITS = 17
_MOST_AXES = 32


@functools.lru_cache(maxsize=256)
def index_bits(shape: tuple[int, ...]) -> tuple[Place, ...]:
    """The bits of an element's indices, of the last axis first, the lowest bit of an axis first."""
    return tuple(
        (axis, bit) for axis in reversed(range(len(shape))) for bit in range((shape[axis] - 1).bit_length())
    )


@dataclass(frozen=True)
class Layout:
    """The place of each element: which ciphertext has its tile, and at which slot.

    Each tile has a ciphertext, in the order of memory. Within a tile, the bits of an element's indices are
    bits of its slot's number; each axis is filled up to a power of two. The contents of a ciphertext repeat
    with the period 2^len(bits). Slots of no element hold 0 after encryption.

    Args:
        shape: of the array.
        bits: for each bit of the slot's number, the lowest first, the (axis, bit) of the index that lies
            there, in its tile, COPY or FREE.
        tile: the shape of the tiles; (): one ciphertext has the array.
        edges: the bits of each tile, where they are not the same for all.
        is_batch: whether the ciphertexts are one batch; else each is an input, or an output, of its own.
        axis: that of samples in the arrays that clients have, where the first one here is of samples.
        lines: the extent to which the last two axes are filled up, where slots hold values of polynomials
            whose coefficients are the lines of a matrix (`hemera.arrays.layout`); 0: they hold elements.

    Raises:
        ParameterError: for bits that are missing, come twice, or belong to no axis.
    """

    shape: Shape
    bits: tuple[Place, ...]
    tile: Shape = ()
    edges: tuple[tuple[Place, ...], ...] = ()
    is_batch: bool = False
    axis: int = 0
    lines: int = 0

    def __post_init__(self) -> None:
        own = [bit for bit in self.bits if bit not in (COPY, FREE)]
        tile = self.tile or self.shape
        if sorted(own) != sorted(index_bits(tile)) or len(self.bits) > _MOST_BITS:
            raise ParameterError(f"a layout of {len(self.bits)} bits does not fit an array of shape {tile}")
        if self.tile:
            self.tiling  # noqa: B018  its errors

    @staticmethod
    def raster(shape: Sequence[int]) -> Layout:
        """The elements in the order of memory, each axis filled up to a power of two."""
        return Layout(tuple(shape), index_bits(tuple(shape)))

    @staticmethod
    def by_columns(shape: Sequence[int]) -> Layout:
        """The elements in the order of Fortran's memory: the first axis lies in the lowest bits."""
        return Layout(tuple(shape), tuple(sorted(index_bits(tuple(shape)))))

    @staticmethod
    def of_tiles(tiling: Tiling, layouts: Sequence[Layout]) -> Layout:
        """The layout of an array whose tiles lie in these. ParameterError for tiles of other shapes."""
        if tuple([own.shape for own in layouts]) != tiling.shapes:
            raise ParameterError(f"{len(layouts)} layouts do not fit the tiles of {tiling}")
        if len(layouts) == 1:
            return layouts[0]
        return Layout(tiling.shape, layouts[0].bits, tiling.tile, tuple(own.bits for own in layouts))

    @staticmethod
    def in_ciphertexts(
        sample: Shape, samples: int, length: int = 1, tokens: int | None = None, axis: int = 0
    ) -> Layout:
        """A layout with an element in each ciphertext, whose slots are samples, or tokens and samples: slot
        token * samples + s has token `token` of sample s.

        Args:
            sample: the shape of a sample.
            samples: of a ciphertext, a power of two.
            length: the number of tokens, a power of two; 1: elements are of no tokens.
            tokens: their axis in a sample; None: the slots of all tokens hold the same.
            axis: see `Layout`; 0 where there are tokens.

        Raises:
            ParameterError: for other numbers, and axes that are not there.
        """
        is_there = 0 <= axis <= (len(sample) if length == 1 else 0)
        has_tokens = tokens is None or (0 <= tokens < len(sample) and sample[tokens] == length > 1)
        if not (_are_powers(samples, length) and samples > 1 and is_there and has_tokens):
            raise ParameterError(
                f"{samples} samples of shape {sample} along axis {axis}, with {length} tokens along axis "
                f"{tokens}, have no layout"
            )
        tile = (samples, *(length if at == tokens else 1 for at in range(len(sample))))
        copies = (COPY,) * (0 if tokens is not None else length.bit_length() - 1)
        bits = (*Layout.by_columns(tile).bits, *copies)
        return Layout((samples, *sample), bits, tile, is_batch=True, axis=axis)

    @staticmethod
    def in_pairs(sample: Shape, size: int, samples: int, *, left: bool, axis: int = 0) -> Layout:
        """Matrices as factors of `hemera.circuits.MatrixBatchProduct`, a line in each ciphertext.

        Args:
            sample: (rows, columns).
            size: of the products, a power of two.
            samples: pairs of a batch of ciphertexts, a power of two.
            left: whether lines are columns, as those of left factors; else they are rows.
            axis: see `Layout`.

        Raises:
            ParameterError: for matrices that are larger, and other numbers that do not fit.
        """
        fits = len(sample) == 2 and all(1 <= extent <= size for extent in sample)
        if not (fits and _are_powers(size, samples) and 0 <= axis <= 2):
            raise ParameterError(
                f"{samples} matrices of shape {sample}, filled up to {size}, along axis {axis}, have no "
                "layout"
            )
        tile = (samples, size, 1) if left else (samples, 1, size)
        bits = Layout.by_columns(tile).bits
        return Layout((samples, *sample), bits, tile, is_batch=True, axis=axis, lines=size)

    def with_samples(self, count: int) -> Layout:
        """The layout of arrays of shape (count, *shape), with the samples next to each other in the slots.
        `count` is a power of two."""
        if count == 1:
            return self

        def of(bits: tuple[Place, ...]) -> tuple[Place, ...]:
            moved = ((axis + 1, bit) if axis >= 0 else (axis, bit) for axis, bit in bits)
            return (*index_bits((count,)), *moved)

        tile = (count, *self.tile) if self.tile else ()
        return Layout((count, *self.shape), of(self.bits), tile, tuple(map(of, self.edges)))

    @cached_property
    def tiling(self) -> Tiling:
        """The tiles, which are those of ciphertexts."""
        whole = (*self.shape[:-2], self.lines, self.lines) if self.lines else self.shape
        return Tiling(whole, self.tile or whole)

    @cached_property
    def tiles(self) -> tuple[Layout, ...]:
        """The layout of each tile."""
        own = list(zip(self.tiling.shapes, self.edges or (self.bits,) * self.tiling.count, strict=True))
        known = {each: Layout(*each) for each in set(own)}
        return tuple(known[each] for each in own)

    @property
    def batch(self) -> Shape:
        """The batch shape of its ciphertexts."""
        return (self.tiling.count,) if self.is_batch else ()

    @cached_property
    def count(self) -> int:
        """Inputs, or outputs, that it is."""
        return 1 if self.is_batch else self.tiling.count

    @cached_property
    def size(self) -> int:
        """Elements of a tile."""
        return math.prod(self.tile or self.shape)

    @cached_property
    def period(self) -> int:
        """Slots after which the contents repeat."""
        return 1 << len(self.bits)

    @cached_property
    def copy_mask(self) -> int:
        """The bits of the slot's number on which the contents do not depend, below the period."""
        return sum(1 << at for at, bit in enumerate(self.bits) if bit == COPY)

    @cached_property
    def free_mask(self) -> int:
        """The bits of the slot's number that are 0 where elements lie, below the period."""
        return sum(1 << at for at, bit in enumerate(self.bits) if bit == FREE)

    @cached_property
    def places(self) -> Indices:
        """The slot of each element of a tile, in the order of memory: the one whose copy bits are 0."""
        found = np.zeros(1, np.int64)
        for axis, extent in enumerate(self.tile or self.shape):
            own = [(bit, 1 << at) for at, (of, bit) in enumerate(self.bits) if of == axis]
            bits, weights = np.array(own, np.int64).reshape(-1, 2).T
            found = np.add.outer(found, (np.arange(extent)[:, np.newaxis] >> bits & 1) @ weights)
        return found.ravel()

    @cached_property
    def contents(self) -> Indices:
        """The element of a tile in each slot of one period; -1 where there is none."""
        found = np.full(self.period, -1, np.int64)
        for copy in self.copies:
            found[self.places | copy] = np.arange(self.size)
        return found

    @cached_property
    def copies(self) -> Indices:
        """The number that is added to a place for each copy."""
        found = np.zeros(1, np.int64)
        for at, bit in enumerate(self.bits):
            if bit == COPY:
                found = np.concatenate((found, found + (1 << at)))
        return found

    def pack(self, values: NDArray[Any], slots: int) -> NDArray[Any]:
        """Slots of a tile: of values of shape (..., *tile), an array of shape (..., slots).

        Raises:
            MismatchError: for another shape.
            ParameterError: for slots that are no multiple of the period.
        """
        axes = axes_before(values, self.tile or self.shape)
        if slots % self.period:
            raise ParameterError(f"{slots} slots are not a multiple of the layout's {self.period}")
        flat = values.reshape((*values.shape[:axes], self.size))
        one = np.where(self.contents >= 0, flat[..., self.contents], np.zeros((), values.dtype))
        return np.tile(one, slots // self.period)

    def unpack(self, slots: NDArray[Any]) -> NDArray[Any]:
        """The tile of slots of shape (..., slots): of shape (..., *tile)."""
        return slots[..., self.places].reshape((*slots.shape[:-1], *(self.tile or self.shape)))

    def encode(self, values: NDArray[Any], slots: int) -> list[NDArray[Any]]:
        """What is encrypted of values of shape (..., *shape): an array of shape (..., *batch, slots) for each
        input. Errors as of `pack`; ParameterError for other slots than the period's of lines."""
        axes = axes_before(values, self.shape)
        if self.lines:
            if slots != self.period:
                raise ParameterError(f"{slots} slots, and the layout's matrices take {self.period}")
            missing = [(0, self.lines - extent) for extent in self.shape[-2:]]
            values = np.pad(values, [*[(0, 0)] * (axes + 1), *missing])
        tiles = zip(self.tiles, self.tiling.cut(values), strict=True)
        found = [layout.pack(tile, slots) for layout, tile in tiles]
        if not self.is_batch:
            return found
        batch = np.stack(found, axis=-2)
        return [as_values(batch, self.lines) if self.lines else batch]

    def decode(self, slots: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The array, of shape (..., *shape), from slots as of `encode`."""
        if self.lines:
            slots = [np.real(as_entries(slots[0], self.lines))]
        own = np.moveaxis(slots[0], -2, 0) if self.is_batch else slots
        tiles = [layout.unpack(each) for layout, each in zip(self.tiles, own, strict=True)]
        found = self.tiling.joined(tiles)
        return found[..., : self.shape[-2], : self.shape[-1]] if self.lines else found

    def to_data(self) -> dict[str, Any]:
        """Data for JSON: of each kind as before kinds were one class."""
        samples, sample = self.shape[:1], list(self.shape[1:])
        if self.lines:
            left = self.tile[1] > 1
            own = {"size": self.lines, "samples": samples[0], "left": left, "turned": False}
            return {"matrix": sample, **own, "axis": self.axis}
        if self.is_batch:
            length = self.period // samples[0]
            if length == 1:
                return {"sample": sample, "samples": samples[0], "axis": self.axis}
            tokens = None if COPY in self.bits else self.bits[-1][0] - 1
            return {"sequence": sample, "samples": samples[0], "length": length, "tokens": tokens}
        if self.tiling.count == 1:
            return {"shape": list(self.shape), "bits": [list(bit) for bit in self.bits]}
        layouts = [layout.to_data() for layout in self.tiles]
        return {"shape": list(self.shape), "tile": list(self.tile), "layouts": layouts}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Layout:
        """The layout of `to_data`. FormatError for anything else."""
        try:
            return cls._from_data(data)
        except (KeyError, TypeError, ValueError, ParameterError) as error:
            raise FormatError(f"not a layout: {error}") from None

    @classmethod
    def _from_data(cls, data: Mapping[str, Any]) -> Layout:
        kind = next((name for name in ("matrix", "sequence", "sample") if name in data), "shape")
        shape = tuple(int(extent) for extent in data[kind])
        if any(extent < 1 for extent in shape) or len(shape) >= _MOST_AXES:
            raise FormatError(f"no layout has the shape {shape}")
        if kind == "matrix":
            left, size = bool(data["left"]) != bool(data["turned"]), int(data["size"])
            return cls.in_pairs(shape, size, int(data["samples"]), left=left, axis=int(data["axis"]))
        if kind == "sample":
            return cls.in_ciphertexts(shape, int(data["samples"]), axis=int(data["axis"]))
        if kind == "sequence":
            tokens = None if data["tokens"] is None else int(data["tokens"])
            if int(data["length"]) < 2:
                raise FormatError("not a layout: sequences of less than two tokens")
            return cls.in_ciphertexts(shape, int(data["samples"]), int(data["length"]), tokens)
        if "layouts" in data:
            tile = tuple(int(extent) for extent in data["tile"])
            return cls.of_tiles(Tiling(shape, tile), [cls.from_data(each) for each in data["layouts"]])
        bits = tuple((int(axis), int(bit)) for axis, bit in data["bits"])
        if len(bits) > _MOST_BITS:
            raise FormatError(f"no layout has {len(bits)} bits")
        return cls(shape, bits)


def _are_powers(*numbers: int) -> bool:
    """Whether these are powers of two, of which a ciphertext may have as many slots."""
    powers = all(each > 0 and each & (each - 1) == 0 for each in numbers)
    return powers and math.prod(numbers) <= 1 << _MOST_BITS
