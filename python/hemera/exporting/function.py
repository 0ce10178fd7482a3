"""Packages Python functions as models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hemera import ckks
from hemera.errors import ParameterError
from hemera.inputs.arguments import parameters_of, require_different
from hemera.package.dry_run import keys_of_a_run
from hemera.package.encodings import Encoding, Vectors
from hemera.package.interface import Interface
from hemera.package.package import Package
from hemera.package.sharing import Sharing
from hemera.package.specs import READINGS, InputSpec, OutputSpec
from hemera.parameters import Parameters
from hemera.program.keys import KeyList
from hemera.program.operations import Refresh
from hemera.program.program import Program
from hemera.program.tracing import record
from hemera.program.values import Form, SchemeName


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
    """Package a model: call a Python function once, and keep the operations on its arguments.

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

    Examples:
        >>> package = hm.serving.export(lambda x: 2 * x + 1, inputs=4, name="line")
        >>> package.evaluate_clear(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
        [3.0, 5.0, 7.0, 9.0]
    """
    specs = _specs(inputs, params)
    parameters_of(function, [spec.name for spec in specs])  # whose order is that of the inputs
    scheme: SchemeName = "ckks" if params is None else params.scheme
    program, names = record(function, scheme, [spec.form for spec in specs], [spec.width for spec in specs])
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
    sharing: Sharing | None = None,
) -> Package:
    """The package of a recorded program. Raises as `export`."""
    require_different([spec.name for spec in inputs], "inputs")
    require_different([spec.name for spec in outputs], "results")
    own = params.with_rescaling("automatic") if params.rescaling == "manual" else params
    levels = program.levels(own, [spec.level for spec in inputs])
    program.decide(own, levels)
    if program.scheme == "ckks":
        inputs = [replace(spec, level=level) for spec, level in zip(inputs, levels, strict=False)]
    elif any(form.slots != params.max_slots for form in program.inputs):
        raise ParameterError(f"inputs of {program.scheme.upper()} have all {params.max_slots} slots")
    interface = Interface(
        name, description, own, tuple(inputs), tuple(outputs), KeyList(), program.depth, encoding, sharing
    )
    # With BFV and BGV the levels of keys depend on the noise. A run refuses values too large for a bootstrap.
    has_bootstraps = bool([node for node in program.nodes if isinstance(node.operation, Refresh)])
    is_told = program.scheme == "ckks" and not has_bootstraps
    keys = program.told_keys(own, levels) if is_told else keys_of_a_run(interface, program)
    return Package(replace(interface, keys=keys), program)


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
