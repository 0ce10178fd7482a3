"""`array`: values with NumPy's operations, which are recorded, and computed when a result is asked for."""

from __future__ import annotations

import dataclasses
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.arrays.array import Array
from hemera.arrays.facts import beside_steps
from hemera.arrays.operations import Affine, Apply
from hemera.arrays.recorded import at_node, kind_of, number_of, recorder_of
from hemera.arrays.recorder import Recorder
from hemera.arrays.tensor import Walk
from hemera.compiler import compiling
from hemera.compiler.compiled import Compiled
from hemera.compiler.specs import ArraySpec, spec_of
from hemera.errors import ParameterError, RangeError
from hemera.inputs.plain import plain_array, refuse_matrix

Floats = NDArray[np.float64]
_LOCAL = ("device", "threads")
"""Options of `Compiled.local`; those of `compute` that are none are of `compile`."""


class _Values(Recorder):
    """What one thread recorded to one precision, with the values of the inputs, as long as it has arrays."""

    def __init__(self, precision_bits: float) -> None:
        super().__init__(precision_bits=precision_bits)
        self.given: dict[int, Floats] = {}


class _Recorders(threading.local):
    def __init__(self) -> None:
        self.by_precision: weakref.WeakValueDictionary[float, _Values] = weakref.WeakValueDictionary()


_recorders = _Recorders()


class EagerArray(Array):
    """An array that is encrypted when a result of it is asked for; `array` makes it. It has what `Array` has:
    the operators, methods and functions of NumPy that make sense without the values."""

    def decrypt(self, **options: Any) -> Any:
        """The result, encrypted, computed and decrypted in this process: see `compute`."""
        return compute(self, **options)

    def __repr__(self) -> str:
        low, high = self.range
        return f"<hemera array of shape {self.shape}, from {low:g} to {high:g}; decrypt() computes it>"


def array(
    values: ArrayLike,
    *,
    range: tuple[float, float] | None = None,  # noqa: A002
    step: float | None = None,
    name: str = "",
    precision_bits: float = 16,
) -> EagerArray:
    """Values to compute with encrypted, as NumPy's arrays are.

        ages = hm.array(table["age"], range=(0, 120))
        spread = ((ages - ages.mean()) ** 2).mean()
        print(spread.decrypt())  # encrypts, computes and decrypts in this process
        plan = hm.compile({"mean": ages.mean(), "spread": spread})  # for a client and a server

    Operations are recorded, in the thread that calls them. `decrypt`, `compute` and `hemera.compile` take
    what a result needs.

    Args:
        values: real numbers, of any shape.
        range: the least and the largest number that there may be. It is public: the program depends on it,
            and not on the values. It is known of booleans.
        step: values are integer multiples of it, and can be compared; None: 1 for integers and booleans,
            else any numbers.
        name: of the input, for people and for clients.
        precision_bits: of results: see `hemera.compile`. Arrays of one program have the same.

    Raises:
        TypeError: for what holds no real numbers.
        ParameterError: without a range, and for values that are no multiples of the step.
        RangeError: for values outside of the range.

    Examples:
        >>> ages = hm.array([20.0, 30.0, 40.0], range=(0, 120))
        >>> float(ages.mean().decrypt().round(3))
        30.0
    """
    refuse_matrix(values, "array")
    plain = plain_array(values, "array")
    if plain.dtype.kind not in "biuf":
        raise TypeError(f"array takes real numbers, not {plain.dtype}")
    if plain.dtype.kind == "b":
        range = (0, 1) if range is None else range  # noqa: A001
    if plain.dtype.kind != "f":
        step = 1 if step is None else step
    if range is None:
        raise ParameterError(
            "array needs range=(low, high), between which all numbers lie: the program depends on it, and "
            "must not depend on the values"
        )
    given = plain.astype(np.float64)
    low, high = map(float, range)
    if not (np.isfinite(given).all() and given.min(initial=low) >= low and given.max(initial=high) <= high):
        raise RangeError(
            f"array: values from {given.min():g} to {given.max():g} are not in the range from {low:g} to "
            f"{high:g}; give a wider one"
        )
    recorder = _recorders.by_precision.get(precision_bits)
    if recorder is None:
        recorder = _Values(precision_bits)
        _recorders.by_precision[precision_bits] = recorder
    own = ArraySpec(given.shape, (low, high), step=step)
    spec = spec_of(own, name or f"x{len(recorder.given)}", None, recorder.margin)
    if step is not None and beside_steps(given, step).any():
        raise ParameterError(f"array: values are no multiples of the step {step:g}; give step=, or floats")
    number = recorder.input(spec.name, spec.shape, low, high, None, spec.step)
    recorder.given[number] = given
    return EagerArray(recorder, number, kind_of(plain))


