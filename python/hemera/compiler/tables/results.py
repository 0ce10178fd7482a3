"""Results of tables: what is computed encrypted, and what clients make of it."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from hemera.compiler.eager import compile_arrays, compute
from hemera.errors import ParameterError
from hemera.inputs.arguments import require_different
from hemera.inputs.operators import Operators

Values = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of a table by public keys."""

    names: tuple[str, ...]
    """The names of the keys."""
    labels: tuple[Any, ...]
    """For each group a value, or a tuple of those of several keys."""
    members: NDArray[np.int64]
    """Shape (groups, rows): 1 where a row belongs to a group, else 0."""
    pandas: bool = False
    """Whether results are given as pandas has them."""


class Computed(ABC):
    """The base of results of tables with their values, of `Table.encrypt`."""

    @property
    @abstractmethod
    def statistics(self) -> Mapping[tuple[str, ...], Result]:
        """Each by its column and name; () for a single one."""

    def decrypt(self, **options: Any) -> Any:
        """The statistics: see `hemera.compute`. For groups a Series or DataFrame of pandas where the table
        was of pandas, else a dict by the groups' labels."""
        readings, groups = Readings(self), next(iter(self.statistics.values())).groups
        arrays = readings.encrypted()
        found = compute(*arrays.values(), **options) if arrays else ()
        values = dict(zip(arrays, found if isinstance(found, tuple) else (found,), strict=True))
        return readings.finished(values, pandas=groups is not None and groups.pandas)

    def explain(self, device: str | None = None) -> str:
        """What it takes: see `Compiled.report`."""
        named = {each.name: each for each in self.statistics.values()}
        arrays = Readings(named).encrypted()
        if not arrays:
            raise ParameterError(f"{next(iter(named))} is public: nothing is computed encrypted")
        return compile_arrays(arrays).report(device)


@dataclass(frozen=True, eq=False)
class Result(Operators, Computed):
    """A statistic that the client finishes: quotients and roots of encrypted sums are taken after decryption,
    exactly, in place of approximations."""

    name: str
    parts: Mapping[str, Any]
    """What is encrypted, by name: arrays."""
    finish: Callable[[Mapping[str, Values]], Any]
    """The statistic of the parts' decrypted values."""
    groups: Groups | None = None
    kind: type = float
    """int or bool: the statistic is a whole number, or a truth value."""
    categories: tuple[Any, ...] = ()
    """What rows' numbers stand for."""
    order: Literal["", "counts", "all counts"] = ""
    """For "counts" the largest is the first one, and groups with 0 are left out."""
    is_root: bool = False
    """Whether it is a root, which near 0 has half of the bits of its parts."""

    def finished(self, values: Mapping[str, Values]) -> Any:
        """A number; of groups an array of shape (groups,), of rows (rows,)."""
        with np.errstate(all="ignore"):
            found = np.asarray(self.finish(values))
        if self.kind is not float and not np.isnan(found).any():  # of no rows it is missing
            found = np.rint(found).astype(self.kind)
        return found if found.ndim else found.item()

    @property
    def statistics(self) -> Mapping[tuple[str, ...], Result]:
        """Itself."""
        return {(): self}

    _instead: ClassVar[Mapping[str, str]] = {}
    _otherwise = "it is finished by the client"

    def _applied(self, *_: object) -> NoReturn:
        self._no_arithmetic()

    def _no_arithmetic(self, *_: object) -> NoReturn:
        raise TypeError(
            f"{self.name} is finished by the client, after decryption: return it as it is. Encrypted "
            "arithmetic goes on with sum(), and with the mean of all rows where none is missing"
        )

    __round__ = __float__ = __int__ = __array__ = __bool__ = _no_arithmetic
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.name}, finished by the client>"


class Together:
    """The base of several columns, or results, together: they have no operators."""

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} has no operators, and is neither true nor false: columns have"
        )

    __eq__ = __ne__ = __bool__ = _refuse
    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False)
