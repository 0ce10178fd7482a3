"""Programs that do the same with each sample, and maps that do the same with each part of an array."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hemera.arrays.operations import Affine, Input, Operation
from hemera.arrays.sparse_map import Floats, Indices, RepeatedMap, Shape, SparseMap
from hemera.arrays.tensor import TensorProgram


@dataclass(frozen=True, eq=False)
class Blocks:
    """One matrix for several parts of an array: y[rows[:, k]] = matrix @ x[columns[:, k]]."""

    matrix: Floats
    """Shape (m, n)."""
    rows: Indices
    """Shape (m, count)."""
    columns: Indices
    """Shape (n, count); an element may be in several parts."""

    @property
    def products(self) -> int:
        """Weights times elements that there are of all parts."""
        return self.matrix.size * self.count

    @property
    def count(self) -> int:
        """How many parts there are."""
        return int(self.rows.shape[1])


def blocks_of(own: SparseMap, most: int) -> list[Blocks] | None:
    """A map as at most `most` kinds of blocks, whose rows are all rows of the map. Rows that take the same
    elements are a block, and blocks of equal matrices are one kind: a matrix that is applied to each token
    of a sequence is one kind with a block a token, and a convolution without padding is one with a block a
    position. None where there are more kinds, or rows without an element.
    """
    starts = np.searchsorted(own.rows, np.arange(own.outputs + 1))
    if (np.diff(starts) == 0).any():
        return None
    alike: dict[bytes, list[int]] = {}
    for row, (start, end) in enumerate(itertools.pairwise(starts)):
        alike.setdefault(own.columns[start:end].tobytes(), []).append(row)
    kinds: dict[tuple[int, bytes], list[list[int]]] = {}
    for rows in alike.values():
        values = np.concatenate([own.values[starts[row] : starts[row + 1]] for row in rows])
        kinds.setdefault((len(rows), values.tobytes()), []).append(rows)
        if len(kinds) > most:
            return None
    found = []
    for (height, entries), blocks in kinds.items():
        matrix = np.frombuffer(entries, np.float64).reshape(height, -1)
        columns = [own.columns[starts[rows[0]] : starts[rows[0] + 1]] for rows in blocks]
        found.append(Blocks(matrix, np.array(blocks).T, np.array(columns).T))
    return found


_MOST_TRIALS = 64
"""Choices of axes of the inputs."""


@dataclass(frozen=True, eq=False)
class Batch:
    """A program that does the same with each of `count` samples."""

    one: TensorProgram
    """The program of one sample."""
    count: int
    inputs: tuple[int, ...]
    """The axis of the samples in each input."""
    outputs: tuple[int, ...]
    """The axis of the samples in each output."""


def over_samples(program: TensorProgram, least: int) -> Batch | None:
    """The program of one sample, where the program does nothing but that with each of `least` samples or
    more; None where it does something else, such as a mean of the samples."""
    shapes = [program.nodes[at].shape for at in program.inputs]
    extents = sorted({extent for shape in shapes for extent in shape if extent >= least}, reverse=True)
    trials = (
        (count, axes)
        for count in extents
        for axes in itertools.product(
            *([axis for axis, extent in enumerate(shape) if extent == count] for shape in shapes)
        )
    )
    for count, axes in itertools.islice(trials, _MOST_TRIALS):
        found = _one(program, count, axes)
        if found is not None:
            return found
    return None


def _one(program: TensorProgram, count: int, inputs: Sequence[int]) -> Batch | None:
    """The program of one sample with these axes of the inputs; None where there is none."""
    found = TensorProgram()
    axes: list[int] = []
    given = iter(inputs)
    for node in program.nodes:
        operation, known = node.operation, [axes[at] for at in node.operands]
        own: Operation
        if isinstance(operation, Affine):
            sources = [program.nodes[at].shape for at in node.operands]
            split = of_one_sample(operation, list(zip(sources, known, strict=True)), node.shape, count)
            if split is None:
                return None
            own, axis = split
        elif isinstance(operation, Input):
            own, axis = operation, next(given)
        elif operation.is_uniform and len(set(known)) == 1:
            own, axis = operation, known[0]
        else:
            return None
        axes.append(axis)
        found.add(own, node.operands, _without(node.shape, axis), node.where, node.range)
    found.outputs = list(program.outputs)
    return Batch(found, count, tuple(inputs), tuple(axes[at] for _, at in program.outputs))


def of_one_sample(
    operation: Affine, sources: Sequence[tuple[Shape, int]], target: Shape, count: int
) -> tuple[Affine, int] | None:
    """The map of one sample, and the axis of the samples in its result; None where samples differ, or meet.

    Args:
        sources: of each operand, its shape and the axis of the samples.
        target: the shape of the result.
        count: of samples.
    """
    for axis in (axis for axis, extent in enumerate(target) if extent == count):
        offset = None
        if operation.offset is not None:
            rows = np.moveaxis(operation.offset.reshape(target), axis, 0).reshape(count, -1)
            if (rows != rows[0]).any():
                continue
            offset = rows[0]
        maps = []
        for own, (source, of) in zip(operation.maps, sources, strict=True):
            one = None
            if isinstance(own, RepeatedMap):
                one = own.of_each(count, _around(source, of), _around(target, axis))
            elif own.entries % count == 0:
                one = _map_of_one(own, places_along(source, of), places_along(target, axis), count)
            if one is None:
                break
            maps.append(one)
        else:
            return Affine(tuple(maps), offset), axis
    return None


def _map_of_one(
    own: SparseMap, source: tuple[Indices, Indices], target: tuple[Indices, Indices], count: int
) -> SparseMap | None:
    """The map that each sample has; None where samples differ, or meet each other."""
    sample, row = (each[own.rows] for each in target)
    of, column = (each[own.columns] for each in source)
    if (sample != of).any():
        return None
    outputs, inputs = own.outputs // count, own.inputs // count
    place = row * inputs + column
    # Stable, so that entries of one sample stay in an order if they are in one, as they mostly are.
    order = np.lexsort((place, sample))
    places, values = (each[order].reshape(count, -1) for each in (place, own.values))
    if (places != places[0]).any() or (values != values[0]).any():
        return None
    return SparseMap.of(outputs, inputs, places[0] // inputs, places[0] % inputs, values[0])


def _around(shape: Shape, axis: int) -> tuple[int, int]:
    """How many elements there are for each index before an axis, and after it."""
    return math.prod(shape[:axis]), math.prod(shape[axis + 1 :])


def places_along(shape: Shape, axis: int) -> tuple[Indices, Indices]:
    """The number of each element's sample in an array, and its number there."""
    count, size = shape[axis], math.prod(shape)
    order = np.moveaxis(np.arange(size).reshape(count, *_without(shape, axis)), 0, axis)
    return np.divmod(order.ravel(), size // count)


def _without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])
