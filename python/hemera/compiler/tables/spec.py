"""The inputs of a program on tables: the columns, their types and ranges, and public keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.facts import beside_steps, multiples_within
from hemera.compiler.specs import ArraySpec, checked_range
from hemera.compiler.tables.frames import ReadColumn, read_frame
from hemera.errors import MismatchError, ParameterError, RangeError
from hemera.inputs.arguments import require_different
from hemera.inputs.plain import plain_array

Floats = NDArray[np.float64]

_PRESENT = " (present)"
"""Ends the name of the input that says which values of a column there are."""


@dataclass(frozen=True)
class ColumnSpec:
    """An encrypted column.

    Args:
        name: as in the table.
        range: the least and the largest number.
        step: values are integer multiples of it, and can be compared; None: any numbers.
        categories: what the numbers 0, 1, ... stand for; empty for numbers themselves.
        may_miss: whether values may be missing: a column of 0 and 1 is encrypted next to it then.
        is_truth: whether 0 and 1 are truth values, and no numbers.
        order: of categories: "values", as Python has it; "listed", and "none" where there is none, for
            categories of pandas, all of which are counted.
        is_nullable: whether missing values are pandas' NA, as of its type Int64.
        is_whole: whether values are of a type of integers, and so are sums and products of them.
    """

    name: str
    range: tuple[float, float]
    step: float | None = None
    categories: tuple[Any, ...] = ()
    may_miss: bool = False
    is_truth: bool = False
    order: Literal["values", "listed", "none"] = "values"
    is_nullable: bool = False
    is_whole: bool = False

    @property
    def inputs(self) -> list[tuple[str, tuple[float, float], float | None]]:
        """Names, ranges and steps of encrypted values. Where a value is missing, 0 stands in its place."""
        low, high = self.range
        if not self.may_miss:
            return [(self.name, (low, high), self.step)]
        own = (self.name, (min(low, 0.0), max(high, 0.0)), self.step)
        return [own, (self.name + _PRESENT, (0.0, 1.0), 1)]

    def arrays(self, column: ReadColumn) -> list[Floats]:
        """The encrypted numbers of a table's column."""
        missing = column.missing
        if missing.any() and not self.may_miss:
            raise MismatchError(
                f"column {self.name!r}: {int(missing.sum())} values are missing, and the program is for a "
                f"column without; make the spec with missing=[{self.name!r}]"
            )
        values = np.zeros(len(missing))
        values[~missing] = self._numbers(column.values[~missing])
        low, high = self.range
        known = values[~missing]
        if not (
            np.isfinite(known).all() and known.min(initial=low) >= low and known.max(initial=high) <= high
        ):
            raise RangeError(
                f"column {self.name!r}: values from {known.min():g} to {known.max():g} are not in its range "
                f"from {low:g} to {high:g}"
            )
        if self.step is not None and beside_steps(values, self.step).any():
            raise ParameterError(f"column {self.name!r}: values are no multiples of its step {self.step:g}")
        return [values, (~missing).astype(np.float64)] if self.may_miss else [values]

    def drawn(self, random: np.random.Generator, rows: int) -> NDArray[Any]:
        """Uniform draws from the range, none of them missing."""
        (low, high), step = self.range, self.step
        if step is None:
            return random.uniform(low, high, rows)
        low, high = multiples_within(low, high, step)
        values = np.float64(low) + step * random.integers(0, round((high - low) / step) + 1, rows)
        if self.categories:
            named: NDArray[Any] = np.array(self.categories, object)[values.astype(int) % len(self.categories)]
            return named
        truths: NDArray[Any] = values.astype(bool)
        return truths if self.is_truth else values

    def _numbers(self, values: NDArray[Any]) -> NDArray[Any]:
        if len(values) and not self.categories:
            try:
                return plain_array(values, "values", np.float64)
            except (TypeError, ValueError):
                raise MismatchError(f"column {self.name!r} has values that are no numbers") from None
        codes = {each: code for code, each in enumerate(self.categories)}
        unknown = sorted({str(each) for each in values.tolist() if each not in codes})
        if unknown:
            raise MismatchError(
                f"column {self.name!r} has {', '.join(unknown)}, which its categories have not: "
                f"{', '.join(map(str, self.categories))}"
            )
        return np.array([codes[each] for each in values.tolist()], np.float64)


