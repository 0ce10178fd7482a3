"""Rows of tables: how they are scaled."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import FormatError, HemeraWarning
from hemera.package.encodings.base import finite_rows, require_columns
from hemera.program.values import real

Floats = NDArray[np.float64]
_ROUNDING = 1e-9
"""Part of the range by which a value on its end may lie outside."""
_COLUMNS_TOLD = 3
"""Columns that a warning names."""


@dataclass(frozen=True)
class Scaling:
    """How a client brings the columns of a table into [-clip, clip]."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    """Features become (x - mean) / deviation."""
    clip: float
    names: tuple[str, ...] = ()
    """The names of the features, if they are known."""
    saturates: bool = False
    """Whether the model itself clips there; otherwise a client that clips warns."""

    def __call__(self, rows: Any) -> Floats:
        """Standardised and clipped rows. Warns of the columns that are clipped, unless the model saturates
        there."""
        require_columns(rows, self.names)
        values = finite_rows(rows, len(self.mean), "score")
        scaled = (values - np.asarray(self.mean)) / np.asarray(self.deviation)
        clipped = np.clip(scaled, -self.clip, self.clip)
        if not self.saturates:
            self._warn_of(values, np.abs(scaled) > self.clip * (1 + _ROUNDING))
        return np.asarray(clipped, np.float64)

    def to_data(self) -> dict[str, Any]:
        """Fields for JSON."""
        return {
            **vars(self),
            "mean": list(self.mean),
            "deviation": list(self.deviation),
            "names": list(self.names),
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Scaling:
        """The scaling that `to_data` told. FormatError."""
        mean = tuple(real(x, "a mean") for x in data["mean"])
        deviation = tuple(real(x, "a deviation") for x in data["deviation"])
        names = tuple(map(str, data["names"]))
        if not 1 <= len(mean) == len(deviation) or min(deviation) <= 0:
            raise FormatError(f"{len(mean)} features need as many means, and deviations above 0")
        if len(names) not in (0, len(mean)):
            raise FormatError(f"{len(mean)} features have {len(names)} names")
        # Packages from before there was `saturates` are without it.
        return cls(mean, deviation, real(data["clip"], "clip"), names, bool(data.get("saturates", False)))

    def _warn_of(self, values: Floats, outside: NDArray[np.bool_]) -> None:
        columns = np.flatnonzero(outside.any(axis=0))
        if len(columns) == 0:
            return
        told = []
        for at in columns[:_COLUMNS_TOLD]:
            named = f" ({self.names[at]})" if self.names else ""
            far = values[outside[:, at], at]
            worst = far[np.abs(far - self.mean[at]).argmax()]
            low, high = (self.mean[at] + sign * self.clip * self.deviation[at] for sign in (-1, 1))
            told.append(f"column {at}{named} has {worst:g}, and the model is for {low:g} to {high:g}")
        if len(columns) > _COLUMNS_TOLD:
            told.append(f"{len(columns) - _COLUMNS_TOLD} more columns")
        warnings.warn(
            f"{int(outside.any(axis=1).sum())} of {len(values)} rows are clipped, and their results are "
            f"those of the clipped rows: {'; '.join(told)}. Package the model for a wider range (calibrate=)",
            HemeraWarning,
            stacklevel=2,
        )
