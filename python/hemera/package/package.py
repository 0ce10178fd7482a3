"""A packaged model: one file with the program, its weights, the parameters, and what clients must know."""

from __future__ import annotations

import copy
import hashlib
import math
import os
import warnings
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from hemera import _core
from hemera._noise_warning import ranges_are_known
from hemera._process import cached_property
from hemera.circuits.needs import size_text
from hemera.errors import FormatError, HemeraWarning, MismatchError, MissingKeyError, ParameterError
from hemera.inputs.arguments import Progress
from hemera.inputs.source import write_bytes
from hemera.integer_parameters import IntegerParameters
from hemera.objects.context import Context
from hemera.objects.cost import Cost
from hemera.objects.evaluator import Evaluator
from hemera.objects.keys import Keys, SecretKey
from hemera.package import container
from hemera.package.dry_run import asked_keys, cost_of
from hemera.package.encodings import Encoding
from hemera.package.interface import Interface
from hemera.package.prepared import PreparedModel, rules_for
from hemera.package.specs import InputSpec, OutputSpec
from hemera.parameters import Parameters, require_naturals
from hemera.program.expected_noise import ExpectedNoise
from hemera.program.keys import AskedKeys
from hemera.program.operations import integer_keys
from hemera.program.program import Program
from hemera.program.values import Array
from hemera.times.table import DeviceTimes

_SMALL = 1 / 8
"""The part of the memory up to which matrices are encoded without a count of its other contents."""
_PARAMETERS_KEPT = 16
"""Clients' parameters whose keys are kept."""


