"""Contexts of encrypted integers hold keys and matrices: the files of this folder share them."""

import gc

import pytest

import hemera as hm

from . import setting

MAKE = hm.ckks.Parameters.for_bootstrapping


@pytest.fixture(scope="module", autouse=True)
def _small_ring():
    """Their preset has a ring of N = 2^10, and half of the time of bootstraps; processes have its own."""

    def made(preset, **fields):
        return MAKE(preset, **({"degree": 1024} if preset == "test-exact" else {}), **fields)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hm.ckks.Parameters, "for_bootstrapping", made)
        yield


@pytest.fixture
def whole_ring(monkeypatch):
    """The preset as it is."""
    monkeypatch.setattr(hm.ckks.Parameters, "for_bootstrapping", MAKE)


def pytest_runtest_teardown(item, nextitem):
    """Free the contexts after the last test of the folder."""
    if nextitem is None or nextitem.path.parent != item.path.parent:
        for each in (setting.context, setting.secret):
            each.cache_clear()
        gc.collect()
