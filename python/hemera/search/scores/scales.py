"""Encrypted scores as integers: their scales, the numbers of messages, and the noise (docs/search.md)."""

from __future__ import annotations

import functools
import math
from typing import Any

from hemera import _core
from hemera.ckks import Parameters
from hemera.errors import ParameterError
from hemera.search.settings import Errors, Settings, require_scores

LARGEST_ENTRY = 128
"""Magnitude of an entry of the database: -128 of int8."""
_DEVIATIONS = 10
"""Deviations of the noise from the middle between two integers: exact scores are wrong with a probability
below 2^-75."""
USED = 0.9
"""The part of the modulus that scores may take; noise has the rest."""
MOST_MESSAGES = 16
"""Messages with rows of one encrypted block: each adds its noise."""


class Scales:
    """The integers of an index's rows, queries and scores.

    Args:
        settings: of the index.
        follows: their answers, `Scores`.

    Raises:
        ParameterError, RangeError: if a field is out of its range.
    """

    def __init__(self, settings: Settings, follows: Any) -> None:
        self.settings = settings
        self.dims, self.metric, self.owner = settings.dims, settings.metric, settings.owner
        self.widths = (
            [self.dims, 1] if self.metric == "l2" else [self.dims]
        )  # encrypted, of entries and norms
        self.scale: float = follows.scale
        self.exact: bool = follows.exact
        self.query_bound: int = follows.query_bound
        self.params = _parameters(self.exact)
        top, bottom = self.params.primes[-1], self.params.primes[0]
        self.degree = self.params.degree  # the rows of a block
        self.limbs = len(top)  # of queries and rows
        self.number_bytes = (max(top).bit_length() + 7) // 8  # of each number of a query
        self.kept_bytes = 5 if self.exact else 4  # of each of an answer: what is rounded is below the noise
        self.packing = bottom[0].bit_length() - 8 * self.kept_bytes, self.kept_bytes  # with the bits it lacks
        self.expanded_bytes = 16 * self.dims * self.limbs * self.degree  # of a query: a ciphertext a number
        self._require(follows.row_bound)
        modulus, dropped = math.prod(top), math.prod(prime for prime in top if prime not in bottom)
        # The integers of scores over those of a row times the numbers of a query divided by its norm (with
        # exact scores: of a query), at the top level.
        scores = modulus / 2 * USED / self.row_bound
        if self.exact:
            most = self.dims * LARGEST_ENTRY * self.query_bound
            scores = math.ldexp(1.0, (modulus // (2 * most + 2)).bit_length() - 1)
        self.row_scale = self._balanced(scores) if self.owner else 1.0
        """The integers that are encrypted as rows over those of the database: the power of two by which the
        noise of the rows and that of the query weigh nearly the same."""
        self.query_scale: float = math.floor(scores / self.row_scale)
        """The integers of a query's message over the numbers of the query divided by its norm. With exact
        scores a power of two over the query's integers."""
        self.answer_scale = self.query_scale * self.row_scale / dropped
        """The same of scores, over the integers of the database, at the level of answers."""
        self.square_shift = math.floor(math.log2(modulus / 2 * USED / self.row_bound**2))
        self.square_scale = math.ldexp(1.0, self.square_shift) / dropped
        """The integers of squared norms over those of the database: log2 where they are encrypted, and at the
        level of answers."""
        if self.exact and self._tolerance() < _DEVIATIONS:
            raise ParameterError(
                f"queries of integers up to {self.query_bound} leave no room for {self.dims} numbers; take a "
                "smaller query_bound"
            )

    def _require(self, row_bound: float) -> None:
        """ParameterError, RangeError unless all fields are in their ranges."""
        if self.exact and self.metric == "cosine":
            raise ParameterError("cosines are no integers: exact scores are those of metric 'dot' or 'l2'")
        if not 1 <= self.dims <= self.degree:
            raise ParameterError(
                f"vectors have 1 to {self.degree} numbers here, not {self.dims}; project longer ones, or "
                "search in parts of them and add the scores"
            )
        largest = LARGEST_ENTRY * math.sqrt(self.dims)
        self.row_bound = row_bound or largest
        if not (1 <= self.row_bound <= largest and 0 < self.scale < math.inf):
            raise ParameterError(
                f"the scale must be above 0 and finite, and the bound of rows, which are integers, from 1 to "
                f"{largest:.1f}; they are {self.scale} and {self.row_bound}"
            )
        if self.metric == "l2":
            require_scores("l2", self.row_bound / self.scale, self.row_bound / self.scale)
        if self.exact and self.scale != 1:
            raise ParameterError(f"exact scores are those of integers: the scale must be 1, not {self.scale}")
        if self.query_bound < 1:
            raise ParameterError(f"query_bound is 1 or more, not {self.query_bound}")

    def _balanced(self, scores: float) -> float:
        """`row_scale` by the integers of scores."""
        large = 2.0**60  # no rounding matters beside it
        of_query = self.noise_deviation(large**2, self.degree * large**2, 0)
        of_rows = self._encrypted_noise((0.0, 0.0), 0, large**2, 1)
        query = self.query_bound * math.sqrt(self.dims) if self.exact else 1.0
        best = math.sqrt(of_rows * query * scores / (of_query * self.row_bound))
        return math.ldexp(1.0, max(0, math.floor(math.log2(best))))

    # --- Noise. ---

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
        deviation = self.noise_deviation(row_square, block_square, self.packing[0])
        factor = 2 if self.metric == "l2" else 1
        return self._errors(factor * deviation / (self.answer_scale * self.scale))

    def encrypted_errors(self, used: float, messages: float) -> Errors:
        """The errors of scores of an encrypted index: of rows of the largest norm, in blocks of `used`
        rows of `messages` messages."""
        norm = self.scale if self.metric == "cosine" else self.row_bound
        dropped, square = self.packing[0], norm**2
        deviation = self._encrypted_noise((square, used * square), dropped, self.query_scale**2, messages)
        noise = deviation / (self.answer_scale * self.scale)
        if self.metric == "l2":
            of_squares = self._encrypted_noise((0.0, 0.0), dropped, 1.0, messages)
            noise = math.hypot(2 * noise, of_squares / (self.square_scale * self.scale) / self.scale)
        return self._errors(noise)

    def _errors(self, noise: float) -> Errors:
        """The errors with this noise, and that of rounding rows; none of exact scores."""
        if self.exact:
            return Errors(0.0, 0.0)
        is_rounded = self.scale != 1 or self.metric == "cosine"
        factor = 2 if self.metric == "l2" else 1
        rounding = factor / (self.scale * self.row_scale * math.sqrt(12))
        return Errors(noise, rounding if is_rounded else 0.0)


@functools.cache
def _parameters(exact: bool) -> Parameters:
    return Parameters._wrap(_core.search_parameters(exact))
