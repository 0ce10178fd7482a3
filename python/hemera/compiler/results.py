"""What a function returns when it is recorded: arrays by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hemera.arrays.array import Array
from hemera.arrays.recorder import Recorder

__all__ = ["named_results"]


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
        if not isinstance(value, Array) or value._recorder is not recorder:
            raise TypeError(
                f"the function returns {type(value).__name__} as {name!r}; return arrays that come of its "
                "arguments"
            )
    if not named:
        raise TypeError("the function returns nothing; return arrays that come of its arguments")
    return [(name, value._number) for name, value in named.items()]
