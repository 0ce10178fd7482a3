"""How training is taken on ciphertexts: layout, levels, keys and cost, known before anything is encrypted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera._options import size_text
from hemera.circuits import (
    Bootstrap,
    FunctionPlan,
    InnerSum,
    MatrixVectorProduct,
    Polynomial,
    Replication,
)
from hemera.circuits.needs import OPERATIONS
from hemera.circuits.plans import Plan
from hemera.ckks import Parameters
from hemera.errors import LevelError, ParameterError
from hemera_apps.logistic_regression.settings import Settings

__all__ = ["Iteration", "TrainingPlan"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Iteration:
    """The circuits of an iteration that starts at a level. Rows are samples of one model, of `width` slots
    each."""

    level: int
    scores: InnerSum
    """z v summed along each row, into its first slot."""
    sigmoid: FunctionPlan
    """The polynomial in the first slot of each row, 0 in the others: its coefficients are the mask."""
    copies: Replication
    """The first slot of a row in all of its slots."""
    gradient_level: int
    """Of the product with the z of the gradient."""
    gradient: InnerSum
    """The sum of all rows of each model, in each of them."""
    products: tuple[MatrixVectorProduct, ...]
    """Of one number with another: what the two products with z need and cost."""

    @property
    def by_ciphertext(self) -> tuple[Plan, ...]:
        """What each ciphertext of a mini-batch goes through."""
        return self.products[0], self.scores, self.sigmoid, self.copies

    @property
    def circuits(self) -> tuple[Plan, ...]:
        return *self.by_ciphertext, self.products[1], self.gradient


class TrainingPlan:
    """Levels, keys and cost of training, and how samples and weights lie in slots.

    A ciphertext's N/2 slots are rows of `settings.width`. Of M models (filled up to a power of two) row q M
    + m is of model m and has sample q of its mini-batch; what does not fit goes on in the next ciphertext,
    and the gradients of all are summed before the one step. The state, v + i w (Nesterov) or v (gradient
    descent) of each model over `weight_bound`, repeats in all of the model's rows: so it is a ciphertext of
    M `width` slots, too, and is bootstrapped as that, for all models at once. z is encrypted times
    `feature_factor`, so that the sums along rows are those over the sigmoid's interval, from -1 to 1.

    Models of different learning rates take the same steps on the server: with r = sqrt(rate / smallest
    rate), the gradient of v / r on samples z r, at the smallest rate, is that of v on z over r, and z r
    times v / r is z v.

    Args:
        params: of `hemera.ckks.Parameters.for_bootstrapping`, the same for client and server.
        settings: of the training.
        bootstrap_every: iterations from one bootstrap to the next; None: as many as the levels allow.

    Raises:
        LevelError: when a bootstrap leaves fewer levels than these iterations take.
        ParameterError: when a sample of each model does not fit the slots, or for other parameters.
    """

    def __init__(self, params: Parameters, settings: Settings, *, bootstrap_every: int | None = None) -> None:
        self._params = params
        self._settings = settings
        slots = params.max_slots
        if self.state_slots > slots:
            raise ParameterError(
                f"a sample of each of {settings.models} models in rows of {settings.width} (1 + "
                f"{settings.features} features, filled up) does not fit the {slots} slots of a "
                f"ciphertext; take at most {slots // settings.width} models, or parameters of a "
                "larger degree"
            )
        real = not settings.is_accelerated
        self._bootstrap = Bootstrap(params, self.state_slots, real=real)
        depth, left = settings.depth, self._bootstrap.levels_left
        every = max(1, left // depth) if bootstrap_every is None else bootstrap_every
        if every < 1 or every * depth > left:
            raise LevelError(
                f"{every} iterations of {depth} levels do not fit the {left} levels that a bootstrap leaves; "
                + (
                    f"bootstrap every {left // depth} iterations or fewer, but at least 1"
                    if left >= depth
                    else "take parameters that leave more (for_bootstrapping(levels=)), or a polynomial of a "
                    "lower degree"
                )
            )
        if not real and 4 * self.state_slots <= params.degree:
            # One longest step in place of two, for a level: taken where that level is left over.
            merged = Bootstrap(params, self.state_slots, merge_parts=True)
            if merged.levels_left >= every * depth:
                self._bootstrap = merged
        start = self._bootstrap.input_level + every * depth
        self._iterations = tuple(self._at(start - i * depth) for i in range(every))

    # --- What it is. ---

    @property
    def params(self) -> Parameters:
        return self._params

    @property
    def settings(self) -> Settings:
        return self._settings

    @property
    def slots(self) -> int:
        """Of a mini-batch's ciphertext: all."""
        return self._params.max_slots

    @property
    def rows(self) -> int:
        """Of a ciphertext, with a sample of one model each."""
        return self.slots // self._settings.width

    @property
    def state_slots(self) -> int:
        """Of the state: a row of each model, filled up to a power of two."""
        return self._settings.width << (self._settings.models - 1).bit_length()

    @property
    def samples(self) -> int:
        """Of each model, that fit a ciphertext."""
        return self.slots // self.state_slots

    @property
    def ciphertexts(self) -> int:
        """Of a mini-batch."""
        return -(-self._settings.batch // self.samples)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Of a mini-batch's ciphertexts as one batch: () where it is one alone."""
        return () if self.ciphertexts == 1 else (self.ciphertexts,)

    @property
    def bootstrap(self) -> Bootstrap:
        """Of the state: `state_slots` slots."""
        return self._bootstrap

    @property
    def bootstrap_every(self) -> int:
        """Iterations from one bootstrap to the next."""
        return len(self._iterations)

    @property
    def iterations(self) -> tuple[Iteration, ...]:
        """Those from one bootstrap to the next, in their order."""
        return self._iterations

    @property
    def bootstraps(self) -> int:
        """Of a whole training: before every `bootstrap_every`-th iteration but the first."""
        return (self._settings.iterations - 1) // self.bootstrap_every

    @property
    def circuits(self) -> list[Plan]:
        """All circuits, whose keys the server needs."""
        return [*(circuit for one in self._iterations for circuit in one.circuits), self._bootstrap]

    @property
    def feature_factor(self) -> float:
        """What z is multiplied by before it is encrypted."""
        parts = 2 if self._settings.is_accelerated else 1  # the state and its conjugate are 2 v
        return self._settings.weight_bound / (parts * self._settings.interval)

    # --- Layout. ---

    @property
    def model_factors(self) -> Floats:
        """Of each model: what its z is multiplied by, and its weights are divided by, for its learning rate
        to be the smallest one; from 1 on, of shape (models,)."""
        rates = self._settings.rates_at(0)
        return np.asarray(np.sqrt(rates / rates.min()), dtype=np.float64)

    def pack(self, z: ArrayLike) -> Floats:
        """A mini-batch of shape (batch, width) for all models, or (models, batch, width), as slots of shape
        (*batch_shape, slots).

        Raises:
            ParameterError: for another shape.
        """
        own, given = self._settings, np.asarray(z, dtype=np.float64)
        expected = (own.batch, own.width)
        if given.shape not in (expected, (own.models, *expected)):
            raise ParameterError(
                f"a mini-batch has the shape {expected}, or one such for each of {own.models} models, not "
                f"{given.shape}"
            )
        rows = np.zeros((self.ciphertexts * self.samples, self.state_slots // own.width, own.width))
        by_model = np.broadcast_to(given, (own.models, *expected)) * self.model_factors[:, None, None]
        rows[: own.batch, : own.models] = self.feature_factor * by_model.swapaxes(0, 1)
        return rows.reshape(*self.batch_shape, self.slots)

    def pack_weights(self, weights: ArrayLike) -> NDArray[np.complex128]:
        """The state of weights of shape (models, width), v and w alike, as slots of shape (state_slots,).

        Raises:
            ParameterError: for weights above `weight_bound`, or of another shape.
        """
        own, given = self._settings, np.asarray(weights, dtype=np.float64)
        shape = (own.models, own.width)
        if given.shape != shape or not np.abs(given).max() <= own.weight_bound:
            raise ParameterError(
                f"weights to start from have the shape {shape}, at most {own.weight_bound} each; these "
                f"have the shape {given.shape}"
            )
        rows = np.zeros((self.state_slots // own.width, own.width), dtype=np.complex128)
        rows[: own.models] = given / (own.weight_bound * self.model_factors[:, None])
        return rows.ravel() * (1 + 1j if own.is_accelerated else 1)

    def unpack_weights(self, state: NDArray[np.complex128]) -> Floats:
        """The weights, of shape (models, width), of a decrypted state of shape (state_slots,)."""
        own = self._settings
        part = state.imag if own.is_accelerated else state.real
        rows = part.reshape(-1, own.width)[: own.models]
        return np.asarray(own.weight_bound * self.model_factors[:, None] * rows, dtype=np.float64)

    # --- Numbers of an iteration. ---

    def gradient_factor(self, iteration: int) -> complex:
        """What z is multiplied by for the gradient: the smallest learning rate, and where the gradient
        goes: 1 for v alone, (1 + momentum) + i for v + i w."""
        own = self._settings
        step = float(own.rates_at(iteration).min())
        step /= own.batch * own.weight_bound * self.feature_factor
        return step * (1 + own.momentum_at(iteration) + 1j) if own.is_accelerated else complex(step)

    def state_factors(self, iteration: int) -> tuple[complex, complex]:
        """a and b with the next state = gradient + a (s + conj s) + b s, for Nesterov's state s = v + i w:
        (1 + m) v - m w + i v, where w = i v - i s."""
        momentum = self._settings.momentum_at(iteration)
        return (1 + momentum + 1j * (1 - momentum)) / 2, 1j * momentum

    # --- Cost. ---

    def operations(self, position: int = 0) -> dict[str, int]:
        """Operations of the iteration at a position after a bootstrap, by kind: as `Plan.operations`, and
        "rotations", those with a key of their own, conjugations among them."""
        return _operations_of(self._iterations[position], self._settings, self.ciphertexts)

    @property
    def key_bytes(self) -> int:
        """Bytes of the server's keys in memory."""
        seen: dict[Any, int] = {}
        for circuit in self.circuits:
            for need, told in zip(circuit.needed_keys, circuit._keys(), strict=True):
                name = (need.kind, need.galois_element, tuple(need.primes), tuple(need.special_primes))
                seen[name] = told["bytes"]
        total = sum(seen.values())
        if self._settings.is_accelerated:
            # The key of conjugations is as large as that of a rotation at the same level.
            level = self._iterations[0].level
            total += InnerSum(self._params, self.slots, 2, level=level).key_bytes
        return total

    @property
    def plaintext_bytes(self) -> int:
        """Bytes of encoded coefficients and masks."""
        return sum(circuit.plaintext_bytes for circuit in self.circuits)

    @property
    def workspace_bytes(self) -> int:
        """Bytes of values in between at once, by a model of the CPU."""
        once = (self._bootstrap, *(one.gradient for one in self._iterations))
        each = (circuit for one in self._iterations for circuit in one.by_ciphertext)
        return max(
            max(circuit.workspace_bytes for circuit in once),
            self.ciphertexts * max(circuit.workspace_bytes for circuit in each),
        )

    @property
    def batch_bytes(self) -> int:
        """Bytes of a mini-batch as it comes."""
        return (
            16 * self.ciphertexts * len(self._params.primes[self._iterations[0].level]) * self._params.degree
        )

    def as_dict(self) -> dict[str, Any]:
        """What it tells, for programs."""
        return {
            "degree": self._params.degree,
            "security": self._params.security,
            "log_modulus": self._params.log_modulus,
            "slots": self.slots,
            "rows": self.rows,
            "width": self._settings.width,
            "state_slots": self.state_slots,
            "samples": self.samples,
            "ciphertexts": self.ciphertexts,
            "depth": self._settings.depth,
            "bootstrap_every": self.bootstrap_every,
            "bootstraps": self.bootstraps,
            "levels": [one.level for one in self._iterations],
            "lowest_level": self._bootstrap.input_level,
            "sigmoid_error": self._settings.sigmoid.error,
            "iterations": [self.operations(i) for i in range(self.bootstrap_every)],
            "bootstrap": self._bootstrap.as_dict(),
            "bytes": {
                "keys": self.key_bytes,
                "plaintexts": self.plaintext_bytes,
                "workspace": self.workspace_bytes,
                "batch": self.batch_bytes,
            },
        }

    def report(self) -> str:
        """What it needs and costs, in some lines for people."""
        own, boot = self._settings, self._bootstrap
        several = f" of each of {own.models} models" if own.models > 1 else ""
        lines = [
            f"{own.method} on mini-batches of {own.batch} samples x {own.width} features{several}: "
            f"{self.samples} to a ciphertext of {self.slots} slots, {self.ciphertexts} "
            f"ciphertext{'s' * (self.ciphertexts > 1)} a mini-batch",
            f"N = {self._params.degree}, {self._params.log_modulus:.0f} bits with special primes, security "
            f"{self._params.security}",
            f"sigmoid: degree {own.degree} on -{own.interval:g} to {own.interval:g}, {own.fit}, within "
            f"{own.sigmoid.error:.3f}",
            f"an iteration takes {own.depth} levels: 1 for z v, {own.sigmoid.depth} for the polynomial "
            "with its mask, 1 for the gradient with the learning rate",
            f"a bootstrap every {self.bootstrap_every} iterations, of {boot.slots} "
            f"{'real' if boot.real else 'complex'} slots: level {boot.input_level} to {boot.result_level}",
        ]
        for position, one in enumerate(self._iterations):
            counts = self.operations(position)
            text = ", ".join(
                f"{count} {_TITLES[kind]}" for kind, count in counts.items() if count and kind in _TITLES
            )
            lines.append(f"  iteration at level {one.level}: {text}")
        counts = boot.operations
        lines += [
            "  bootstrap: "
            + ", ".join(f"{count} {OPERATIONS[kind]}" for kind, count in counts.items() if count),
            f"keys of {size_text(self.key_bytes)}, plaintexts of {size_text(self.plaintext_bytes)}, "
            f"workspace of {size_text(self.workspace_bytes)}, {size_text(self.batch_bytes)} a mini-batch",
        ]
        return "\n".join(lines)

    # --- Making it. ---

    def _at(self, level: int) -> Iteration:
        params, own, slots = self._params, self._settings, self.slots
        after = level - 1 - own.sigmoid.depth
        # p(-u), in the first slot of each row.
        signs = np.where(np.arange(own.degree + 1) % 2 == 1, -1.0, 1.0)
        coefficients = np.zeros((own.degree + 1, self.rows, own.width))
        coefficients[:, :, 0] = (signs * own.sigmoid.coefficients)[:, None]
        masked = Polynomial(coefficients.reshape(own.degree + 1, slots), per_slot=True, name="masked sigmoid")
        return Iteration(
            level,
            InnerSum(params, slots, own.width, level=level - 1, own_keys=True),
            masked.plan(params, level=level - 1, own_keys=True),
            Replication(params, slots, own.width, others_are_zero=True, level=after, own_keys=True),
            after,
            InnerSum(
                params,
                slots,
                self.samples,
                stride=self.state_slots,
                everywhere=True,
                level=after - 1,
                own_keys=True,
            ),
            tuple(MatrixVectorProduct(params, 1, 1, level=at, own_keys=True) for at in (level, after)),
        )


_TITLES = {
    "products": "ciphertext products",
    "plain_products": "products with plaintexts",
    "rotations": "rotations and conjugations",
    "key_products": "products with keys",
    "mod_ups": "extensions of digits",
    "divisions": "divisions by special primes",
    "rescales": "rescales of their own",
}


def _operations_of(iteration: Iteration, settings: Settings, ciphertexts: int) -> dict[str, int]:
    total: Counter[str] = Counter()
    for circuit in iteration.by_ciphertext:
        total.update(circuit.operations)
    # z comes down for both products, and for the second is multiplied by the learning rate.
    total.update(plain_products=1, rescales=3)
    total["rotations"] = _rotations(iteration.scores, iteration.copies)
    total = Counter({kind: ciphertexts * count for kind, count in total.items()})
    # The products of the gradient are relinearized and rescaled as their sum.
    total.update(iteration.products[1].operations)
    total.update(iteration.gradient.operations)
    total.update(products=ciphertexts - 1, rotations=_rotations(iteration.gradient))
    if settings.is_accelerated:
        total.update(rotations=1, key_products=1, mod_ups=1, divisions=1, plain_products=2, rescales=3)
    return {kind: total[kind] for kind in _TITLES}


def _rotations(*circuits: Plan) -> int:
    return sum(circuit.operations["key_products"] for circuit in circuits)
