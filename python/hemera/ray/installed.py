"""Ray itself, imported when it is first used."""

from __future__ import annotations

import os
import secrets
from typing import Any

from hemera._extras import how_to_install
from hemera.errors import ParameterError

ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0"}
"""The environment of processes of Ray, unless the user has set them. Ray reads them when it is imported."""


_ALONE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's word for processes of several machines; without them all listen on loopback alone."""
_MODE, _TOKEN, _TOKEN_FILE = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"


def keep_to_this_machine() -> None:
    """Have a cluster that this process starts listen on loopback alone, and answer nobody without a token,
    which is a fresh one. What the user has set stays. Before Ray is imported."""
    os.environ.setdefault(_ALONE, "0")
    if _MODE not in os.environ:
        os.environ[_MODE] = "token"
        if _TOKEN_FILE not in os.environ:
            os.environ.setdefault(_TOKEN, secrets.token_hex(32))


def imported() -> Any:
    """The package `ray`. ParameterError with the way out where it is not installed."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ParameterError(f"{error.name} is not installed: {how_to_install('ray')}") from None
    return ray
