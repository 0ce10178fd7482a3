"""The server: it trains on ciphertexts, with evaluation keys and without a secret key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter

import hemera
from hemera.errors import LevelError, MismatchError, ParameterError
from hemera_apps.logistic_regression import circuit
from hemera_apps.logistic_regression.plan import TrainingPlan

Step = Callable[..., "hemera.Ciphertext | tuple[hemera.Ciphertext, ...]"]


class Server:
    """Trains by a plan's circuits.

        server = Server(plan, context, keys)
        server.add_batch(bytes_of_a_ciphertext)
        for iteration in server.train(start):
            answer = server.weights()    # a ciphertext to send back, at any time

    Args:
        plan: the plan of the training, the same as the client's.
        context: a context of the plan's parameters.
        keys: the keys of `Client.keys`, or their bytes.
        capture: whether iterations and bootstraps are captured as graphs, which a GPU runs as one; None: on
            GPUs. The learning rate and the momentum are inputs of the graphs, so one graph for each level
            serves all iterations there.

    Raises:
        MismatchError: if the context or the keys have other parameters.
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
        self._evaluator = context.bind(loaded)
        self._captures = context.device != "cpu" if capture is None else capture
        self._graphs: dict[object, hemera.Graph] = {}
        self._batches: list[hemera.Ciphertext] = []
        self._state: hemera.Ciphertext | None = None
        self._scaled: tuple[int, hemera.Ciphertext, hemera.Ciphertext] | None = None
        self.seconds: dict[str, list[float]] = {"iterations": [], "bootstraps": []}
        """The seconds of each iteration without its bootstrap, and of each bootstrap, from `train` with
        `measure`."""

    @property
    def context(self) -> hemera.Context:
        return self._evaluator.context

    def add_batch(self, batch: hemera.Ciphertext | bytes) -> None:
        """Keep a mini-batch: ciphertexts of the shape `plan.batch_shape`.

        Raises:
            LevelError: if the batch is at a lower level than iterations begin at.
            MismatchError: if ciphertexts have other slots, or another shape.
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
        """The current state, for the client: a small ciphertext of `plan.state_slots` slots.

        Raises:
            ParameterError: if training has not begun.
        """
        if self._state is None:
            raise ParameterError("there are no weights yet: run train() first")
        return self._evaluator.shrink(self._state.with_slots(self._plan.state_slots))

    def train(self, start: hemera.Ciphertext | bytes, *, measure: bool = False) -> Iterator[int]:
        """Learn from the mini-batches one after the other, round and round.

        Args:
            start: the ciphertext of `Client.start`.
            measure: whether to wait for each step and to note its time in `seconds`.

        Yields:
            After each iteration, the number of iterations done.

        Raises:
            ParameterError: if there is no mini-batch.
        """
        plan = self._plan
        if not self._batches:
            raise ParameterError("there is nothing to learn from: add_batch() first")
        state = self._load(start)
        if state.slots != plan.start_slots or state.shape != ():
            raise MismatchError(
                f"training starts from one state of {plan.start_slots} slots, and not from shape "
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
            return circuit.refreshed(self._evaluator, plan.bootstrap, x, level)

        return self._run(-1, refresh, state)[0]

    def _iterate(self, state: hemera.Ciphertext, number: int) -> hemera.Ciphertext:
        """The next state, some levels lower."""
        following = self._advanced(state, number)
        if number + 1 < self._plan.settings.iterations:
            # A GPU gets this work during this iteration, so that the next one begins with its graph.
            self._scaled = self._scale(number + 1)
        return following

    def _scale(self, number: int) -> tuple[int, hemera.Ciphertext, hemera.Ciphertext]:
        """An iteration's number, its z, and z times the gradient's factor."""
        plan = self._plan
        z = self._batches[number % len(self._batches)]
        level = plan.iterations[number % plan.bootstrap_every].gradient_level
        return number, z, circuit.scaled(self._evaluator, plan.whole(z), level, plan.gradient_factor(number))

    def _advanced(self, state: hemera.Ciphertext, number: int) -> hemera.Ciphertext:
        """The next state: by the circuit, and by the factors of this iteration, which are not in the
        circuit."""
        plan, ev = self._plan, self._evaluator
        position = number % plan.bootstrap_every
        own = plan.iterations[position]
        z = self._batches[number % len(self._batches)]
        # Other ones come next if training began anew, or mini-batches were added meanwhile.
        if self._scaled is None or self._scaled[0] != number or self._scaled[1] is not z:
            self._scaled = self._scale(number)
        scaled = self._scaled[2]
        if not plan.settings.is_accelerated:
            (following,) = self._run(
                position, lambda x, y, s: circuit.descended(ev, own, x, y, lambda _: s), state, z, scaled
            )
            return following
        gradient, ahead, kept = self._run(
            position, lambda x, y, s: plan.advanced(own, position, x, y, lambda _: s), state, z, scaled
        )
        return circuit.joined(ev, gradient, ahead, kept, plan.state_factors(number))

    def _run(self, name: int, step: Step, *inputs: hemera.Ciphertext) -> tuple[hemera.Ciphertext, ...]:
        """The step's results for the inputs, by a captured graph if the server captures."""
        if not self._captures:
            found = step(*inputs)
        else:
            # A graph takes inputs like its examples; those of usual clients are.
            key = (name, *((x.shape, x.level, x.scale, x.dtype) for x in inputs))
            if key not in self._graphs:
                self._graphs[key] = self._evaluator.capture(step, *inputs)
            found = self._graphs[key](*inputs)
        return (found,) if isinstance(found, hemera.Ciphertext) else tuple(found)

    def _load(self, given: hemera.Ciphertext | bytes) -> hemera.Ciphertext:
        if isinstance(given, bytes):
            return self._evaluator.load(given)
        return self._evaluator.bind(given)


class _Stopwatch:
    """Notes the time of a step, if `runs` is set."""

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
