"""Ray itself, imported when it is first used."""

from __future__ import annotations

import os
from typing import Any

from hemera._extras import how_to_install
from hemera.errors import ParameterError

__all__ = ["ENVIRONMENT", "imported"]

ENVIRONMENT = {
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
