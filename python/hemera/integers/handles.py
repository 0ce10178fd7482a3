"""The protocol of contexts, for arrays, which stand below them."""

from __future__ import annotations

from typing import Any, Protocol

from hemera.integers.bounded import Bounded
from hemera.integers.engine import Engine


class Home(Protocol):
    """A `hemera.integers.Context`."""

    @property
    def bits(self) -> int: ...
    @property
    def _engine(self) -> Engine: ...
    def _bound(self, held: Bounded) -> Bounded: ...
    def encrypt(self, values: Any) -> Any: ...
