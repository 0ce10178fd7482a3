"""A network as a list of operators, which runs on encrypted and on plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.compiler.networks.operators import OPERATORS, Attributes
from hemera.errors import Error, FormatError, ParameterError

__all__ = ["Graph", "Node"]

Values = NDArray[Any]
Replacements = Mapping[str, Callable[..., Any]]

_MALFORMED = (
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
    NotImplementedError,
)
"""What NumPy and the operators raise of operands that do not fit."""


@dataclass(frozen=True)
class Node:
    """One operator: results by name, of values by name ("": left out)."""

    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True)
class Graph:
    """Operators in the order in which they run.

    Inputs and results have an axis of one sample in front, which is added to arrays and taken from results.
    """

    source: str
    """The file, for messages."""
    inputs: tuple[tuple[str, tuple[int, ...] | None], ...]
    """Names, and shapes of one sample; None: unknown."""
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[str, Values]
    replace: Replacements = field(default_factory=dict)

    def require_known(self) -> None:
        """ParameterError that names all operators which are not there."""
        missing: dict[str, str] = {}
        for node in self.nodes:
            if node.operator not in OPERATORS and node.operator not in self.replace:
                missing.setdefault(node.operator, node.name)
        if missing:
            where = ", ".join(f"{operator} (node {name!r})" for operator, name in missing.items())
            raise ParameterError(
                f"{self.source}: no operators {where}. Give functions on arrays for them, "
                f'replace={{"{next(iter(missing))}": function}}, or export the network with others; '
                "docs/compile-networks.md lists those that are there"
            )

    def __call__(self, *arrays: Any) -> Any:
        """The results for one sample, or samples one after the other if inputs have a further axis in front:
        an array, or a dict by name if there are several.

        Raises:
            FormatError: for operators whose operands do not fit.
            ParameterError, RangeError, MismatchError, TypeError: of an operator, with its name.
        """
        values: dict[str, Any] = dict(self.constants)
        for (name, shape), array in zip(self.inputs, arrays, strict=True):
            if isinstance(array, np.ndarray) and shape is not None and array.ndim == len(shape) + 1:
                return self._of_several(arrays)
            values[name] = array[None]
        for node in self.nodes:
            results = self._run(node, [values[name] if name else None for name in node.inputs])
            if len(results) < len(node.outputs):
                raise FormatError(f"{self.source}: {_title(node)} gives {len(results)} results")
            values.update(zip(node.outputs, results, strict=False))
        found = {name: _sample(values[name]) for name in self.outputs}
        return found if len(found) > 1 else next(iter(found.values()))

    def _of_several(self, arrays: Sequence[Any]) -> Any:
        rows = [self(*each) for each in zip(*arrays, strict=True)]
        if isinstance(rows[0], dict):
            return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
        return np.stack(rows)

    def _run(self, node: Node, operands: list[Any]) -> Sequence[Any]:
        own = self.replace.get(node.operator)
        try:
            if own is not None:
                return (own(*[each for each in operands if each is not None]),)
            found = OPERATORS[node.operator](node.attributes, *operands)
        except Error as error:
            raise type(error)(f"{self.source}, {_title(node)}: {error}") from error
        except _MALFORMED as error:
            raise FormatError(f"{self.source}, {_title(node)}: {error}") from error
        return found if isinstance(found, (list, tuple)) else (found,)


def _title(node: Node) -> str:
    return f"{node.operator} {node.name!r}"


def _sample(value: Any) -> Any:
    """Without the axis of one sample."""
    return value[0] if value.ndim and value.shape[0] == 1 else value
