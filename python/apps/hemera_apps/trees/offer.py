"""What a server tells its clients: parameters, bins, and which feature each node compares.

Not in it: splits, leaf scores, and the base. docs/applications.md says what this hides.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import hemera
from hemera.errors import FormatError
from hemera.trees.ensemble import Integers
from hemera.trees.layout import Layout
from hemera.trees.quantise import Quantiser
from hemera_apps.trees.paper import PaperLayout

_FORMAT = "hemera trees 2"


@dataclass(frozen=True)
class Offer:
    """Of one model, for up to `samples` samples a request."""

    params: hemera.bfv.Parameters
    layout: Layout | PaperLayout
    features: Integers
    """Shape (K, T, nodes): the feature that each node of a tree compares, at those places of the tree where
    any tree has a comparison."""
    quantiser: Quantiser
    scale: int
    """Integer scores are the model's times this."""
    classes: int
    """0: a regression."""
    samples: int

    def to_bytes(self) -> bytes:
        """JSON."""
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
            }
        ).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Offer:
        """The offer. FormatError when the bytes are none."""
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
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, hemera.Error):
                raise
            raise FormatError(f"not an offer of a server of trees: {error}") from error
