"""A packaged model: one file with the program, its weights, the parameters, and what clients must know."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hemera import _core, circuits, ckks
from hemera.ciphertext import Ciphertext
from hemera.context import Context
from hemera.errors import (
    FileError,
    FormatError,
    LevelError,
    MismatchError,
    MissingKeyError,
    NoiseError,
    ParameterError,
)
from hemera.evaluator import Evaluator
from hemera.graph import Graph
from hemera.keys import Keys, SecretKey
from hemera.parameters import IntegerParameters, Parameters
from hemera.serving import container
from hemera.serving.encodings import READINGS, Encoding, Vectors
from hemera.serving.interface import InputSpec, Interface, OutputSpec
from hemera.serving.operations import Bootstraps, Conjugate, KeysOf, Operation, Rotate, Running, Sum
from hemera.serving.program import Program
from hemera.serving.tracing import record
from hemera.serving.values import Array, Form, SchemeName

__all__ = ["Package", "PreparedModel", "export", "package"]

_PARAMETERS_KEPT = 16
"""Clients' parameters whose keys are kept."""


class Package:
    """A model as a file. Immutable; loading it runs nothing.

    `hemera.serving.export` and `Package.load` make one. What is in it: the program (operations and plain
    weights), the parameters, the forms of inputs and outputs, and which keys it needs. The weights are the
    server's: clients get `interface`.
    """

    def __init__(self, interface: Interface, program: Program) -> None:
        arrays: list[Array] = []
        content = {"interface": interface.describe(), "program": program.to_data(arrays)}
        self._set(interface, program, container.write(content, arrays))

    def _set(self, interface: Interface, program: Program, data: bytes) -> None:
        self._interface, self._program, self._bytes = interface, program, data
        self._keys: dict[str, KeysOf] = {}
        self._digest = hashlib.sha256(data).hexdigest()

    @staticmethod
    def load(source: container.AnySource, *, limit: int = container.MAX_BYTES) -> Package:
        """A package from its bytes, a file's path or a binary stream.

        Args:
            limit: most bytes that are read.

        Raises:
            FormatError: when they are damaged, of another format, or more than the limit.
            FileError: when the file can not be read.
        """
        data = container.read_all(source, limit)
        content, arrays = container.read(data)
        if set(content) != {"interface", "program"}:
            raise FormatError("the packaged model has other parts than an interface and a program")
        interface = Interface.from_dict(content["interface"])
        program = Program.from_data(content["program"], arrays)
        _require_fitting(interface, program)
        package = Package.__new__(Package)
        package._set(interface, program, data)
        return package

    def to_bytes(self) -> bytes:
        """The file's bytes."""
        return self._bytes

    def __bytes__(self) -> bytes:
        return self._bytes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file, which appears under its name only when it is complete. FileError when it can not
        be written."""
        target = Path(path)
        try:
            with tempfile.NamedTemporaryFile(dir=target.parent, prefix=target.name, delete=False) as file:
                try:
                    file.write(self._bytes)
                    file.flush()
                    os.fsync(file.fileno())
                    os.chmod(file.name, 0o666 & ~_umask())  # noqa: PTH101
                    os.replace(file.name, target)  # noqa: PTH105
                except BaseException:
                    Path(file.name).unlink(missing_ok=True)
                    raise
        except OSError as error:
            raise FileError(f"cannot write {target}: {error.strerror or error}") from None

    @property
    def interface(self) -> Interface:
        """What clients must know: no weights."""
        return self._interface

    @property
    def program(self) -> Program:
        """What it computes."""
        return self._program

    @property
    def name(self) -> str:
        """The model's name."""
        return self._interface.name

    @property
    def description(self) -> str:
        """What the model is, for people."""
        return self._interface.description

    @property
    def digest(self) -> str:
        """SHA-256 of the file's bytes, in hexadecimal digits."""
        return self._digest

    @property
    def scheme(self) -> str:
        """ "ckks", "bfv" or "bgv"."""
        return self._program.scheme

    @property
    def params(self) -> Parameters:
        """Hemera's own parameters for it."""
        return self._interface.params

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """What clients encrypt."""
        return self._interface.inputs

    @property
    def outputs(self) -> tuple[OutputSpec, ...]:
        """What clients decrypt."""
        return self._interface.outputs

    def __repr__(self) -> str:
        return (
            f"<Package {self.name!r}: {len(self._program.nodes)} operations, depth {self._interface.depth}, "
            f"{self.params!r}>"
        )

    def describe(self) -> dict[str, Any]:
        """What a server shows of it, as JSON takes it: the interface, and digest and bytes of the file."""
        return {**self._interface.describe(), "digest": self.digest, "bytes": len(self._bytes)}

    def generate_keys(self, ctx: Context, secret_key: SecretKey) -> Keys:
        """The evaluation keys that it needs: see `Interface.generate_keys`."""
        return self._interface.generate_keys(ctx, secret_key)

    def evaluate_clear(self, rows: Any) -> Any:
        """What a client would read for these rows, computed in the clear: see `Interface.encode`."""
        modulus = self.params.plain_modulus if isinstance(self.params, IntegerParameters) else 0
        values = self._program.evaluate_clear(self._interface.encode(rows), modulus)
        count = len(rows) if hasattr(rows, "__len__") else None
        return self._interface.decode(values, count)

    def check(self, ctx: Context, keys: Keys) -> None:
        """Whether it runs in a context with some keys: Hemera's of its own parameters, or a session's with
        another library (`hemera.interop`).

        Raises:
            MismatchError: for another scheme, too few slots, or another plaintext modulus.
            LevelError: for too few levels.
            MissingKeyError: naming all keys that are missing. Those for too low a level are a LevelError of
                `PreparedModel.run`.
            ParameterError: for parameters that can not bootstrap, where the model does.
        """
        params = ctx.params
        if params.scheme != self.scheme:
            raise MismatchError(
                f"the model {self.name!r} is of {self.scheme.upper()}, and the keys are of "
                f"{params.scheme.upper()}"
            )
        if keys.context.params != params:
            raise MismatchError(f"the keys belong to {keys.context!r}, not to {ctx!r}")
        slots = max(form.slots for form in self._program.forms)
        if isinstance(params, IntegerParameters) and isinstance(self.params, IntegerParameters):
            if (params.max_slots, params.plain_modulus) != (slots, self.params.plain_modulus):
                raise MismatchError(
                    f"the model {self.name!r} is for {slots} slots modulo {self.params.plain_modulus}, and "
                    f"the parameters have {params.max_slots} modulo {params.plain_modulus}"
                )
        elif params.max_slots < slots:
            raise MismatchError(
                f"the model {self.name!r} needs {slots} slots, and the parameters have {params.max_slots}"
            )
        own = _rules(params, self.params)
        needed = self._needed(own)
        missing = []
        if needed.relinearization and not keys.has_relinearization:
            missing.append("relinearization")
        rotations = [
            steps
            for steps in sorted(needed.rotations)
            if not keys.has_rotation(steps)
            and (steps in needed.whole or not _made_up(ctx.bind(keys), slots, steps))
        ]
        if rotations:
            missing.append(f"rotations by {', '.join(map(str, rotations))}")
        if needed.conjugation is not None and not keys.has_conjugation:
            missing.append("conjugation" if self.scheme == "ckks" else "swap of rows")
        for settings in needed.bootstraps:
            wanted = circuits.Bootstrap(own, **settings).needed_keys
            elements = {need.galois_element for need in wanted if need.kind == "galois"}
            if not elements <= set(keys.galois_elements):
                missing.append(f"bootstrap of {settings['slots']} slots")
        if missing:
            raise MissingKeyError(
                f"the model {self.name!r} needs keys that are not there: {'; '.join(missing)}. Hemera's "
                "clients make them with generate_keys of the model"
            )

    def prepare(self, ctx: Context) -> PreparedModel:
        """The model ready to run in a context: make it once, and keep it. Encoded weights stay in the
        context's memory from the first request on.

        Raises:
            MismatchError, LevelError, ParameterError: as `check`.
        """
        return PreparedModel(self, ctx)

    def _needed(self, own: Parameters) -> KeysOf:
        """The keys with some parameters, kept for those that came last. LevelError for too few levels."""
        found = self._keys.get(own.fingerprint)
        if found is None:
            levels = self._program.levels(own, self._input_levels(own))
            found = self._program.keys(own, levels)
            if len(self._keys) >= _PARAMETERS_KEPT:
                self._keys.clear()
            self._keys[own.fingerprint] = found
        return found

    def _input_levels(self, params: Parameters) -> list[int | None]:
        if params != self.params:
            return [None] * len(self.inputs)
        return [spec.level for spec in self.inputs]


