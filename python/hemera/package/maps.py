"""A model as plain maps and lists, for clients in languages that do not have this package."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from hemera.arrays.layout import Layout
from hemera.errors import ParameterError
from hemera.inputs.fields import as_base64, places_as_base64
from hemera.integers.recorded import Array as Facts
from hemera.package.encodings import Arrays, Integers, Table, Vectors
from hemera.package.finishing import Apply, Label
from hemera.package.interface import Interface
from hemera.package.specs import READINGS, InputSpec, OutputSpec

_Spec = TypeVar("_Spec", InputSpec, OutputSpec)


def client_maps(interface: Interface) -> dict[str, Any]:
    """All that a client needs, as JSON takes it, with no layout to work out.

    - `keys`: the file of the list of evaluation keys, as base64, which the library makes the keys of;
      `key_bytes`: the bytes that they have, about.
    - `rows`: the rows that one request has, the first axis of each array, the last one repeated; None: an
      array is one sample.
    - `inputs`: `shape` of the array without rows; `low` and `high`, outside of which a value is refused, or
      brought in if `clips`; `step`, of which it is a multiple; `numbers` and `factors`, one or one for each
      element of the last axis: (x - number) / factor is encrypted, brought into [-`clip`, `clip`].
      `ciphertexts`: `name`, `level` (None: the highest), `batch` (0: none) and `slots`: little-endian int32
      as base64, the element in each slot, or -1 for 0, to be repeated up to the `count` of slots.
    - `outputs`: `shape` as of inputs; f y + c of `factors` and `numbers`; `ciphertexts`: names; `places`: the
      place of each element, `width` times its ciphertext, or entry of the batch, plus its slot; `read`, one
      of `hemera.package.specs.READINGS`, and `labels`. With `watched` it is no result: outside of `low` to
      `high` rows are outside of what samples showed.

    - `integers`, of a function of encrypted integers: `bits` of the widest type, and `slots`. Inputs and the
      output have `dtype` and `shape`, and inputs the `level`; digit i of 4 bits of value j of a ciphertext is
      in slot i n + j, n = 4 slots / bits, and booleans are in all digits.

    Raises:
        ParameterError: for a model that such clients can not use.
    """
    if interface.sharing is not None:
        raise _beyond("results are decrypted for others")
    encoding = interface.encoding
    if isinstance(encoding, Arrays):
        told = _of_arrays(encoding, interface)
    elif isinstance(encoding, Table):
        told = _of_table(encoding, interface)
    elif isinstance(encoding, Integers):
        told = _of_integers(encoding, interface)
    elif isinstance(encoding, Vectors):
        told = _of_vectors(interface)
    else:
        raise _beyond(f"rows are encoded as {encoding.kind!r}")
    return {
        "parameters": as_base64(interface.params),
        "keys": as_base64(interface.keys.file(interface.params)),
        "key_bytes": interface.keys.upload_bytes(interface.params),
        "unwatched": list(getattr(encoding, "unwatched", ())),
        **told,
    }


def _beyond(why: str) -> ParameterError:
    return ParameterError(f"{why}, which clients that are not Python's do not do: use hm.Client")


def _ciphertexts(layout: Layout, specs: Sequence[InputSpec]) -> list[dict[str, Any]]:
    """The ciphertexts of an array. What is in a slot is found by numbers that are elements' own."""
    if layout.lines or any(len(spec.shape) > 1 for spec in specs):
        raise _beyond("an array is a matrix of a product of encrypted matrices")
    numbers = np.arange(1, np.prod(layout.shape, dtype=np.int64) + 1).reshape(layout.shape)
    slots = layout.encode(numbers, layout.period)
    return [_ciphertext(spec, each - 1) for spec, each in zip(specs, slots, strict=True)]


def _ciphertext(spec: InputSpec, elements: ArrayLike) -> dict[str, Any]:
    batch = spec.shape[0] if spec.shape else 0
    own = {"name": spec.name, "level": spec.level, "batch": batch}
    return {**own, "slots": places_as_base64(elements), "count": spec.slots}


def _places(layout: Layout, specs: Sequence[OutputSpec]) -> dict[str, Any]:
    if layout.lines or any(len(spec.shape) > 1 for spec in specs):
        raise _beyond("a result is a matrix of a product of encrypted matrices")
    shape = (len(specs), *specs[0].shape, layout.period)
    places = np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)
    return _place(specs, layout.period, layout.decode(list(places)))


def _place(specs: Sequence[OutputSpec], width: int, places: ArrayLike) -> dict[str, Any]:
    batch = specs[0].shape[0] if specs[0].shape else 0
    own = {"ciphertexts": [spec.name for spec in specs], "batch": batch}
    return {**own, "width": width, "places": places_as_base64(places)}


def _input(spec: InputSpec, name: str, shape: Sequence[int]) -> dict[str, Any]:
    return {"name": name, "shape": list(shape), "low": spec.low, "high": spec.high}


def _output(spec: OutputSpec, name: str, shape: Sequence[int]) -> dict[str, Any]:
    labels = None if spec.labels is None else list(spec.labels.values)
    own = {"name": name, "shape": list(shape), "low": spec.low, "high": spec.high, "watched": spec.watched}
    return {**own, "read": spec.read, "labels": labels}


