"""Mistakes with the errors that they give, one by one and as tables."""

import pytest


def raises(error, words, call, /, *args, **options):
    """The call gives the error, with these words if there are some."""
    with pytest.raises(error, match=words or None):
        call(*args, **options)


def refuse(*mistakes):
    """Each call gives its error: of a call, the error, and words of its text, or None for any."""
    for call, error, words in mistakes:
        raises(error, words or "", call)


def refuse_each(call, given, error, words=None):
    """The call gives the error for each of the values."""
    for each in given:
        raises(error, words or "", call, each)
