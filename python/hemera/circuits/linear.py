"""The plan of products of a plain matrix with encrypted vectors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.circuits.matrices import diagonals_by_number, indices_of, numbers_of, vectors_of
from hemera.circuits.slots import SlotPlan
from hemera.inputs.plain import plain_array

if TYPE_CHECKING:
    from hemera.parameters import Parameters

Steps = tuple[Iterable[int], Iterable[int]]
"""Baby and giant steps."""


class LinearTransform(SlotPlan):
    """The plan of a plain matrix times encrypted vectors (CKKS).

    The product uses the matrix's diagonals, with baby and giant steps and one division at the end, and takes
    one level. Diagonals that are zero everywhere cost nothing. A call of the transform multiplies:

        transform = hm.circuits.LinearTransform(matrix, params)
        keys = ctx.generate_keys(sk, plan=transform)
        y = transform(ctx.bind(keys).encrypt(values))  # matrix @ values

    `from_diagonals` and `from_entries` take a sparse matrix, and make no dense one.

    Args:
        matrix: real or complex, of shape (rows, columns): vectors have `columns` values, products `rows`.
        params: `hemera.ckks.Parameters`.
        slots: the number of slots of the ciphertexts; None: the next power of two from both extents on.
            Vectors must then have as many values as the matrix has columns (MismatchError), as in NumPy.
        level: the level of the vectors; None: that of fresh encryptions. Ciphertexts of higher levels are
            brought down to it.
        baby_steps: the number of rotations that share one preparation of the vector, a power of two; 0: the
            cheapest.
        fewest_keys: whether two rotation keys alone are used, again and again: less memory, more time and
            noise. (Three keys if diagonals lie on both sides of the main one.) A number, a power of two:
            baby steps have that many keys in place of one, and take less time.
        members: the number of a pool's members that share the giant steps (`Pool.circuit`), for which the
            number of baby steps is chosen; with `baby_steps`, nothing.
        own_keys: whether the keys are over the primes of its level alone, with the cheapest number of
            special primes: less memory and time, but the keys serve no other level (see `InnerSum`).
        wrapped: whether a matrix of R rows and C columns, both filled up to powers of two, takes min(R, C)
            diagonals:

            - Of a wide one the slots R apart are summed at the end, so the values of the result repeat in
              the slots that it does not fill. They count as no values, but `sum` has to mask them.
            - A tall one takes vectors of C slots (`slots`), which repeat in those of the result
              (`result_slots`).

            None: wide matrices without `slots`, where this costs less; True: always; False: never.

    Raises:
        ParameterError: if the matrix is not two-dimensional, is zero, has entries that are not finite, or
            does not fit the slots.
        LevelError: if the level is 0, or there is no such level.
        MismatchError: if the parameters are of another scheme.

    Examples:
        >>> params = hm.ckks.Parameters.for_circuit(depth=1, slots=4)
        >>> turned = hm.circuits.LinearTransform([[0, 1], [1, 0]], params)
        >>> ctx = hm.Context(params)
        >>> sk = ctx.generate_secret_key()
        >>> ev = ctx.bind(ctx.generate_keys(sk, plan=turned))
        >>> ctx.decrypt(turned(ev.encrypt([1.0, 2.0])), sk).round(3).tolist()
        [2.0, 1.0]
    """

    _native: _core.LinearTransform

    def __init__(
        self,
        matrix: ArrayLike,
        params: Parameters,
        *,
        slots: int | None = None,
        level: int | None = None,
        baby_steps: int = 0,
        members: int = 1,
        fewest_keys: int = False,
        own_keys: bool = False,
        wrapped: bool | None = None,
    ) -> None:
        given = plain_array(matrix, "a matrix")
        if given.ndim != 2:
            raise _core.ParameterError(
                f"a linear transform needs a matrix of two axes, not an array of shape {given.shape}"
            )
        shape: tuple[int, int] = given.shape
        options = _Options(
            level=level, baby_steps=baby_steps, members=members, fewest_keys=fewest_keys, own_keys=own_keys
        )
        count = options.checked(params, shape, slots)
        entries = numbers_of(given)
        options.wrap(params, shape, count, slots, wrapped, lambda: _core.dense_numbers(entries, count))
        diagonals = _core.dense_diagonals(entries, count, options.native.wrapping)
        self._start(params, diagonals, count, options, shape, slots is not None, given.dtype.kind == "c")

    @classmethod
    def from_diagonals(
        cls,
        diagonals: Mapping[int, ArrayLike],
        params: Parameters,
        *,
        slots: int,
        level: int | None = None,
        baby_steps: int = 0,
        members: int = 1,
        fewest_keys: int = False,
        steps: Steps | None = None,
        own_keys: bool = False,
    ) -> LinearTransform:
        """The transform of a square matrix over the slots that has these diagonals, and zeros elsewhere.

            shift = hm.circuits.LinearTransform.from_diagonals({1: 0.5, -1: weights}, params, slots=1024)
            # slot k: x[k + 1] / 2 + weights[k] * x[k - 1], slots counted modulo 1024

        Args:
            diagonals: by number, from -slots + 1 to slots - 1. Diagonal n has for row k the entry of column
                (k + n) modulo `slots`: an array of shape (slots,), or one number for all rows. Real ones stay
                real, and take half the memory.
            params: `hemera.ckks.Parameters`.
            slots: of the ciphertexts, and rows and columns of the matrix: a power of two up to N/2.
            level, baby_steps, members, fewest_keys, own_keys: as of the class.
            steps: baby and giant steps, in place of the transform's own: two rows of numbers below `slots`,
                0 included if it is one. Each diagonal must be the sum of two, modulo `slots`.

        Raises:
            ParameterError: for slots, numbers, lengths or entries out of range, for two diagonals of one
                number, and for a diagonal that is no sum of the steps.
            LevelError: for level 0, or one that is not there.
            MismatchError: for parameters of another scheme.
        """
        options = _Options(
            level=level,
            baby_steps=baby_steps,
            members=members,
            fewest_keys=fewest_keys,
            steps=steps,
            own_keys=own_keys,
        )
        shape = (slots, slots)
        count = options.checked(params, shape, slots)
        rows, is_complex = diagonals_by_number(diagonals, count)
        self = cls.__new__(cls)
        self._start(params, rows, count, options, shape, True, is_complex)
        return self

    @classmethod
    def from_entries(
        cls,
        rows: ArrayLike,
        columns: ArrayLike,
        values: ArrayLike,
        params: Parameters,
        *,
        shape: tuple[int, int],
        slots: int | None = None,
        level: int | None = None,
        baby_steps: int = 0,
        members: int = 1,
        fewest_keys: int = False,
        own_keys: bool = False,
        wrapped: bool | None = None,
    ) -> LinearTransform:
        """The transform of a sparse matrix by its entries, as SciPy has them:

            m = scipy.sparse.coo_array(matrix)
            t = hm.circuits.LinearTransform.from_entries(m.row, m.col, m.data, params, shape=m.shape)

        It takes the memory of the diagonals that have entries, and no more.

        Args:
            rows, columns: integers of shape (entries,), counted from 0.
            values: real or complex, of shape (entries,). Entries of one place are added up.
            params: `hemera.ckks.Parameters`.
            shape: (rows, columns) of the matrix.
            slots, level, baby_steps, fewest_keys, own_keys, wrapped: as of the class.

        Raises:
            ParameterError: for arrays of different lengths, a row or column that is not in the matrix,
                entries that are not finite, a matrix that is zero or does not fit the slots.
            LevelError: for level 0, or one that is not there.
            MismatchError: for parameters of another scheme.
            TypeError: for rows and columns that are no integers.
        """
        options = _Options(
            level=level, baby_steps=baby_steps, members=members, fewest_keys=fewest_keys, own_keys=own_keys
        )
        extents = (operator.index(shape[0]), operator.index(shape[1]))
        count = options.checked(params, extents, slots)
        given = plain_array(values, "evaluate_clear")
        row, column = indices_of(rows, "rows"), indices_of(columns, "columns")
        if given.ndim != 1 or row.shape != given.shape or column.shape != given.shape:
            raise _core.ParameterError(
                f"entries have rows of shape {row.shape}, columns of shape {column.shape} and values of "
                f"shape {given.shape}; all three are arrays of one axis and the same length"
            )
        at, entries = (*extents, row, column), numbers_of(given)
        options.wrap(params, extents, count, slots, wrapped, lambda: _core.entry_numbers(*at, entries, count))
        diagonals = _core.entry_diagonals(*at, entries, count, options.native.wrapping)
        self = cls.__new__(cls)
        is_complex = given.dtype.kind == "c"
        self._start(params, diagonals, count, options, extents, slots is not None, is_complex)
        return self

    def _start(
        self,
        params: Parameters,
        diagonals: _core.MatrixDiagonals,
        slots: int,
        options: _Options,
        shape: tuple[int, int],
        takes_all_slots: bool,
        is_complex: bool,
    ) -> None:
        """The end of all constructors."""
        native = _core.linear_transform(params._native, diagonals, slots, options.native)
        super().__init__(native, params)
        self._shape = shape
        self._is_wrapped = options.native.wrapping.result_period != 0
        self._takes_all_slots = takes_all_slots
        self._is_complex = is_complex

    def _require_values(self, x: _core.Ciphertext) -> None:
        values = x.filled or x.slots
        if self._takes_all_slots or x.slots != self.slots or values == self._shape[1]:
            return
        raise _core.MismatchError(
            f"a matrix of shape {self._shape} does not multiply {values} values; as in NumPy it needs a "
            f"column for each (or say LinearTransform(matrix, params, slots={x.slots}), for zeros in those "
            "that are missing)"
        )

    def _fill(self, result: _core.Ciphertext, x: _core.Ciphertext) -> None:
        del x
        rows = self._shape[0]
        if rows < self.result_slots:
            result.fill(rows, "unknown" if self._is_wrapped else "zeros")
        if self._is_complex:
            result.declare_complex(True)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the matrix."""
        return self._shape

    @property
    def result_slots(self) -> int:
        """Slots of the product: those of the ciphertexts, except of tall matrices that are wrapped."""
        return self._native.result_slots

    @property
    def diagonals(self) -> int:
        """The number of diagonals that are not zero everywhere."""
        return self._native.diagonals

    @property
    def _title(self) -> str:
        rows, columns = self._shape
        return f"matrix of {rows} x {columns} over {self.result_slots} slots, {self.diagonals} diagonals"

    def evaluate_clear(self, values: ArrayLike) -> NDArray[np.complex128]:
        """The product with values in the clear, of shape (..., columns), by the same diagonals.

        Raises:
            ParameterError: if the number of values is another one.
        """
        rows, columns = self._shape
        given = vectors_of(values, columns)
        flat = given.reshape(-1, columns)
        padded = np.zeros((len(flat), self.slots), dtype=np.complex128)
        padded[:, :columns] = flat
        products = [np.asarray(self._native.evaluate_clear(row.tolist()))[:rows] for row in padded]
        return np.asarray(products, dtype=np.complex128).reshape(*given.shape[:-1], rows)

    def __repr__(self) -> str:
        rows, columns = self._shape
        return f"<LinearTransform of {rows} x {columns} at level {self.level}>"


