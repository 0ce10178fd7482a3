"""The facts that an index and its clients agree on: the settings, and the kind of answers."""

from __future__ import annotations

import hashlib
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera._process import cached_property
from hemera.ckks import Parameters
from hemera.errors import FormatError, ParameterError, RangeError
from hemera.inputs.fields import Kind, Real, Whole, damaged, require_fields
from hemera.inputs.source import Source, read_bytes
from hemera.search import wire

Metric = Literal["cosine", "dot", "l2"]
MOST_DIMS = 1 << 17
_DIMS = Whole(1, MOST_DIMS)
SIZE = Real(5e-324, 1.7e308)
"""The range of a scale, or of a bound."""
LEAST_SCORE, LARGEST_SCORE = 1e-290, 1e300
"""The range of the largest scores: below, scores lose digits, and above they may be infinite."""


@dataclass(frozen=True)
class Errors:
    """Standard deviations of the errors of a score, for a query of norm 1. For "dot" and "l2" they grow with
    the query's norm."""

    noise: float
    """The noise of encryption."""
    quantization: float
    """The error of the vectors' rounding: to int8, or in a clear index with thresholds to float32."""

    @property
    def bits(self) -> float:
        """The bits of a score of 1 above both; infinite where there are no errors."""
        both = math.hypot(self.noise, self.quantization)
        return -math.log2(both) if both else math.inf


class Answers(ABC):
    """The results that an index gives of its scores: a frozen data class for each kind of answer."""

    kind: ClassVar[str]
    """The first word of the kinds of files and messages."""
    kinds: ClassVar[dict[str, type[Answers]]] = {}
    """All kinds of answers."""
    ranges: ClassVar[Mapping[str, Kind]]
    """The fields of a header, in its order."""

    def __init_subclass__(cls) -> None:
        Answers.kinds[cls.kind] = cls

    @classmethod
    def of_kind(cls, kind: str) -> type[Answers] | None:
        """The answers of a kind of files or messages, as "encrypted threshold index"; None for others."""
        return cls.kinds.get(kind.removeprefix("encrypted ").rpartition(" ")[0])

    @abstractmethod
    def fitted(self, vectors: NDArray[Any], metric: Metric, payloads: ArrayLike | None) -> Answers:
        """The same for an index that begins with these vectors, with its bounds. ParameterError,
        MismatchError."""

    @abstractmethod
    def program(self, settings: Settings) -> Any:
        """The program of clients and indexes of these settings: a `ScoreProgram` or `Comparisons`.
        ParameterError, RangeError for a field out of its range."""


@dataclass(frozen=True)
class Settings:
    """All that a client needs to know of an index. They say nothing of its vectors but these numbers.

    Raises:
        ParameterError: if a field is out of its range.
        RangeError: if scores of such rows are no doubles.
    """

    dims: int
    """Numbers of a vector."""
    metric: Metric
    """"cosine": the scores are cosines; "dot": inner products; "l2": squares of distances."""
    answers: Answers
    """The results that answers give of the scores."""
    owner: str = ""
    """A name for the secret key that reads an index of encrypted rows, 32 hexadecimal digits.
    "": a clear index."""

    def __post_init__(self) -> None:
        if not _DIMS.has(self.dims):
            raise ParameterError(f"dims is {_DIMS}, not {self.dims!r}")
        if self.metric not in get_args(Metric):
            raise ParameterError(f"metric must be one of {', '.join(get_args(Metric))}, not {self.metric!r}")
        if self.owner and not re.fullmatch("[0-9a-f]{32}", self.owner):
            raise ParameterError(f"an owner's name has 32 hexadecimal digits, and is not {self.owner!r}")
        _ = self.program

    @cached_property
    def program(self) -> Any:
        """The program of clients and the index, by the numbers of the settings."""
        return self.answers.program(self)

    @property
    def params(self) -> Parameters:
        """The parameters of encryption, with 128 bits of security (docs/security.md)."""
        params: Parameters = self.program.params
        return params

    @cached_property
    def digest(self) -> str:
        """32 hexadecimal digits that name the settings in queries and answers."""
        return hashlib.sha256(bytes(self)).hexdigest()[:32]

    def kind(self, what: str) -> str:
        """The kind of a file or message of such an index."""
        return f"{self.answers.kind} {what}".lstrip()

    @property
    def index_kind(self) -> str:
        """The kind of a file of such an index, as "encrypted threshold index"."""
        return ("encrypted " if self.owner else "") + self.kind("index")

    def to_fields(self) -> dict[str, Any]:
        """The fields of a header. Clear indexes of scores have no owner."""
        own = {name: getattr(self.answers, name) for name in self.answers.ranges}
        found = {"dims": self.dims, "metric": self.metric, **own}
        return {**found, "owner": self.owner} if self.owner or self.answers.kind else found

    def to_bytes(self) -> bytes:
        """The settings as a message to a client."""
        return wire.pack(self.kind("settings"), self.to_fields())

    __bytes__ = to_bytes

    @classmethod
    def load(cls, source: Source) -> Settings:
        """Settings from their bytes or a file's path.

        Raises:
            FormatError: if they are damaged, or of another version.
            FileError: if the file can not be read.
        """
        data = read_bytes(source)
        kind = wire.kind_of(data)
        if not kind.endswith("settings") or Answers.of_kind(kind) is None:
            kind = "settings"  # whose error names the kind that this is of
        header, body = wire.unpack(kind, data)
        if len(body) != 0:
            raise FormatError(f"the settings of a search have {len(body)} bytes after their header")
        return cls.from_fields(header, kind)

    @classmethod
    def from_fields(cls, given: dict[str, Any], kind: str = "settings") -> Settings:
        """Settings of a header.

        Args:
            given: its fields, as `to_fields` has them.
            kind: of the file or message.

        Raises:
            FormatError: if a field is missing or out of its range, or the kind is none of an index.
        """
        answers = Answers.of_kind(kind)
        if answers is None:
            raise FormatError(f"{kind!r} is no kind of index; take a newer Hemera")
        owner = {"owner": str} if answers.kind or "owner" in given else {}
        require_fields(
            given, {"dims": _DIMS, "metric": str, **answers.ranges, **owner}, "the settings of a search"
        )
        known = {name: given[name] for name in answers.ranges}
        with damaged("the header of the settings of a search"):
            return cls(given["dims"], given["metric"], answers(**known), given.get("owner", ""))


def require_scores(metric: str, row_norm: float, norm: float) -> None:
    """RangeError unless scores of rows up to a norm and a query of a norm are doubles."""
    with np.errstate(over="ignore", under="ignore"):
        reach = np.float64(row_norm) + np.float64(norm)
        largest = reach * reach if metric == "l2" else np.float64(row_norm) * np.float64(norm)
    if metric != "cosine" and norm and not LEAST_SCORE < largest < LARGEST_SCORE:
        raise RangeError(
            f"scores of rows of norm {row_norm:.3g} and a query of norm {norm:.3g} are no doubles: multiply "
            "vectors and queries by a number that brings them near to 1"
        )
