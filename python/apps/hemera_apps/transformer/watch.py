"""A watcher of the steps of an encrypted block."""

from __future__ import annotations

from typing import Protocol

import hemera as hm


class Watch(Protocol):
    """Is told the steps of a block."""

    def stage(self, name: str) -> None:
        """A step has been given to the device."""

    def see(self, name: str, rows: hm.Ciphertext, factor: float) -> None:
        """Rows that are values of a step, divided by a factor. Names are those of
        `hemera_apps.transformer.clear.clear_block`; "scores" are those of the first head, of all tokens with
        the next ones, a row for each distance, or of all heads with the first places of distances
        (`hemera_apps.transformer.single.attention`)."""


class Unwatched:
    """Ignores all."""

    def stage(self, name: str) -> None: ...

    def see(self, name: str, rows: hm.Ciphertext, factor: float) -> None: ...
