"""Gradient-boosted trees on encrypted samples, with BFV: `read_model`, then `Server` and `Client`.

docs/applications.md says how it works, and what is hidden from whom.
"""

from hemera.applications.trees.client import Client
from hemera.applications.trees.ensemble import Ensemble, predicted, random_ensemble
from hemera.applications.trees.parameters import PARAMETERS
from hemera.applications.trees.quantise import Quantiser
from hemera.applications.trees.read import read_model
from hemera.applications.trees.server import Server

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
