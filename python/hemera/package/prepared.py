"""A packaged model in one context: encoded weights and plans, run for any client's keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hemera import _core
from hemera.circuits.needs import size_text
from hemera.errors import LevelError, MismatchError, NoiseError, ScaleError
from hemera.inputs.arguments import Progress
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator
from hemera.objects.graph import Graph
from hemera.objects.keys import Keys
from hemera.package.interface import Interface
from hemera.package.specs import OutputSpec
from hemera.parameters import Parameters, require_naturals
from hemera.program.operations import Running
from hemera.program.operations.base import OfMatrix, parts_of
from hemera.program.program import Program

_SCALE_TOLERANCE = 2.0**-40


class PreparedModel:
    """A packaged model in one context, for keys of any number of clients; `Package.prepare` makes it. Any
    threads may use it at once."""

    def __init__(
        self, interface: Interface, program: Program, ctx: Context, *, has_values: bool = True
    ) -> None:
        """`has_values`: whether plans of maps have their numbers; without them it is run for keys alone."""
        if ctx.params.scheme != program.scheme:
            raise MismatchError(f"the model is of {program.scheme.upper()}, not {ctx.params.scheme.upper()}")
        self._interface, self._program, self._context = interface, program, ctx
        # Other libraries leave rescaling to the caller; a program needs it done by itself.
        params = rules_for(interface.params, ctx.params)
        self._inner = ctx._with_rules(params)
        self._levels = program.levels(params, interface.input_levels(params))
        self._plans = _plans(program, params, self._levels, has_values)
        self._settled = _before_rotations(program) if program.scheme == "ckks" else set()
        self._last_use = _last_uses(program)
        self._streamed: dict[int, int] = {}
        """The bytes of those operations' matrices that are encoded at each run."""

    def encode(self, memory: float = math.inf) -> None:
        """Encode matrices into the context's memory: what the first run would wait for otherwise. Numbers
        that are added or multiplied slot by slot are encoded at the first run, for its scales.

        Args:
            memory: bytes that they may take; those beyond are encoded at each run, and given back after it.

        Raises:
            OutOfMemoryError: when the device, or the context's limit, has no room.
        """
        self._streamed = {}
        nodes = self._program.nodes
        # Bytes are counted by a run of each plan, which nobody needs where all are kept.
        sizes = [0] * len(nodes) if math.isinf(memory) else self.encoded_bytes
        left_out: set[int] = set()  # plans, which several operations may share
        for number, (node, own) in enumerate(zip(nodes, sizes, strict=True)):
            plan = self._plans[number]
            if own > memory or id(plan) in left_out:
                left_out.add(id(plan))
                self._streamed[number] = own
                node.operation.forget(plan, self._inner)
            else:
                memory -= own
                node.operation.encode(plan, self._inner)

    @property
    def encoded_bytes(self) -> list[int]:
        """Bytes of the encoded matrix of each operation; 0 for operations without one, and where an operation
        before it has the same."""
        known: set[int] = set()
        found = []
        for node, plan in zip(self._program.nodes, self._plans, strict=True):
            found.append(0 if id(plan) in known else node.operation.encoded_bytes(plan))
            known.add(id(plan))
        return found

    @property
    def streamed_bytes(self) -> int:
        """Bytes of the matrices that are encoded at each run, since they do not fit into memory."""
        return sum(self._streamed.values())

    @property
    def context(self) -> Context:
        """Where it runs."""
        return self._context

    @property
    def memory_used(self) -> int:
        """Bytes of the device's memory that objects of its contexts hold now: keys, encoded weights,
        ciphertexts."""
        inner = 0 if self._inner is self._context else self._inner.memory_used
        return self._context.memory_used + inner

    @property
    def captures(self) -> bool:
        """Whether `capture` gives graphs that are recorded: on a GPU, for Hemera's own ciphertexts, where all
        matrices are in memory."""
        return self._inner is self._context and self._context.device != "cpu" and not self._streamed

    def bind(self, keys: Keys) -> Evaluator:
        """The evaluator that `run` takes: of the client's keys, which are copied where they are another
        library's. MismatchError for keys of other parameters."""
        if keys.context.params != self._context.params:
            raise MismatchError(f"the keys belong to {keys.context!r}, not to {self._context!r}")
        return self._inner.bind(keys if keys.context is self._inner else keys.to(self._inner))

    def run(
        self, keys: Evaluator | Keys, inputs: Sequence[Ciphertext], progress: Progress = None
    ) -> list[Ciphertext]:
        """The outputs, encrypted, as small as they can be sent.

        Args:
            keys: `bind(keys)`, or keys (or another evaluator of them), which are bound for this one call.
            inputs: one ciphertext for each input, of shape (*requests, *shape of the input): any number of
                requests at once, the same for all inputs.
            progress: called with "run", the number of the program's operations that are done, and the number
                of all. An exception that it raises ends the run.

        Returns:
            One ciphertext for each output, of shape (*requests, *shape of the output), in `context`: what
            came from another context of the same parameters goes back there by `to`.

        Raises:
            MismatchError: for other inputs than the package has.
            LevelError: for inputs of too low a level.
            ScaleError: for inputs of another scale than fresh encryptions have.
            MissingKeyError: when a key is missing: `Package.check` names all.
            NoiseError: BFV and BGV: when no noise budget is certain to be left.
        """
        if isinstance(keys, Evaluator):
            ev = keys if keys.context is self._inner else self.bind(keys.keys)
        else:
            ev = self.bind(keys)
        return self._run(ev, inputs, progress)

    def _run(
        self, ev: Evaluator, inputs: Sequence[Ciphertext], progress: Progress = None
    ) -> list[Ciphertext]:
        program = self._program
        values = self._evaluated(self._taken(ev, inputs), [ev] * len(program.nodes), progress)
        # How much noise there is in what another library encrypted, nobody knows.
        known = program.scheme == "ckks" or all(x.guaranteed_noise_budget > 0 for x in inputs)
        outputs = zip(program.outputs, self._interface.outputs, strict=True)
        return [self._given(ev, values[at], spec, known) for at, spec in outputs]

    def _evaluated(
        self, inputs: Sequence[Ciphertext], evaluators: Sequence[Evaluator], progress: Progress = None
    ) -> list[Ciphertext | None]:
        """The values of the program, of inputs at their levels, each operation by its own evaluator. None:
        what no operation or output takes any more."""
        values: list[Ciphertext | None] = list(inputs)
        count = len(evaluators)
        for number, (node, ev) in enumerate(zip(self._program.nodes, evaluators, strict=True)):
            if progress is not None:
                progress("run", number, count)
            at = len(values)
            running = Running(ev, self._plans[number])
            result = node.operation.run(running, *self._operands(values, node.operands))
            values.append(_settled(ev, result) if at in self._settled else result)
            if number in self._streamed:
                node.operation.forget(self._plans[number], self._inner)
            for operand in node.operands:
                if self._last_use[operand] <= number:
                    values[operand] = None
        if progress is not None:
            progress("run", count, count)
        return values

    def examples(self, requests: Sequence[int] = ()) -> list[Ciphertext]:
        """Inputs as Hemera's clients encrypt them with a secret key, of zeros, under a key that nobody keeps:
        for `warm_up` and `capture`.

        Args:
            requests: the shape of the requests; (): one, without an axis of requests.

        Returns:
            One ciphertext for each input, of shape (*requests, *shape of the input).
        """
        require_naturals(**{f"requests[{at}]": extent for at, extent in enumerate(requests)})
        ctx, specs = self._context, self._interface.inputs
        secret_key = ctx.generate_secret_key()
        real = np.float64 if self._program.scheme == "ckks" else np.int64
        kind = np.complex128 if self._interface.encoding.is_complex else real
        return [
            ctx.encrypt(
                ctx.encode(np.zeros((*requests, *spec.shape, spec.slots), kind), level=level), secret_key
            )
            for spec, level in zip(specs, self._interface.input_levels(ctx.params), strict=True)
        ]

    def warm_up(self, keys: Evaluator | Keys, requests: Sequence[int] = ()) -> None:
        """Run once on `examples`, and wait for the device, so that the first request of this shape takes as
        long as later ones: a GPU has loaded the kernels, numbers are encoded, and memory is there.

        Args:
            keys: as of `run`; those of any client serve for the others' requests too.
            requests: as of `examples`.

        Raises:
            MissingKeyError: when a key is missing.
            MismatchError: for keys of other parameters.
        """
        self.run(keys, self.examples(requests))
        self._context.synchronize()

    def capture(self, evaluator: Evaluator, inputs: Sequence[Ciphertext]) -> Graph:
        """`run` for requests of one shape as one graph (`hemera.Evaluator.capture`), which takes the host
        little time on a GPU.

        Args:
            evaluator: of `bind(keys)`: the graph is for these keys alone.
            inputs: of the shape, level and scale that inputs will have, as `examples` are; they are run.

        Returns:
            A graph that takes as many ciphertexts, and gives a tuple of the outputs.

        Raises:
            MismatchError: for another library's context, whose ciphertexts would be copied, for matrices that
                are not in memory, and as `run`.
        """
        if self._inner is not self._context:
            raise MismatchError("capture: another library's ciphertexts are copied, so there is no graph")
        if self._streamed:
            raise MismatchError(
                f"capture: {size_text(self.streamed_bytes)} of matrices are encoded at each run, so there is "
                "no graph; prepare the model with more memory"
            )
        ev = evaluator if evaluator.context is self._inner else self.bind(evaluator.keys)
        return ev.capture(lambda *xs: self._run(ev, xs), *inputs)

    def _taken(self, ev: Evaluator, inputs: Sequence[Ciphertext]) -> list[Ciphertext]:
        """The inputs, checked and brought to their levels."""
        specs = self._interface.inputs
        if len(inputs) != len(specs):
            raise MismatchError(
                f"the model {self._interface.name!r} has {len(specs)} inputs, and {len(inputs)} came"
            )
        requests = None
        found = []
        for number, (x, spec) in enumerate(zip(inputs, specs, strict=True)):
            axes = x.ndim - len(spec.shape)
            fits = axes >= 0 and x.shape[axes:] == spec.shape and x.slots == spec.slots
            if not fits or x.size != 2 or x.encoding != "slots":
                wanted = "".join(f", {extent}" for extent in spec.shape)
                raise MismatchError(
                    f"input {spec.name!r} has shape (...{wanted}) and {spec.slots} slots, and ciphertexts of "
                    f"shape {x.shape}, {x.slots} {x.encoding} and {x.size} components came"
                )
            if requests not in (None, x.shape[:axes]):
                raise MismatchError(f"inputs of {requests} and of {x.shape[:axes]} requests came together")
            requests = x.shape[:axes]
            level = self._levels[number]
            if x.level < level:
                raise LevelError(f"input {spec.name!r} is needed at level {level}, and came at {x.level}")
            bound = ev.bind(x) if x.context is self._inner else x.to(ev)
            if x._native.filled:  # the program's operations are on all slots
                bound = bound.copy()
                bound._native.fill(0, "zeros")
            found.append(ev.at_level(bound, level) if x.level > level else bound)
            self._require_scale(found[-1], spec.name)
        return found

    def _require_scale(self, x: Ciphertext, name: str) -> None:
        """ScaleError for another scale than Hemera's clients encrypt at: weights would be encoded anew for
        it. Clients of other libraries have their own, and a prepared model each."""
        if self._program.scheme != "ckks" or self._context.params != self._interface.params:
            return
        wanted = self._inner._native.level_scale(x.level)
        if abs(x.scale / wanted - 1) > _SCALE_TOLERANCE:
            raise ScaleError(
                f"input {name!r} has a scale of 2^{math.log2(x.scale):.2f}, and 2^{math.log2(wanted):.2f} is "
                "needed; encrypt values without scale="
            )

    def _operands(self, values: list[Ciphertext | None], operands: tuple[int, ...]) -> list[Ciphertext]:
        """The values with as many axes for each, so that those of requests meet."""
        forms = self._program.forms
        axes = max(len(forms[at].shape) for at in operands)
        found = []
        for at in operands:
            x = values[at]
            assert x is not None
            own = len(forms[at].shape)
            if own < axes and x.ndim > own:
                before = x.ndim - own
                x = x.reshape(*x.shape[:before], *(1,) * (axes - own), *x.shape[before:])
            found.append(x)
        return found

    def _given(self, ev: Evaluator, value: Ciphertext | None, spec: OutputSpec, known: bool) -> Ciphertext:
        """An output, as it is sent."""
        assert value is not None
        if self._context.params != self._interface.params or not known:
            result = _settled(ev, value)
        elif self._program.scheme != "ckks" and not value.guaranteed_noise_budget > 0:
            raise NoiseError(
                f"the parameters of {self._interface.name!r} leave no noise budget that is certain; "
                "export it with larger ones"
            )
        else:
            result = (value if spec.reach is None else ev.declare(value, spec.reach)).shrink()
        if self._inner is not self._context:
            result = result.to(self._context)
        result._native.fill(0, "zeros")  # the package says how many slots have values
        return result


