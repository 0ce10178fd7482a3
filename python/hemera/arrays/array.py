"""`Array`: an encrypted array of any shape in a program that is being recorded, with NumPy's protocols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hemera.arrays import (
    comparisons,
    contraction,
    elementwise,
    masks,
    numpy_functions,
    numpy_ufuncs,
    order,
    statistics,
    sums,
)
from hemera.arrays.in_place import InPlace
from hemera.arrays.kinds import are_truths
from hemera.arrays.missing import missing
from hemera.arrays.namespace import NAMESPACE
from hemera.arrays.numpy_moves import require_order
from hemera.arrays.recorded import Axis, Recorded, moved, needs_values, of_kind
from hemera.circuits import Function
from hemera.inputs.plain import refuse_missing

__all__ = ["Array"]


class Array(InPlace):
    """An encrypted array of real numbers. It has the operators, methods and functions of `numpy.ndarray` that
    make sense without its values; `numpy_functions` and `numpy_ufuncs` have those of NumPy's namespace."""

    # pandas compares this with its own, of at most 4000: Series * x is then x's operation.
    __pandas_priority__ = 10_000

    def __iter__(self) -> Any:
        return (self[at] for at in range(len(self)))

    # --- Operators. ---

    def __add__(self, other: Any) -> Array:
        return masks.either(self, other) if are_truths(self, other) else super().__add__(other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Array:
        self._refuse_truths("-", other)
        return super().__sub__(other)

    def __rsub__(self, other: Any) -> Array:
        self._refuse_truths("-", other)
        return super().__rsub__(other)

    def __mul__(self, other: Any) -> Array:
        return masks.both(self, other) if are_truths(self, other) else super().__mul__(other)

    __rmul__ = __mul__

    def __neg__(self) -> Array:
        self._refuse_truths("-")
        return super().__neg__()

    def __pos__(self) -> Array:
        self._refuse_truths("+")
        return self.copy()

    def _refuse_truths(self, operator: str, *others: Any) -> None:
        """TypeError for truth values, which some of NumPy's operators do not take."""
        if are_truths(self, *others):
            raise TypeError(
                f"{operator} takes no truth values, as in NumPy: ~ is their opposite, ^ is True where two "
                "differ, and mask * 1 has the numbers 0 and 1"
            )

    def __truediv__(self, other: Any) -> Array:
        return elementwise.divide(self, other)

    def __rtruediv__(self, other: Any) -> Array:
        return elementwise.reciprocal(self).__mul__(other)

    def __floordiv__(self, divisor: Any) -> Array:
        return elementwise.floor_divide(self, divisor)

    def __mod__(self, divisor: Any) -> Array:
        return elementwise.remainder(self, divisor)

    def __pow__(self, exponent: Any) -> Array:
        return elementwise.power(self, exponent)

    def __rpow__(self, base: Any) -> Array:
        return elementwise.raised(base, self)

    def __abs__(self) -> Array:
        return elementwise.absolute(self).copy()

    def __matmul__(self, other: Any) -> Array:
        return contraction.matmul(self, other)  # type: ignore[no-any-return]

    def __rmatmul__(self, other: Any) -> Array:
        return contraction.matmul(other, self)  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> Array:  # type: ignore[override]
        return comparisons.equal(self, other)

    def __ne__(self, other: object) -> Array:  # type: ignore[override]
        return comparisons.differs(self, other)

    def __gt__(self, other: Any) -> Array:
        return comparisons.exceeds(self, other)

    def __ge__(self, other: Any) -> Array:
        return comparisons.reaches(self, other)

    def __lt__(self, other: Any) -> Array:
        return comparisons.stays_below(self, other)

    def __le__(self, other: Any) -> Array:
        return comparisons.stays_within(self, other)

    def _bitwise(self, found: Array, other: Any) -> Array:
        """A result of truth values; of whole numbers 0 and 1 it is of them."""
        return found if are_truths(self, other) else of_kind(found, "i")

    def __and__(self, other: Any) -> Array:
        return self._bitwise(masks.both(self, other), other)

    def __or__(self, other: Any) -> Array:
        return self._bitwise(masks.either(self, other), other)

    def __xor__(self, other: Any) -> Array:
        return self._bitwise(masks.one_of(self, other), other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __lshift__(self, other: Any) -> Any:
        return np.left_shift(self, other)

    def __rshift__(self, other: Any) -> Any:
        return np.right_shift(self, other)

    def __invert__(self) -> Array:
        return masks.inverted(self)

    __hash__ = None  # type: ignore[assignment]

    # --- Functions, on the range of the values. ---

    def _evaluated(self, circuit: object, others: Sequence[Any], _: None) -> Array:
        """The method that `hemera.circuits` asks of values: functions are recorded, and nothing else is."""
        if not isinstance(circuit, Function):
            raise TypeError("a program on arrays takes functions of hm.circuits; matrices are x @ matrix")
        self._recorder.has_own_methods = True  # in the clear they refuse what is outside of their intervals
        return self.apply(circuit, *others)

    def exp(self) -> Array:
        """The exponential, approximated on the range of the values; so are the functions below."""
        self._recorder.note_own_method()
        return elementwise.named(self, "exp")

    def log(self) -> Array:
        """The natural logarithm of positive values."""
        self._recorder.note_own_method()
        return elementwise.named(self, "log")

    def sqrt(self) -> Array:
        """The square root of values from 0 on."""
        self._recorder.note_own_method()
        return elementwise.named(self, "sqrt")

    def tanh(self) -> Array:
        """The hyperbolic tangent."""
        self._recorder.note_own_method()
        return elementwise.named(self, "tanh")

    def sigmoid(self) -> Array:
        """1 / (1 + exp(-x))."""
        self._recorder.note_own_method()
        return elementwise.named(self, "sigmoid")

    def gelu(self) -> Array:
        """x times the normal distribution's P(X <= x)."""
        self._recorder.note_own_method()
        return elementwise.named(self, "gelu")

    def reciprocal(self) -> Array:
        """1 / x of values that do not come near 0."""
        self._recorder.note_own_method()
        return elementwise.reciprocal(self)

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

    @property
    def real(self) -> Array:
        """The array: its values are real."""
        return self._moved(lambda x: x)

    @property
    def flat(self) -> Array:
        """The elements on one axis, for loops."""
        return self.ravel()

    # --- Over axes. ---

    def sum(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """The sum over axes; None: over all. So in the methods below."""
        return sums.total(self, axis, keepdims=keepdims)

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """The mean."""
        return sums.mean(self, axis, keepdims=keepdims)

    def prod(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """The product, in pairs: log2(n) levels."""
        return sums.product(self, axis, keepdims=keepdims)

    def var(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
        """The variance, with the divisor n - ddof. ParameterError where that is not positive."""
        return sums.variance(self, axis, ddof=ddof, keepdims=keepdims)

    def std(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
        """The square root of `var`."""
        return statistics.deviation(self, axis, ddof=ddof, keepdims=keepdims)

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """The largest element."""
        return order.most(self, axis, keepdims=keepdims)

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """The smallest element."""
        return order.least(self, axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Array:
        """The index of the first of the largest elements, which have a step."""
        return order.place_of_most(self, axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Array:
        """The index of the first of the smallest elements, which have a step."""
        return order.place_of_least(self, axis, keepdims=keepdims)

    def all(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """Whether all elements are not 0."""
        return comparisons.all_true(self, axis, keepdims=keepdims)

    def any(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """Whether any element is not 0."""
        return comparisons.any_true(self, axis, keepdims=keepdims)

    def argsort(self, axis: int | None = -1) -> Array:
        """As `numpy.argsort`, stable, of at most 64 elements with a step."""
        return order.argsort(self, axis)

    def cumsum(self, axis: int | None = None) -> Array:
        """Running sums, as `numpy.cumsum`."""
        return numpy_functions.running_sums(self, axis)  # type: ignore[no-any-return]

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        """The sum of a diagonal, as `numpy.trace`."""
        return sums.total(self.diagonal(offset, axis1, axis2), -1)

    def dot(self, other: Any) -> Array:
        """As `numpy.dot`."""
        return contraction.dot(self, other)  # type: ignore[no-any-return]

    # --- Shapes. ---

    def _moved(self, function: Callable[[Any], Any], *, is_view: bool = True) -> Array:
        found: Array = moved([self], function)
        if is_view:
            self._is_shared = found._is_shared = True
        return found

    def reshape(self, *shape: Any, order: Any = "C") -> Array:
        """As of NumPy, like the methods below."""
        require_order(order)
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return self._moved(lambda x: x.reshape(wanted, order=order))

    def ravel(self, order: Any = "C") -> Array:
        """All elements on one axis."""
        require_order(order)
        return self._moved(lambda x: x.ravel(order))

    def flatten(self, order: Any = "C") -> Array:
        """All elements on one axis, of an array of their own."""
        require_order(order)
        return self._moved(lambda x: x.flatten(order), is_view=False)

    def transpose(self, *axes: Any) -> Array:
        """The axes in another order."""
        return self._moved(lambda x: x.transpose(*axes))

    @property
    def T(self) -> Array:  # noqa: N802
        """The axes in reverse."""
        return self.transpose()

    @property
    def mT(self) -> Array:  # noqa: N802
        """The last two axes in reverse."""
        return self._moved(lambda x: np.swapaxes(x, -1, -2))

    def squeeze(self, axis: Axis = None) -> Array:
        """Without axes of one element."""
        return self._moved(lambda x: x.squeeze(axis))

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """With two axes in each other's place."""
        return self._moved(lambda x: x.swapaxes(axis1, axis2))

    def repeat(self, repeats: Any, axis: int | None = None) -> Array:
        """Each element several times."""
        return self._moved(lambda x: x.repeat(repeats, axis), is_view=False)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        """A diagonal."""
        return self._moved(lambda x: x.diagonal(offset, axis1, axis2))

    def take(self, indices: Any, axis: int | None = None) -> Array:
        """Elements by plain integers."""
        if isinstance(indices, Recorded):
            raise needs_values("an encrypted index asks for them")
        refuse_missing(indices, "an index")
        return self._moved(lambda x: x.take(indices, axis), is_view=False)

    def compress(self, condition: Any, axis: int | None = None) -> Array:
        """Elements by a plain mask."""
        if isinstance(condition, Recorded):
            raise needs_values("an encrypted mask asks for them")
        refuse_missing(condition, "a mask")
        return self._moved(lambda x: x.compress(condition, axis), is_view=False)

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
        found = self._moved(lambda x: np.asarray(x[index]), is_view=False)
        if is_basic and (found.shape or any(part is Ellipsis for part in parts)):
            self._is_shared = found._is_shared = True
        return found

    def __getattr__(self, name: str) -> Any:
        raise missing(name, self)

    # --- NumPy's protocols. ---

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return numpy_ufuncs.of_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any, options: Any
    ) -> Any:
        del types
        return numpy_functions.of_function(function, arguments, options)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """NumPy's functions by the names of the array API standard."""
        del api_version
        return NAMESPACE
