"""The operators of ONNX that are there (https://onnx.ai/onnx/operators/), each with its versions."""

from __future__ import annotations

from hemera.compiler.networks.elementwise import ELEMENTWISE
from hemera.compiler.networks.meanings import Meaning
from hemera.compiler.networks.places import PLACES
from hemera.compiler.networks.products import PRODUCTS
from hemera.compiler.networks.recurrent import RECURRENT
from hemera.compiler.networks.resizing import RESIZING
from hemera.compiler.networks.windows import WINDOWS

__all__ = ["OPERATORS", "meaning_of"]

OPERATORS: dict[str, tuple[Meaning, ...]] = dict(
    sorted({**ELEMENTWISE, **PRODUCTS, **PLACES, **RECURRENT, **RESIZING, **WINDOWS}.items())
)
"""The operators' meanings, by their names in ONNX's own domain."""


def meaning_of(operator: str, version: int) -> Meaning | None:
    """The meaning of ONNX's operator in the version in which its schema changed; None: it is not there."""
    known = (each for each in OPERATORS.get(operator, ()) if version in each.versions)
    return next(known, None)