def inside(model: PreparedModel) -> tuple[Interface, Program, Context, list[int]]:
    """The model's interface and program, the context that runs it, and the levels of its values."""
    return model._interface, model._program, model._inner, model._levels


def evaluate_apart(
    model: PreparedModel, own: Evaluator, inputs: Sequence[Ciphertext], evaluators: Sequence[Evaluator]
) -> None:
    """Run the program, each operation by its own evaluator, on inputs that come to `own`."""
    model._evaluated(model._taken(own, inputs), evaluators)


def _settled(ev: Evaluator, x: Ciphertext) -> Ciphertext:
    """Without a product that waits to be rescaled."""
    if ev.context.params.scheme != "ckks" or _core.finished(x._native)[0] == x.level:
        return x
    return ev.rescale(x)


def _plans(program: Program, params: Parameters, levels: Sequence[int], has_values: bool) -> list[Any]:
    """The plan of each operation. Equal maps at one level, as tiles of an array take, have one."""
    found: list[Any] = []
    known: dict[Any, list[tuple[OfMatrix, Any]]] = {}
    for node in program.nodes:
        operation = node.operation if has_values else node.operation.without_values()
        place = program.place(node, params, levels)
        if not isinstance(operation, OfMatrix):
            found.append(operation.plan(place))
            continue
        shapes = tuple(np.shape(part) for part in parts_of(operation).values())
        same = known.setdefault((type(operation), place.level, place.form, shapes), [])
        plan = next((own for other, own in same if operation.is_alike(other)), None)
        if plan is None:
            plan = operation.plan(place)
            same.append((operation, plan))
        found.append(plan)
    return found


def _before_rotations(program: Program) -> set[int]:
    """Values that are rotated, lowered or bootstrapped: at the level that they have after their rescale,
    where keys are smaller."""
    return {at for node in program.nodes if node.operation.settled for at in node.operands}


def _last_uses(program: Program) -> dict[int, int]:
    """The last node that takes each value."""
    found = dict.fromkeys(program.outputs, len(program.nodes))
    for number, node in enumerate(program.nodes):
        for at in node.operands:
            found[at] = max(number, found.get(at, -1))
    return found


def rules_for(own: Parameters, params: Parameters) -> Parameters:
    """The parameters of a context with rules by which evaluators rescale by themselves: the package's `own`
    ones, or the usual ones in place of another library's."""
    if params == own:
        return own
    return params.with_rescaling("automatic") if params.scheme == "ckks" else params
