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


@pytest.fixture(scope="module", params=[2, 3])
def ckks(request: pytest.FixtureRequest) -> Iterator[Setting]:
    setting = make("ckks", request.param)
    yield setting
    setting.pool.close()
