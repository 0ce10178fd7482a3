"""The client: it owns the rows and the secret key, and gives away bytes alone."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

import hemera
from hemera.parameters import Parameters
from hemera_apps.demo.layout import Layout


class Client:
    """Encrypts rows for a server and decrypts its answers."""

    def __init__(self, params: Parameters, *, device: str = "auto", threads: int | None = None) -> None:
        self._layout = Layout.of(params)
        self._context = hemera.Context(params, device, threads=threads)
        self._secret_key = self._context.generate_secret_key()

    @property
    def device(self) -> str:
        """The device that the client computes on."""
        return self._context.description

    def parameters(self) -> bytes:
        """The parameters, for the server."""
        return bytes(self._context.params)

    def keys(self, *, products: bool) -> bytes:
        """The server's keys: the keys to add up features, and, with `products`, those of products of
        ciphertexts."""
        return bytes(
            self._context.generate_keys(
                self._secret_key, public_key=False, relinearization=products, rotations=self._layout.rotations
            )
        )

    def request(self, table: NDArray[Any]) -> bytes:
        """The rows of a table of shape (rows, features), encrypted in batches for the server."""
        return bytes(self._context.encrypt(self._layout.pack(table), self._secret_key))

    def scores(self, response: bytes, rows: int) -> NDArray[Any]:
        """The score of each row, decrypted, from the server's answer."""
        answer = self._context.load(response)
        return self._layout.unpack(self._context.decrypt(answer, self._secret_key), rows)
