"""`Recorded`: an encrypted array of a program: its kind of values, its arithmetic, moves of its elements."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np

from hemera.arrays.facts import Facts
from hemera.arrays.operations import Formula
from hemera.arrays.recorder import MOST_ELEMENTS, Recorder
from hemera.arrays.sparse_map import SparseMap, Values
from hemera.circuits import Function
from hemera.errors import MismatchError, ParameterError
from hemera.inputs.operators import Operators
from hemera.inputs.plain import refuse_matrix, refuse_missing

Kind = Literal["b", "i", "f"]
"""As the kinds of NumPy's types: "b" of truth values, "i" of whole numbers, "f" of real ones."""

DTYPES: dict[Kind, np.dtype[Any]] = {
    "b": np.dtype(np.bool_),
    "i": np.dtype(np.int64),
    "f": np.dtype(np.float64),
}
"""NumPy's type of each kind."""


def kind_of(value: Any) -> Kind:
    """The kind of an encrypted array, or of plain numbers; "f" for what is neither."""
    own: Kind | None = getattr(value, "_kind", None)
    if own is not None:
        return own
    if isinstance(value, (bool, np.bool_)):
        return "b"
    if isinstance(value, (int, float)):
        return "i" if isinstance(value, int) else "f"
    try:
        found = np.asarray(value).dtype.kind
    except (TypeError, ValueError):
        return "f"
    return "b" if found == "b" else "i" if found in "iu" else "f"


def promoted(*values: Any) -> Kind:
    """The least kind that holds all these values, "b" where all are truth values. With 1 among them: that of
    their sums and products, for which truth values count as 0 and 1."""
    return max(map(kind_of, values), key="bif".index)


Axis = int | tuple[int, ...] | None
A = TypeVar("A", bound="Recorded")

_MOST_POWER = 1 << 10


def needs_values(what: str) -> TypeError:
    """The error for something that would depend on encrypted values."""
    return TypeError(
        f"its values are encrypted when the program runs, so a program can not depend on them: {what}. "
        "Compute both sides and select by a mask of 0 and 1"
    )


