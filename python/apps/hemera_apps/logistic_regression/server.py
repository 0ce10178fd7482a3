"""The server: trains on ciphertexts. It has evaluation keys, and no secret key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter

import hemera
from hemera.errors import LevelError, MismatchError, ParameterError
from hemera.objects.noise_warning import ranges_are_known
from hemera_apps.logistic_regression.plan import Iteration, TrainingPlan

__all__ = ["Server"]

Step = Callable[..., "hemera.Ciphertext | tuple[hemera.Ciphertext, ...]"]


class Server:
    """Trains by a plan's circuits.

        server = Server(plan, context, keys)
        server.add_batch(bytes_of_a_ciphertext)
        for iteration in server.train(start):
            answer = server.weights()    # a ciphertext to send back, at any time

    Args:
        plan: the client's.
        context: of the plan's parameters.
        keys: of `Client.keys`, or their bytes.
        capture: whether iterations and bootstraps are captured as graphs, which a GPU runs as one. None: on
            GPUs. The learning rate and the momentum stay outside of them, so one graph for each level serves
            all iterations there.

    Raises:
        MismatchError: for a context or keys of other parameters.
    """

    def __init__(
        self,
        plan: TrainingPlan,
        context: hemera.Context,
        keys: hemera.Keys | bytes,
        *,
        capture: bool | None = None,
    ) -> None:
        self._plan = plan
        loaded = context.load(keys) if isinstance(keys, bytes) else keys
        self._evaluator = context.bind(loaded, bootstrap=plan.bootstrap)
        self._captures = context.device != "cpu" if capture is None else capture
        self._graphs: dict[object, hemera.Graph] = {}
        self._batches: list[hemera.Ciphertext] = []
        self._state: hemera.Ciphertext | None = None
        self._scaled: tuple[int, hemera.Ciphertext, hemera.Ciphertext] | None = None
        self.seconds: dict[str, list[float]] = {"iterations": [], "bootstraps": []}
        """Of each iteration without a bootstrap, and of each bootstrap, once `train` has been told to
        measure."""

    @property
    def context(self) -> hemera.Context:
        return self._evaluator.context

    def add_batch(self, batch: hemera.Ciphertext | bytes) -> None:
        """Keep a mini-batch: ciphertexts of the shape `plan.batch_shape`.

        Raises:
            LevelError: for one of a lower level than iterations begin at.
            MismatchError: for ciphertexts of other slots, or of another shape.
        """
        loaded = self._load(batch)
        expected = self._plan.batch_shape
        if loaded.slots != self._plan.slots or loaded.shape != expected:
            raise MismatchError(
                f"a mini-batch of shape {loaded.shape} and {loaded.slots} slots does not fit the plan's "
                f"shape {expected} and {self._plan.slots} slots; encrypt it by the Client of the same plan"
            )
        lowest = self._plan.iterations[0].level
        if loaded.level < lowest:
            raise LevelError(
                f"a mini-batch at level {loaded.level}, where iterations begin at {lowest}; encrypt it by "
                "the Client of the same plan"
            )
        self._batches.append(loaded)

    def weights(self) -> hemera.Ciphertext:
        """The state as it is, for the client: small, and of `plan.state_slots` slots.

        Raises:
            ParameterError: before training.
        """
        if self._state is None:
            raise ParameterError("there are no weights yet: run train() first")
        return self._evaluator.shrink(self._state.with_slots(self._plan.state_slots))

    def train(self, start: hemera.Ciphertext | bytes, *, measure: bool = False) -> Iterator[int]:
        """Learn from the mini-batches one after the other, round and round.

        Args:
            start: of `Client.start`.
            measure: whether to wait for each step and to note how long it took in `seconds`.

        Yields:
            The number of iterations that are done, after each.

        Raises:
            ParameterError: without mini-batches.
        """
        plan = self._plan
        if not self._batches:
            raise ParameterError("there is nothing to learn from: add_batch() first")
        state = self._load(start)
        if state.slots != plan.state_slots or state.shape != ():
            raise MismatchError(
                f"training starts from one state of {plan.state_slots} slots, and not from shape "
                f"{state.shape} of {state.slots}; make it by Client.start of the same plan"
            )
        state = self._evaluator.at_level(state.with_slots(plan.slots), plan.iterations[0].level)
        for number in range(plan.settings.iterations):
            position = number % plan.bootstrap_every
            if number and position == 0:
                with _Stopwatch(self, "bootstraps", measure):
                    state = self._bootstrap(state)
            with _Stopwatch(self, "iterations", measure):
                state = self._iterate(state, number)
            self._state = state
            yield number + 1

    # --- Steps. ---

    def _bootstrap(self, state: hemera.Ciphertext) -> hemera.Ciphertext:
        """The state at the level of the first iteration."""
        level, plan = self._plan.iterations[0].level, self._plan

        def refresh(x: hemera.Ciphertext) -> hemera.Ciphertext:
            with ranges_are_known():
                fresh = plan.bootstrap(x.with_slots(plan.state_slots))
            return self._evaluator.at_level(fresh, level).with_slots(plan.slots)

        return self._run(-1, refresh, state)[0]

    def _iterate(self, state: hemera.Ciphertext, number: int) -> hemera.Ciphertext:
        """The next state, some levels lower."""
        following = self._advanced(state, number)
        if number + 1 < self._plan.settings.iterations:
            # Given to a GPU while it works on this iteration: the next one begins with its graph.
            self._scaled = self._scale(number + 1)
        return following

    def _scale(self, number: int) -> tuple[int, hemera.Ciphertext, hemera.Ciphertext]:
        """An iteration's number, z, and z times what the gradient is multiplied by."""
        plan, ev = self._plan, self._evaluator
        z = self._batches[number % len(self._batches)]
        level = plan.iterations[number % plan.bootstrap_every].gradient_level
        return number, z, ev.rescale(ev.at_level(z, level + 1) * plan.gradient_factor(number))

    def _advanced(self, state: hemera.Ciphertext, number: int) -> hemera.Ciphertext:
        """By the circuit, and what changes from one iteration to the next outside of it."""
        plan, ev = self._plan, self._evaluator
        position = number % plan.bootstrap_every
        own = plan.iterations[position]
        z = self._batches[number % len(self._batches)]
        # Others come next where training began anew, or mini-batches were added meanwhile.
        if self._scaled is None or self._scaled[0] != number or self._scaled[1] is not z:
            self._scaled = self._scale(number)
        scaled = self._scaled[2]
        if not plan.settings.is_accelerated:
            (following,) = self._run(position, partial(self._descended, own), state, z, scaled)
            return following
        gradient, ahead, kept = self._run(position, partial(self._accelerated, own), state, z, scaled)
        a, b = plan.state_factors(number)
        kept *= b
        kept += ahead * a
        return gradient + ev.rescale(kept)

    def _descended(
        self, own: Iteration, state: hemera.Ciphertext, z: hemera.Ciphertext, scaled: hemera.Ciphertext
    ) -> hemera.Ciphertext:
        """Of gradient descent: the next state."""
        return self._gradient(own, state, z, scaled) + state

    def _accelerated(
        self, own: Iteration, state: hemera.Ciphertext, z: hemera.Ciphertext, scaled: hemera.Ciphertext
    ) -> tuple[hemera.Ciphertext, ...]:
        """Of Nesterov's method, with the state s = v + i w: the gradient, and at the level of its last
        product s + conj s = 2 v and s."""
        ahead = state + state.conjugate()
        lowered = (self._evaluator.at_level(x, own.gradient_level) for x in (ahead, state))
        return self._gradient(own, ahead, z, scaled), *lowered

    def _gradient(
        self, own: Iteration, ahead: hemera.Ciphertext, z: hemera.Ciphertext, scaled: hemera.Ciphertext
    ) -> hemera.Ciphertext:
        """The sum over samples of p(-z v) times the scaled z, in each row of a model."""
        ev = self._evaluator
        scores = own.scores(ev.rescale(ev.at_level(z, own.level) * ahead))
        with ranges_are_known():
            spread = own.copies(own.sigmoid(scores))
        # The products of several ciphertexts are relinearized as their sum.
        total = ev.dot(list(spread), list(scaled)) if spread.shape else spread * scaled
        return own.gradient(ev.rescale(total))

    def _run(self, name: int, circuit: Step, *inputs: hemera.Ciphertext) -> tuple[hemera.Ciphertext, ...]:
        """What the circuit makes of the inputs; captured once where that is wanted."""
        if not self._captures:
            found = circuit(*inputs)
        else:
            # A graph takes inputs like those that it was captured with: so are all but of odd clients.
            key = (name, *((x.shape, x.level, x.scale) for x in inputs))
            if key not in self._graphs:
                self._graphs[key] = self._evaluator.capture(circuit, *inputs)
            found = self._graphs[key](*inputs)
        return (found,) if isinstance(found, hemera.Ciphertext) else tuple(found)

    def _load(self, given: hemera.Ciphertext | bytes) -> hemera.Ciphertext:
        if isinstance(given, bytes):
            return self._evaluator.load(given)
        return self._evaluator.bind(given)


class _Stopwatch:
    """Notes how long something took, when asked to."""

    def __init__(self, server: Server, what: str, runs: bool) -> None:
        self._server, self._what, self._runs = server, what, runs
        self._begin = 0.0

    def __enter__(self) -> None:
        if self._runs:
            self._server.context.synchronize()
            self._begin = perf_counter()

    def __exit__(self, *_: object) -> None:
        if self._runs:
            self._server.context.synchronize()
            self._server.seconds[self._what].append(perf_counter() - self._begin)
