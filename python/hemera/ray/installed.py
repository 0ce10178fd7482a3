"""Ray itself, imported when it is first used."""

from __future__ import annotations

import os
from typing import Any

from hemera._extras import how_to_install
from hemera.errors import ParameterError

__all__ = ["ENVIRONMENT", "imported"]

ENVIRONMENT = {
    # Bytes up to which what travels is part of a message. What is larger lies in the store, in memory that
    # both processes map: with Ray's own 100 KiB a request of 143 KiB took 12 ms more of processors' time.
    "RAY_max_direct_call_object_size": str(4 << 20),
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""Of processes of Ray, unless the user has set them. Ray reads them when it is imported."""


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
