"""Contexts of encrypted integers hold keys and matrices of gigabytes: those of a file end with it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from . import setting


@pytest.fixture(scope="module", autouse=True)
def contexts_end() -> Iterator[None]:
    yield
    setting.context.cache_clear()
    gc.collect()
