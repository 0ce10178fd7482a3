"""The public settings of a training, on which client and server agree: the algorithm with its numbers."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hemera.errors import ParameterError
from hemera_apps.logistic_regression.sigmoid import Fit, Sigmoid

Method = Literal["nesterov", "gradient"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """Training by mini-batches.

    Let z = y (1, x), where y = -1 or 1 is the label of a sample x, and p the polynomial near the sigmoid. An
    iteration t on m samples is

        g = rate_t / m * sum of p(-z v) z
        gradient descent:    v <- v + g
        Nesterov's:          w' = v + g,  v <- w' + momentum_t (w' - w),  w <- w'

    (K. Han, S. Song, J. Cheon, D. Park, "Logistic regression on homomorphic encrypted data at scale", AAAI
    2019.) Results are v and w.

    Args:
        features: the number of columns of the table. An intercept is added, and both are filled up to a
            power of two.
        batch: the number of samples of a mini-batch, which takes one or more ciphertexts.
        iterations: the number of iterations, each on the next mini-batch, round and round.
        method: "nesterov" or "gradient".
        rates: the learning rate at the beginning; several rates train as many models at once.
        decay: rate_t = rate / (1 + decay t).
        momentum: None: Nesterov's sequence, up to `largest_momentum`; or a number in [0, 1).
        largest_momentum: the bound of Nesterov's sequence. Gradients of mini-batches are noisy, and a
            momentum near 1 adds up their noise.
        models: the number of models that train at once; with several rates, their number.
        degree, interval, fit: see `Sigmoid`.
        weight_bound: the largest magnitude of weights, intermediate ones too.

    Raises:
        ParameterError: if numbers are out of range, or do not fit each other.
    """

    features: int
    batch: int = 1024
    iterations: int = 30
    method: Method = "nesterov"
    rates: tuple[float, ...] = (0.5,)
    decay: float = 0.1
    momentum: float | None = None
    largest_momentum: float = 0.8
    models: int = 1
    degree: int = 3
    interval: float = 8.0
    fit: Fit = "least-squares"
    weight_bound: float = 4.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rates", tuple(float(rate) for rate in self.rates))
        for name in ("features", "batch", "iterations", "models"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ParameterError(f"{name} must be an integer of 1 or more, not {value!r}")
        if self.method not in ("nesterov", "gradient"):
            raise ParameterError(f"method must be 'nesterov' or 'gradient', not {self.method!r}")
        if not self.rates or not all(0 < rate < math.inf for rate in self.rates):
            raise ParameterError(f"rates must be positive numbers, not {self.rates}")
        if len(self.rates) > 1 and self.models not in (1, len(self.rates)):
            raise ParameterError(
                f"{len(self.rates)} rates do not fit {self.models} models; give one, or as many"
            )
        if len(self.rates) > 1:
            object.__setattr__(self, "models", len(self.rates))
        if not 0 <= self.decay < math.inf or not 0 < self.weight_bound < math.inf:
            raise ParameterError("decay must be 0 or more, and weight_bound above 0")
        for name in ("momentum", "largest_momentum"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1:
                raise ParameterError(f"{name} must be from 0 to 1, not 1 itself, and not {value}")
        _ = self.sigmoid

    @property
    def is_accelerated(self) -> bool:
        return self.method == "nesterov"

    @cached_property
    def sigmoid(self) -> Sigmoid:
        """The polynomial."""
        return Sigmoid(self.degree, self.interval, self.fit)

    @property
    def width(self) -> int:
        """The number of slots of a sample: intercept and features, filled up to a power of two."""
        return 1 << self.features.bit_length()

    @property
    def depth(self) -> int:
        """The number of levels of an iteration: z v, the polynomial with its mask, and the product with the
        gradient's z."""
        return self.sigmoid.depth + 2

    def rates_at(self, iteration: int) -> Floats:
        """The learning rate of each model."""
        rates = np.broadcast_to(np.asarray(self.rates), self.models)
        return np.asarray(rates / (1 + self.decay * iteration), dtype=np.float64)

    def momentum_at(self, iteration: int) -> float:
        """Nesterov's (l_t - 1) / l_(t+1) with l_0 = 1 and l_(t+1) = (1 + sqrt(1 + 4 l_t^2)) / 2."""
        if self.momentum is not None:
            return self.momentum
        now = 1.0
        for _ in range(iteration):
            now = (1 + math.sqrt(1 + 4 * now * now)) / 2
        following = (1 + math.sqrt(1 + 4 * now * now)) / 2
        return min(self.largest_momentum, (now - 1) / following)

    def as_dict(self) -> dict[str, Any]:
        """The settings for JSON; `Settings(**fields)` takes them back."""
        return dataclasses.asdict(self)