class Frame(Together, Computed):
    """Several statistics of groups, by column and name of the statistic."""

    columns: Mapping[tuple[str, ...], Result]

    @property
    def statistics(self) -> Mapping[tuple[str, ...], Result]:
        """The columns' statistics."""
        return self.columns


class Readings:
    """One result, or results by name: what is encrypted of each, and what clients make of it."""

    def __init__(self, results: Computed | Mapping[str, Computed]) -> None:
        self._is_one = isinstance(results, Computed)
        self._results = {"result": results} if isinstance(results, Computed) else results
        self._outputs: list[tuple[Result, dict[str, str]]] = []
        """The statistics, with the names of the program's outputs by part."""
        for name, each in self._results.items():
            for column, own in each.statistics.items():
                title = f"{name}: {' '.join(column)}" if column else name
                self._outputs.append((own, {part: f"{title} {part}".strip() for part in own.parts}))
        require_different([name for _, names in self._outputs for name in names.values()], "results")

    def encrypted(self) -> dict[str, Any]:
        """The outputs of the program."""
        return {names[part]: each for own, names in self._outputs for part, each in own.parts.items()}

    def counts(self) -> list[str]:
        """The outputs that are counts: clients round them."""
        return [names["n"] for _, names in self._outputs if "n" in names]

    @property
    def has_roots(self) -> bool:
        """Whether roots are among the statistics."""
        return any(own.is_root for own, _ in self._outputs)

    def values(self, outputs: Mapping[str, Values]) -> list[Any]:
        """The finished values, one after the other, of the program's outputs."""
        return [
            own.finished({part: outputs[name] for part, name in names.items()})
            for own, names in self._outputs
        ]

    def finished(self, outputs: Mapping[str, Values], *, pandas: bool) -> Any:
        """The results with labels."""
        values = iter(self.values(outputs))
        found = {
            name: _labelled(each, [next(values) for _ in each.statistics], pandas=pandas)
            for name, each in self._results.items()
        }
        return found["result"] if self._is_one else found


def _labelled(result: Any, found: Sequence[Any], *, pandas: bool) -> Any:
    """The finished values of statistics with the labels of their groups: of pandas, or dicts."""
    if isinstance(result, Frame):
        groups = next(iter(result.statistics.values())).groups
        assert groups is not None
        if pandas:
            pd = importlib.import_module("pandas")
            named = [name[0] if len(name) == 1 else name for name in result.statistics]
            table = pd.DataFrame(dict(enumerate(found)), index=_index(groups))
            table.columns = pd.MultiIndex.from_tuples(named) if isinstance(named[0], tuple) else named
            return table
        return {
            label: {
                name[0] if len(name) == 1 else name: each[at].item()
                for name, each in zip(result.statistics, found, strict=True)
            }
            for at, label in enumerate(groups.labels)
        }
    (values,), groups = found, result.groups
    if result.categories:
        known = np.array([*result.categories, None], object)
        return known[np.where(np.isnan(values), len(known) - 1, np.rint(values)).astype(np.int64)]
    if groups is None:
        return values
    if result.order:
        order = [
            at for at in np.argsort(-values, kind="stable") if values[at] > 0 or result.order == "all counts"
        ]
        groups, values = replace(groups, labels=tuple(groups.labels[at] for at in order)), values[order]
    if pandas:
        pd = importlib.import_module("pandas")
        return pd.Series(values, index=_index(groups), name=result.name.rpartition(".")[0] or None)
    return {label: each.item() for label, each in zip(groups.labels, values, strict=True)}


def _index(groups: Groups) -> Any:
    pd = importlib.import_module("pandas")
    if len(groups.names) == 1:
        return pd.Index(list(groups.labels), name=groups.names[0])
    return pd.MultiIndex.from_tuples(list(groups.labels), names=list(groups.names))
