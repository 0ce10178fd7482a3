"""A network as a list of operators, which runs on encrypted and on plain arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.array import Array
from hemera.arrays.recorded import of_kind
from hemera.arrays.recorder import MOST_ELEMENTS
from hemera.compiler.networks.masks import Masked, opened, together
from hemera.compiler.networks.meanings import Meaning
from hemera.compiler.networks.tensors import DTYPES, MOST_KEPT, UNKNOWN, converted, is_real, limits_of
from hemera.errors import Error, FormatError, ParameterError, RangeError

Values = NDArray[Any]
Run = Callable[[Sequence[Any], "Made"], Any]
"""Gives the results of operands, of which it counts what it makes in between."""

_LEAST_MADE, _MOST_MADE = 1 << 20, 1 << 24
_MADE_OF_GIVEN = 64
"""Elements that a network makes of an input: this many for each element of inputs and constants, within the
two limits before."""
MOST_STEPS = 1 << 12
_SLACK = 0.25
_TAKEN = {"reals": "real numbers", "integers": "numbers", "all": "values"}
_MALFORMED = (
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    NotImplementedError,
    TypeError,
    ValueError,
)
"""Errors that NumPy and the operators raise for operands that do not fit."""


@dataclass(frozen=True)
class Node:
    """One operator: results by name, of values by name ("": left out)."""

    title: str
    """The title for messages."""
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    run: Run
    meaning: Meaning | None = None
    """What its operands and results must be; None: what `run` takes and gives."""
    size: Callable[[Sequence[Any]], int] | None = None
    """Elements of the largest array that it makes of operands; None: for a given function, which stays."""


@dataclass(frozen=True)
class Graph:
    """Operators in the order in which they run.

    Inputs and results have an axis of one sample in front, which is added to arrays and taken from results.
    """

    source: str
    """The file, for messages."""
    inputs: tuple[tuple[str, tuple[int | None, ...] | None], ...]
    """Names, and shapes with the axis of samples; None: unknown."""
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[str, Values]
    kinds: Mapping[str, str]
    """The type of each value by its name."""

    def folded(self) -> Graph:
        """The graph with the values that depend on no input as constants.

        Raises:
            ParameterError: for constants that take too many bytes.
            FormatError: for operators whose operands do not fit.
        """
        values, left = dict(self.constants), []
        kept = sum(each.nbytes for each in values.values())
        for node in self.nodes:
            if node.size is None or any(name and name not in values for name in node.inputs):
                left.append(node)
                continue
            operands = [values[name] if name else None for name in node.inputs]
            width = DTYPES[self._held(node.outputs[0])].itemsize
            after = kept + width * self._size(node, operands)
            if after > MOST_KEPT:
                raise ParameterError(
                    f"{self.source}, {node.title}: constants take {after} bytes with its result, and at most "
                    f"{MOST_KEPT} are taken"
                )
            for name, found in zip(node.outputs, self._run(node, operands, Made(operands)), strict=False):
                values[name] = self._constant(name, found)
                kept += values[name].nbytes
        used = {name for node in left for name in node.inputs} | set(self.outputs)
        constants = {name: each for name, each in values.items() if name in used}
        return replace(self, nodes=tuple(left), constants=constants)

    def _held(self, name: str) -> str:
        """The type as which a constant is held."""
        kind = self.kinds.get(name, UNKNOWN)
        return "double" if kind == UNKNOWN else kind

    def _constant(self, name: str, value: Any) -> Any:
        return converted(np.asarray(value), self._held(name))

    def __call__(self, *arrays: Any) -> Any:
        """The results for one sample, or samples one after the other if inputs have a further axis in front:
        an array, or a dict by name if there are several.

        Raises:
            FormatError: for operators whose operands do not fit.
            ParameterError, RangeError, MismatchError: of an operator, with its name.
        """
        given = {}
        for (name, shape), array in zip(self.inputs, arrays, strict=True):
            if isinstance(array, np.ndarray) and shape is not None and array.ndim == len(shape):
                return self._of_several(arrays)
            given[name] = array[None]
        found = {name: _sample(value) for name, value in self.values(given).items()}
        plain = [name for name, value in found.items() if not isinstance(value, Array)]
        if plain and any(isinstance(each, Array) for each in arrays):
            raise ParameterError(
                f"{self.source}: the result {plain[0]!r} is the same for all inputs: leave it out of the file"
            )
        return found if len(found) > 1 else next(iter(found.values()))

    def _of_several(self, arrays: Sequence[Any]) -> Any:
        rows = [self(*each) for each in zip(*arrays, strict=True)]
        if isinstance(rows[0], dict):
            return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
        return np.stack(rows)

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The results by name, of inputs by name with the axis of samples. Errors: see `__call__`."""
        inputs = {name: self._given(name, each) for name, each in given.items()}
        found = self.within(inputs, Made([*self.constants.values(), *inputs.values()]))
        try:
            return {name: opened(each) for name, each in found.items()}
        except ParameterError as error:
            raise ParameterError(f"{self.source}, its results: {error}") from error

    def within(self, given: Mapping[str, Any], made: Made) -> dict[str, Any]:
        """The results by name of a part of a network, which makes elements together with the rest."""
        values = {**self.constants, **given}
        for node in self.nodes:
            operands = [values[name] if name else None for name in node.inputs]
            if node.size is not None:
                made.add(self._size(node, operands), f"{self.source}, {node.title}")
            for name, found in zip(node.outputs, self._run(node, operands, made), strict=False):
                values[name] = found
        return {name: values[name] for name in self.outputs}

    def _given(self, name: str, value: Any) -> Any:
        """An input in its type; floats as they are."""
        kind = self.kinds[name]
        if isinstance(value, Array):
            return _as(value, kind)
        if is_real(kind):
            return value
        found = converted(value, kind)
        if not (found == value).all():
            raise ParameterError(f"{self.source}: the input {name!r} takes {kind}, and not fractions")
        return found

    def _size(self, node: Node, operands: Sequence[Any]) -> int:
        """Elements of the largest array that a node makes. ParameterError for too many."""
        assert node.size is not None
        try:
            size = node.size(operands)
        except _ERRORS as error:
            raise self._told(node, error) from error
        if size > MOST_ELEMENTS:
            raise ParameterError(
                f"{self.source}, {node.title}: an array of {size} elements, {8 * size} bytes; at most "
                f"{MOST_ELEMENTS} elements are made"
            )
        return size

    def _run(self, node: Node, operands: list[Any], made: Made) -> Sequence[Any]:
        """The results of a node, integers in their types."""
        encrypted = any(isinstance(each, (Array, Masked)) for each in operands)
        try:
            if node.meaning is None:
                called: Sequence[Any] = node.run(operands, made)
                return called
            if encrypted:
                self._require_taken(node, node.meaning, operands)
            with np.errstate(all="ignore"):
                found = (
                    node.run(operands, made)
                    if node.meaning.masks
                    else together(lambda *own: node.run(own, made), *operands)
                )
            results = found if isinstance(found, (list, tuple)) else (found,)
            return [
                self._typed(name, each) if name else each
                for name, each in zip(node.outputs, results, strict=False)
            ]
        except TypeError as error:
            if not encrypted:
                raise self._told(node, error) from error
            raise ParameterError(f"{self.source}, {node.title}: {error}") from error
        except _ERRORS as error:
            raise self._told(node, error) from error

    def _told(self, node: Node, error: Exception) -> Error:
        """The error with the node's name."""
        kind = type(error) if isinstance(error, Error) else FormatError
        return kind(f"{self.source}, {node.title}: {error}")

    def _require_taken(self, node: Node, meaning: Meaning, operands: Sequence[Any]) -> None:
        """ParameterError for encrypted values of a type for which an operator is not right."""
        for name, each in zip(node.inputs, operands, strict=True):
            kind = self.kinds.get(name, UNKNOWN)
            taken = is_real(kind) or meaning.takes == "all" or (meaning.takes != "reals" and kind != "bool")
            if isinstance(each, Array) and not taken:
                raise ParameterError(
                    f"{name!r} are encrypted values of {kind}, and it takes {_TAKEN[meaning.takes]}: cast "
                    "them to float before"
                )

    def _typed(self, name: str, value: Any) -> Any:
        """A result as its type has it: plain integers wrap around, and encrypted ones must not."""
        kind = self.kinds[name]
        if not isinstance(value, Array):
            return value if is_real(kind) else converted(np.asarray(value), kind)
        if is_real(kind):
            return _as(value, kind)
        least, most = limits_of(kind)
        low, high = value.range
        if low < least - _SLACK or high > most + _SLACK:
            raise RangeError(
                f"encrypted values from {low:g} to {high:g}, and {kind} is from {least} to {most}: give the "
                "inputs a narrower range (range=, or calibrate=), or the network a larger type"
            )
        return _as(value, kind)


