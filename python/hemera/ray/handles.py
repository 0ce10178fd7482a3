"""How the server talks to a replica: calls that come back later, or are lost with it."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Protocol


class Lost(Exception):  # noqa: N818  # an outcome of a call
    """The replica died or is not to be reached: nobody knows whether it has done the call."""


class Full(Exception):  # noqa: N818
    """There was no room for the message; the replica has got nothing."""


class Handle(Protocol):
    """One replica."""

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        """Call a method of `Replica`. The future has its result, or the error: `Lost`, `Full` or another."""

    def kill(self) -> None:
        """End the process. Does no harm where it has ended."""
