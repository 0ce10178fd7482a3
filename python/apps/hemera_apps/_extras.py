"""The packages of extra requirements, for messages with the command that installs them."""

from __future__ import annotations

import hemera._extras

EXTRAS = {
    "demo": ("pandas", "scikit-learn"),
    "applications": ("matplotlib", "pandas", "scikit-learn"),
    "plots": ("matplotlib",),
    "parquet": ("pandas", "pyarrow"),
    "trees": ("lightgbm", "pandas", "scikit-learn", "xgboost"),
    "bench": ("matplotlib", "tenseal"),
}
"""The same as in pyproject.toml."""


def how_to_install(extra: str, *packages: str) -> str:
    """The commands that install the packages of an extra, or the named ones of them."""
    return hemera._extras.how_to_install(extra, *packages or EXTRAS[extra], project="./python/apps")
