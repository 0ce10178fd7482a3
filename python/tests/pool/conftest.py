"""Pools for the tests of a module."""

import pytest

from .setting import make


@pytest.fixture(scope="module", params=["ckks", "bfv", "bgv"])
def any_scheme(request):
    setting = make(request.param, 3)
    yield setting
    setting.pool.close()


@pytest.fixture(scope="module")
def ckks():
    setting = make("ckks", 3)
    yield setting
    setting.pool.close()