def compute(*arrays: Array, **options: Any) -> Any:
    """The values of arrays, encrypted under a fresh secret key, computed as one program, and decrypted: all
    in this process.

    Args:
        arrays: made from those of `array`, of one thread and one precision.
        options: `device=` and `threads=` of `Compiled.local`; others as of `hemera.compile`.

    Returns:
        For one array its values; for several a tuple of them.

    Raises:
        TypeError: for other arrays.
        ParameterError, MismatchError, LevelError: as `hemera.compile` does.

    Examples:
        >>> x = hm.array([1.0, 2.0, 3.0], range=(0, 10))
        >>> total, square = hm.compute(x.sum(), (x**2).sum())
        >>> round(float(total), 2), round(float(square), 2)
        (6.0, 14.0)
    """
    replay = _Replay(arrays)
    local = {name: options.pop(name) for name in _LOCAL if name in options}
    found = replay.compiled(options).local(**local)(*replay.given)
    return tuple(found.values()) if isinstance(found, dict) else found


def is_of_arrays(what: Any) -> bool:
    """Whether these are arrays of `array`: one, a list or a tuple, or a dict of them."""
    listed = what.values() if isinstance(what, Mapping) else what
    if isinstance(what, EagerArray):
        return True
    return isinstance(what, (list, tuple, Mapping)) and any(isinstance(each, EagerArray) for each in listed)


def compile_arrays(what: Any, **options: Any) -> Compiled:
    """Compile arrays into an encrypted program, whose inputs are those of `array` that they are made from, in
    the order in which these were made.

    Args:
        what: arrays of one thread and one precision: one, a list or a tuple, or a dict by the names of the
            results.
        options: those of functions, without `calibrate=`, `precision_bits=` and `scheme=`.

    Raises:
        TypeError: for other arrays, and for these options.
    """
    return _Replay(what).compiled(options)


class _Replay:
    """What was recorded for results, as a function of encrypted arrays."""

    __name__ = "arrays"

    def __init__(self, what: Any) -> None:
        named = isinstance(what, Mapping)
        arrays = list(what.values()) if named else [what] if isinstance(what, EagerArray) else list(what)
        for each in arrays:
            if not isinstance(each, EagerArray):
                raise TypeError(f"arrays of hm.array are needed, not {type(each).__name__}")
        if not arrays or any(each._recorder is not arrays[0]._recorder for each in arrays):
            raise TypeError(
                "arrays of one thread and of one precision_bits are computed together, and at least one"
            )
        own = arrays[0]._recorder
        assert isinstance(own, _Values)
        self._recorder = own
        self._needed = own.program.needed(number_of(each) for each in arrays)
        self._results = [(number_of(each), kind_of(each)) for each in arrays]
        self._names = list(map(str, what)) if named else None
        self._inputs = [at for at in self._needed if at in own.given]

    @property
    def given(self) -> list[Floats]:
        """The values of the inputs."""
        return [self._recorder.given[at] for at in self._inputs]

    def compiled(self, options: Mapping[str, Any]) -> Compiled:
        """The program."""
        for name in ("calibrate", "precision_bits", "scheme"):
            if name in options:
                raise TypeError(
                    f"{name}= is not for arrays: hm.array gives their ranges and precision, for CKKS; a "
                    "function on ArraySpecs takes it"
                )
        specs, declared = [], self._recorder.program.declared
        for at in self._inputs:
            own, shape = declared[at], self._recorder.program.nodes[at].shape
            specs.append(ArraySpec(shape, (own.low, own.high), own.name, self._recorder.facts[at].step))
        bits = self._recorder.precision_bits
        return compiling.compile(self, *specs, **{**options, "precision_bits": bits})

    def __call__(self, *inputs: Any) -> Any:
        recorder_of(inputs[0]).has_own_methods = True  # in the clear it is the program that was recorded
        again = _Again(self._recorder, inputs)
        numbers = {at: again.made(at) for at in self._needed}
        found = [at_node(inputs[0], numbers[at], kind) for at, kind in self._results]
        if self._names is not None:
            return dict(zip(self._names, found, strict=True))
        return found[0] if len(found) == 1 else found


class _Again(Walk[int]):
    """Records operations once more, of other inputs."""

    def __init__(self, own: Recorder, inputs: Sequence[Array]) -> None:
        super().__init__(own.program, [number_of(each) for each in inputs])
        self._own, self._target = own, recorder_of(inputs[0])

    def made(self, at: int) -> int:
        number, target, node = super().made(at), self._target, self._program.nodes[at]
        if node.operands:
            target.narrow(number, *self._own.facts[at].bounds)
            target.program.nodes[number] = dataclasses.replace(target.program.nodes[number], where=node.where)
        return number

    def affine(self, at: int, operation: Affine) -> int:
        terms = list(zip(self.taken(at), operation.maps, strict=True))
        shape = self._program.nodes[at].shape
        return self._target.affine(terms, shape, operation.offset)

    def multiply(self, at: int) -> int:
        return self._target.multiply(*self.taken(at))

    def apply(self, at: int, operation: Apply, /) -> int:
        return self._target.apply(operation.function, *self.taken(at), formula=operation.formula)
