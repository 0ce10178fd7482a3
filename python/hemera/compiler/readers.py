"""Who reads what `compile` is given, where that is no function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["reader_of"]


def reader_of(what: Any) -> Callable[..., Any] | None:
    """The function that compiles an object of another library, called as `compile`; None: there is none.

    Libraries are told by the module of the object's class, and never imported for it.
    """
    if type(what).__module__.partition(".")[0] == "sklearn":
        from hemera.compiler.estimators import compile_fitted

        return compile_fitted
    return None
