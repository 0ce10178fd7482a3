"""How training is taken on ciphertexts: layout, levels, keys and cost, known before anything is encrypted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera._options import size_text
from hemera._plans import OPERATIONS, Plan
from hemera.applications.logistic_regression.settings import Settings
from hemera.circuits import (
    Bootstrap,
    FunctionPlan,
    InnerSum,
    MatrixVectorProduct,
    Polynomial,
    Replication,
)
from hemera.ckks import Parameters
from hemera.errors import LevelError, ParameterError

__all__ = ["Iteration", "TrainingPlan"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Iteration:
    """The circuits of an iteration that starts at a level. Rows are samples, of `width` slots each."""

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
    """The sum of all rows, in each of them."""
    products: tuple[MatrixVectorProduct, ...]
    """Of one number with another: what the two products with z need and cost."""

    @property
    def circuits(self) -> tuple[Plan, ...]:
        return *self.products, self.scores, self.sigmoid, self.copies, self.gradient


class TrainingPlan:
    """Levels, keys and cost of training, and how samples and weights lie in slots.

    A ciphertext's N/2 slots are rows of `settings.width`, one sample each. The state, v + i w (Nesterov) or v
    (gradient descent) over `weight_bound`, repeats in every row: so it is a ciphertext of `width` slots, too,
    and is bootstrapped as that. z is encrypted times `feature_factor`, so that the sums along rows are those
    over the sigmoid's interval, from -1 to 1.

    Args:
        params: of `hemera.ckks.Parameters.for_bootstrapping`, the same for client and server.
        settings: of the training.
        bootstrap_every: iterations from one bootstrap to the next; None: as many as the levels allow.

    Raises:
        LevelError: when a bootstrap leaves fewer levels than these iterations take.
        ParameterError: when a mini-batch does not fit the slots, or for other parameters.
    """

    def __init__(self, params: Parameters, settings: Settings, *, bootstrap_every: int | None = None) -> None:
        self._params = params
        self._settings = settings
        slots = params.max_slots
        if settings.width * settings.batch > slots:
            raise ParameterError(
                f"a mini-batch of {settings.batch} samples in rows of {settings.width} (1 + "
                f"{settings.features} features, filled up) does not fit the {slots} slots of a "
                f"ciphertext; take at most {slots // settings.width} samples, or parameters of a "
                "larger degree"
            )
        real = not settings.is_accelerated
        self._bootstrap = Bootstrap(params, settings.width, real=real)
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
        if not real and 4 * settings.width <= params.degree:
            # One longest step in place of two, for a level: taken where that level is left over.
            merged = Bootstrap(params, settings.width, merge_parts=True)
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
        """The samples that fit a ciphertext."""
        return self.slots // self._settings.width

    @property
    def bootstrap(self) -> Bootstrap:
        """Of the state: `width` slots."""
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

    def pack(self, z: ArrayLike) -> Floats:
        """Mini-batches of shape (..., batch, width) as slots, of shape (..., slots)."""
        rows = np.asarray(z, dtype=np.float64)
        expected = (self._settings.batch, self._settings.width)
        if rows.ndim < 2 or rows.shape[-2:] != expected:
            raise ParameterError(f"a mini-batch has the shape {expected}, not {rows.shape[-2:]}")
        slots = np.zeros((*rows.shape[:-2], self.slots))
        flat = rows.reshape(*rows.shape[:-2], -1)
        slots[..., : flat.shape[-1]] = self.feature_factor * flat
        return slots

    def unpack_weights(self, state: NDArray[np.complex128]) -> Floats:
        """The weights of decrypted states of shape (..., width)."""
        part = state.imag if self._settings.is_accelerated else state.real
        return np.asarray(self._settings.weight_bound * part, dtype=np.float64)

    # --- Numbers of an iteration. ---

    def gradient_factors(self, iteration: int) -> NDArray[np.complex128]:
        """What z is multiplied by for the gradient, for each model: the learning rate, and where the gradient
        goes: 1 for v alone, (1 + momentum) + i for v + i w."""
        own = self._settings
        step = own.rates_at(iteration) / (own.batch * own.weight_bound * self.feature_factor)
        if not own.is_accelerated:
            return step.astype(np.complex128)
        return np.asarray(step * (1 + own.momentum_at(iteration) + 1j), dtype=np.complex128)

    def state_factors(self, iteration: int) -> tuple[complex, complex]:
        """a and b with the next state = gradient + a (s + conj s) + b s, for Nesterov's state s = v + i w:
        (1 + m) v - m w + i v, where w = i v - i s."""
        momentum = self._settings.momentum_at(iteration)
        return (1 + momentum + 1j * (1 - momentum)) / 2, 1j * momentum

    # --- Cost. ---

    def operations(self, position: int = 0) -> dict[str, int]:
        """Operations of the iteration at a position after a bootstrap, by kind: as `Plan.operations`, and
        "rotations", those with a key of their own, conjugations among them."""
        return _operations_of(self._iterations[position], self._settings)

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
        """Bytes of values in between at once, for all models, by a model of the CPU."""
        return self._settings.models * max(circuit.workspace_bytes for circuit in self.circuits)

    @property
    def batch_bytes(self) -> int:
        """Bytes of a mini-batch's ciphertext as it comes."""
        return 16 * len(self._params.primes[self._iterations[0].level]) * self._params.degree

    def as_dict(self) -> dict[str, Any]:
        """What it tells, for programs."""
        return {
            "degree": self._params.degree,
            "security": self._params.security,
            "log_modulus": self._params.log_modulus,
            "slots": self.slots,
            "rows": self.rows,
            "width": self._settings.width,
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
        lines = [
            f"{own.method} on mini-batches of {own.batch} samples x {own.width} features, {self.rows} "
            f"samples a ciphertext of {self.slots} slots",
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
            InnerSum(params, slots, own.width, level=level - 1),
            masked.plan(params, level=level - 1),
            Replication(params, slots, own.width, others_are_zero=True, level=after),
            after,
            InnerSum(params, slots, self.rows, stride=own.width, everywhere=True, level=after - 1),
            tuple(MatrixVectorProduct(params, 1, 1, level=at) for at in (level, after)),
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


def _operations_of(iteration: Iteration, settings: Settings) -> dict[str, int]:
    total: Counter[str] = Counter()
    for circuit in iteration.circuits:
        total.update(circuit.operations)
    slots: Iterable[Plan] = (iteration.scores, iteration.copies, iteration.gradient)
    total["rotations"] = sum(circuit.operations["key_products"] for circuit in slots)
    # z comes down for both products, and for the second is multiplied by the learning rate.
    total.update(plain_products=1, rescales=3)
    if settings.is_accelerated:
        total.update(rotations=1, key_products=1, mod_ups=1, divisions=1, plain_products=2, rescales=3)
    return {kind: total[kind] for kind in _TITLES}
