"""What all of this package has to say of itself, once a process."""

from __future__ import annotations

import warnings

from hemera.errors import SecurityWarning

UNREVIEWED = (
    "hemera.multiparty has not been reviewed by a cryptographer from outside: "
    "docs/multiparty.md says what is claimed, and what is not"
)
_warned: list[bool] = []


def warn_once() -> None:
    """A SecurityWarning for the caller's caller."""
    if not _warned:
        _warned.append(True)
        warnings.warn(UNREVIEWED, SecurityWarning, stacklevel=3)
