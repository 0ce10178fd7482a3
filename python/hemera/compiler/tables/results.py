"""Results of tables: what is computed encrypted, and what clients make of it."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from hemera.compiler.compiled import Compiled
from hemera.compiler.eager import compile_arrays, compute
from hemera.errors import ParameterError
from hemera.inputs.operators import Operators

Values = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of a table by public keys."""

    names: tuple[str, ...]
    """The names of the keys."""
    labels: tuple[Any, ...]
    """For each group a value, or a tuple of those of several keys."""
    members: NDArray[np.float64]
    """Shape (groups, rows): 1 where a row belongs to a group, else 0."""
    pandas: bool = False
    """Whether results are given as pandas has them."""


class Computed(ABC):
    """The base of results of tables with their values, of `Table.encrypt`."""

    @abstractmethod
    def _listed(self) -> list[Result]:
        """The statistics."""

    def decrypt(self, **options: Any) -> Any:
        """The statistics: see `hemera.compute`. For groups a Series or DataFrame of pandas where the table
        was of pandas, else a dict by the groups' labels."""
        listed = self._listed()
        values, groups = _decrypted(listed, options), listed[0].groups
        pandas = groups is not None and groups.pandas
        return labelled(self, values if isinstance(self, Frame) else values[0], pandas=pandas)

    def explain(self, device: str | None = None) -> str:
        """What it takes: see `Compiled.report`."""
        return _plan(self._listed()).report(device)


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

    def finished(self, values: Mapping[str, Values]) -> Any:
        """A number; of groups an array of shape (groups,), of rows (rows,)."""
        with np.errstate(all="ignore"):
            found = np.asarray(self.finish(values))
        if self.kind is not float:
            found = np.rint(found).astype(self.kind)
        return found if found.ndim else found.item()

    def _listed(self) -> list[Result]:
        return [self]

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

    def _listed(self) -> list[Result]:
        return list(self.columns.values())


def _decrypted(results: Sequence[Result], options: Mapping[str, Any]) -> list[Any]:
    """The finished values, all of one program."""
    arrays = [each for result in results for each in result.parts.values()]
    found = compute(*arrays, **options) if arrays else ()
    values = iter(found if isinstance(found, tuple) else (found,))
    return [result.finished({name: next(values) for name in result.parts}) for result in results]


def _plan(results: Sequence[Result]) -> Compiled:
    named = {f"{result.name} {part}": each for result in results for part, each in result.parts.items()}
    if not named:
        raise ParameterError(f"{results[0].name} is public: nothing is computed encrypted")
    return compile_arrays(named)


def labelled(result: Any, values: Any, *, pandas: bool) -> Any:
    """The finished values with the labels of their groups: of pandas, or dicts.

    Args:
        values: what `Result.finished` gave; of a `Frame` a list of them.
    """
    if isinstance(result, Frame):
        groups = next(iter(result.columns.values())).groups
        assert groups is not None
        if pandas:
            pd = importlib.import_module("pandas")
            named = [name[0] if len(name) == 1 else name for name in result.columns]
            table = pd.DataFrame(dict(enumerate(values)), index=_index(groups))
            table.columns = pd.MultiIndex.from_tuples(named) if isinstance(named[0], tuple) else named
            return table
        return {
            label: {
                name[0] if len(name) == 1 else name: each[at].item()
                for name, each in zip(result.columns, values, strict=True)
            }
            for at, label in enumerate(groups.labels)
        }
    groups = result.groups
    if result.categories:
        known = np.array([*result.categories, None], object)
        return known[np.where(np.isnan(values), len(known) - 1, np.rint(values)).astype(np.int64)]
    if groups is None:
        return values
    if result.order:
        order = [
            at for at in np.argsort(-values, kind="stable") if values[at] or result.order == "all counts"
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
