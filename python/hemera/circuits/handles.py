"""Protocols of contexts, evaluators and values, for circuits, which stand below `hemera.objects`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hemera import _core
from hemera.inputs.arguments import described

if TYPE_CHECKING:
    from hemera.parameters import Parameters


class Context(Protocol):
    """A `hemera.Context`: it keeps plaintexts of circuits in its memory."""

    @property
    def params(self) -> Parameters: ...
    @property
    def description(self) -> str: ...
    @property
    def _native(self) -> _core.Context: ...


class Evaluator(Protocol):
    """A `hemera.Evaluator`: it evaluates circuits with its keys."""

    @property
    def context(self) -> Context: ...
    @property
    def _native(self) -> _core.Evaluator: ...


class Value(Protocol):
    """A value that evaluates circuits: a `hemera.Ciphertext`, or a symbol of a recorded program."""

    def _evaluated(self, circuit: Any, others: Sequence[Any], out: Any) -> Any:
        """The circuit's result for this value and others, in `out` if there is one."""


ValueT = TypeVar("ValueT", bound=Value)


def is_value(x: object) -> bool:
    """Whether the object evaluates circuits that are called with it."""
    return hasattr(type(x), "_evaluated")


def evaluated(
    circuit: object, title: str, wanted: str, x: ValueT, others: Sequence[ValueT], out: ValueT | None
) -> ValueT:
    """The circuit's result for encrypted values.

    Args:
        title: the circuit's title, for errors.
        wanted: the circuit's argument, for errors: "a ciphertext".

    Raises:
        TypeError: if `x` is no value of this kind.
    """
    if not is_value(x):
        raise TypeError(f"{title} takes {wanted}, not {described(x)}")
    result: ValueT = x._evaluated(circuit, others, out)
    return result
