"""Mistakes with the errors that they give, one by one and as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

Mistake = tuple[Callable[[], object], type[Exception], str | None]
"""A call, its error, and words of the error's text; None: any words."""


def raises(error: Any, words: str, call: Callable[..., object], /, *args: Any, **options: Any) -> None:
    """The call gives the error, with these words if there are some."""
    with pytest.raises(error, match=words or None):
        call(*args, **options)


def refuse(*mistakes: Mistake) -> None:
    """Each call gives its error."""
    for call, error, words in mistakes:
        raises(error, words or "", call)


def refuse_each(
    call: Callable[..., object], given: Iterable[object], error: Any, words: str | None = None
) -> None:
    """The call gives the error for each of the values."""
    for each in given:
        raises(error, words or "", call, each)
