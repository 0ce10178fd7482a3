"""The packages of extra requirements, for messages that say what to install."""

from __future__ import annotations

__all__ = ["EXTRAS", "how_to_install"]

EXTRAS = {
    "models": ("scikit-learn",),
    "serving": ("fastapi", "httptools", "httpx", "prometheus-client", "python-multipart", "uvicorn"),
}
"""As pyproject.toml has them."""


def how_to_install(extra: str, *packages: str, project: str = ".") -> str:
    """What brings the packages of an extra, or those of them that are named.

    The packages are named one by one: there is no package `hemera` on the index, and what somebody else puts
    there under that name is not this one.

    Args:
        extra: of `EXTRAS`.
        packages: of the extra; none: all.
        project: the folder of the clone that has the extra.
    """
    names = " ".join(packages or EXTRAS[extra])
    return f"pip install {names} (in a clone of Hemera: pip install '{project}[{extra}]')"
