"""Attempts of a search among layouts and parameters: what it passes over, and whom it tells of its progress.

Makers of candidates raise these refusals, and only these are caught: another error is a fault, and ends the
compilation.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from hemera.errors import LevelError, ParameterError, RangeError
from hemera.inputs.arguments import Progress

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


def possible(makes: Iterable[Callable[[], _T]], refusal: type[Exception] = NotPossibleError) -> list[_T]:
    """The candidates that there are; where there are none, the last refusal."""
    found, reason = list[_T](), None
    for make in makes:
        try:
            found.append(make())
        except refusal as error:
            reason = error
    if not found and reason is not None:
        raise reason
    return found


_progress: ContextVar[Callable[[str, int, int], object] | None] = ContextVar("progress", default=None)


@contextlib.contextmanager
def telling(progress: Progress) -> Iterator[None]:
    """Within it, parts of this thread's compilation call `progress`."""
    token = _progress.set(progress)
    try:
        yield
    finally:
        _progress.reset(token)


def told(stage: str, done: int, count: int) -> None:
    """Call the user's function with a stage ("trace"; "lower" for each layout that is tried; "package"), the
    number of steps that are done, and that of all."""
    progress: Any = _progress.get()
    if progress is not None:
        progress(stage, done, count)
