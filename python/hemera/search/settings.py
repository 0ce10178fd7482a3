"""The facts that an index and its clients agree on."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hemera import _core
from hemera.ckks import Parameters
from hemera.errors import ParameterError
from hemera.inputs.fields import Kind, Real, Whole
from hemera.search.any_settings import DIMS, SIZE, AnySettings, Metric, require_scores

LARGEST_ENTRY = 128
"""Magnitude of an entry of the database: -128 of int8."""
_DEVIATIONS = 10
"""Deviations of the noise from the middle between two integers: exact scores are wrong with a probability
below 2^-75."""
USED = 0.9
"""The part of the modulus that scores may take; noise has the rest."""
_KEPT_BYTES = {False: 4, True: 5}
"""Bytes of each number of an answer, approximate and exact: rounding the rest is below the noise, or far
below half a score."""
_FIELDS: Mapping[str, Kind] = {
    "dims": DIMS,
    "metric": str,
    "exact": bool,
    "scale": SIZE,
    "row_bound": Real(0, 1 << 20),
    "query_bound": Whole(1),
}
MOST_MESSAGES = 16
"""Messages with rows of one encrypted block: each adds its noise."""


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


@dataclass(frozen=True)
class Settings(AnySettings):
    """All that a client needs to know of an index. They say nothing of its vectors but the numbers below.

    Raises:
        ParameterError: if a field is out of its range.
        RangeError: if squares of distances of such rows are no doubles.
    """

    _kind: ClassVar[str] = "settings"
    _fields: ClassVar[Mapping[str, Kind]] = _FIELDS

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
    owner: str = ""
    """A name for the secret key that reads an index of encrypted rows, 32 hexadecimal digits.
    "": a clear index."""

    def __post_init__(self) -> None:
        self._require_common()
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
        if not (1 <= self.row_bound <= largest and 0 < self.scale < math.inf):
            raise ParameterError(
                f"the scale must be above 0 and finite, and the bound of rows, which are integers, from 1 to "
                f"{largest:.1f}; they are {self.scale} and {self.row_bound}"
            )
        if self.metric == "l2":
            require_scores("l2", self.row_bound / self.scale, self.row_bound / self.scale)
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
    def _score_scale(self) -> float:
        """The integers of scores over those of a row times the numbers of a query divided by its norm (with
        exact scores: of a query), at the top level. With exact scores a power of two."""
        modulus = math.prod(self.params.primes[-1])
        if self.exact:
            most = self.dims * LARGEST_ENTRY * self.query_bound
            return math.ldexp(1.0, (modulus // (2 * most + 2)).bit_length() - 1)
        return modulus / 2 * USED / self.row_bound

    @property
    def row_scale(self) -> float:
        """The integers that are encrypted as rows over those of the database: the power of two by which the
        noise of the rows and that of the query weigh nearly the same. 1 of a clear index."""
        if not self.owner:
            return 1.0
        large = 2.0**60  # no rounding matters beside it
        of_query = noise_deviation(self.exact, large**2, self.degree * large**2, 0)
        of_rows = encrypted_noise_deviation(self, (0.0, 0.0), 0, large**2, 1)
        query = self.query_bound * math.sqrt(self.dims) if self.exact else 1.0
        best = math.sqrt(of_rows * query * self._score_scale / (of_query * self.row_bound))
        return math.ldexp(1.0, max(0, math.floor(math.log2(best))))

    @property
    def query_scale(self) -> float:
        """The integers of a query's message over the numbers of the query divided by its norm. With exact
        scores a power of two over the query's integers."""
        return math.floor(self._score_scale / self.row_scale)

    @property
    def answer_scale(self) -> float:
        """The same of scores, over the integers of the database, at the level of answers."""
        return self.query_scale * self.row_scale / self._dropped_modulus

    @property
    def _dropped_modulus(self) -> int:
        top, bottom = self.params.primes[-1], self.params.primes[0]
        return math.prod(prime for prime in top if prime not in bottom)

    @property
    def square_shift(self) -> int:
        """log2 of the integers that are encrypted for squared norms, over those of the database."""
        most = math.prod(self.params.primes[-1]) / 2 * USED / self.row_bound**2
        return math.floor(math.log2(most))

    @property
    def square_scale(self) -> float:
        """The integers of squared norms at the level of answers, over those of the database."""
        return math.ldexp(1.0, self.square_shift) / self._dropped_modulus

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
    def expanded_bytes(self) -> int:
        """Bytes of a query in the memory of a device that answers it: a ciphertext for each number."""
        return 16 * self.dims * len(self.params.primes[-1]) * self.degree

    @property
    def _tolerance(self) -> float:
        """Deviations of the noise, at the most, from an exact score to the middle between two."""
        square = self.row_bound**2
        squares = (square, self.degree * square)
        if self.owner:
            query = self.dims * (self.query_bound * self.query_scale) ** 2
            noise = encrypted_noise_deviation(self, squares, self.dropped_bits, query, MOST_MESSAGES)
        else:
            noise = noise_deviation(self.exact, *squares, self.dropped_bits)
        return self.answer_scale / 2 / noise

    def to_fields(self) -> dict[str, Any]:
        """The fields of a header. Those of clear indexes have no owner."""
        fields = super().to_fields()
        return fields if self.owner else {name: fields[name] for name in self._fields}

    @classmethod
    def _wanted(cls, fields: Mapping[str, Any]) -> Mapping[str, Kind]:
        return {**cls._fields, "owner": str} if "owner" in fields else cls._fields


@functools.cache
def _parameters(exact: bool) -> Parameters:
    return Parameters._wrap(_core.search_parameters(exact))


def noise_deviation(exact: bool, row_square: float, block_square: float, dropped_bits: int) -> float:
    """The standard deviation of the noise of an answer (docs/search.md)."""
    return _core.search_noise_deviation(_parameters(exact)._native, row_square, block_square, dropped_bits)


def encrypted_errors(settings: Settings, used: float, messages: float) -> Errors:
    """The errors of scores of an encrypted index for an encrypted query of norm 1: of rows of the largest
    norm, in blocks with so many rows of so many messages."""
    if settings.exact:
        return Errors(0.0, 0.0)
    norm = settings.scale if settings.metric == "cosine" else settings.row_bound
    dropped, square = settings.dropped_bits, norm**2
    query = settings.query_scale**2
    deviation = encrypted_noise_deviation(settings, (square, used * square), dropped, query, messages)
    noise = deviation / (settings.answer_scale * settings.scale)
    if settings.metric == "l2":
        of_squares = encrypted_noise_deviation(settings, (0.0, 0.0), dropped, 1.0, messages)
        noise = math.hypot(2 * noise, of_squares / (settings.square_scale * settings.scale) / settings.scale)
    factor = 2 if settings.metric == "l2" else 1
    is_rounded = settings.scale != 1 or settings.metric == "cosine"
    rounding = factor / (settings.scale * settings.row_scale * math.sqrt(12))
    return Errors(noise, rounding if is_rounded else 0.0)


def encrypted_noise_deviation(
    settings: Settings, squares: tuple[float, float], dropped_bits: int, query_square: float, messages: float
) -> float:
    """The same of an encrypted index: of a row and its block with these squared norms, and a query whose
    integers have this one. Without the squared norms, of a query in the clear."""
    return _core.search_encrypted_noise_deviation(
        settings.params._native,
        *squares,
        dropped_bits,
        settings.row_scale if squares[1] else 1.0,
        query_square,
        settings.dims if squares[1] else 0,
        messages,
    )
