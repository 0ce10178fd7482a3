"""Arguments of a wrong type, said in the words of the interface before the compiled core sees them."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def require_type(value: object, kind: type[T], operation: str, wanted: str) -> T:
    """The value; TypeError that says what the operation takes ("wanted") unless it is of the kind."""
    if isinstance(value, kind):
        return value
    raise TypeError(f"{operation} takes {wanted}, not {described(value)}")


def described(value: object) -> str:
    """A value in an error: a class by its name, short text as it is, all else by its type."""
    if isinstance(value, type):
        return f"the class {value.__name__} itself"
    if isinstance(value, (str, bytes)) and len(value) <= 40:
        return f"the {type(value).__name__} {value!r}"
    return type(value).__name__
