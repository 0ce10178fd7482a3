"""The protocol of contexts, for arrays, which stand below them."""

from __future__ import annotations

from collections.abc import MutableMapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from hemera.integers.bounded import Bounded
from hemera.integers.engine import Engine
from hemera.objects.ciphertext import Ciphertext


class Home(Protocol):
    """A `hemera.integers.Context`."""

    @property
    def bits(self) -> int: ...
    @property
    def _engine(self) -> Engine: ...
    def _levels_of(self, held: Bounded) -> int: ...
    def _with_levels(self, held: Bounded, levels: int) -> Bounded: ...
    def _bound(self, held: Bounded) -> Bounded: ...
    def _keeping(self, constants: MutableMapping[object, Ciphertext]) -> AbstractContextManager[None]: ...
    def encrypt(self, values: Any) -> Any: ...
