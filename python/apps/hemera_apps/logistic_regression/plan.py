"""The plan of training on ciphertexts: layout, levels, keys and cost, known before any encryption."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera._options import size_text
from hemera.circuits import Bootstrap, InnerSum, Polynomial, Replication
from hemera.circuits.needs import OPERATIONS
from hemera.circuits.plans import Plan
from hemera.ckks import Parameters
from hemera.errors import LevelError, ParameterError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.cost import Cost, DryRun, FreshInput
from hemera.times import DeviceTimes
from hemera_apps.logistic_regression.circuit import (
    AtLevel,
    Circuits,
    Factor,
    Iteration,
    accelerated,
    accelerated_parts,
    descended,
    joined,
    refreshed,
    scaled,
)
from hemera_apps.logistic_regression.settings import Settings

Floats = NDArray[np.float64]


class TrainingPlan:
    """The levels, keys and cost of training, and the places of samples and weights in slots.

    A ciphertext's N/2 slots are rows of `settings.width`. With M models (filled up to a power of two), row
    q M + m has sample q of model m's mini-batch. Samples that do not fit go on in the next ciphertext, and
    the gradients of all ciphertexts are summed before the step. The state of a model is v + i w (Nesterov) or
    v (gradient descent), divided by `weight_bound`. It repeats in all of the model's rows. So the
    state is also a ciphertext of M `width` slots, and one bootstrap of that serves all models. Where a
    bootstrap has no level to spare for joining v and w, it leaves them side by side, (v, w) in twice the
    slots, and the client sends z in two halves (`parts_apart`). z is encrypted
    times `feature_factor`. Sums along rows, divided by the sigmoid's interval, are then from -1 to 1.

    Models of different learning rates take the same steps on the server. With r = sqrt(rate / smallest rate),
    the gradient of v / r on samples z r, at the smallest rate, is that of v on z divided by r, and z r times
    v / r is z v.

    Args:
        params: parameters of `hemera.ckks.Parameters.for_bootstrapping`, the same for client and server.
        settings: the settings of the training.
        bootstrap_every: the number of iterations from one bootstrap to the next; None: as many as the levels
            allow.

    Raises:
        LevelError: if a bootstrap leaves fewer levels than these iterations take.
        ParameterError: if a sample of each model does not fit the slots, or the parameters are others.
    """

    def __init__(self, params: Parameters, settings: Settings, *, bootstrap_every: int | None = None) -> None:
        self._params = params
        self._settings = settings
        slots = params.max_slots
        if self.state_slots > slots:
            raise ParameterError(
                f"a sample of each of {settings.models} models in rows of {settings.width} (1 + "
                f"{settings.features} features, filled up) does not fit the {slots} slots of a ciphertext; "
                f"take at most {slots // settings.width} models, or parameters of a larger degree"
            )
        real = not settings.is_accelerated
        bootstraps = [Bootstrap(params, self.state_slots, real=real)]
        if not real and 4 * self.state_slots <= params.degree:
            # One longest step in place of two, for a level, if a level is left over.
            for join in (False, True):
                bootstraps.append(Bootstrap(params, self.state_slots, merge_parts=True, join_parts=join))
        depth, left = settings.depth, max(bootstrap.levels_left for bootstrap in bootstraps)
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
        self._bootstrap = [each for each in bootstraps if each.levels_left >= every * depth][-1]
        self._every = every
        level = self._start = self._bootstrap.input_level + every * depth
        iterations = []
        dry = self._dry_run()
        for position in range(every):
            iterations.append(self._planned(dry, position, level))
            level = iterations[-1].result_level
        self._iterations = tuple(iterations)

    # --- Properties. ---

    @property
    def params(self) -> Parameters:
        return self._params

    @property
    def settings(self) -> Settings:
        return self._settings

    @property
    def slots(self) -> int:
        """The number of slots of a mini-batch's ciphertext: all."""
        return self._params.max_slots

    @property
    def rows(self) -> int:
        """The number of rows of a ciphertext, each with a sample of one model."""
        return self.slots // self._settings.width

    @property
    def state_slots(self) -> int:
        """The number of slots of the state: a row for each model, filled up to a power of two."""
        return self._settings.width << (self._settings.models - 1).bit_length()

    @property
    def samples(self) -> int:
        """The number of samples of each model in a ciphertext."""
        return self.slots // self.state_slots

    @property
    def ciphertexts(self) -> int:
        """The number of ciphertexts of a mini-batch."""
        return -(-self._settings.batch // self.samples)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of a mini-batch's ciphertexts as one batch; () for a single ciphertext. Two halves:
        with an axis of 2 first."""
        whole = () if self.ciphertexts == 1 else (self.ciphertexts,)
        return (2, *whole) if self.parts_apart else whole

    @property
    def parts_apart(self) -> bool:
        """Whether bootstraps leave v and w side by side, as a real state of twice the slots."""
        return not self._bootstrap.join_parts

    @property
    def start_slots(self) -> int:
        """The number of slots of the state that training starts from, and that bootstraps give."""
        return self._bootstrap.result_slots

    @property
    def bootstrap(self) -> Bootstrap:
        """The bootstrap of the state, of `state_slots` slots."""
        return self._bootstrap

    @property
    def bootstrap_every(self) -> int:
        """The number of iterations from one bootstrap to the next."""
        return self._every

    @property
    def iterations(self) -> tuple[Iteration, ...]:
        """The iterations from one bootstrap to the next, in their order."""
        return self._iterations

    @property
    def bootstraps(self) -> int:
        """The number of bootstraps of a whole training: one before every `bootstrap_every`-th iteration but
        the first."""
        return (self._settings.iterations - 1) // self.bootstrap_every

    @property
    def feature_factor(self) -> float:
        """The factor of z before encryption."""
        parts = 2 if self._settings.is_accelerated else 1  # the state and its conjugate are 2 v
        return self._settings.weight_bound / (parts * self._settings.interval)

    # --- Layout. ---

    @property
    def model_factors(self) -> Floats:
        """The factor of each model's z, and divisor of its weights, that makes its learning rate the smallest
        one: of shape (models,), from 1 on."""
        rates = self._settings.rates_at(0)
        return np.asarray(np.sqrt(rates / rates.min()), dtype=np.float64)

    def pack(self, z: ArrayLike) -> Floats:
        """A mini-batch of shape (batch, width) for all models, or (models, batch, width), as slots of shape
        (*batch_shape, slots).

        Raises:
            ParameterError: if the shape is another one.
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
        if self.parts_apart:
            # Samples in the first place of a pair have v there, those in the second one w.
            places = np.arange(self.ciphertexts * self.samples)[:, None, None] % 2
            rows = np.stack([rows * (places == 0), rows * (places == 1)])
        return rows.reshape(*self.batch_shape, self.slots)

    def pack_weights(self, weights: ArrayLike) -> Floats | NDArray[np.complex128]:
        """The state of weights of shape (models, width), v and w alike, as slots of shape (start_slots,):
        real ones, as those after a bootstrap, where the parts are apart or there is one.

        Raises:
            ParameterError: if weights are above `weight_bound`, or of another shape.
        """
        own, given = self._settings, np.asarray(weights, dtype=np.float64)
        shape = (own.models, own.width)
        if given.shape != shape or not np.abs(given).max() <= own.weight_bound:
            raise ParameterError(
                f"weights to start from have the shape {shape}, at most {own.weight_bound} each; these "
                f"have the shape {given.shape}"
            )
        rows = np.zeros((self.state_slots // own.width, own.width))
        rows[: own.models] = given / (own.weight_bound * self.model_factors[:, None])
        if self.parts_apart:
            return np.tile(rows.ravel(), 2)
        slots: Floats = rows.ravel()
        return np.asarray(slots * (1 + 1j), np.complex128) if own.is_accelerated else slots

    def unpack_weights(self, state: NDArray[np.complex128]) -> Floats:
        """The weights, of shape (models, width), of a decrypted state of shape (state_slots,)."""
        own = self._settings
        part = state.imag if own.is_accelerated else state.real
        rows = part.reshape(-1, own.width)[: own.models]
        return np.asarray(own.weight_bound * self.model_factors[:, None] * rows, dtype=np.float64)

    @functools.cached_property
    def _masked_sigmoid(self) -> Polynomial:
        """p(-u), in the first slot of each row."""
        own = self._settings
        signs = np.where(np.arange(own.degree + 1) % 2 == 1, -1.0, 1.0)
        coefficients = np.zeros((own.degree + 1, self.rows, own.width))
        coefficients[:, :, 0] = (signs * own.sigmoid.coefficients)[:, None]
        return Polynomial(
            coefficients.reshape(own.degree + 1, self.slots), per_slot=True, name="masked sigmoid"
        )

    # --- Numbers of an iteration. ---

    def gradient_factor(self, iteration: int) -> complex:
        """The factor of the gradient's z: the smallest learning rate, times 1 for v alone, or (1 + momentum)
        + i for v + i w."""
        own = self._settings
        step = float(own.rates_at(iteration).min())
        step /= own.batch * own.weight_bound * self.feature_factor
        return step * (1 + own.momentum_at(iteration) + 1j) if own.is_accelerated else complex(step)

    def state_factors(self, iteration: int) -> tuple[Factor, Factor]:
        """a and b with the next state = gradient + a (s + conj s) + b s, for Nesterov's state s = v + i w:
        (1 + m) v - m w + i v, where w = i v - i s. For a state (v, w): gradient + a (w, v) + b (v, w), with
        arrays of shape (start_slots,), is v + i w twice."""
        momentum = self._settings.momentum_at(iteration)
        if self._starts_apart(iteration):
            of_v, of_w = (np.full(self.state_slots, c) for c in (1 + momentum + 1j, complex(-momentum)))
            return np.concatenate([of_w, of_v]), np.concatenate([of_v, of_w])
        return (1 + momentum + 1j * (1 - momentum)) / 2, 1j * momentum

    # --- Cost. ---

    @functools.cached_property
    def cost(self) -> Cost:
        """The cost of all iterations from one bootstrap to the next, and of the bootstrap, with the server's
        keys as they are asked for."""

        def whole(state: Ciphertext, z: Ciphertext) -> list[Ciphertext]:
            ends = []
            for position in range(self.bootstrap_every):
                state = self._iterated(position, state, z)
                ends.append(state)
            return [*ends, refreshed(state.evaluator, self._bootstrap, state, self._start)]

        return self._dry_run().cost(lambda _: whole, self._inputs(self._start), own_products=True)

    @functools.cached_property
    def costs(self) -> tuple[Cost, ...]:
        """The cost of each iteration from one bootstrap to the next, with the keys of all."""
        needs, dry = self.cost.needed_keys, self._dry_run()

        def count(position: int) -> Cost:
            inputs = self._inputs(self._iterations[position].level)
            return dry.cost(lambda _: functools.partial(self._iterated, position), inputs, needs=needs)

        return tuple(map(count, range(self.bootstrap_every)))

    @functools.cached_property
    def bootstrap_cost(self) -> Cost:
        """The cost of a bootstrap of the state."""

        def refresh(state: Ciphertext) -> Ciphertext:
            return refreshed(state.evaluator, self._bootstrap, state, self._start)

        inputs = [FreshInput(self.slots, self._iterations[-1].result_level)]
        return self._dry_run().cost(lambda _: refresh, inputs, needs=self.cost.needed_keys)

    def operations(self, position: int = 0) -> dict[str, int]:
        """Operations of the iteration at a position after a bootstrap, by kind: as `Plan.operations`, and
        "rotations", those with a key of their own, conjugations among them."""
        own, found = self._iterations[position], self.costs[position].operations
        rotations = self.ciphertexts * _switches(own.scores, own.copies) + _switches(own.gradient)
        found["rotations"] = rotations + self._settings.is_accelerated
        return {kind: found[kind] for kind in _TITLES}

    def seconds(self, device: str) -> dict[str, Any]:
        """About how long iterations by their positions and a bootstrap take on a device: see `hemera.cost`.

        Raises:
            DeviceError: when there is no table of times of the device.
        """
        times = DeviceTimes.find(device)
        return {
            "iteration_by_level": [times.seconds(cost._cost) for cost in self.costs],
            "bootstrap": times.seconds(self.bootstrap_cost._cost),
        }

    @property
    def key_bytes(self) -> int:
        """Bytes of the server's keys in memory."""
        return self.cost.key_bytes

    @property
    def plaintext_bytes(self) -> int:
        """Bytes of encoded coefficients and masks."""
        return self.cost.plaintext_bytes

    @property
    def workspace_bytes(self) -> int:
        """The most bytes of values in between at once, of a CPU."""
        return max(cost.workspace_bytes for cost in (*self.costs, self.bootstrap_cost))

    @property
    def batch_bytes(self) -> int:
        """The bytes of an arriving mini-batch."""
        return (
            16
            * math.prod(self.batch_shape)
            * len(self._params.primes[self._iterations[0].level])
            * self._params.degree
        )

    def as_dict(self) -> dict[str, Any]:
        """The plan for programs."""
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
            "parts_apart": self.parts_apart,
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
        """The plan in some lines for people: its needs and its cost."""
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

    def _inputs(self, level: int) -> list[FreshInput]:
        """A state at a level, and a mini-batch."""
        return [FreshInput(self.slots, level), FreshInput((*self.batch_shape, self.slots), self._start)]

    def _iterated(self, position: int, state: Ciphertext, z: Ciphertext) -> Ciphertext:
        """The next state, by the iteration at a position after the first bootstrap, as on the server."""
        own, number = self._iterations[position], self.bootstrap_every + position
        ready = scaled(state.evaluator, self.whole(z), own.gradient_level, self.gradient_factor(number))
        return self._following(own, number, state, z, lambda _: ready)

    def _following(
        self, own: Circuits, number: int, state: Ciphertext, z: Ciphertext, factored: AtLevel
    ) -> Ciphertext:
        ev = state.evaluator
        if not self._settings.is_accelerated:
            return descended(ev, own, state, z, factored)
        return joined(ev, *self.advanced(own, number, state, z, factored), self.state_factors(number))

    def advanced(
        self, own: Circuits, number: int, state: Ciphertext, z: Ciphertext, factored: AtLevel
    ) -> tuple[Ciphertext, Ciphertext, Ciphertext]:
        """The parts of Nesterov's next state, for `joined`."""
        ev = state.evaluator
        if self._starts_apart(number):
            return accelerated_parts(ev, own, state, z, factored, self.state_slots)
        return accelerated(ev, own, state, self.whole(z), factored)

    def whole(self, z: Ciphertext) -> Ciphertext:
        """All samples of a mini-batch."""
        return z[0] + z[1] if self.parts_apart else z

    def _starts_apart(self, number: int) -> bool:
        return self.parts_apart and number % self._every == 0

    def _dry_run(self) -> DryRun:
        return DryRun(Context(self._params, "ledger", threads=1), symmetric=True)

    def _planned(self, dry: DryRun, position: int, level: int) -> Iteration:
        """The iteration at a position that starts at a level, by a run in which each circuit is made for what
        comes to it."""
        planner = _Planner(self, level)
        evaluator = dry.bind(dry.asking(own_products=True))
        state, z = dry.encrypted(self._inputs(level), evaluator)
        number = self._every + position

        def factored(own: int) -> Ciphertext:
            return scaled(evaluator, self.whole(z), own, self.gradient_factor(number))

        following = self._following(planner, number, state, z, factored)
        return planner.made(following.level)


class _Planner:
    """Makes the circuits of an iteration, each for the level of the ciphertext that it is called with."""

    def __init__(self, plan: TrainingPlan, level: int) -> None:
        self._plan, self.level = plan, level
        self._made: dict[str, Any] = {}

    def made(self, result_level: int) -> Iteration:
        """The iteration."""
        return Iteration(level=self.level, result_level=result_level, **self._made)

    def scores(self, x: Ciphertext) -> Ciphertext:
        return self._run("scores", x, InnerSum(*self._slots, self._width, level=x.level, own_keys=True))

    def sigmoid(self, x: Ciphertext) -> Ciphertext:
        masked = self._plan._masked_sigmoid
        return self._run("sigmoid", x, masked.plan(self._plan.params, level=x.level, own_keys=True))

    def copies(self, x: Ciphertext) -> Ciphertext:
        own = Replication(*self._slots, self._width, others_are_zero=True, level=x.level, own_keys=True)
        return self._run("copies", x, own)

    def gradient(self, x: Ciphertext) -> Ciphertext:
        own = InnerSum(
            *self._slots,
            self._plan.samples,
            stride=self._plan.state_slots,
            everywhere=True,
            level=x.level,
            own_keys=True,
        )
        return self._run("gradient", x, own)

    @property
    def _slots(self) -> tuple[Parameters, int]:
        return self._plan.params, self._plan.slots

    @property
    def _width(self) -> int:
        return self._plan.settings.width

    def _run(self, name: str, x: Ciphertext, made: Any) -> Ciphertext:
        self._made[name] = made
        result: Ciphertext = made(x)
        return result


_TITLES = {
    "products": "ciphertext products",
    "plain_products": "products with plaintexts",
    "rotations": "rotations and conjugations",
    "key_products": "products with keys",
    "mod_ups": "extensions of digits",
    "divisions": "divisions by special primes",
    "rescales": "rescales of their own",
}


def _switches(*circuits: Plan) -> int:
    return sum(circuit.operations["key_products"] for circuit in circuits)
