"""The client of an index that ranks its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hemera.errors import MismatchError, ParameterError
from hemera.inputs.arguments import as_integer, in_own_words
from hemera.objects.cost import Cost
from hemera.search.any_settings import AnySettings
from hemera.search.ranks import circuit
from hemera.search.ranks.messages import unpack_answer
from hemera.search.ranks.settings import TopSettings
from hemera.search.thresholds.comparing_client import ComparingClient, Matches
from hemera.search.thresholds.messages import pack_query, require_want
from hemera.search.thresholds.scores import Asked

__all__ = ["TopClient"]


@dataclass(frozen=True)
class _Waiting:
    """What decrypting the answer to a query needs of it."""

    want: str


@in_own_words
class TopClient(ComparingClient[TopSettings, _Waiting]):
    """A client of a `TopIndex`: keys, queries, results.

    Args:
        settings: those of the index, `TopIndex.settings`, or their bytes.
        secret_key: a key that an earlier client of such settings had, as bytes or a file's path. None: a
            fresh one.
        threads: the number of threads; None: as many as the process may run on.

    Raises:
        FormatError: if bytes are damaged.
        MismatchError: if the secret key belongs to other parameters.
    """

    settings_type: ClassVar[type[AnySettings]] = TopSettings

    def _cost(self) -> Cost:
        return circuit.cost_of(self._settings)

    @property
    def _largest_squares(self) -> tuple[float, float]:
        return 4.0, 1.0  # of two opposite rows, and of a row with zero

    def query(self, x: ArrayLike, k: int, *, payloads: bool = False) -> bytes:
        """Encrypt a query and its k.

        Args:
            x: [dims]: real numbers.
            k: 1 or more; the server does not see it.
            payloads: whether to ask for payloads too. The server sees it.

        Returns:
            The message for `TopIndex.query`.

        Raises:
            MismatchError: if x has another number of dims.
            RangeError: if numbers are not finite.
            ParameterError: if a query of cosines is zero, k is below 1, or there are no payloads.
        """
        settings, context = self._settings, self._context
        want = "payloads" if payloads else "mask"
        require_want(want, settings)
        if as_integer(k, "query", "k") < 1:
            raise ParameterError(f"k must be 1 or more, not {k}")
        asked = Asked.of(x, settings)
        share = (min(k, settings.rows) - 0.5) / settings.rows
        slots = context.encode(asked.slots, level=settings.top)
        last = context.encode(np.full(settings.layout.slots, share), level=settings.rank_level)
        encrypted = [context.encrypt(each, self._secret_key) for each in (slots, last)]
        sent = pack_query("top query", settings, want, *encrypted)
        self._wait_for(sent, _Waiting(want))
        return sent

    def decrypt(self, answer: bytes) -> Matches:
        """The first k rows, or all if there are fewer; in the index's order, not by score. Each answer is
        decrypted once.

        A row is among them for sure if fewer than k rows are before it or nearer to it than the margin; it is
        not if k rows are before it by the margin. `doubtful` has rows that came out between.

        Raises:
            FormatError: if the answer is damaged.
            MismatchError: if it belongs to another index's settings, or to no query of this client that waits
                for its answer.
            NoiseError: if values are too large: the key is wrong, or the server computed something else. The
                server must not learn of this error.
        """
        unpacked = unpack_answer(answer, self._settings, self._context)
        if self._asked(unpacked.name).want != unpacked.want:
            raise MismatchError("the answer belongs to no query of this client that waits for one")
        self._answered(unpacked.name)
        return self._matches(unpacked, self._settings.rows)
