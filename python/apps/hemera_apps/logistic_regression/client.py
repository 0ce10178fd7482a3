"""The client: it owns the samples and the secret key."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

import hemera
from hemera.ckks import Parameters
from hemera.errors import NoiseError
from hemera_apps.logistic_regression.plan import TrainingPlan

Floats = NDArray[np.float64]
BEYOND = 1.001
"""The largest magnitude of a state that bootstraps keep, with a margin for noise."""


class Client:
    """Encrypts mini-batches and decrypts weights.

        plan = TrainingPlan(params, settings)
        client = Client(plan)
        keys = client.keys()            # for the server: they can not decrypt
        batch = bytes(client.encrypt(z))  # z of shape (batch, width), see make_batches
        weights = client.decrypt(answer)

    Args:
        plan: the plan of the training, the same as the server's.
        device, threads: see `hemera.Context`.
    """

    def __init__(self, plan: TrainingPlan, *, device: str = "auto", threads: int | None = None) -> None:
        self._plan = plan
        self._context = hemera.Context(plan.params, device, threads=threads)
        self._secret_key = self._context.generate_secret_key()

    @property
    def context(self) -> hemera.Context:
        return self._context

    def keys(self) -> hemera.Keys:
        """The evaluation keys that training asks for, and no others.

        Raises:
            OutOfMemoryError: if the keys do not fit.
        """
        return self._context.generate_keys(
            self._secret_key, public_key=False, relinearization=False, plan=self._plan.cost
        )

    def encrypt(self, z: ArrayLike) -> hemera.Ciphertext:
        """A mini-batch of shape (batch, width) for all models, or (models, batch, width), as ciphertexts of
        the shape `plan.batch_shape`.

        Raises:
            ParameterError: if the shape is another one.
        """
        return self._encrypted(self._plan.pack(z))

    def start(self, weights: ArrayLike | None = None) -> hemera.Ciphertext:
        """The encrypted state that training starts from: that of weights of shape (models, width); None: of
        0.

        Raises:
            ParameterError: if weights are above `weight_bound`, or of another shape.
        """
        own = self._plan.settings
        given = np.zeros((own.models, own.width)) if weights is None else weights
        return self._encrypted(self._plan.pack_weights(given))

    def decrypt(self, state: hemera.Ciphertext | bytes) -> Floats:
        """The weights of shape (models, width), the intercept first, of an encrypted state.

        Raises:
            NoiseError: if weights are above `weight_bound`. Bootstraps were then wrong.
        """
        loaded = self._context.load(state) if isinstance(state, bytes) else state
        values = self._context.decrypt(loaded, self._secret_key, dtype=np.complex128)
        parts = np.stack([values.real, values.imag])
        if not np.abs(parts).max() <= BEYOND:
            raise NoiseError(
                f"the weights went beyond {self._plan.settings.weight_bound:g}, and bootstraps were wrong; "
                "train again with a larger weight_bound (--weight-bound), a lower rate (--rates), or a "
                "sigmoid of higher degree on a wider interval (--degree, --interval)"
            )
        return self._plan.unpack_weights(values)

    def parameters(self) -> bytes:
        """The parameters that the server needs."""
        params: Parameters = self._plan.params
        return bytes(params)

    def _encrypted(self, slots: ArrayLike) -> hemera.Ciphertext:
        """The slots, encrypted at the level of the first iteration. Higher levels are of no use."""
        encoded = self._context.encode(slots, level=self._plan.iterations[0].level)
        return self._context.encrypt(encoded, self._secret_key)
