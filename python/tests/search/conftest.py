"""What tests of searches share."""

from __future__ import annotations

import pytest

from .threshold_cases import World


@pytest.fixture(scope="module")
def clear() -> World:
    return World(False)


@pytest.fixture(scope="module")
def encrypted() -> World:
    return World(True)


@pytest.fixture(params=["clear", "encrypted"])
def world(request: pytest.FixtureRequest) -> World:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, World)
    return found
