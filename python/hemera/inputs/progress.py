"""Progress of long work, and its end on request."""

from collections.abc import Callable

__all__ = ["Progress"]

Progress = Callable[[str, int, int], object] | None
"""A function that long work calls with its stage ("keys", "run", "upload", "predict", "search"), the
number of steps that are done, and the number of all; or None. An exception that it raises ends the work."""
