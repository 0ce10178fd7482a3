"""Vectors as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hemera.errors import MismatchError
from hemera.inputs.plain import plain_array
from hemera.package.encodings.base import Encoding, arrays_by_name, require_range
from hemera.package.specs import InputSpec, OutputSpec, read_as
from hemera.program.values import Array


class Vectors(Encoding):
    """Vectors as they are: one array an input, of shape (..., *shape, width)."""

    kind = "vectors"

    def encode(self, rows: Any, inputs: Sequence[InputSpec]) -> list[Array]:
        given = arrays_by_name(rows, self.arguments(inputs))
        found = []
        for values, spec in zip(given, inputs, strict=True):
            array = plain_array(values, spec.name)
            own = (*spec.shape, spec.width)
            if array.shape[-len(own) :] != own:
                wanted = ", ".join(map(str, own))
                raise MismatchError(
                    f"{spec.name}: an array of shape (..., {wanted}) is needed, not {array.shape}"
                )
            require_range(array, spec)
            padded = np.zeros((*array.shape[:-1], spec.slots), array.dtype)
            padded[..., : spec.width] = array
            found.append(padded)
        return found

    def decode(self, values: list[Array], outputs: Sequence[OutputSpec], rows: int | None) -> Any:
        del rows
        read = [
            read_as(array[..., : spec.width], spec.read, spec.labels)
            for array, spec in zip(values, outputs, strict=True)
        ]
        return read[0] if len(read) == 1 else dict(zip((spec.name for spec in outputs), read, strict=True))
