"""Warnings that a result may be wrong. They point to the user's line that made the result."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from hemera.errors import HemeraWarning, NoiseWarning, PrecisionWarning, RangeWarning

_PACKAGE = str(Path(__file__).parent)
_ranges_are_known: ContextVar[bool] = ContextVar("_ranges_are_known", default=False)
_budgets_are_known: ContextVar[bool] = ContextVar("_budgets_are_known", default=False)
Warnings = dict[tuple[str, type[HemeraWarning]], None]
"""Texts and categories, each once, in order."""
_kept: ContextVar[Warnings | None] = ContextVar("_kept", default=None)

# Each result has a warning of its own, also where a line makes many; Python's default shows one for
# each line. Filters of users come before this one.
warnings.simplefilter("always", HemeraWarning, append=True)


def warn_of_spent_budget(operation: str) -> None:
    """Give a NoiseWarning."""
    if _budgets_are_known.get():
        return
    _warn(
        f"{operation}: the guaranteed noise budget of the result is spent, so it may decrypt to wrong "
        "values; choose parameters for a circuit of this depth, for_circuit(depth=..., terms=...). "
        "ctx.noise_budget(x, secret_key) measures the true budget",
        NoiseWarning,
    )


def warn_of_interval(name: str, low: float, high: float) -> None:
    """Give a RangeWarning for a function."""
    if _ranges_are_known.get():
        return
    _warn(
        f"{name}: values are taken to be from {low:g} to {high:g}, and no declared bound guarantees it; "
        "results of values outside are wrong without an error. Declare a bound, for_circuit(largest=) or "
        "encode(largest=), or make the function with clip=True",
        RangeWarning,
    )


def warn_of_bootstrap() -> None:
    """Give a RangeWarning for a bootstrap."""
    if _ranges_are_known.get():
        return
    _warn(
        "bootstrap: values are taken to be from -1 to 1, and no bound is declared; results of larger values "
        "are wrong without an error. Declare a bound, ctx.encode(values, largest=) or "
        "ctx.bind(keys, bootstrap=plan, magnitude=): bootstraps then scale by it",
        RangeWarning,
    )


def warn_of_precision(text: str) -> None:
    """Give a PrecisionWarning."""
    _warn(text, PrecisionWarning)


def warn_of_rows(text: str) -> None:
    """Give a RangeWarning about a client's rows."""
    if _ranges_are_known.get():
        return
    _warn(text, RangeWarning)


@contextmanager
def ranges_are_known() -> Iterator[None]:
    """No RangeWarning inside: for circuits whose authors made sure of their ranges in other ways."""
    token = _ranges_are_known.set(True)
    try:
        yield
    finally:
        _ranges_are_known.reset(token)


@contextmanager
def budgets_are_known() -> Iterator[None]:
    """No NoiseWarning in here: where no result is read."""
    token = _budgets_are_known.set(True)
    try:
        yield
    finally:
        _budgets_are_known.reset(token)


def keep_warnings(kept: Warnings) -> None:
    """Keep the warnings that follow, for work in a thread that is none of the user's."""
    _kept.set(kept)


def give_warnings(kept: Warnings) -> None:
    """Give warnings that were kept."""
    for text, category in kept:
        _warn(text, category)


def _warn(text: str, category: type[HemeraWarning]) -> None:
    kept = _kept.get()
    if kept is not None:
        kept[text, category] = None
        return
    level = 3
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(text, category, stacklevel=level)
