"""Tables of mistakes with the errors that they give."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Mistake = tuple[Callable[[], object], type[Exception], str | None]
"""A call, its error, and words of the error's text; None: any words."""


def refuse(*mistakes: Mistake) -> None:
    """Each call gives its error."""
    for call, error, words in mistakes:
        with pytest.raises(error, match=words):
            call()
