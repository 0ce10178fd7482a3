"""The inputs and the outputs of a packaged model."""

from __future__ import annotations

from dataclasses import dataclass

from hemera.package.readings import Labels
from hemera.program.values import Form

__all__ = ["InputSpec", "OutputSpec"]


@dataclass(frozen=True)
class InputSpec:
    """An input: what a client encrypts for one request."""

    name: str
    width: int
    """Values of each vector."""
    slots: int = 0
    """Slots of each ciphertext, a power of two for CKKS; 0: as few as all inputs fit in."""
    shape: tuple[int, ...] = ()
    """The shape of the batch of ciphertexts that one request has; () for a single one."""
    level: int | None = None
    """CKKS: that they are encrypted at; None: the highest."""
    low: float | None = None
    """The least value that the model is for; None: any."""
    high: float | None = None
    """The largest."""

    @property
    def form(self) -> Form:
        return Form(self.slots, self.shape)


@dataclass(frozen=True)
class OutputSpec:
    """An output: what a client decrypts of one request."""

    name: str
    width: int
    """How many slots have values: the first ones."""
    shape: tuple[int, ...] = ()
    """The shape of the batch of ciphertexts."""
    read: str = "values"
    """The client's reading of the values: a name of `hemera.package.readings.READINGS`."""
    labels: Labels | None = None
    """Labels as results of "sign" and "argmax", in place of numbers of classes."""
    column: bool = False
    """Whether results of a table's rows with one score have the shape (rows, 1), not (rows,)."""
    watched: str = ""
    """The line whose function takes these values. They are no result: clients see whether they lie between
    `low` and `high`, outside of which results are wrong. "": a result."""
    low: float | None = None
    """The least value where results are right; None: not known."""
    high: float | None = None
    """The largest."""
    reach: float | None = None
    """The largest magnitude that inputs in their ranges can lead to, as it is decrypted: results have room
    for it. None: that of the parameters' range_bits."""
