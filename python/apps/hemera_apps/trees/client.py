"""The client: it owns the samples and the secret key, and gives away bytes alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import hemera
from hemera.errors import MismatchError
from hemera.trees.ensemble import Integers
from hemera.trees.layout import Layout
from hemera_apps.trees.offer import Offer
from hemera_apps.trees.paper import PaperLayout


class Client:
    """Encrypts samples for a server and decrypts their scores.

    Args:
        offer: the server's offer (`Server.offer`).
        device: as for `hemera.Context`.
        threads: as for `hemera.Context`.

    Raises:
        FormatError: if the offer is damaged.
    """

    def __init__(self, offer: bytes, *, device: str = "auto", threads: int | None = None) -> None:
        self._offer = Offer.from_bytes(offer)
        self._context = hemera.Context(self._offer.params, device, threads=threads)
        self._secret_key = self._context.generate_secret_key()

    def keys(self) -> bytes:
        """The evaluation keys for the server, which can not decrypt."""
        # The paper's circuit encrypts a constant.
        public = self._context.generate_keys(
            self._secret_key,
            public_key=isinstance(self._offer.layout, PaperLayout),
            relinearization=False,
        )
        return bytes(public | self._offer.keys.generate(self._context, self._secret_key))

    def request(self, rows: NDArray[Any]) -> bytes:
        """Samples of shape (rows, features), encrypted for the server.

        Raises:
            MismatchError: if there are other features, or more rows than the offer is for.
            ParameterError: if values are infinite, or missing and the model takes no missing ones.
        """
        bins = self._offer.quantiser.bins(rows)
        if len(bins) > self._offer.samples:
            raise MismatchError(
                f"{len(bins)} samples were given, but the server's offer is for {self._offer.samples} a "
                "request; ask it for a larger one, or send several requests"
            )
        return bytes(self._context.encrypt(self._planes(bins), self._secret_key))

    def scores(self, response: bytes, rows: int) -> Integers:
        """The integer scores of an answer, shape (rows, K). Divided by `scale` they are the model's."""
        slots = self._context.decrypt(self._context.load(response), self._secret_key)
        return self._offer.layout.unpack(slots)[:rows]

    @property
    def scale(self) -> int:
        """The factor of integer scores: they are the model's times this number."""
        return self._offer.scale

    def _planes(self, bins: Integers) -> NDArray[np.int64]:
        """Slots of shape (groups * planes, chunks, N), or (planes, samples, N) of the paper's layout."""
        offer, layout = self._offer, self._offer.layout
        found = []
        for node in range(offer.features.shape[2]):
            compared = bins[:, offer.features[:, :, node]]
            if isinstance(layout, Layout):
                found += [layout.pack(bit) for bit in offer.quantiser.bits(compared)]
            else:
                found += [layout.spread((compared == value).astype(np.int64)) for value in (0, 2)]
        planes = np.stack(found)
        if isinstance(layout, Layout):
            # From (planes, groups, chunks, N): a group's planes one after the other.
            planes = planes.swapaxes(0, 1).reshape(-1, layout.chunks, layout.degree)
        return np.ascontiguousarray(planes)