@dataclass(frozen=True, eq=False)
class TableSpec:
    """The public side of a table: names, types and ranges of its columns, the number of rows, and the columns
    that are public themselves, with their values. `TableSpec.of` makes one.

    Args:
        columns: those that are encrypted.
        keys: the public ones by name, of shape (rows,): tables are grouped by them.
        rows: how many there are.
        coded: keys that are dates, or categories of pandas: they compare as columns of these do.
    """

    columns: tuple[ColumnSpec, ...]
    keys: Mapping[str, NDArray[Any]]
    rows: int
    coded: Mapping[str, ColumnSpec] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.columns:
            raise ParameterError("a table needs a column that is encrypted")
        if self.rows < 1:
            raise ParameterError("a table needs a row")
        require_different([own.name for own in self.inputs], "encrypted columns")

    @classmethod
    def of(
        cls,
        frame: Any,
        *,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        keys: Sequence[str] = (),
        steps: Mapping[str, float] | None = None,
        missing: Sequence[str] = (),
        columns: Sequence[str] | None = None,
    ) -> TableSpec:
        """The spec of a table. What it takes from the values is public: the number of rows, which columns
        have missing values, the categories of text, and the values of `keys`.

        Args:
            frame: a DataFrame of pandas or Polars, a Table of Arrow, or a dict of columns.
            ranges: the least and the largest number of each column of numbers. Booleans need none.
            keys: columns that are not encrypted.
            steps: of columns whose values are integer multiples of it. Integers and booleans have 1.
            missing: columns in which values may be missing in other tables, beside those in which some are.
            columns: those that are encrypted; None: all but the keys.

        Raises:
            TypeError: for what is no table.
            ParameterError: for numbers without a range, too many rows, and names that the table has not.
            RangeError: for values outside of their ranges.
        """
        read = read_frame(frame)
        ranges, steps = dict(ranges or {}), dict(steps or {})
        names = [name for name in read if name not in keys] if columns is None else list(columns)
        unknown = sorted({*ranges, *steps, *keys, *missing, *names} - set(read))
        if unknown:
            raise ParameterError(f"the table has no columns {', '.join(unknown)}; it has {', '.join(read)}")
        for name in keys:
            if read[name].missing.any():
                raise ParameterError(f"key {name!r}: values are missing; give them a value of their own")
        found = []
        for name in names:
            own = _spec_of(name, read[name], ranges.get(name), steps.get(name), name in missing)
            own.arrays(read[name])
            found.append(own)
        rows = len(next(iter(read.values())).values) if read else 0
        fixed = {name: _fixed(read[name].values) for name in keys}
        coded = [name for name in keys if read[name].categories or fixed[name].dtype.kind == "M"]
        own_specs = {name: _spec_of(name, read[name], None, None, False) for name in coded}
        return cls(tuple(found), fixed, rows, own_specs)

    @property
    def inputs(self) -> list[ArraySpec]:
        """The encrypted columns, one each, and after one in which values may be missing one of 0 and 1."""
        return [
            ArraySpec((self.rows,), ends, name, step, dtype=np.int64 if column.is_whole else None)
            for column in self.columns
            for name, ends, step in column.inputs
        ]

    def arrays(self, frame: Any) -> list[Floats]:
        """The encrypted columns of a table, in the order of `inputs`, of shape (rows,) each.

        Raises:
            TypeError: for what is no table.
            MismatchError: for a table with other rows or public keys, or without a column.
            RangeError: for values outside of their ranges.
        """
        read = read_frame(frame)
        lacking = [name for name in (*self.keys, *(own.name for own in self.columns)) if name not in read]
        if lacking:
            raise MismatchError(f"the table lacks the columns {', '.join(lacking)}")
        rows = len(next(iter(read.values())).values)
        if rows != self.rows:
            raise MismatchError(f"a table of {rows} rows, and the program is for {self.rows}")
        for name, values in self.keys.items():
            pairs = zip(read[name].values.tolist(), values.tolist(), strict=True)
            for at in (at for at, (a, b) in enumerate(pairs) if a != b):
                raise MismatchError(
                    f"key {name!r} differs in row {at}: {read[name].values[at]!r}, and the program is for "
                    f"{values[at]!r}. Public keys are part of the program: compile one for this table"
                )
        return [array for own in self.columns for array in own.arrays(read[own.name])]

    def drawn(self, random: np.random.Generator) -> dict[str, NDArray[Any]]:
        """A table of uniform draws from the ranges of its columns."""
        return {**self.keys, **{own.name: own.drawn(random, self.rows) for own in self.columns}}

    def __repr__(self) -> str:
        names = ", ".join(own.name for own in self.columns)
        keys = f", by {', '.join(self.keys)}" if self.keys else ""
        return f"<TableSpec of {self.rows} rows: {names}{keys}>"


def _fixed(values: NDArray[Any]) -> NDArray[Any]:
    """A copy that does not change: programs depend on it."""
    found: NDArray[Any] = values.copy()
    found.flags.writeable = False
    return found


def _spec_of(
    name: str, column: ReadColumn, ends: tuple[float, float] | None, step: float | None, may_miss: bool
) -> ColumnSpec:
    own: Any = {"may_miss": may_miss or bool(column.missing.any()), "is_nullable": column.is_nullable}
    kind = column.kind
    if kind == "O":
        try:
            known = set(column.values[~column.missing].tolist())
            is_one_type = len({type(each) for each in known}) == 1  # else nothing is in order
            categories = column.categories or tuple(sorted(known, key=None if is_one_type else str))
        except TypeError as error:
            raise ParameterError(f"column {name!r}: no numbers, texts or dates ({error})") from None
        order: Any = ("listed" if column.is_ordered else "none") if column.categories else "values"
        ends = (0.0, float(max(1, len(categories) - 1)))
        return ColumnSpec(name, ends, 1, categories, order=order, **own)
    if kind == "b":
        return ColumnSpec(name, (0.0, 1.0), 1, is_truth=True, **own)
    if ends is None:
        raise ParameterError(
            f"the range of column {name!r} is not known: give ranges={{{name!r}: (low, high)}}, which is "
            "public; or make it a key, or leave it out by columns="
        )
    limits = checked_range(f"column {name!r}", ends)
    step = 1 if step is None and kind == "i" else step
    is_whole = kind == "i" and (step or 1) % 1 == 0 and not own["may_miss"]
    return ColumnSpec(name, limits, step, is_whole=is_whole, **own)
