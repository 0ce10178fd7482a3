"""Pools for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .setting import Setting, make


@pytest.fixture(scope="module", params=["ckks", "bfv", "bgv"])
def any_scheme(request: pytest.FixtureRequest) -> Iterator[Setting]:
    setting = make(request.param, 3)
    yield setting
    setting.pool.close()


@pytest.fixture(scope="module")
def ckks() -> Iterator[Setting]:
    setting = make("ckks", 3)
    yield setting
    setting.pool.close()
