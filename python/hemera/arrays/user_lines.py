"""Where the user's program has what is recorded."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import numpy as np

__all__ = ["is_of_user", "user_line"]

_PACKAGE = str(Path(__file__).parents[1])
_PACKAGES = (Path(_PACKAGE), Path(np.__file__).parent)
"""Frames of these are not the user's."""


def is_of_user(path: str) -> bool:
    """Whether a file is not Hemera's."""
    return not path.startswith(_PACKAGE)


def user_line() -> str:
    """File and line of the nearest frame of a program that is neither Hemera's nor NumPy's."""
    frame = sys._getframe(1)
    while frame is not None:
        name = _user_file(frame.f_code.co_filename)
        if name is not None:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


@functools.cache
def _user_file(path: str) -> str | None:
    """The name of a file of the user's; None of Hemera's and NumPy's."""
    given = Path(path)
    return None if any(package in given.parents for package in _PACKAGES) else given.name