class Recorded(Operators):
    """An encrypted array: a node of a program, and the kind of its values. `Array` says what operators do.

    Args:
        kind: of the values; None: numbers, whole ones in exact programs.
    """

    def __init__(self, recorder: Recorder, number: int, kind: Kind | None = None) -> None:
        self._recorder = recorder
        self._number = number
        self._is_shared = False
        """Whether other arrays have the same elements in NumPy, as views do."""
        self._kind: Kind = "f" if kind is None else kind
        if self._kind == "f" and recorder.is_exact:
            self._kind = "i"

    @property
    def shape(self) -> tuple[int, ...]:
        """As of NumPy's arrays."""
        return self._recorder.program.nodes[self._number].shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._recorder.program.nodes[self._number].size

    @property
    def dtype(self) -> np.dtype[Any]:
        """bool of truth values, int64 of whole numbers, float64 of real ones. Exact programs have no real
        ones."""
        return DTYPES[self._kind]

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest value that an element can have."""
        return self._recorder.range(self._number)

    @property
    def step(self) -> float | None:
        """A number of which all elements are integer multiples, to the program's precision; None where none
        is known. Values with a step can be compared."""
        return facts_of(self).step

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        low, high = self.range
        return f"<encrypted array of shape {self.shape}, from {low:g} to {high:g}>"

    def square(self: A) -> A:
        """Each element times itself."""
        self._recorder.note_own_method()
        x = as_numbers(self)
        return x * x

    def power(self: A, exponent: int) -> A:
        """Each element to a power from 0 to 1024, by squaring."""
        self._recorder.note_own_method()
        if not 0 <= exponent <= _MOST_POWER:
            raise ParameterError(f"the power {exponent}; powers from 0 to {_MOST_POWER} are there")
        if exponent == 0:
            return of_kind(filled(self, 1), promoted(1, self))
        if exponent == 1:
            return of_kind(self, promoted(1, self))
        square = self.power(exponent // 2).square()
        return square * self if exponent % 2 else square

    def apply(self: A, function: Function, *others: Any, formula: Formula | None = None) -> A:
        """A function of `hemera.circuits`, element by element; of plain numbers too where it takes two.

        Args:
            formula: what the function approximates with the program's precision; None: it is what is meant.

        Raises:
            TypeError: for polynomials with complex coefficients, for several at once, and for other operands.
            ParameterError: for another number of operands.
            RangeError: when values can lie outside of the function's intervals.
        """
        self._recorder.note_own_method()
        operands = [self, *(encrypted(self, other) for other in others)]
        shape = joined_shape(*(each.shape for each in operands))
        numbers = [broadcast(each, shape)._number for each in operands]
        return at_node(self, self._recorder.apply(function, *numbers, formula=formula))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        del dtype, copy
        raise TypeError(
            "its values are encrypted when the program runs, so a program can not depend on them: np.asarray "
            "asks for them, as functions of other libraries do. docs/compile.md has the functions that "
            "encrypted arrays take, as hm.softmax; x.approximated(f) is any function of one number"
        )

    def __bool__(self) -> NoReturn:
        raise needs_values("`if`, `while`, `and`, `or`, `in`, `min` and `max` ask for them")

    def _no_number(self, *_: object) -> NoReturn:
        raise needs_values("float(), int() and round() ask for them")

    __float__ = __int__ = __complex__ = __index__ = __round__ = _no_number

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise TypeError(
            "encrypted arrays do not change in place: np.where(mask, new, x), np.concatenate and np.insert "
            "make another one"
        )


def recorder_of(x: Recorded) -> Recorder:
    """The recorder of its program."""
    return x._recorder


def number_of(x: Recorded) -> int:
    """The number of its node."""
    return x._number


def facts_of(x: Recorded) -> Facts:
    """The facts of its elements."""
    return x._recorder.facts[x._number]


def of_kind(x: A, kind: Kind) -> A:
    """The same values as of another kind."""
    return at_node(x, x._number, kind)


def as_numbers(x: A) -> A:
    """The same values; truth values as 0 and 1."""
    return of_kind(x, "i") if x._kind == "b" else x


def at_node(x: A, number: int, kind: Kind | None = None) -> A:
    """The array of another node of the program, of numbers unless a kind is given."""
    return type(x)(x._recorder, number, kind)


def sum_of_maps(
    x: A,
    terms: Sequence[tuple[A, SparseMap]],
    shape: Sequence[int],
    offset: Any = None,
    kind: Kind | None = None,
) -> A:
    """A sum of maps; None: of numbers of an array's kind."""
    given = [(each._number, own) for each, own in terms]
    return at_node(x, x._recorder.affine(given, tuple(shape), offset), kind or promoted(1, x))


def filled(x: A, values: Any) -> A:
    """Plain numbers as an encrypted array, of the shape to which they broadcast with another one."""
    plain = np.asarray(values, np.float64)
    shape = joined_shape(x.shape, plain.shape)
    like = broadcast(x, shape)
    zero = SparseMap.scaling(np.zeros(like.size))
    return sum_of_maps(x, [(like, zero)], shape, np.broadcast_to(plain, shape).ravel(), kind_of(values))


def encrypted(x: A, value: Any) -> A:
    """A value as an encrypted array of the program of another one. TypeError for what is no number."""
    given = as_operand(value, x)
    if given is None:
        raise TypeError(f"arrays and numbers are needed, not {type(value).__name__}")
    return filled(x, value) if isinstance(given, np.ndarray) else given


def bounds_of(x: Recorded, *, certain: bool = False) -> tuple[Values, Values]:
    """The least and the largest value of each element, flat: by samples, or `certain`, by ranges alone."""
    return facts_of(x).certain if certain else facts_of(x).bounds


def as_operand(value: Any, like: A) -> A | Values | None:
    """An encrypted array of the same program, a plain array of real numbers, or None for what is neither.

    Raises:
        TypeError: for an array of another program, and for complex numbers.
        ParameterError: for numbers that are not finite.
    """
    if isinstance(value, Recorded):
        if value._recorder is not like._recorder:
            raise TypeError("the array belongs to another program")
        return value  # type: ignore[return-value]
    refuse_missing(value, "array operand")
    refuse_matrix(value, "array operand")
    try:
        plain = np.asarray(value)
    except (TypeError, ValueError):
        return None
    if plain.dtype.kind == "c":
        raise TypeError("encrypted arrays hold real numbers; keep real and imaginary parts apart")
    if plain.dtype.kind not in "biuf":
        return None
    if not np.isfinite(plain).all():
        raise ParameterError(
            "plain operands of encrypted arrays must be finite: replace others before, as np.nan_to_num does"
        )
    return plain.astype(np.float64)


