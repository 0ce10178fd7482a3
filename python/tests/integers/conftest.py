"""Contexts of encrypted integers hold keys and matrices: the files of this folder share them."""

from __future__ import annotations

import gc

import pytest

from . import setting


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Free the contexts after the last test of the folder."""
    if nextitem is None or nextitem.path.parent != item.path.parent:
        for each in (setting.context, setting.secret):
            each.cache_clear()
        gc.collect()
