"""Arrays of integers, exact: their digits in slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hemera.errors import FormatError, MismatchError, NoiseError
from hemera.integers.layout import Layout
from hemera.integers.recorded import Array as Facts
from hemera.package.encodings.base import Encoding, arrays_by_name
from hemera.package.specs import InputSpec, OutputSpec
from hemera.program.operations.integers import of_digits, to_digits
from hemera.program.values import Array, integer

_HALF = 0.25
"""The largest error of a digit that is read."""


@dataclass(frozen=True)
class Integers(Encoding):
    """Arrays of integers and booleans of NumPy's types, in the digits of `hemera.integers`."""

    kind: ClassVar[str] = "integers"
    bits: int
    """The width of the widest type."""
    values: int
    """The number of values in a ciphertext."""
    inputs: tuple[Facts, ...]
    output: Facts

    @property
    def layout(self) -> Layout:
        """The places of digits."""
        return Layout.of(self.bits, self.values)

    def encode(self, rows: Any, inputs: Sequence[InputSpec]) -> list[Array]:
        given = arrays_by_name(rows, self.arguments(inputs))
        found = [self._digits(*each) for each in zip(given, inputs, self.inputs, strict=True)]
        for digits, spec in zip(found, inputs, strict=True):
            _require_form(digits, (*spec.shape, spec.slots))
        return found

    def _digits(self, given: Any, spec: InputSpec, facts: Facts) -> Array:
        array = np.asarray(given)
        own = array.shape[array.ndim - len(facts.shape) :]
        if not np.can_cast(array.dtype, facts.dtype) and not _fits(array, facts):
            raise MismatchError(f"{spec.name}: values of {facts.dtype} are needed, not {array.dtype}")
        if own != facts.shape or array.ndim > len(facts.shape) + 1:
            raise MismatchError(
                f"{spec.name}: an array of shape {facts.shape}, or of several, is needed, not {array.shape}"
            )
        return to_digits(self.layout, array, facts)

    def decode(self, values: list[Array], outputs: Sequence[OutputSpec], rows: int | None) -> Any:
        del outputs, rows
        count = int(np.prod(self.output.shape, dtype=np.int64))
        _require_form(values[0], (self.layout.vectors(count), self.layout.slots))
        digits, most = np.real(values[0]), 1 if self.output.dtype == "bool" else 15
        whole = np.rint(digits)
        if not (np.abs(digits - whole) <= _HALF).all() or whole.min() < 0 or whole.max() > most:
            raise NoiseError("there are no digits; the values were made with other keys, or damaged")
        return of_digits(self.layout, digits, self.output)

    def count(self, rows: Any, inputs: Sequence[InputSpec]) -> int | None:
        del rows, inputs
        return None

    def to_data(self) -> dict[str, Any]:
        facts = [each.to_data() for each in self.inputs]
        own = {"bits": self.bits, "values": self.values}
        return {"kind": self.kind, **own, "inputs": facts, "output": self.output.to_data()}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Integers:
        bits, values = integer(data["bits"], "bits", 8, 64), integer(data["values"], "values", 1, 1 << 16)
        inputs = tuple(map(Facts.from_data, data["inputs"]))
        return cls(bits, values, inputs, Facts.from_data(data["output"]))

    def require_fit(self, inputs: int, outputs: int) -> None:
        if (inputs, outputs) != (len(self.inputs), 1):
            raise FormatError(f"{len(self.inputs)} arrays of integers, and the model has {inputs} inputs")


def _require_form(slots: Array, form: tuple[int, ...]) -> None:
    """FormatError for other ciphertexts than a description tells."""
    if slots.shape[slots.ndim - len(form) :] != form:
        raise FormatError(f"integers in ciphertexts of shape {slots.shape}, and not {form}")


def _fits(array: Array, facts: Facts) -> bool:
    """Whether integers, as those of Python are, lie in the range of a type."""
    if array.dtype.kind not in "iu" or facts.dtype == "bool":
        return False
    limits = np.iinfo(facts.dtype)
    return bool(array.min() >= limits.min and array.max() <= limits.max)