def joined_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which these broadcast: `numpy.broadcast_shapes` takes 32 axes at most. MismatchError where
    they do not."""
    axes = itertools.zip_longest(*[shape[::-1] for shape in shapes], fillvalue=1)
    extents = [{*each} - {1} or {1} for each in axes]
    if [each for each in extents if len(each) > 1]:
        told = " and ".join(map(str, shapes))
        raise MismatchError(f"arrays of shapes {told} do not fit each other, as in NumPy")
    return tuple([extent for (extent,) in extents[::-1]])


def broadcast(x: A, shape: tuple[int, ...]) -> A:
    """The array with this shape, as NumPy broadcasts it."""
    return x if x.shape == shape else rearranged(x, lambda y: np.broadcast_to(y, shape))


def rearranged(x: A, function: Callable[[Values], Any], *, is_view: bool = False) -> A:
    """One array moved: see `moved`. A view has the same elements in NumPy."""
    found: A = moved([x], function)
    if is_view:
        x._is_shared = found._is_shared = True
    return found


def operands_of(*values: Any) -> list[Any]:
    """Encrypted arrays of one program, at least one, and arrays of float64 for plain values. TypeError for
    values that are no numbers."""
    first = next(each for each in values if isinstance(each, Recorded))
    given = [as_operand(each, first) for each in values]
    if [each for each in given if each is None]:
        raise TypeError("arrays of numbers are needed")
    return given


def moved(arrays: Sequence[Any], function: Callable[..., Any]) -> Any:
    """What a function that moves elements, repeats them, leaves them out or adds zeros makes of arrays.

    Args:
        arrays: encrypted ones of one program, at least one, and plain ones.
        function: is called with arrays of integers in their places, which number the elements from 1 on; 0
            in its result stands for 0. It returns an array, or a list or tuple of arrays.

    Raises:
        TypeError: for operands that are no arrays of numbers.
        ParameterError: for results without elements, or with too many.
    """
    given = operands_of(*arrays)
    places = np.cumsum([1, *(each.size for each in given)]).tolist()
    parts = zip(given, itertools.pairwise(places), strict=True)
    taken = function(*(np.arange(*ends).reshape(each.shape) for each, ends in parts))
    kind = promoted(*arrays)
    if isinstance(taken, (list, tuple)):
        return type(taken)([_gathered(given, places, np.asarray(each), kind) for each in taken])
    return _gathered(given, places, np.asarray(taken), kind)


def _gathered(given: Sequence[Any], places: Sequence[int], taken: Values, kind: Kind) -> Recorded:
    """The array of elements by their numbers: `places` has the first number of each operand."""
    if taken.size > MOST_ELEMENTS:
        raise ParameterError(f"an array of shape {taken.shape} has more than {MOST_ELEMENTS} elements")
    flat = taken.ravel().astype(np.int64)
    terms: dict[int, tuple[Recorded, SparseMap]] = {}
    offset = None
    for each, begin in zip(given, places, strict=False):
        inside = (flat >= begin) & (flat < begin + each.size)
        if isinstance(each, Recorded):
            own = SparseMap.selection(np.where(inside, flat - begin, -1), each.size)
            known = terms.get(each._number)
            terms[each._number] = each, own if known is None else known[1] + own
        elif inside.any():
            offset = np.zeros(len(flat)) if offset is None else offset
            offset[inside] = each.ravel()[flat[inside] - begin]
    found = list(terms.values())
    return sum_of_maps(found[0][0], found, taken.shape, offset, kind)


def reduced(axis: Any, x: Recorded) -> Any:
    """The axis of a reduction. A number has the axis 0, too, as of NumPy's functions of single elements."""
    is_whole = isinstance(axis, (int, np.integer)) and not isinstance(axis, bool)
    return None if not x.shape and is_whole and axis in (0, -1) else axis


def axes_of(axis: Any, count: int) -> tuple[int, ...]:
    """Axes from 0 on; None stands for all. NumPy's errors for axes that are not there, or come twice."""
    np.zeros((1,) * count).mean(axis)
    given = range(count) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(operator.index(each) % count for each in given)
