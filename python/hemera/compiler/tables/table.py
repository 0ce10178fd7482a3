"""A table in a program, its filters and its groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hemera.compiler.eager import array
from hemera.compiler.tables.columns import Column, filter_of
from hemera.compiler.tables.frames import ReadColumn, is_of_pandas, refuse_series
from hemera.compiler.tables.missing import missing
from hemera.compiler.tables.results import Frame, Groups, Result, Together
from hemera.compiler.tables.spec import TableSpec
from hemera.compiler.tables.statistics import STATISTICS, Statistics, Weight, as_truths, joined, length
from hemera.errors import MismatchError, ParameterError
from hemera.inputs.arguments import require_different


class KeyValues(np.ndarray[Any, Any]):
    """A key's plain values: an array of NumPy, but with the variances of columns, whose divisor is n - 1."""

    def __array_wrap__(self, found: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return found[()] if return_scalar else found.view(KeyValues)

    def var(self, *arguments: Any, ddof: float = 1, **options: Any) -> Any:
        return np.asarray(self).var(*arguments, ddof=ddof, **options)

    def std(self, *arguments: Any, ddof: float = 1, **options: Any) -> Any:
        return np.asarray(self).std(*arguments, ddof=ddof, **options)


class Table(Together):
    """A table whose columns are encrypted, but for its public keys: `t.age`, `t["age"]`, `t[t.age > 60]`,
    `t.groupby("ward")`."""

    def __init__(
        self,
        spec: TableSpec,
        columns: Mapping[str, Column],
        weight: Weight = None,
        *,
        kept: Any = None,
        pandas: bool = False,
    ) -> None:
        self._spec = spec
        self._columns = dict(columns)
        self._weight = weight
        """Whether filters leave a row."""
        self._kept = kept
        """The same of the filters that are public: a plain array, or None."""
        self._pandas = pandas

    @classmethod
    def encrypt(cls, frame: Any, *, precision_bits: float = 16, **options: Any) -> Table:
        """A table with its values, which are encrypted when a statistic is asked for, as those of
        `hemera.array`: `t.age.mean().decrypt()`.

        Args:
            frame: a DataFrame of pandas or Polars, a Table of Arrow, or a dict of columns.
            precision_bits: of results.
            options: those of `TableSpec.of`: `ranges=`, `keys=`, ...

        Raises:
            TypeError, ParameterError, RangeError: as `TableSpec.of`.
        """
        spec = TableSpec.of(frame, **options)
        arrays = [
            array(values, range=own.range, step=own.step, name=own.name, precision_bits=precision_bits)
            for own, values in zip(spec.inputs, spec.arrays(frame), strict=True)
        ]
        return cls.of_arrays(spec, arrays, pandas=is_of_pandas(frame))

    @classmethod
    def of_arrays(cls, spec: TableSpec, arrays: Sequence[Any], *, pandas: bool = False) -> Table:
        """The table of arrays, encrypted or plain, in the order of `TableSpec.inputs`."""
        given = iter(arrays)
        columns = {}
        for own in spec.columns:
            values = next(given)
            present = as_truths(next(given)) if own.may_miss else None
            values = as_truths(values) if own.is_truth else values
            columns[own.name] = Column(
                values,
                name=own.name,
                present=present,
                categories=own.categories,
                order=own.order,
                is_nullable=own.is_nullable,
            )
        return cls(spec, columns, pandas=pandas)

    @property
    def spec(self) -> TableSpec:
        """The public side: what `hemera.compile` takes."""
        return self._spec

    @property
    def columns(self) -> list[str]:
        """The names of the encrypted columns."""
        return list(self._columns)

    @property
    def keys(self) -> list[str]:
        """The names of the public columns."""
        return list(self._spec.keys)

    def __len__(self) -> int:
        return length(self._spec.rows, self._weight)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or (name not in self._columns and name not in self._spec.keys):
            raise missing("the table", name, self, () if name.startswith("_") else self._names)
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise _no_change(name)
        super().__setattr__(name, value)

    def __setitem__(self, item: Any, value: Any) -> None:
        raise _no_change(item)

    def __getitem__(self, item: Any) -> Any:
        """A column by its name, a public key as a plain array, some columns by a list of names, or the rows
        where a mask is 1.

        Raises:
            ParameterError: for a name that the table has not.
            TypeError: for what is no mask.
        """
        if isinstance(item, str):
            return self._column(item)
        if isinstance(item, (list, tuple)) and all(isinstance(each, str) for each in item):
            self._require(item)
            return self._with({name: self._columns[name] for name in item})
        mask, is_public = filter_of(item, self._weight, self._spec.rows)
        kept = joined(self._kept, mask) if is_public else self._kept
        return Table(self._spec, self._columns, joined(self._weight, mask), kept=kept, pandas=self._pandas)

    def _column(self, name: str) -> Any:
        if name in self._spec.keys:
            plain, coded = self._spec.keys[name], self._spec.coded.get(name)
            own = Column(plain, is_public=True)
            if coded is not None:
                (codes,) = coded.arrays(ReadColumn(plain, np.zeros(len(plain), np.bool_)))
                own = replace(own, elements=codes, categories=coded.categories, order=coded.order)
            elif self._weight is None:
                return plain.view(KeyValues)
        else:
            self._require([name])
            own = self._columns[name]
        return replace(
            own, name=name, weight=self._weight, is_array=False, is_of_table=True, is_of_pandas=self._pandas
        )

    def assign(self, **columns: Any) -> Table:
        """The table with more columns: columns of this table or of the whole one, plain values, or functions
        of the table.

        Raises:
            MismatchError: for a column of a table with other filters, values of other rows, and Series.
            ParameterError: for the name of a key.
        """
        found = self
        for name, each in columns.items():
            if name in self._spec.keys:
                raise ParameterError(f"{name!r} is a public key, and stays; give the column another name")
            own = each(found) if callable(each) else each
            if not isinstance(own, Column):
                refuse_series(own)
                rows = (self._spec.rows,)
                if np.shape(own) not in ((), rows):
                    raise MismatchError(f"{name!r}: values of shape {np.shape(own)}, and rows of {rows}")
                own = Column(np.broadcast_to(np.asarray(own), rows), is_public=True)
            if own.weight is not None and own.weight is not self._weight:
                raise MismatchError(
                    f"column {name!r} is of a table with other filters; assign before filtering"
                )
            found = found._with({**found._columns, name: own})
        return found

    def groupby(self, by: str | Sequence[str], *, observed: bool = False) -> GroupBy:
        """Groups by public keys. All groups of which public filters leave a row are there.

        Raises:
            ParameterError: for a key that is not public, and to leave out groups without rows where filters
                are encrypted.
        """
        if observed and self._weight is not self._kept:
            raise ParameterError(
                "observed=True leaves groups without rows out, and which rows encrypted filters leave is not "
                "known: groupby(keys, observed=False) has all groups, and count() which are empty"
            )
        names = (by,) if isinstance(by, str) else tuple(by)
        for name in names:
            if name not in self._spec.keys:
                raise ParameterError(
                    f"groups are by public keys, and {name!r} is none; the table has "
                    f"{', '.join(self._spec.keys) or 'none'}. Encrypted values are selected by masks: "
                    f"t[t[{name!r}] == value]"
                )
        if not names:
            raise ParameterError("groupby needs a key")
        rows = list(zip(*(self._spec.keys[name].tolist() for name in names), strict=True))
        kept = np.arange(len(rows)) if self._kept is None else np.flatnonzero(self._kept)
        # As of pandas, a group of which a public filter leaves no row is none.
        listed = [self._spec.coded[name].categories if name in self._spec.coded else () for name in names]
        labels = sorted(
            {rows[at] for at in kept},
            key=lambda label: [
                known.index(x) if known else x for known, x in zip(listed, label, strict=True)
            ],
        )
        if not labels:
            raise ParameterError("the filters, which are public, leave no rows: there are no groups")
        places = {label: at for at, label in enumerate(labels)}
        members = np.zeros((len(labels), len(rows)), np.int64)
        members[[places[rows[at]] for at in kept], kept] = 1
        own = tuple(label[0] if len(names) == 1 else label for label in labels)
        return GroupBy(self, Groups(names, own, members, self._pandas), None)

    def count(self) -> Result:
        """How many rows there are."""
        found: Result = STATISTICS["size"](self._any, None, 0)
        return found

    @property
    def _any(self) -> Column:
        return self[next(iter(self._columns))]  # type: ignore[no-any-return]

    @property
    def _names(self) -> list[str]:
        return [*self._columns, *self._spec.keys]

    def _with(self, columns: Mapping[str, Column]) -> Table:
        return Table(self._spec, columns, self._weight, kept=self._kept, pandas=self._pandas)

    def _require(self, names: Sequence[str]) -> None:
        lacking = [name for name in names if name not in self._columns]
        if lacking:
            raise ParameterError(
                f"the table has no encrypted columns {', '.join(lacking)}; it has {', '.join(self._columns)}"
            )

    def __repr__(self) -> str:
        filtered = "" if self._weight is None else ", filtered"
        return f"<table of {self._spec.rows} rows{filtered}: {', '.join(self._names)}>"


def _no_change(item: Any) -> TypeError:
    return TypeError(f"tables do not change in place: t.assign({item}=column) makes another one")


class GroupBy(Together, Statistics):
    """The groups of a table: statistics of each by `sum`, `mean`, `count`, `var`, `std`, `size` and `agg`."""

    def __init__(self, table: Table, groups: Groups, column: str | None) -> None:
        self._table, self._groups, self._column = table, groups, column

    def __getattr__(self, name: str) -> GroupBy:
        if name.startswith("_") or name not in self._table._columns:
            raise missing("a table's groups", name, self, () if name.startswith("_") else self._table.columns)
        return GroupBy(self._table, self._groups, name)

    def __getitem__(self, item: str | Sequence[str]) -> GroupBy:
        """The groups of one column, or of some."""
        if isinstance(item, str):
            self._table._require([item])
            return GroupBy(self._table, self._groups, item)
        return GroupBy(self._table[list(item)], self._groups, None)

    def size(self) -> Result:
        """How many rows each group has, missing values or not."""
        own = self._table._any if self._column is None else self._table[self._column]
        found: Result = STATISTICS["size"](own, self._groups, 0)
        return replace(found, name="size") if self._column is None else found

    def agg(self, statistics: Any = (), **named: Any) -> Result | Frame:
        """Several statistics: by name or names, by those of each column in a dict, or
        `total=("stay", "sum")`; of one column `total="sum"`.

        Raises:
            ParameterError: for an unknown one.
            TypeError: for further arguments, as `pandas.NamedAgg` may have.
        """
        if isinstance(statistics, str):
            return self._statistic(statistics)
        own = statistics if isinstance(statistics, Mapping) else dict.fromkeys(self._names, statistics)
        wanted = [
            (column, name)
            for column, names in own.items()
            for name in (names if isinstance(names, (list, tuple)) else [names])
        ]
        # The labels of pandas: a column's name, that of the statistic, or both.
        is_one = own is statistics and all(isinstance(each, str) for each in own.values())
        label = slice(1) if is_one else slice(self._column is not None, 2)
        labels = [each[label] for each in wanted]
        if named:
            wanted, labels = list(map(self._named, named.values())), [(key,) for key in named]
        require_different(labels, "results")
        found = (self[column]._one(column, name, 1) for column, name in wanted)
        return Frame(dict(zip(labels, found, strict=True)))

    def _named(self, given: Any) -> tuple[str, Any]:
        """A column and its statistic, of one result by name."""
        column, name, *others = (self._column, given) if isinstance(given, str) else given
        if column is None or others not in ([], [(), {}]):
            raise TypeError(f"a result by name is name=(column, statistic), not {given!r}")
        return column, name

    @property
    def _names(self) -> list[str]:
        return [self._column] if self._column is not None else self._table.columns

    def _statistic(self, name: str, ddof: int | None = None) -> Result | Frame:
        own = 1 if ddof is None else ddof
        if self._column is not None:
            return self._one(self._column, name, own)
        return Frame({(column,): self._one(column, name, own) for column in self._names})

    def _one(self, column: str, name: str, ddof: int) -> Result:
        if not isinstance(name, str) or name not in STATISTICS:
            raise ParameterError(f"no statistic {name!r}; there are {', '.join(STATISTICS)}")
        found: Result = STATISTICS[name](self._table[column], self._groups, ddof)
        return found
