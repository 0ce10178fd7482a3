"""The first pass: a function is called with encrypted arrays, and its return values are results by name."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

from numpy.typing import NDArray

from hemera.arrays.array import Array
from hemera.arrays.recorded import number_of, recorder_of
from hemera.arrays.recorder import Recorder
from hemera.compiler.specs import ArraySpec
from hemera.inputs.arguments import Progress

__all__ = ["named_results", "telling", "told", "traced"]

_R = TypeVar("_R", bound=Recorder)


def traced(
    what: Callable[..., Any],
    specs: Sequence[ArraySpec],
    recorder: _R,
    examples: Sequence[NDArray[Any] | None] = (),
) -> _R:
    """The program of a function on encrypted arrays, by a recorder.

    Args:
        specs: of its arguments, with ranges.
        examples: samples of each; (): there are none.

    Raises:
        TypeError: when the function depends on values; see `named_results`.
    """
    arguments = []
    for spec, own in zip(specs, examples or [None] * len(specs), strict=True):
        assert spec.range is not None
        number = recorder.input(spec.name, spec.shape, *spec.range, own, spec.step)
        arguments.append(Array(recorder, number, spec.kind)._as_argument())
    told("trace", 0, 1)
    recorder.program.outputs = named_results(what(*arguments), recorder)
    told("trace", 1, 1)
    return recorder


def named_results(result: Any, recorder: Recorder) -> list[tuple[str, int]]:
    """Names and nodes of an array, a sequence or a dict of them.

    Raises:
        TypeError: for nothing, and for anything else than arrays of this recorder.
    """
    if isinstance(result, Mapping):
        named = {str(key): value for key, value in result.items()}
    elif isinstance(result, (list, tuple)) and len(result) != 1:
        named = {f"output{at}": value for at, value in enumerate(result)}
    else:
        named = {"output": result[0] if isinstance(result, (list, tuple)) else result}
    for name, value in named.items():
        if not isinstance(value, Array) or recorder_of(value) is not recorder:
            raise TypeError(
                f"the function returns {type(value).__name__} as {name!r}; return arrays that come of its "
                "arguments"
            )
    if not named:
        raise TypeError("the function returns nothing; return arrays that come of its arguments")
    return [(name, number_of(value)) for name, value in named.items()]


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
