"""What the settings of all indexes have in common: they travel, and their digest names them in messages."""

from __future__ import annotations

import hashlib
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from hemera._process import cached_property
from hemera.ckks import Parameters
from hemera.errors import FormatError, ParameterError, RangeError
from hemera.inputs.fields import Kind, Real, Whole, damaged, require_fields
from hemera.inputs.source import Source, read_bytes
from hemera.search import wire

if sys.version_info >= (3, 11):
    from typing import Self
else:
    from typing_extensions import Self

__all__ = ["AnySettings", "Metric", "require_scores"]

Metric = Literal["cosine", "dot", "l2"]
MOST_DIMS = 1 << 17
DIMS = Whole(1, MOST_DIMS)
SIZE = Real(5e-324, 1.7e308)
"""The range of a scale, or of a bound."""
_LEAST_SCORE, _LARGEST_SCORE = 1e-290, 1e300
"""The range of the largest scores: below, scores lose digits, and above they may be infinite."""


class AnySettings(ABC):
    """All that a client needs to know of an index. Classes of settings are frozen data classes."""

    _kind: ClassVar[str]
    """The kind of their message."""
    _fields: ClassVar[Mapping[str, Kind]]
    """The fields of a header."""

    dims: int
    metric: Metric
    owner: str

    @property
    @abstractmethod
    def params(self) -> Parameters:
        """The parameters of encryption, with 128 bits of security (docs/security.md)."""

    def _require_common(self) -> None:
        """ParameterError unless the metric, the number of dims and the owner's name are some."""
        if not DIMS.has(self.dims):
            raise ParameterError(f"dims is {DIMS}, not {self.dims!r}")
        if self.metric not in get_args(Metric):
            raise ParameterError(f"metric must be one of {', '.join(get_args(Metric))}, not {self.metric!r}")
        if self.owner and not re.fullmatch("[0-9a-f]{32}", self.owner):
            raise ParameterError(f"an owner's name has 32 hexadecimal digits, and is not {self.owner!r}")

    @cached_property
    def digest(self) -> str:
        """32 hexadecimal digits that name the settings in queries and answers."""
        return hashlib.sha256(bytes(self)).hexdigest()[:32]

    def to_fields(self) -> dict[str, Any]:
        """The fields of a header."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    def to_bytes(self) -> bytes:
        """The settings as a message to a client."""
        return wire.pack(self._kind, self.to_fields())

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    @classmethod
    def load(cls, source: Source) -> Self:
        """Settings from their bytes or a file's path.

        Raises:
            FormatError: if they are damaged, or of another version.
            FileError: if the file can not be read.
        """
        header, body = wire.unpack_any(cls._kind, read_bytes(source))
        if len(body) != 0:
            raise FormatError(f"the settings of a search have {len(body)} bytes after their header")
        return cls.from_fields(header)

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """Settings of a header. FormatError if a field is missing or out of its range."""
        require_fields(fields, cls._wanted(fields), "the settings of a search")
        with damaged("the header of the settings of a search"):
            return cls(**fields)

    @classmethod
    def _wanted(cls, fields: Mapping[str, Any]) -> Mapping[str, Kind]:  # noqa: ARG003
        """The fields that a header with these has to have."""
        return cls._fields


def require_scores(metric: str, row_norm: float, norm: float) -> None:
    """RangeError unless scores of rows up to a norm and a query of a norm are doubles."""
    with np.errstate(over="ignore", under="ignore"):
        reach = np.float64(row_norm) + np.float64(norm)
        largest = reach * reach if metric == "l2" else np.float64(row_norm) * np.float64(norm)
    if metric != "cosine" and norm and not _LEAST_SCORE < largest < _LARGEST_SCORE:
        raise RangeError(
            f"scores of rows of norm {row_norm:.3g} and a query of norm {norm:.3g} are no doubles: multiply "
            "vectors and queries by a number that brings them near to 1"
        )