class Made:
    """The elements that a network, with all bodies in it, has made of inputs and constants."""

    def __init__(self, known: Sequence[Any]) -> None:
        self._known = sum(int(each.size) for each in known if each is not None)
        self._made = 0
        self._steps = 0

    def step(self) -> None:
        """Count a run of a graph in an attribute. ParameterError for too many."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise ParameterError(f"more than {MOST_STEPS} steps of loops, which are all recorded")

    def add(self, count: int, title: str) -> None:
        """Count those of one more node. ParameterError for too many."""
        self._made += count
        most = min(_MOST_MADE, max(_LEAST_MADE, _MADE_OF_GIVEN * self._known))
        if self._made > most:
            raise ParameterError(
                f"{title}: with its result there are {self._made} elements, {8 * self._made} bytes, of "
                f"{self._known} in the inputs and constants; at most {most} are made"
            )


_ERRORS = (Error, *_MALFORMED)


def given_results(outputs: Sequence[str], found: Any) -> Sequence[Any]:
    """The results of a function in the place of an operator. FormatError for fewer than it has."""
    results = found if isinstance(found, (list, tuple)) else (found,)
    used = 1 + max(at for at, name in enumerate(outputs) if name)
    if len(results) < used:
        raise FormatError(f"{len(results)} results of the given function, where {used} are used")
    return results


def _as(x: Array, kind: str) -> Array:
    """An encrypted array as one of truth values, whole or real numbers, which it has already."""
    if kind == "bool":
        return x.astype(np.bool_)
    return x if kind == UNKNOWN else of_kind(x, "f" if is_real(kind) else "i")


def _sample(value: Any) -> Any:
    """Without the axis of one sample."""
    return value[0] if value.ndim and value.shape[0] == 1 else value


def sample_shape(shape: tuple[int | None, ...] | None) -> tuple[int, ...] | None:
    """Without the axis of samples; None where an extent is unknown."""
    known = [] if shape is None else [each for each in shape[1:] if each is not None]
    if not shape or len(known) + 1 < len(shape) or math.prod(known) > MOST_ELEMENTS:
        return None
    return tuple(known)