class PreparedModel:
    """A packaged model in one context, for keys of any number of clients. Any threads may use it at once."""

    def __init__(self, package: Package, ctx: Context) -> None:
        if ctx.params.scheme != package.scheme:
            raise MismatchError(f"the model is of {package.scheme.upper()}, not {ctx.params.scheme.upper()}")
        self._package, self._context = package, ctx
        # Other libraries leave rescaling to the caller; a program needs it done by itself.
        params = _rules(ctx.params, package.params)
        same = params.rescaling == ctx.params.rescaling
        self._inner = ctx if same else Context(params, ctx.device)
        program = package.program
        self._levels = program.levels(params, package._input_levels(params))
        self._plans = [
            node.operation.plan(program.place(node, params, self._levels)) for node in program.nodes
        ]
        self._settled = _before_rotations(program) if program.scheme == "ckks" else set()
        self._last_use = _last_uses(program)

    @property
    def package(self) -> Package:
        """The model."""
        return self._package

    @property
    def context(self) -> Context:
        """Where it runs."""
        return self._context

    def bind(self, keys: Keys) -> Evaluator:
        """The evaluator that `run` takes: of the client's keys, which are copied where they are another
        library's. MismatchError for keys of other parameters."""
        if keys.context.params != self._context.params:
            raise MismatchError(f"the keys belong to {keys.context!r}, not to {self._context!r}")
        return self._inner.bind(keys if keys.context is self._inner else keys.to(self._inner))

    def run(self, keys: Evaluator | Keys, inputs: Sequence[Ciphertext]) -> list[Ciphertext]:
        """The outputs, encrypted, as small as they can be sent.

        Args:
            keys: `bind(keys)`, or keys, which are bound for this one call.
            inputs: one ciphertext for each input, of shape (*requests, *shape of the input): any number of
                requests at once, the same for all inputs.

        Returns:
            One ciphertext for each output, of shape (*requests, *shape of the output).

        Raises:
            MismatchError: for other inputs than the package has.
            LevelError: for inputs of too low a level.
            MissingKeyError: when a key is missing: `Package.check` tells all.
            NoiseError: BFV and BGV: when no noise budget is certain to be left.
        """
        ev = keys if isinstance(keys, Evaluator) else self.bind(keys)
        if ev.context.params != self._inner.params:
            raise MismatchError(f"run: the keys belong to {ev.context!r}, not to {self._context!r}")
        program = self._package.program
        values: list[Ciphertext | None] = list(self._taken(ev, inputs))
        for number, node in enumerate(program.nodes):
            at = len(values)
            running = Running(ev, self._plans[number])
            result = node.operation.run(running, *self._operands(values, node.operands))
            values.append(_settled(ev, result) if at in self._settled else result)
            for used in node.operands:
                if self._last_use[used] <= number:
                    values[used] = None
        return [self._given(ev, values[at]) for at in program.outputs]

    def capture(self, evaluator: Evaluator, inputs: Sequence[Ciphertext]) -> Graph:
        """`run` for requests of one shape as one graph (`hemera.Evaluator.capture`), which takes the host
        little time on a GPU.

        Args:
            evaluator: of `bind(keys)`: the graph is for these keys alone.
            inputs: examples of the shape, level and scale that inputs will have; they are run.

        Returns:
            A graph that takes as many ciphertexts and gives a list of outputs, or the only one.

        Raises:
            MismatchError: for another library's context, whose ciphertexts would be copied, and as `run`.
        """
        if self._inner is not self._context:
            raise MismatchError("capture: another library's ciphertexts are copied, so there is no graph")

        def circuit(*xs: Ciphertext) -> list[Ciphertext]:
            return self.run(evaluator, xs)

        circuit(*inputs)  # encodes the weights, which a graph can not
        return evaluator.capture(circuit, *inputs)

    def _taken(self, ev: Evaluator, inputs: Sequence[Ciphertext]) -> list[Ciphertext]:
        """The inputs, checked and brought to their levels."""
        specs = self._package.inputs
        if len(inputs) != len(specs):
            raise MismatchError(
                f"the model {self._package.name!r} has {len(specs)} inputs, and {len(inputs)} came"
            )
        requests = None
        found = []
        for number, (x, spec) in enumerate(zip(inputs, specs, strict=True)):
            axes = x.ndim - len(spec.shape)
            if axes < 0 or x.shape[axes:] != spec.shape or x.slots != spec.slots or x.size != 2:
                wanted = "".join(f", {extent}" for extent in spec.shape)
                raise MismatchError(
                    f"input {spec.name!r} has shape (...{wanted}) and {spec.slots} slots, and ciphertexts of "
                    f"shape {x.shape}, {x.slots} slots and {x.size} components came"
                )
            if requests not in (None, x.shape[:axes]):
                raise MismatchError(f"inputs of {requests} and of {x.shape[:axes]} requests came together")
            requests = x.shape[:axes]
            level = self._levels[number]
            if x.level < level:
                raise LevelError(f"input {spec.name!r} is needed at level {level}, and came at {x.level}")
            bound = ev.bind(x) if x.context is self._inner else x.to(ev)
            found.append(ev.at_level(bound, level) if x.level > level else bound)
        return found

    def _operands(self, values: list[Ciphertext | None], operands: tuple[int, ...]) -> list[Ciphertext]:
        """With as many axes for each, so that those of requests meet."""
        forms = self._package.program.forms
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

    def _given(self, ev: Evaluator, value: Ciphertext | None) -> Ciphertext:
        """An output, as it is sent."""
        assert value is not None
        if self._context.params != self._package.params:  # how much noise there is, nobody knows
            result = _settled(ev, value)
        elif self._package.scheme != "ckks" and not value.guaranteed_noise_budget > 0:
            raise NoiseError(
                f"the parameters of {self._package.name!r} leave no noise budget that is certain; export it "
                "with larger ones"
            )
        else:
            result = value.shrink()
        if self._inner is not self._context:
            result = result.to(self._context)
        result._filled = None  # the package says how many slots have values
        return result