def _grouped(
    layouts: Sequence[Layout], specs: Sequence[_Spec]
) -> Iterator[tuple[Layout, Sequence[_Spec], str]]:
    """Each array's layout, the inputs or outputs that it is, and its name."""
    rest = iter(specs)
    for layout in layouts:
        own = list(itertools.islice(rest, layout.count))
        yield layout, own, own[0].name if layout.count == 1 else own[0].name.removesuffix(".0")


def _of_arrays(encoding: Arrays, interface: Interface) -> dict[str, Any]:
    if encoding.is_complex:
        raise _beyond("half of the samples are in imaginary parts")
    several = encoding.samples > 1
    if several and any(layout.axis for layout in (*encoding.inputs, *encoding.outputs)):
        raise _beyond("samples are no first axis")
    inputs = [
        {
            **_input(specs[0], name, layout.shape[several:]),
            "clips": bool(encoding.clips and encoding.clips[at]),
            "step": encoding.steps[at] if encoding.steps else None,
            **_scale(encoding.input_scales, at),
            "clip": None,
            "ciphertexts": _ciphertexts(layout, specs),
        }
        for at, (layout, specs, name) in enumerate(_grouped(encoding.inputs, interface.inputs))
    ]
    outputs = [
        {
            **_output(specs[0], name, layout.shape[several:]),
            **_scale(encoding.output_scales, at),
            **_places(layout, specs),
        }
        for at, (layout, specs, name) in enumerate(_grouped(encoding.outputs, interface.outputs))
    ]
    return {"rows": encoding.samples if several else None, "inputs": inputs, "outputs": outputs}


def _scale(scales: Sequence[tuple[float, float]], at: int) -> dict[str, list[float]]:
    factor, number = scales[at] if scales else (1.0, 0.0)
    return {"factors": [factor], "numbers": [number]}


def _of_table(encoding: Table, interface: Interface) -> dict[str, Any]:
    if encoding.thresholds:
        raise _beyond("features are compared with thresholds")
    read, labels = "values", None
    for step in next(iter(encoding.methods.values())).steps:
        if isinstance(step, Apply) and read == "values" and step.name in READINGS:
            read = step.name
        elif isinstance(step, Label) and labels is None:
            labels = list(step.labels.values)
        else:
            raise _beyond(f"scores become results by more than a reading and labels ({step.kind!r})")
    spec, scaling = interface.inputs[0], encoding.scaling
    given = {
        **_input(spec, spec.name, encoding.input.shape[1:]),
        # Columns have ranges of their own, to whose ends values are brought.
        **{"low": None, "high": None, "clips": False, "step": None, "clip": scaling.clip},
        "factors": list(scaling.deviation),
        "numbers": list(scaling.mean),
        "ciphertexts": _ciphertexts(encoding.input, interface.inputs),
    }
    outputs = [
        {
            **_output(specs[0], name, layout.shape[1:]),
            **({} if specs[0].watched else {"read": read, "labels": labels}),
            **_scale((), 0),
            **_places(layout, specs),
        }
        for layout, specs, name in _grouped((encoding.output, *encoding.watched), interface.outputs)
    ]
    return {"rows": encoding.rows, "inputs": [given], "outputs": outputs}


def _of_integers(encoding: Integers, interface: Interface) -> dict[str, Any]:
    def told(spec: InputSpec | OutputSpec, facts: Facts) -> dict[str, Any]:
        return {"name": spec.name, "dtype": facts.dtype, "shape": list(facts.shape)}

    inputs = [
        {**told(spec, facts), "level": spec.level}
        for spec, facts in zip(interface.inputs, encoding.inputs, strict=True)
    ]
    integers = {"bits": encoding.bits, "slots": encoding.layout.slots}
    outputs = [told(interface.outputs[0], encoding.output)]
    return {"rows": None, "integers": integers, "inputs": inputs, "outputs": outputs}


def _of_vectors(interface: Interface) -> dict[str, Any]:
    shapes = [spec.shape for spec in interface.inputs] + [spec.shape for spec in interface.outputs]
    if any(len(shape) > 1 for shape in shapes):
        raise _beyond("an array has several axes of ciphertexts")
    inputs = []
    for spec in interface.inputs:
        rows = spec.shape[0] if spec.shape else 1
        elements = np.full((rows, spec.slots), -1)
        elements[:, : spec.width] = np.arange(rows * spec.width).reshape(rows, spec.width)
        inputs.append(
            {
                **_input(spec, spec.name, (*spec.shape, spec.width)),
                **{"clips": False, "step": None, "clip": None, **_scale((), 0)},
                "ciphertexts": [_ciphertext(spec, elements)],
            }
        )
    outputs = [
        {
            **_output(spec, spec.name, (*spec.shape, spec.width)),
            **_scale((), 0),
            **_place([spec], spec.width, np.arange(np.prod((*spec.shape, spec.width)))),
        }
        for spec in interface.outputs
    ]
    return {"rows": None, "inputs": inputs, "outputs": outputs}
