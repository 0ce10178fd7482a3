"""A server's offer to its clients: parameters, keys, bins, and the feature that each node compares.

Splits, leaf scores and the base are not in an offer. docs/applications.md describes what this hides.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import hemera
from hemera.errors import FormatError
from hemera.program.keys import KeyList
from hemera.trees.ensemble import Integers
from hemera.trees.layout import Layout
from hemera.trees.quantise import Quantiser
from hemera_apps.trees.paper import PaperLayout

_FORMAT = "hemera trees 3"


@dataclass(frozen=True)
class Offer:
    """The offer of one model, for up to `samples` samples a request."""

    params: hemera.bfv.Parameters
    layout: Layout | PaperLayout
    features: Integers
    """Shape (K, T, nodes): the feature that each node compares, for the places where some tree has a
    comparison."""
    quantiser: Quantiser
    scale: int
    """The factor of integer scores: they are the model's times this number."""
    classes: int
    """The number of classes; 0: a regression."""
    samples: int
    keys: KeyList = field(default_factory=KeyList)
    """The keys that the server's circuit asks for."""

    def to_bytes(self) -> bytes:
        """The offer as JSON."""
        return json.dumps(
            {
                "format": _FORMAT,
                "params": base64.b64encode(bytes(self.params)).decode(),
                "workload": "paper" if isinstance(self.layout, PaperLayout) else "packed",
                "layout": asdict(self.layout),
                "features": self.features.tolist(),
                **self.quantiser.to_data(),
                "scale": self.scale,
                "classes": self.classes,
                "samples": self.samples,
                "keys": self.keys.to_data(),
            }
        ).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Offer:
        """The offer from JSON. FormatError if the bytes are no offer."""
        try:
            fields: dict[str, Any] = json.loads(data)
            if fields["format"] != _FORMAT:
                raise FormatError(f"the offer is of format {fields['format']!r}, not {_FORMAT!r}")
            params = hemera.bfv.Parameters.load(base64.b64decode(fields["params"]))
            kind = {"paper": PaperLayout, "packed": Layout}[fields["workload"]]
            return cls(
                params,
                kind(**fields["layout"]),
                np.asarray(fields["features"], np.int64),
                Quantiser.from_data(fields),
                int(fields["scale"]),
                int(fields["classes"]),
                int(fields["samples"]),
                KeyList.from_data(fields["keys"], params),
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, hemera.Error):
                raise
            raise FormatError(f"not an offer of a server of trees: {error}") from error
