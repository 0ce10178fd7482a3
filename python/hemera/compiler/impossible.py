"""Refusals that a search among layouts and parameters passes over, and reports.

Makers of candidates raise these, and only these are caught: another error is a fault, and ends the
compilation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from hemera.errors import LevelError, ParameterError, RangeError

__all__ = ["Impossible", "NotPossibleError", "TooDeepError", "TooLargeError", "attempted"]

_T = TypeVar("_T")


class NotPossibleError(ParameterError):
    """A program has no form in a layout, or with some parameters."""


class TooDeepError(NotPossibleError, LevelError):
    """It takes more levels than there are."""


class TooLargeError(NotPossibleError, RangeError):
    """Its results do not fit."""


@dataclass(frozen=True)
class Impossible:
    """A candidate that there is not."""

    reason: NotPossibleError

    def __str__(self) -> str:
        return str(self.reason)


def attempted(make: Callable[[], _T]) -> _T | Impossible:
    """A candidate, or why there is none."""
    try:
        return make()
    except NotPossibleError as reason:
        return Impossible(reason)
