"""The facts that an index and its clients agree on."""

from __future__ import annotations

import functools
import hashlib
import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from hemera import _core
from hemera.ckks import Parameters
from hemera.errors import FormatError, ParameterError
from hemera.inputs.source import Source, read_bytes
from hemera.search import wire

Metric = Literal["cosine", "dot", "l2"]

LARGEST_ENTRY = 128
"""Magnitude of an entry of the database: -128 of int8."""
_DEVIATIONS = 10
"""Of the noise, from the middle between two integers: exact scores are wrong with a probability below
    2^-75."""
_USED = 0.9
"""The part of the modulus that scores may take; noise has the rest."""
_KEPT_BYTES = {False: 4, True: 5}
"""Of each number of an answer, approximate and exact: the rounding of the rest is below the noise, or far
below half a score."""
_FIELDS = {
    "dims": int,
    "metric": str,
    "exact": bool,
    "scale": float,
    "row_bound": float,
    "query_bound": int,
}


@dataclass(frozen=True)
class Errors:
    """Standard deviations of the errors of a score, for a query of norm 1. For "dot" and "l2" they grow with
    the query's norm."""

    noise: float
    """Of encryption."""
    quantization: float
    """Of the vectors' rounding to int8."""


@dataclass(frozen=True)
class Settings:
    """All that a client needs to know of an index. They say nothing of its vectors but the numbers below.

    Raises:
        ParameterError: if a field is out of its range.
    """

    dims: int
    """Numbers of a vector: 1 to 4096; with exact scores to 8192."""
    metric: Metric
    """"cosine": the scores are cosines; "dot": inner products; "l2": squares of distances."""
    exact: bool = False
    """Whether scores are exact integers. Vectors and queries then are integers."""
    scale: float = 1.0
    """The integers of the database over the numbers of the vectors (of the normalized ones for cosines)."""
    row_bound: float = 0.0
    """A bound on the norm of a row's integers; 0: 128 sqrt(dims), which always holds."""
    query_bound: int = 127
    """With exact scores: the largest magnitude of a query's integers."""

    def __post_init__(self) -> None:
        if self.metric not in get_args(Metric):
            raise ParameterError(f"metric must be one of {', '.join(get_args(Metric))}, not {self.metric!r}")
        if self.exact and self.metric == "cosine":
            raise ParameterError("cosines are no integers: exact scores are those of metric 'dot' or 'l2'")
        if not 1 <= self.dims <= self.degree:
            raise ParameterError(
                f"vectors have 1 to {self.degree} numbers here, not {self.dims}; project longer ones, or "
                "search in parts of them and add the scores"
            )
        largest = LARGEST_ENTRY * math.sqrt(self.dims)
        if self.row_bound == 0:
            object.__setattr__(self, "row_bound", largest)
        if not (0 < self.row_bound <= largest and 0 < self.scale < math.inf):
            raise ParameterError(
                f"the scale must be above 0 and finite, and the bound of rows above 0 and at most "
                f"{largest:.1f}; they are {self.scale} and {self.row_bound}"
            )
        if self.exact and self.scale != 1:
            raise ParameterError(f"exact scores are those of integers: the scale must be 1, not {self.scale}")
        if self.query_bound < 1 or (self.exact and self._tolerance < _DEVIATIONS):
            raise ParameterError(
                f"queries of integers up to {self.query_bound} leave no room for {self.dims} numbers; take a "
                "smaller query_bound"
            )

    @property
    def degree(self) -> int:
        """N: the rows of a block."""
        return self.params.degree

    @property
    def params(self) -> Parameters:
        """The parameters of encryption, with 128 bits of security (docs/security.md)."""
        return _parameters(self.exact)

    @property
    def query_scale(self) -> float:
        """The integers of a query's message over the numbers of the query divided by its norm. With exact
        scores a power of two over the query's integers."""
        modulus = math.prod(self.params.primes[-1])
        if self.exact:
            most = self.dims * LARGEST_ENTRY * self.query_bound
            return math.ldexp(1.0, (modulus // (2 * most + 2)).bit_length() - 1)
        return math.floor(modulus / 2 * _USED / self.row_bound)

    @property
    def answer_scale(self) -> float:
        """The same at the level of answers."""
        top, bottom = self.params.primes[-1], self.params.primes[0]
        return self.query_scale / math.prod(prime for prime in top if prime not in bottom)

    @property
    def kept_bytes(self) -> int:
        """Bytes of each number of an answer."""
        return _KEPT_BYTES[self.exact]

    @property
    def number_bytes(self) -> int:
        """Bytes of each number of a query."""
        return (max(self.params.primes[-1]).bit_length() + 7) // 8

    @property
    def dropped_bits(self) -> int:
        """Lowest bits of the numbers that answers lack."""
        return self.params.primes[0][0].bit_length() - 8 * self.kept_bytes

    @property
    def digest(self) -> str:
        """32 hexadecimal digits that name the settings in queries and answers."""
        return hashlib.sha256(bytes(self)).hexdigest()[:32]

    @property
    def _tolerance(self) -> float:
        """Deviations of the noise, at the most, from an exact score to the middle between two."""
        square = self.row_bound**2
        noise = noise_deviation(self.exact, square, self.degree * square, self.dropped_bits)
        return self.answer_scale / 2 / noise

    def to_bytes(self) -> bytes:
        """The settings as a message to a client."""
        return wire.pack("settings", asdict(self))

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    @classmethod
    def load(cls, source: Source) -> Settings:
        """Settings from their bytes or a file's path.

        Raises:
            FormatError: if they are damaged, or of another version.
            FileError: if the file can not be read.
        """
        header, body = wire.unpack("settings", read_bytes(source), _FIELDS)
        if len(body) != 0:
            raise FormatError(f"the settings of a search have {len(body)} bytes after their header")
        return cls.from_fields(header)

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Settings:
        """Settings of a header. FormatError if a field is missing or out of its range."""
        if set(fields) != set(_FIELDS) or any(type(fields[name]) is not of for name, of in _FIELDS.items()):
            raise FormatError("the settings of a search have other fields")
        try:
            return cls(**fields)
        except ParameterError as error:
            raise FormatError(f"the settings of a search are damaged: {error}") from None


@functools.cache
def _parameters(exact: bool) -> Parameters:
    return Parameters._wrap(_core.search_parameters(exact))


def noise_deviation(exact: bool, row_square: float, block_square: float, dropped_bits: int) -> float:
    """The standard deviation of the noise of an answer (docs/search.md)."""
    return _core.search_noise_deviation(_parameters(exact)._native, row_square, block_square, dropped_bits)
