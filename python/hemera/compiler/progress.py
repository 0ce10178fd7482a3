"""Progress of a compilation: `compile` is given the user's function, and its parts call `told`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from hemera.inputs.arguments import Progress

__all__ = ["telling", "told"]

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
