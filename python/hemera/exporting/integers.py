"""Packages functions of encrypted integers as models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.ckks import Parameters
from hemera.errors import LevelError, ParameterError
from hemera.exporting.function import package
from hemera.inputs.arguments import parameters_of
from hemera.integers.layout import DIGIT_BITS
from hemera.integers.operations import product_levels
from hemera.integers.recorded import Array, record
from hemera.integers.refreshes import refreshes
from hemera.integers.types import WIDTHS
from hemera.package.encodings import Integers
from hemera.package.package import Package
from hemera.package.specs import InputSpec, OutputSpec
from hemera.program.operations import IntegerFunction
from hemera.program.program import Program


def export_integers(
    function: Callable[..., Any],
    *,
    inputs: dict[str, NDArray[Any]],
    name: str,
    bits: int = 64,
    values: int | None = None,
    preset: str = "n16-exact",
    levels: int | None = None,
    description: str = "",
) -> Package:
    """Package a function of encrypted integers (`hemera.integers`): call it once, and keep the operations.

        package = hm.serving.export_integers(
            lambda balance, amount: np.where(balance < amount, balance, balance - amount),
            inputs={"balance": np.zeros(100, np.uint32), "amount": np.zeros(100, np.uint32)},
            bits=32,
            name="ledger",
        )

    A server computes it exactly on what clients encrypt, as NumPy does: `client.predict("ledger", arrays)`.

    Args:
        function: takes arrays in the order of `inputs`, with NumPy's operators and functions, those that
            encrypted integers have, and `hemera.integers.Table(values)[x]`. Returns one array.
        inputs: by name, an array of each one's type and shape.
        name, description: of the model.
        bits, values, preset: as of `hemera.integers.Context`.
        levels: of inputs, as of `Context.encrypt`; None: `Context.product_levels`.

    Raises:
        TypeError: when the function depends on values, or has operations that integers have not.
        ParameterError: if there are no such integers, for no inputs, and for names of other parameters.
        MismatchError: for types above the context's bits.
        LevelError: for more levels than values have.
    """
    params = Parameters.for_bootstrapping(preset)
    if bits not in WIDTHS or not inputs:
        raise ParameterError(f"integers of {bits!r} bits of {len(inputs)} arrays; bits are one of {WIDTHS}")
    parameters_of(function, list(inputs))  # whose order is that of the inputs
    layout, whole, _ = refreshes(params, values, bits // DIGIT_BITS)
    facts = [Array.of(np.asarray(each)) for each in inputs.values()]
    given = product_levels(layout.digits) if levels is None else levels
    if not 0 <= given <= whole.levels_left:
        raise LevelError(f"levels={given}; values have from 0 to {whole.levels_left}")
    text = record(function, bits, facts)
    operation = IntegerFunction(bits, layout.values, given, text)
    program = Program("ckks", [operation.form_of(each) for each in facts])
    program.give(program.add(operation, *range(len(facts))))
    specs = [
        InputSpec(each, layout.slots, layout.slots, form.shape, whole.input_level + given)
        for each, form in zip(inputs, program.inputs, strict=True)
    ]
    output = OutputSpec("output", layout.slots, program.forms[-1].shape)
    encoding = Integers(bits, layout.values, tuple(facts), operation.replayed.result)
    found = package(program, specs, [output], params, name=name, description=description, encoding=encoding)
    found.cost()  # raises what encrypted integers do not take
    return found