def _settled(ev: Evaluator, x: Ciphertext) -> Ciphertext:
    """Without a product that waits to be rescaled."""
    if ev.context.params.scheme != "ckks" or _core.finished(x._native)[0] == x.level:
        return x
    return ev.rescale(x)


def _made_up(evaluator: Evaluator, slots: int, steps: int) -> bool:
    """Whether the keys of other rotations make up one."""
    ctx = evaluator.context
    x = ctx.encrypt(np.zeros(slots, np.int64), ctx.generate_secret_key())  # of nobody's
    try:
        evaluator.rotation_plan(x, steps)
    except MissingKeyError:
        return False
    return True


def _before_rotations(program: Program) -> set[int]:
    """Values that are rotated or bootstrapped: at the level that they have after their rescale, where keys
    are smaller."""
    moves: tuple[type[Operation], ...] = (Rotate, Conjugate, Sum, Bootstraps)
    return {at for node in program.nodes if isinstance(node.operation, moves) for at in node.operands}


def _last_uses(program: Program) -> dict[int, int]:
    """The last node that takes each value."""
    found = dict.fromkeys(program.outputs, len(program.nodes))
    for number, node in enumerate(program.nodes):
        for at in node.operands:
            found[at] = max(number, found.get(at, -1))
    return found


def _rules(params: Parameters, own: Parameters) -> Parameters:
    """The parameters of a context with rules by which evaluators rescale by themselves: the package's `own`
    ones, or the usual ones in place of another library's."""
    if params == own:
        return own
    return params.with_rescaling("automatic") if params.scheme == "ckks" else params


