"""Federations with small rings, whose warning was seen."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

import pytest

from hemera import errors
from hemera.multiparty import terms


@pytest.fixture(autouse=True)
def small_ring(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Behaviour, not security."""
    monkeypatch.setattr(terms, "DEGREE", 1024)
    monkeypatch.setattr(terms, "SECURITY", None)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.SecurityWarning)
        yield
