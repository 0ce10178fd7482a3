"""Packaged models of compiled programs, in either layout, and which one takes less time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hemera.arrays.element_layout import ElementLayout
from hemera.compiler.approximate import Chosen, Search
from hemera.compiler.layouts import InCiphertexts, LayoutName, in_ciphertexts
from hemera.compiler.specs import ArraySpec
from hemera.compiler.tiles import input_specs, output_specs, tiled_layouts
from hemera.errors import LevelError, ParameterError, RangeError
from hemera.parameters import Parameters
from hemera.serving.encodings import AnyLayout, Arrays
from hemera.serving.exporting import package
from hemera.serving.package import Package
from hemera.serving.specs import InputSpec, OutputSpec

__all__ = ["Packaging", "chosen_in_ciphertexts"]


@dataclass(frozen=True)
class Packaging:
    """What packaged models of one program have, whatever its layout."""

    specs: tuple[ArraySpec, ...]
    name: str
    description: str

    def in_slots(self, chosen: Chosen, samples: int) -> Package:
        """Elements in slots."""
        parts, steps = chosen.cut, chosen.steps
        count = 2 if steps.in_parts else 1
        encoding = self._encoding(tiled_layouts(parts, steps, samples // count), samples, count)
        inputs, outputs = input_specs(parts, steps.slots), output_specs(parts, steps.slots)
        return self._package(chosen, inputs, outputs, encoding)

    def in_ciphertexts(self, found: InCiphertexts) -> Package:
        """An element in each ciphertext."""
        program, slots = found.chosen.cut.program, found.samples
        results = [at for _, at in program.outputs]
        axes = (
            ((0,) * len(program.inputs), (0,) * len(results))
            if found.batch is None
            else (found.batch.inputs, found.batch.outputs)
        )
        inputs, outputs = (
            tuple(
                ElementLayout(program.nodes[at].shape, slots, axis)
                for at, axis in zip(nodes, own, strict=True)
            )
            for nodes, own in zip((program.inputs, results), axes, strict=True)
        )
        return self._package(
            found.chosen,
            [
                replace(spec, shape=(math.prod(own.sample),))
                for spec, own in zip(input_specs(found.chosen.cut, slots), inputs, strict=True)
            ],
            [
                replace(spec, shape=(math.prod(own.sample),))
                for spec, own in zip(output_specs(found.chosen.cut, slots), outputs, strict=True)
            ],
            self._encoding((inputs, outputs), slots, 1),
        )

    def _encoding(
        self, layouts: tuple[Sequence[AnyLayout], Sequence[AnyLayout]], samples: int, parts: int
    ) -> Arrays:
        steps = tuple(spec.step for spec in self.specs)
        clips = tuple(bool(spec.clip) for spec in self.specs)
        inputs, outputs = map(tuple, layouts)
        return Arrays(
            inputs, outputs, steps if any(steps) else (), samples, parts, clips if any(clips) else ()
        )

    def _package(
        self, chosen: Chosen, inputs: Sequence[InputSpec], outputs: Sequence[OutputSpec], encoding: Arrays
    ) -> Package:
        return package(
            chosen.steps.program,
            inputs,
            outputs,
            chosen.params,
            name=self.name,
            description=self.description,
            encoding=encoding,
            sharing=chosen.sharing,
        )


def chosen_in_ciphertexts(
    search: Search, params: Parameters | None, packaging: Packaging, layout: LayoutName, shares: int | None
) -> tuple[Chosen, Package, dict[str, float]] | None:
    """The program with an element in each ciphertext, the model, and the seconds of both layouts; None where
    elements in slots take less time. Errors as of `in_ciphertexts`, where it is not possible."""
    if shares is not None:
        raise ParameterError(
            "an element in each ciphertext: results of this layout are for the key's owner alone; take "
            'layout="slots" with share=True'
        )
    found = in_ciphertexts(search, params)
    if layout == "auto" and not found.has_matrices:
        return None
    model = packaging.in_ciphertexts(found)
    if layout == "ciphertexts":
        return found.chosen, model, {}
    seconds = {"ciphertexts": _seconds(model, found.requests, search.device)}
    try:
        other = found.in_slots(params)
    except (LevelError, ParameterError, RangeError):
        other = None
    if other is not None:
        chosen, samples, requests = other
        seconds["slots"] = _seconds(packaging.in_slots(chosen, samples), requests, search.device)
    return (found.chosen, model, seconds) if min(seconds.values()) == seconds["ciphertexts"] else None


def _seconds(model: Package, requests: int, device: str) -> float:
    """Of a run on so many requests, by the table of a device."""
    seconds = model.cost(requests, device=device).seconds
    assert seconds is not None
    return seconds
