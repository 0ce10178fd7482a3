"""The packages of extra requirements, for messages that say what to install."""

from __future__ import annotations

__all__ = ["EXTRAS", "how_to_install"]

EXTRAS = {
    "demo": ("scikit-learn",),
    "applications": ("matplotlib", "pandas", "scikit-learn"),
    "plots": ("matplotlib",),
    "parquet": ("pandas", "pyarrow"),
    "serving": ("fastapi", "httptools", "httpx", "prometheus-client", "python-multipart", "uvicorn"),
    "trees": ("lightgbm", "pandas", "scikit-learn", "xgboost"),
    "bench": ("matplotlib", "tenseal"),
}
"""As pyproject.toml has them."""


def how_to_install(extra: str, *packages: str) -> str:
    """What brings the packages of an extra, or those of them that are named.

    The packages are named one by one: there is no package `hemera` on the index, and what somebody else puts
    there under that name is not this one.
    """
    return (
        f"pip install {' '.join(packages or EXTRAS[extra])} (in a clone of Hemera: pip install '.[{extra}]')"
    )
