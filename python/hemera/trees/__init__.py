"""Gradient-boosted trees: models as an `Ensemble`, its integers, layout and circuit (BFV).

`hemera.compile` packages models. docs/applications.md describes the circuit.
"""

from hemera.trees.ensemble import Ensemble
from hemera.trees.quantise import Quantiser
from hemera.trees.read import read_model

__all__ = ["Ensemble", "Quantiser", "read_model"]