def checked_transform(
    diagonals: Mapping[int, Any],
    params: Parameters,
    slots: int,
    level: int,
    baby_steps: int,
    own_keys: int,
    fewest_keys: int,
) -> _core.LinearTransform:
    """The core's transform with diagonals that were checked before, for its keys and errors."""
    found = _core.MatrixDiagonals()
    for number, entries in diagonals.items():
        found.add(number, np.atleast_1d(entries))
    options = _core.LinearTransformOptions(level, baby_steps, fewest_keys or False, None, bool(own_keys), 1)
    return _core.linear_transform(params._native, found, slots, options)


_MOST = 2**30
"""Far more than there are slots, and no more than the core takes as a number."""


class _Options:
    """The settings of a transform besides its matrix."""

    def __init__(
        self,
        *,
        level: int | None,
        baby_steps: int,
        members: int,
        fewest_keys: int,
        own_keys: bool,
        steps: Steps | None = None,
    ) -> None:
        if min(baby_steps, members, fewest_keys, 0 if level is None else level) < 0:
            raise _core.ParameterError(
                "slots, level, baby_steps, fewest_keys and members must not be negative"
            )
        given = None
        if steps is not None:
            babies, giants = ([operator.index(step) for step in row] for row in steps)
            if min([*babies, *giants], default=0) < 0:
                raise _core.ParameterError("steps are rotations to the left, which are not negative")
            given = (babies, giants)
        self.native = _core.LinearTransformOptions(
            level, baby_steps, fewest_keys or False, given, own_keys, members
        )

    def checked(self, params: Parameters, shape: tuple[int, int], slots: int | None) -> int:
        """The number of slots, which with all else fits the parameters: asked before anything large is
        made."""
        count = _filled_up(max(shape)) if slots is None else operator.index(slots)
        if min(count, *shape) < 0 or max(count, *shape) > _MOST:
            raise _core.ParameterError(f"slots, rows and columns are from 1 to {_MOST}, and not negative")
        _core.require_linear_transform(params._native, count, self.native)
        _core.require_extents(*shape, count)
        return count

    def wrap(
        self,
        params: Parameters,
        shape: tuple[int, int],
        count: int,
        slots: int | None,
        wrapped: bool | None,
        numbers: Callable[[], list[int]],
    ) -> None:
        """Wraps the diagonals over `count` slots: always, never, or where it costs less.

        Args:
            numbers: gives those of the diagonals without a wrapping.
        """
        rows, columns = (_filled_up(extent) for extent in shape)
        if rows == columns or not (wrapped or (wrapped is None and slots is None and rows < columns)):
            return
        if rows > columns:
            self.native.wrapping = _core.Wrapping(0, columns)
        elif wrapped:
            self.native.wrapping = _core.Wrapping(rows, 0)
        else:
            period = _core.cheapest_result_period(params._native, numbers(), rows, count, self.native)
            self.native.wrapping = _core.Wrapping(period, 0)


def _filled_up(extent: int) -> int:
    """The next power of two."""
    return 1 << max(0, extent - 1).bit_length()
