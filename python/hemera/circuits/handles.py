"""Contexts, evaluators and values as circuits see them, which stand below `hemera.objects`: protocols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hemera import _core
from hemera.inputs.arguments import described

if TYPE_CHECKING:
    from hemera.parameters import Parameters

__all__ = ["Context", "Evaluator", "Value", "ValueT", "evaluated", "is_value"]


class Context(Protocol):
    """A `hemera.Context`: where plaintexts of circuits are kept."""

    @property
    def params(self) -> Parameters: ...
    @property
    def description(self) -> str: ...
    @property
    def _native(self) -> _core.Context: ...


class Evaluator(Protocol):
    """A `hemera.Evaluator`: the keys that circuits are evaluated with."""

    @property
    def context(self) -> Context: ...
    @property
    def _native(self) -> _core.Evaluator: ...


class Value(Protocol):
    """A value that evaluates circuits: a `hemera.Ciphertext`, or a symbol of a program that is recorded."""

    def _evaluated(self, circuit: Any, others: Sequence[Any], out: Any) -> Any:
        """The circuit of this value and others, in place of `out` if there is one."""


ValueT = TypeVar("ValueT", bound=Value)


def is_value(x: object) -> bool:
    """Whether a circuit that is called with this object leaves the evaluation to it."""
    return hasattr(type(x), "_evaluated")


def evaluated(
    circuit: object, title: str, wanted: str, x: ValueT, others: Sequence[ValueT], out: ValueT | None
) -> ValueT:
    """The circuit of encrypted values.

    Args:
        title: of the circuit, for errors.
        wanted: what it takes, for errors: "a ciphertext".

    Raises:
        TypeError: when `x` is no value of this kind.
    """
    if not is_value(x):
        raise TypeError(f"{title} takes {wanted}, not {described(x)}")
    result: ValueT = x._evaluated(circuit, others, out)
    return result