class Package:
    """A model as a file. Immutable; loading it runs nothing.

    `hemera.serving.export` and `Package.load` make one. What is in it: the program (operations and plain
    weights), the parameters, the forms of inputs and outputs, and which keys it needs. The weights are the
    server's: clients get `interface`.
    """

    def __init__(self, interface: Interface, program: Program) -> None:
        self._interface, self._program = interface, program
        self._keys: dict[tuple[str, type[Context]], list[AskedKeys]] = {}

    @cached_property
    def _bytes(self) -> bytes:
        arrays: list[Array] = []
        content = {"interface": self._interface.describe(), "program": self._program.to_data(arrays)}
        return container.write(content, arrays)

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
        program = Program.from_data(content["program"], arrays, len(data))
        _require_fitting(interface, program)
        package = Package(interface, program)
        vars(package)["_bytes"] = data
        return package

    def to_bytes(self) -> bytes:
        """The file's bytes."""
        return self._bytes

    def __bytes__(self) -> bytes:
        return self._bytes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file, which appears under its name only when it is complete. FileError when it can not
        be written, ParameterError for a model that is too large to be loaded."""
        arrays: list[Array] = []
        self._program.to_data(arrays)
        container.require_readable(self._bytes, arrays)
        write_bytes(path, self._bytes)

    @property
    def interface(self) -> Interface:
        """The facts that clients must know: no weights."""
        return self._interface

    @property
    def program(self) -> Program:
        """The program that it computes."""
        return self._program

    @property
    def name(self) -> str:
        """The model's name."""
        return self._interface.name

    @property
    def description(self) -> str:
        """A description of the model, for people."""
        return self._interface.description

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file's bytes, in hexadecimal digits."""
        return hashlib.sha256(self._bytes).hexdigest()

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
        """The inputs that clients encrypt."""
        return self._interface.inputs

    @property
    def outputs(self) -> tuple[OutputSpec, ...]:
        """The outputs that clients decrypt."""
        return self._interface.outputs

    def __repr__(self) -> str:
        return (
            f"<Package {self.name!r}: {len(self._program.nodes)} operations, depth {self._interface.depth}, "
            f"{self.params!r}>"
        )

    def describe(self) -> dict[str, Any]:
        """A server's description of it, as JSON takes it: the interface, digest and bytes of the file, and
        that requests' files may name the digest."""
        told = self._interface.describe()
        return {**told, "digest": self.digest, "bytes": len(self._bytes), "takes_named_files": True}

    def generate_keys(self, ctx: Context, secret_key: SecretKey, progress: Progress = None) -> Keys:
        """The evaluation keys that it needs: see `Interface.generate_keys`."""
        return self._interface.generate_keys(ctx, secret_key, progress)

    def cost(self, requests: int | None = None, *, device: str | None = None, threads: int = 1) -> Cost:
        """The cost of a run on encrypted inputs with the keys of `generate_keys`: counted by a run without
        values, as `hemera.cost` does it.

        Args:
            requests: the number at once; None: one, without an axis of requests.
            device, threads: see `hemera.cost`.

        Raises:
            DeviceError: when there is no table of times of the device.
            NoiseError: BFV and BGV: when no noise budget is certain to be left.
        """
        require_naturals(threads=threads, **({} if requests is None else {"requests": requests}))
        times = None if device is None else DeviceTimes.find(device)
        return cost_of(self.planned(Context(self.params, "ledger", threads=threads)), requests, times)

    def evaluate_clear(
        self, rows: Any, *, noise: ExpectedNoise | None = None, count: int | None = None
    ) -> Any:
        """A client's results for these rows, computed in the clear: see `Interface.encode`. With `noise`,
        that which encrypted runs are expected to have is added.

        Args:
            count: how many rows there are, where others only fill up; None: as the encoding counts them.

        Raises:
            RangeError: without `noise`, where a function takes values outside of its interval that no output
                shows.

        Warns:
            RangeWarning: for rows whose values in between leave the ranges of samples. A function then has
                the value of the nearer end.
        """
        modulus = self.params.plain_modulus if isinstance(self.params, IntegerParameters) else 0
        watches = any(spec.watched for spec in self.outputs)
        encoded, run = self._interface.encode(rows), self._program.evaluate_clear
        values = run(encoded, modulus, clip=watches) if noise is None else noise.run(encoded)
        with nullcontext() if noise is None else ranges_are_known():
            return self._interface.decode(values, self._interface.count(rows) if count is None else count)

    def with_encoding(self, encoding: Encoding) -> Package:
        """The same model whose clients encode in another way, for this process: its file is the old one."""
        _ = self._bytes  # written before
        found = copy.copy(self)
        found._interface = replace(self._interface, encoding=encoding)
        return found

    def check(self, ctx: Context, keys: Keys) -> None:
        """Whether it runs in a context with some keys: Hemera's of its own parameters, or a session's with
        another library (`hemera.interop`).

        Raises:
            MismatchError: for another scheme, too few slots, another plaintext modulus, or other parameters
                than its own where the model bootstraps.
            LevelError: for too few levels.
            MissingKeyError: naming all keys that are missing. Keys for too low a level are a LevelError of
                `PreparedModel.run`.
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
        keys_of_plans = self._interface.keys.bootstraps or self._interface.keys.integers
        if keys_of_plans and params != self.params:
            raise MismatchError(
                f"the model {self.name!r} bootstraps, which takes its own parameters, not {params!r}"
            )
        missing = self._missing(ctx, keys, slots)
        if missing:
            raise MissingKeyError(
                f"the model {self.name!r} needs keys that are not there: {'; '.join(missing)}. Hemera's "
                "clients make them with generate_keys of the model"
            )

    def _missing(self, ctx: Context, keys: Keys, slots: int) -> list[str]:
        """The keys that the program asks for and that are not there, for people."""
        asked = self._asked(ctx)
        apart = [each.apart(ctx.params) for each in asked if not each.of_plan]
        own, usual = {key for keys, _ in apart for key in keys}, [each for _, each in apart]
        whole = {need.galois_element for each in usual for need, _ in each.by_gadget}
        needs = [need for each in usual for need, _ in each.needs]
        elements = {need.galois_element for need in needs if need.kind == "galois"}
        lacking = elements - set(keys.galois_elements)
        conjugation = ctx._native.conjugation_element()
        steps = _core.rotation_steps(ctx.params._native, needs)
        evaluator = ctx.bind(keys)
        rotations = [
            steps.get(element, f"Galois element {element}")
            for element in sorted(lacking - {conjugation}, key=lambda each: steps.get(each, 0))
            if element in whole or element not in steps or not _made_up(evaluator, slots, steps[element])
        ]
        found = []
        if not keys.has_relinearization and any(need.kind == "relinearization" for need in needs):
            found.append("relinearization")
        if rotations:
            found.append(f"rotations by {', '.join(map(str, rotations))}")
        if conjugation in lacking:
            found.append("conjugation" if self.scheme == "ckks" else "swap of rows")
        needed = ((key, key.need(ctx.params, ctx._native)) for key in sorted(own))
        found += [str(key) for key, need in needed if not _core.has_key(keys._native, need)]
        for each in asked:
            if each.pairs is not None and not _has_all(keys, each):
                found.append(f"products of pairs of matrices of {each.pairs[0]} x {each.pairs[0]}")
            if each.integers is not None:
                plan = integer_keys(self.params, *each.integers)
                if not all(_core.has_key(keys._native, need) for need in plan.needed_keys):
                    found.append(f"integers of {each.integers[0]} bits")
                if not keys.has_public_key:
                    found.append("the public key")
            if each.bootstrap is None:
                continue
            if self.scheme != "ckks":
                if not _has_all(keys, each):
                    found.append("exact bootstrap")
                continue
            wanted = {need.galois_element for need, _ in each.needs if need.kind == "galois"}
            if not wanted <= set(keys.galois_elements):
                found.append(f"bootstrap of {each.bootstrap['slots']} slots")
        return list(dict.fromkeys(found))

    def prepare(self, ctx: Context, *, weights_memory: int | None = None) -> PreparedModel:
        """The model ready to run in a context: make it once, and keep it. Its matrices are encoded here, on
        all threads and on the device, and stay in the context's memory.

        Args:
            weights_memory: bytes of it that matrices may take; those beyond are encoded at each run, which
                takes longer. None: all; or, where the context's `memory_limit` has no room for them beside
                the keys and a run, as many as it has room for, with a `HemeraWarning`.

        Raises:
            MismatchError, LevelError, ParameterError: as `check`.
        """
        model = self.planned(ctx)
        if weights_memory is None:
            model.encode(self._room(ctx, model))
        elif weights_memory < 0:
            raise ParameterError(f"weights_memory must be 0 bytes or more, not {weights_memory}")
        else:
            model.encode(weights_memory)
        return model

    def _room(self, ctx: Context, model: PreparedModel) -> float:
        """Bytes that encoded matrices may take, where the keys and a run need the rest; infinite: all fit."""
        limit = ctx.memory_limit
        if limit is None:
            return math.inf
        sizes = model.encoded_bytes
        whole = sum(sizes)
        if whole < _SMALL * limit:
            return math.inf
        cost = self.cost()
        others = cost.key_bytes + cost.workspace_bytes + cost.plaintext_bytes - whole
        room = limit - ctx.memory_used - others
        if whole <= room:
            return math.inf
        # One of those that are left out is there at a time.
        room = max(0, room - max(sizes))
        warnings.warn(
            f"the encoded matrices of {self.name!r} take {size_text(whole)}, and beside the keys there is "
            f"room for {size_text(room)}: the others are encoded at each run",
            HemeraWarning,
            stacklevel=3,
        )
        return room

    def planned(self, ctx: Context) -> PreparedModel:
        """The model in a context, whose matrices are encoded as they are needed."""
        return PreparedModel(self._interface, self._program, ctx)

    def _asked(self, ctx: Context) -> list[AskedKeys]:
        """The keys that each operation asks for with the parameters of a context, kept for those that came
        last. LevelError for too few levels."""
        own = rules_for(self.params, ctx.params)
        place = (own.fingerprint, type(ctx))
        found = self._keys.get(place)
        if found is None:
            # Libraries have contexts of their own kind, with their own rules of rotations.
            found = asked_keys(self._interface, self._program, type(ctx)(own, "ledger", threads=1))
            if len(self._keys) >= _PARAMETERS_KEPT:
                self._keys.clear()
            self._keys[place] = found
        return found


def _has_all(keys: Keys, asked: AskedKeys) -> bool:
    """Whether all keys of one gadget are there."""
    return all(_core.has_key(keys._native, need) for need, _ in asked.by_gadget)


def _made_up(evaluator: Evaluator, slots: int, steps: int) -> bool:
    """Whether the keys of other rotations make up one."""
    ctx = evaluator.context
    x = ctx.encrypt(np.zeros(slots, np.int64), ctx.generate_secret_key())  # of nobody's
    try:
        evaluator.rotation_plan(x, steps)
    except MissingKeyError:
        return False
    return True


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
