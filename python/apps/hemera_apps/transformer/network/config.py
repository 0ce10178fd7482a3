"""The settings that client and server of a network agree on."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hemera.errors import FormatError
from hemera_apps.transformer.approximations import Approximations, Degrees
from hemera_apps.transformer.clear import Ranges, Shape


@dataclass(frozen=True)
class NetworkConfig:
    """The sizes of a network and of its circuit: nothing that was learned, and nothing of an input."""

    shape: Shape = field(default_factory=Shape)
    blocks: int = 12
    classes: int = 2
    vocabulary: int = 28996
    """Words of the table of embeddings."""
    degrees: Degrees = field(default_factory=Degrees)
    preset: str = "n16-40"
    fields: dict[str, Any] = field(default_factory=dict)
    """Fields of `for_bootstrapping`, but for the levels."""

    def functions(self, ranges: Ranges) -> Approximations:
        """The functions of a block. ParameterError if a range is too wide."""
        return Approximations(ranges, self.shape.features, degrees=self.degrees, tokens=self.shape.tokens)

    def save(self, path: Path) -> None:
        """Save as a JSON file."""
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> NetworkConfig:
        """A file of `save`.

        Raises:
            FormatError: if it is another one.
        """
        try:
            read = json.loads(path.read_text(encoding="utf-8"))
            shape, degrees = Shape(**read.pop("shape")), read.pop("degrees")
            degrees["inverse_roots"] = tuple(degrees["inverse_roots"])
            return cls(shape=shape, degrees=Degrees(**degrees), **read)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"{path} has no sizes of a network: {error!r}") from error
