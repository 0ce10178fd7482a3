"""What tests of searches share."""

import pytest

from .threshold_cases import World, in_small_rings


@pytest.fixture(scope="module")
def small_rings():
    """Within a module that asks for it, encrypted comparisons are in small rings."""
    with in_small_rings():
        yield


@pytest.fixture(scope="module")
def clear(small_rings):  # noqa: ARG001
    return World(False)


@pytest.fixture(scope="module")
def encrypted(small_rings):  # noqa: ARG001
    return World(True)


@pytest.fixture(params=["clear", "encrypted"])
def world(request):
    found = request.getfixturevalue(request.param)
    assert isinstance(found, World)
    return found
