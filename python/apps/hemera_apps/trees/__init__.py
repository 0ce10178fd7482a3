"""Gradient-boosted trees on encrypted samples, with BFV: `read_model`, then `Server` and `Client`.

docs/applications.md describes the circuit, and what is hidden from whom.
"""

from hemera.trees import PARAMETERS, Ensemble, Quantiser, predicted, random_ensemble, read_model
from hemera_apps.trees.client import Client
from hemera_apps.trees.server import Server

__all__ = [
    "PARAMETERS",
    "Client",
    "Ensemble",
    "Quantiser",
    "Server",
    "predicted",
    "random_ensemble",
    "read_model",
]
