"""What clients of indexes that compare scores have in common: keys by the circuit, matches of decrypted
results."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hemera.inputs.arguments import in_own_words
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.cost import Cost
from hemera.objects.keys import Keys
from hemera.search.any_client import AnyClient
from hemera.search.settings import Errors
from hemera.search.thresholds.comparing import GONE, T
from hemera.search.thresholds.messages import Answer
from hemera.search.thresholds.noise import errors_of

__all__ = ["ComparingClient", "Matches"]

_DOUBT = 2.0**-14
"""A row whose 0 or 1 is further off is within the margin: others are within 2^-17, and noise."""


@dataclass(frozen=True)
class Matches:
    """The rows above a threshold, or the first ones."""

    ids: NDArray[np.int64]
    """[matches], in the index's order."""
    doubtful: NDArray[np.int64]
    """Ids of rows, matches or not, that are known to lie within the margin. Such rows may be missing here."""
    payloads: NDArray[np.float64] | None = None
    """[matches, numbers], if they were asked for. Those of doubtful matches are not right."""

    def __len__(self) -> int:
        return len(self.ids)


class Waiting(Protocol):
    """What decrypting the answer to a query needs of it."""

    @property
    def want(self) -> str: ...


W = TypeVar("W", bound=Waiting)


@in_own_words
class ComparingClient(AnyClient[T, W], Generic[T, W]):
    """A client of an index that compares scores."""

    @abstractmethod
    def _cost(self) -> Cost:
        """The cost of the index's circuit."""

    @property
    def expected_error(self) -> Errors:
        """The errors of scores, or of their differences, before they are compared, for a query of norm 1: as
        standard deviations for rows of the largest norm, which no index exceeds (docs/search.md)."""
        return errors_of(self._settings, *self._largest_squares)

    @property
    def _largest_squares(self) -> tuple[float, float]:
        """The largest squares of what is compared, as `errors_of` takes them."""
        return 1.0, 1.0

    def _generate_keys(self) -> Keys:
        """Some MB for each rotation."""
        return self._context.generate_keys(
            self._secret_key, public_key=False, relinearization=False, plan=self._cost()
        )

    def _slots(self, result: Ciphertext) -> NDArray[np.float64]:
        """NoiseError: if values are too large."""
        return np.asarray(self._context.decrypt(result, self._secret_key, dtype=np.float64))

    def _matches(self, answer: Answer, stride: int = 1) -> Matches:
        """The matches of a mask, and their payloads if they were asked for.

        Args:
            answer: to a query that waits no longer.
            stride: places of a block's first copy between rows.
        """
        settings, layout = self._settings, self._settings.layout
        mask = self._slots(answer.results[0])[:, : layout.rows : stride].reshape(-1) / 2
        numbers = None
        if answer.want == "payloads":
            of_blocks = [layout.numbers_of(each, settings.payload) for each in self._slots(answer.results[1])]
            numbers = np.concatenate(of_blocks)[::stride] * settings.payload_bound
        is_there = answer.ids != GONE
        is_match = (mask > 0.5) & is_there
        is_doubtful = (np.abs(mask - np.rint(np.clip(mask, 0, 1))) > _DOUBT) & is_there
        return Matches(
            answer.ids[is_match], answer.ids[is_doubtful], None if numbers is None else numbers[is_match]
        )
