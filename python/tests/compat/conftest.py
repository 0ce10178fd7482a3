"""Contexts of TenSEAL's interface, made once."""

import pytest

import hemera.compat.tenseal as ts


@pytest.fixture(scope="session")
def ckks():
    """Two levels, 4096 slots, all keys."""
    context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, [60, 40, 40, 60], n_threads=1)
    context.global_scale = 2**40
    context.generate_galois_keys()
    return context


@pytest.fixture(scope="session")
def bfv():
    """4096 slots in two rows, all keys."""
    context = ts.context(ts.SCHEME_TYPE.BFV, 4096, 1032193, n_threads=1)
    context.generate_galois_keys()
    return context