def _require_fitting(interface: Interface, program: Program) -> None:
    """FormatError unless the parts of a file fit each other."""
    forms = tuple(spec.form for spec in interface.inputs)
    if interface.scheme != program.scheme or forms != program.inputs:
        raise FormatError("the interface of the packaged model does not fit its program")
    outputs = [program.forms[at] for at in program.outputs]
    if [form.shape for form in outputs] != [spec.shape for spec in interface.outputs]:
        raise FormatError("the outputs of the packaged model do not fit its program")
    slots = max(form.slots for form in program.forms)
    params = interface.params
    if slots > params.max_slots or (program.scheme != "ckks" and slots != params.max_slots):
        raise FormatError(f"the packaged model needs {slots} slots, and has parameters of {params.max_slots}")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def export(
    function: Callable[..., Any],
    *,
    inputs: int | InputSpec | Sequence[int | InputSpec],
    name: str,
    description: str = "",
    params: Parameters | None = None,
    scale_bits: int = 40,
    largest: float | None = None,
    security: int | None = 128,
    outputs: Mapping[str, int | str | tuple[int, str]] | None = None,
    encoding: Encoding | None = None,
) -> Package:
    """Package a model: call a Python function once, and keep what it does to its arguments.

        def model(x):
            return hm.circuits.sigmoid((-8, 8), bits=12)(x @ weights + bias)

        package = hm.serving.export(model, inputs=30, name="tumours", outputs={"output": (1, "values")})
        package.save("tumours.hemera-model")

    Args:
        function: takes a `Symbol` for each input, with the operators and methods of a ciphertext, and returns
            one or several of them, or a dict by name. Arrays that it uses are kept in the file.
        inputs: the width of each, or an `InputSpec`.
        name: of the model.
        description: of the model, for people.
        params: of any scheme; None: `hemera.ckks.Parameters.for_circuit` of the depth that is found.
        scale_bits, largest, security: of `for_circuit`.
        outputs: by name, how many slots have values, and how clients read them (`OutputSpec.read`).
        encoding: how rows become inputs; None: each input is given as its vectors.

    Raises:
        TypeError: when the function depends on values, or returns something else.
        MismatchError, ParameterError: when its operations do not fit.
        LevelError: when the parameters have too few levels.
    """
    specs = _specs(inputs, params)
    scheme: SchemeName = "ckks" if params is None else params.scheme
    program, names = record(function, scheme, [spec.form for spec in specs])
    if params is None:
        slots = max(form.slots for form in program.forms)
        params = ckks.Parameters.for_circuit(
            max(1, program.depth), scale_bits=scale_bits, slots=slots, largest=largest, security=security
        )
    return package(
        program,
        specs,
        _outputs(names, [program.forms[at] for at in program.outputs], outputs or {}),
        params,
        name=name,
        description=description,
        encoding=encoding or Vectors(),
    )


