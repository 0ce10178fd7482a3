"""The packages of extra requirements, for messages that say what to install."""

from __future__ import annotations

import hemera._extras

__all__ = ["EXTRAS", "how_to_install"]

EXTRAS = {
    "demo": ("scikit-learn",),
    "applications": ("matplotlib", "pandas", "scikit-learn"),
    "plots": ("matplotlib",),
    "parquet": ("pandas", "pyarrow"),
    "trees": ("lightgbm", "pandas", "scikit-learn", "xgboost"),
    "bench": ("matplotlib", "tenseal"),
}
"""As pyproject.toml has them."""


def how_to_install(extra: str, *packages: str) -> str:
    """What brings the packages of an extra, or those of them that are named."""
    return hemera._extras.how_to_install(extra, *packages or EXTRAS[extra], project="./python/apps")
