"""`Array`: an encrypted array of any shape in a program that is being recorded, with NumPy's protocols."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hemera.arrays import comparisons, elementwise, numpy_functions, numpy_ufuncs
from hemera.arrays.namespace import NAMESPACE
from hemera.arrays.numpy_moves import require_order
from hemera.arrays.numpy_ufuncs import missing, refused
from hemera.arrays.recorded import Recorded, needs_values, of_kind, rearranged
from hemera.circuits import Function
from hemera.inputs.operators import holds_arrays, require_in_place
from hemera.inputs.plain import refuse_missing

if TYPE_CHECKING:
    from typing_extensions import Self


def _named(name: str) -> Callable[[Any], Any]:
    """A method for a function of `hemera.circuits`, which plain arrays have not."""

    def method(self: Array) -> Array:
        self._recorder.note_own_method()
        return elementwise.named(self, name)

    method.__name__, method.__doc__ = name, f"`hemera.{name}`, approximated on the range of the values."
    return method


def _moving(name: str, *, is_view: bool = True) -> Callable[..., Any]:
    """A method of NumPy's arrays that moves elements."""

    @functools.wraps(getattr(np, name, getattr(np.ndarray, name)), ("__name__",))
    def method(self: Array, *arguments: Any, **options: Any) -> Array:
        require_order(options.get("order", arguments[-1] if arguments else None))
        if "copy" in options:
            raise TypeError(f"{name} takes no copy with encrypted arrays")
        return rearranged(self, lambda x: getattr(x, name)(*arguments, **options), is_view=is_view)

    method.__doc__ = f"As `numpy.ndarray.{name}`."
    return method


class Array(Recorded):
    """An encrypted array of real numbers. It has the operators, methods and functions of `numpy.ndarray` that
    make sense without its values; `numpy_functions` and `numpy_ufuncs` have those of NumPy's namespace."""

    def __iter__(self) -> Any:
        return (self[at] for at in range(len(self)))

    # --- Operators. ---

    _meanings, _reflected = numpy_ufuncs.UFUNCS, numpy_ufuncs.REFLECTED

    def _applied(self, ufunc: np.ufunc, *operands: Any) -> Any:
        found = super()._applied(ufunc, *operands)
        # An array of its own: arrays change in place.
        return found.copy() if found is operands[0] or found is operands[-1] else found

    @classmethod
    def _refusal(cls, function: str) -> str:
        return refused(f"np.{function}")

    def _in_place(self, found: Any, sign: str) -> Any:
        """What `y += x` makes of y: the array has other values, under all its names. Numbers stay, and y is
        another one, as in NumPy. Errors: see `require_in_place`."""
        if found is NotImplemented or not (self.shape or self._is_shared):
            return found
        require_in_place(self, found, sign, is_shared=self._is_shared)
        self._number = found._number
        return self

    def _as_argument(self) -> Self:
        """The array as an argument of a function, which the caller has too: it does not change in place."""
        self._is_shared = True
        return self

    # --- Functions, on the range of the values. ---

    def _evaluated(self, circuit: object, others: Sequence[Any], _: None) -> Array:
        """The method that `hemera.circuits` asks of values: functions are recorded, and nothing else is."""
        if not isinstance(circuit, Function):
            raise TypeError("a program on arrays takes functions of hm.circuits; matrices are x @ matrix")
        self._recorder.has_own_methods = True  # in the clear they refuse what is outside of their intervals
        return self.apply(circuit, *others)

    exp, log, sqrt, tanh = map(_named, ("exp", "log", "sqrt", "tanh"))
    sigmoid, gelu, reciprocal = map(_named, ("sigmoid", "gelu", "reciprocal"))

    def approximated(self, function: Callable[[Any], Any], *, most: int = 1023) -> Array:
        """Any real function of one number: see `hemera.arrays.elementwise.approximated`."""
        self._recorder.note_own_method()
        return elementwise.approximated(self, function, most=most)

    def clip(self, min: Any = None, max: Any = None) -> Array:  # noqa: A002
        """As of NumPy."""
        return elementwise.clip(self, min, max).copy()

    def astype(self, dtype: Any) -> Array:
        """The values as of another type: truth values as 0 and 1, numbers as whether they are not 0.

        Raises:
            TypeError: for other types than those of truth values and real numbers, for numbers that would be
                rounded to whole ones, and for ranges beyond the type's.
        """
        return comparisons.of_type(self, np.dtype(dtype))

    def __divmod__(self, divisor: Any) -> Any:
        return np.divmod(self, divisor)

    # --- Functions of NumPy. ---

    sum, mean, prod, var, std, max, min, argmax, argmin = (
        numpy_functions.COMPUTING[getattr(np, name)]
        for name in ("sum", "mean", "prod", "var", "std", "max", "min", "argmax", "argmin")
    )
    all, any, argsort, cumprod, cumsum, trace, take, dot, round = (
        numpy_functions.COMPUTING[getattr(np, name)]
        for name in ("all", "any", "argsort", "cumprod", "cumsum", "trace", "take", "dot", "round")
    )

    # --- Shapes. ---

    reshape, ravel, transpose, squeeze = map(_moving, ("reshape", "ravel", "transpose", "squeeze"))
    swapaxes, diagonal = map(_moving, ("swapaxes", "diagonal"))
    flatten, repeat = _moving("flatten", is_view=False), _moving("repeat", is_view=False)
    T = property(transpose, doc="The axes in reverse.")
    mT = property(lambda self: self.swapaxes(-1, -2), doc="The last two axes in reverse.")  # noqa: N815
    flat = property(ravel, doc="The elements on one axis, for loops.")
    real = property(_moving("view"), doc="The array: its values are real.")

    def compress(self, condition: Any, axis: int | None = None) -> Array:
        """Elements by a plain mask."""
        if isinstance(condition, Recorded):
            raise needs_values("an encrypted mask asks for them")
        refuse_missing(condition, "a mask")
        return rearranged(self, lambda x: x.compress(condition, axis))

    def copy(self) -> Array:
        """An array of its own with the same values."""
        return of_kind(self, self._kind)

    def __getitem__(self, index: Any) -> Array:
        """Elements by integers, slices, None, Ellipsis, and plain arrays of integers or booleans."""
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(part, Recorded) for part in parts):
            raise needs_values("an encrypted index asks for them; (x * mask).sum() selects by a mask")
        refuse_missing(parts, "an index")
        # A number of NumPy's arrays is no view, but for x[..., at].
        is_basic = all(
            part is None or part is Ellipsis or isinstance(part, (slice, int, np.integer)) for part in parts
        )
        found = rearranged(self, lambda x: np.asarray(x[index]))
        if is_basic and (found.shape or any(part is Ellipsis for part in parts)):
            self._is_shared = found._is_shared = True
        return found

    def __getattr__(self, name: str) -> Any:
        raise missing(name, self)

    # --- NumPy's protocols. ---

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if holds_arrays(*map(type, inputs)):
            return NotImplemented
        return numpy_ufuncs.of_ufunc(self._applied, ufunc, method, inputs, options)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any, options: Any
    ) -> Any:
        if holds_arrays(*types):
            return NotImplemented
        return numpy_functions.of_function(function, arguments, options)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """NumPy's functions by the names of the array API standard."""
        del api_version
        return NAMESPACE
