"""Ray itself, imported when it is first used."""

from __future__ import annotations

from typing import Any

from hemera._extras import how_to_install
from hemera.errors import ParameterError

__all__ = ["imported"]


def imported() -> Any:
    """The package `ray`. ParameterError with the way out where it is not installed."""
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ParameterError(f"{error.name} is not installed: {how_to_install('ray')}") from None
    return ray
