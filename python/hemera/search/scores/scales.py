"""Encrypted scores as integers: their scales, the numbers of messages, and the noise (docs/search.md)."""

from __future__ import annotations

import functools
import math

from hemera import _core
from hemera.ckks import Parameters
from hemera.errors import ParameterError
from hemera.search.settings import Errors, Settings, require_scores

__all__ = ["LARGEST_ENTRY", "MOST_MESSAGES", "USED", "Scales"]

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
MOST_MESSAGES = 16
"""Messages with rows of one encrypted block: each adds its noise."""


class Scales:
    """The integers of an index's rows, queries and scores.

    Args:
        settings: of the index.
        exact: the next ones are those of `Scores`.

    Raises:
        ParameterError, RangeError: if a field is out of its range.
    """

    def __init__(
        self, settings: Settings, exact: bool, scale: float, row_bound: float, query_bound: int
    ) -> None:
        self.settings = settings
        self.dims, self.metric, self.owner = settings.dims, settings.metric, settings.owner
        self.exact, self.scale, self.query_bound = exact, scale, query_bound
        if exact and self.metric == "cosine":
            raise ParameterError("cosines are no integers: exact scores are those of metric 'dot' or 'l2'")
        if not 1 <= self.dims <= self.degree:
            raise ParameterError(
                f"vectors have 1 to {self.degree} numbers here, not {self.dims}; project longer ones, or "
                "search in parts of them and add the scores"
            )
        largest = LARGEST_ENTRY * math.sqrt(self.dims)
        self.row_bound = row_bound or largest
        if not (1 <= self.row_bound <= largest and 0 < scale < math.inf):
            raise ParameterError(
                f"the scale must be above 0 and finite, and the bound of rows, which are integers, from 1 to "
                f"{largest:.1f}; they are {scale} and {self.row_bound}"
            )
        if self.metric == "l2":
            require_scores("l2", self.row_bound / scale, self.row_bound / scale)
        if exact and scale != 1:
            raise ParameterError(f"exact scores are those of integers: the scale must be 1, not {scale}")
        if query_bound < 1 or (exact and self._tolerance < _DEVIATIONS):
            raise ParameterError(
                f"queries of integers up to {query_bound} leave no room for {self.dims} numbers; take a "
                "smaller query_bound"
            )

    @property
    def params(self) -> Parameters:
        """The parameters of encryption, with 128 bits of security (docs/security.md)."""
        return _parameters(self.exact)

    @property
    def degree(self) -> int:
        """N: the rows of a block."""
        return self.params.degree

    @property
    def limbs(self) -> int:
        """Primes of queries and rows."""
        return len(self.params.primes[-1])

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
        of_query = self.noise_deviation(large**2, self.degree * large**2, 0)
        of_rows = self._encrypted_noise((0.0, 0.0), 0, large**2, 1)
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
    def packing(self) -> tuple[int, int]:
        """Lowest bits of the numbers that answers lack, and the bytes of each."""
        return self.params.primes[0][0].bit_length() - 8 * self.kept_bytes, self.kept_bytes

    @property
    def expanded_bytes(self) -> int:
        """Bytes of a query in the memory of a device that answers it: a ciphertext for each number."""
        return 16 * self.dims * self.limbs * self.degree

    # --- Noise. ---

    @property
    def _tolerance(self) -> float:
        """Deviations of the noise, at the most, from an exact score to the middle between two."""
        square = self.row_bound**2
        squares = (square, self.degree * square)
        if self.owner:
            query = self.dims * (self.query_bound * self.query_scale) ** 2
            noise = self._encrypted_noise(squares, self.packing[0], query, MOST_MESSAGES)
        else:
            noise = self.noise_deviation(*squares, self.packing[0])
        return self.answer_scale / 2 / noise

    def noise_deviation(self, row_square: float, block_square: float, dropped_bits: int) -> float:
        """The standard deviation of the noise of a clear index's answer, of a row and its block with these
        squared norms."""
        return _core.search_noise_deviation(self.params._native, row_square, block_square, dropped_bits)

    def _encrypted_noise(
        self, squares: tuple[float, float], dropped_bits: int, query_square: float, messages: float
    ) -> float:
        """The same of an encrypted index, and a query whose integers have this squared norm. Without the
        squared norms of rows, of a query in the clear."""
        is_encrypted = bool(squares[1])
        return _core.search_encrypted_noise_deviation(
            self.params._native,
            *squares,
            dropped_bits,
            self.row_scale if is_encrypted else 1.0,
            query_square,
            self.dims if is_encrypted else 0,
            messages,
        )

    def clear_errors(self, row_square: float, block_square: float) -> Errors:
        """The errors of scores of a clear index, of rows and blocks with these mean squared norms."""
        if self.exact:
            return Errors(0.0, 0.0)
        deviation = self.noise_deviation(row_square, block_square, self.packing[0])
        factor = 2 if self.metric == "l2" else 1
        return self._errors(factor * deviation / (self.answer_scale * self.scale))

    def encrypted_errors(self, used: float, messages: float) -> Errors:
        """The errors of scores of an encrypted index: of rows of the largest norm, in blocks with so many
        rows of so many messages."""
        if self.exact:
            return Errors(0.0, 0.0)
        norm = self.scale if self.metric == "cosine" else self.row_bound
        dropped, square = self.packing[0], norm**2
        deviation = self._encrypted_noise((square, used * square), dropped, self.query_scale**2, messages)
        noise = deviation / (self.answer_scale * self.scale)
        if self.metric == "l2":
            of_squares = self._encrypted_noise((0.0, 0.0), dropped, 1.0, messages)
            noise = math.hypot(2 * noise, of_squares / (self.square_scale * self.scale) / self.scale)
        return self._errors(noise)

    def _errors(self, noise: float) -> Errors:
        """With this noise, and that of rounding rows."""
        is_rounded = self.scale != 1 or self.metric == "cosine"
        factor = 2 if self.metric == "l2" else 1
        rounding = factor / (self.scale * self.row_scale * math.sqrt(12))
        return Errors(noise, rounding if is_rounded else 0.0)


@functools.cache
def _parameters(exact: bool) -> Parameters:
    return Parameters._wrap(_core.search_parameters(exact))
