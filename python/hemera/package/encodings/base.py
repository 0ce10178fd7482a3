"""The base of encodings, and the checks that several of them make."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.layout import Layout
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.inputs.plain import plain_array, refuse_matrix
from hemera.package.specs import InputSpec, OutputSpec
from hemera.program.values import Array

Floats = NDArray[np.float64]
_LARGEST = 1e150


class Encoding(ABC):
    """An encoding of rows as inputs, and of outputs as results."""

    kind: ClassVar[str]
    takes_rows: ClassVar[bool] = False
    """Whether a call takes one table of rows, not an array for each input."""

    @property
    def is_complex(self) -> bool:
        """Whether `encode` fills the imaginary parts of slots too."""
        return False

    def arguments(self, inputs: Sequence[InputSpec]) -> tuple[str, ...]:
        """The names of the arrays that a call takes."""
        return tuple(spec.name for spec in inputs)

    def of_call(self, arguments: Sequence[Any], inputs: Sequence[InputSpec]) -> Any:
        """What `encode` takes, of a call's arguments: an array each, or one sequence or dict of all.
        MismatchError for another number of them."""
        names = ("rows",) if self.takes_rows else self.arguments(inputs)
        count = len(names)
        if len(arguments) == 1 and (count > 1 or isinstance(arguments[0], Mapping)):
            return arguments[0]
        if len(arguments) != count:
            raise MismatchError(
                f"{len(arguments)} arrays were given, and the program has {count} input{'s' * (count > 1)}; "
                "several samples are one array, with axes before those of one"
            )
        return arguments[0] if self.takes_rows else dict(zip(names, arguments, strict=True))

    @abstractmethod
    def encode(self, rows: Any, inputs: Sequence[InputSpec]) -> list[Array]:
        """An array of shape (..., *shape, slots) for each input."""

    @abstractmethod
    def decode(self, values: list[Array], outputs: Sequence[OutputSpec], rows: int | None) -> Any:
        """Results, from arrays of shape (..., *shape, slots)."""

    def count(self, rows: Any, inputs: Sequence[InputSpec]) -> int | None:
        """How many rows `decode` gives the results of; None: as many as there is room for."""
        del inputs
        return len(rows) if hasattr(rows, "__len__") else None

    def to_data(self) -> dict[str, Any]:
        """Data for JSON, with its kind."""
        return {"kind": self.kind}

    @classmethod
    def from_data(cls, _: Mapping[str, Any]) -> Encoding:
        """The encoding that `to_data` told. FormatError for what can be none."""
        return cls()

    def require_fit(self, inputs: int, outputs: int) -> None:  # noqa: B027
        """FormatError for another number of inputs or outputs than it is for."""


def require_layouts(what: str, layouts: Sequence[Layout], count: int) -> None:
    own = sum(layout.count for layout in layouts)
    if own != count:
        raise FormatError(f"layouts of {own} {what}, and the model has {count}")


def limits_of(spec: InputSpec) -> tuple[float, float]:
    """The least and the largest value of an input; infinite where there is none."""
    return -np.inf if spec.low is None else spec.low, np.inf if spec.high is None else spec.high


def require_range(values: Array, spec: InputSpec) -> None:
    low, high = limits_of(spec)
    if not (np.isfinite(values).all() and (values >= low).all() and (values <= high).all()):
        raise ParameterError(
            f"{spec.name}: the model is for values from {low} to {high}, and these are from {values.min()} "
            f"to {values.max()}"
        )


def finite_rows(given: Any, features: int, what: str) -> Floats:
    """Rows of numbers, checked: at least one, of `features` features, all of them finite.

    Raises:
        ParameterError: for what is no table of numbers, and for missing or infinite values.
        MismatchError: for another shape.
    """
    try:
        rows = plain_array(given, what, np.float64)
    except (TypeError, ValueError) as error:
        told = "they are sparse; give rows.toarray()" if hasattr(given, "toarray") else str(error)
        told = told.removeprefix(f"{what}: ")
        raise ParameterError(f"{what}: the rows are no table of numbers: {told}") from None
    if rows.ndim != 2 or rows.shape[1] != features or len(rows) == 0:
        raise MismatchError(
            f"{what}: rows of shape {rows.shape} for a model of {features} features; give at least one row, "
            f"of shape (rows, {features})"
        )
    if not np.isfinite(rows).all():
        raise ParameterError(
            f"{what}: the rows have missing or infinite values; fill them in before, or leave such rows out"
        )
    return rows


def column_ranges(rows: Floats, wider: float) -> tuple[Floats, Floats]:
    """The middle of each column, and half its width times `wider`; of a constant one half its size, or 1/2.

    Raises:
        ParameterError: for columns beyond 1e150.
    """
    low, high = rows.min(axis=0), rows.max(axis=0)
    centre = low / 2 + high / 2
    half = np.where(high > low, high / 2 - low / 2, np.maximum(np.abs(centre), 1.0) / 2)
    if half.max() > _LARGEST:
        raise ParameterError(f"calibrate: rows of up to {half.max():g} are beyond {_LARGEST:g}; scale them")
    return centre, wider * half


def require_columns(rows: Any, names: tuple[str, ...]) -> None:
    """MismatchError for a table whose columns have the model's names in another order, or other names."""
    columns = tuple(map(str, getattr(rows, "columns", ())))
    differ = [at for at, (a, b) in enumerate(zip(columns, names, strict=False)) if a != b]
    if differ and len(columns) == len(names):
        at = differ[0]
        raise MismatchError(
            f"the table's column {at} is {columns[at]!r}, and the model's is {names[at]!r}; give the columns "
            "in the model's order: table[list(names)]"
        )


def arrays_by_name(rows: Any, names: Sequence[str]) -> list[Any]:
    """One array for each name: of a dict by name, of a list or tuple of arrays, or the array itself where
    there is one name.

    Raises:
        MismatchError: for others, and for another number of them.
        TypeError: for `np.matrix`, whose products are not those of arrays.
    """
    if isinstance(rows, Mapping):
        if set(rows) != set(names):
            raise MismatchError(
                f"the model has the inputs {', '.join(names)}, not {', '.join(map(str, rows))}"
            )
        given = [rows[name] for name in names]
    elif isinstance(rows, (list, tuple)) and (
        len(names) > 1 or any(getattr(each, "ndim", 0) for each in rows)
    ):
        given = list(rows)
    elif len(names) == 1:
        given = [rows]
    else:
        raise MismatchError(
            f"the model has the inputs {', '.join(names)}: give an array for each, in a list, a tuple or a "
            f"dict by name, not one {type(rows).__name__}"
        )
    if len(given) != len(names):
        raise MismatchError(
            f"{len(given)} arrays were given, and the model has {len(names)} input{'s' * (len(names) > 1)}; "
            "several samples are one array (np.stack), with axes before those of one"
        )
    for name, each in zip(names, given, strict=True):
        refuse_matrix(each, name)
    return given


def chunked(rows: NDArray[Any], each: int) -> NDArray[Any]:
    """An array of shape (chunks, each, ...) of rows. The last chunk is filled up with the last row."""
    chunks = -(-len(rows) // each)
    taken = np.minimum(np.arange(chunks * each), len(rows) - 1)
    return rows[taken].reshape(chunks, each, *rows.shape[1:])