def package(
    program: Program,
    inputs: Sequence[InputSpec],
    outputs: Sequence[OutputSpec],
    params: Parameters,
    *,
    name: str,
    description: str,
    encoding: Encoding,
) -> Package:
    """The package of a recorded program. Raises as `export`."""
    own = params.with_rescaling("automatic") if params.rescaling == "manual" else params
    levels = program.levels(own, [spec.level for spec in inputs])
    program.decide(own, levels)
    if program.scheme == "ckks":
        inputs = [replace(spec, level=level) for spec, level in zip(inputs, levels, strict=False)]
    elif any(form.slots != params.max_slots for form in program.inputs):
        raise ParameterError(f"inputs of {program.scheme.upper()} have all {params.max_slots} slots")
    keys = program.keys(own, levels)
    interface = Interface(
        name, description, own, tuple(inputs), tuple(outputs), keys, program.depth, encoding
    )
    return Package(interface, program)


def _specs(given: int | InputSpec | Sequence[int | InputSpec], params: Parameters | None) -> list[InputSpec]:
    listed = [given] if isinstance(given, (int, InputSpec)) else list(given)
    if not listed:
        raise ParameterError("a model needs an input")
    specs = [
        each
        if isinstance(each, InputSpec)
        else InputSpec("input" if len(listed) == 1 else f"input{at}", int(each))
        for at, each in enumerate(listed)
    ]
    widest = max(spec.width for spec in specs)
    if min(spec.width for spec in specs) < 1:
        raise ParameterError("an input has at least one value")
    slots = 1 << (widest - 1).bit_length()
    if params is not None and params.scheme != "ckks":
        slots = params.max_slots
    specs = [spec if spec.slots else replace(spec, slots=slots) for spec in specs]
    for spec in specs:
        if spec.width > spec.slots or spec.slots & (spec.slots - 1):
            raise ParameterError(
                f"input {spec.name!r}: {spec.width} values in {spec.slots} slots; slots are a power of two "
                "that is not below the width"
            )
    return specs


def _outputs(
    names: list[str], forms: list[Form], given: Mapping[str, int | str | tuple[int, str]]
) -> tuple[OutputSpec, ...]:
    unknown = set(given) - set(names)
    if unknown:
        raise ParameterError(f"the outputs are {', '.join(names)}; there is no {', '.join(sorted(unknown))}")
    found = []
    for name, form in zip(names, forms, strict=True):
        told = given.get(name, form.slots)
        width = told if isinstance(told, int) else told[0] if isinstance(told, tuple) else form.slots
        read = told if isinstance(told, str) else told[1] if isinstance(told, tuple) else "values"
        if not 1 <= width <= form.slots or read not in READINGS:
            raise ParameterError(
                f"output {name!r}: 1 to {form.slots} values, read as one of {', '.join(READINGS)}, not "
                f"{told!r}"
            )
        found.append(OutputSpec(name, width, form.shape, read))
    return tuple(found)
