"""Packaged models of compiled programs, in either layout, and which one takes less time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from hemera.arrays.tensor import TensorProgram
from hemera.compiler.approximate import Chosen, Search
from hemera.compiler.layouts import NOT_POSSIBLE, LayoutName, OfSamples, Samples
from hemera.compiler.progress import told
from hemera.compiler.scaling import Scaled
from hemera.compiler.specs import ArraySpec
from hemera.compiler.tiles import Known, input_specs, output_specs, tiled_layouts
from hemera.errors import ParameterError
from hemera.exporting.function import package
from hemera.package.encodings import AnyLayout, Arrays
from hemera.package.package import Package
from hemera.package.specs import InputSpec, OutputSpec
from hemera.parameters import Parameters

__all__ = ["Packaging", "chosen_of_samples"]


@dataclass(frozen=True)
class Packaging:
    """What packaged models of one program have, whatever its layout."""

    specs: tuple[ArraySpec, ...]
    name: str
    description: str
    known: Mapping[str, Known] = field(default_factory=dict)
    """The ranges of outputs, by their names."""
    unwatched: tuple[str, ...] = ()
    """Lines whose functions take values that may leave the ranges of samples, where no output shows it."""
    scaled: Scaled | None = None
    """What clients do with inputs and results; None: nothing."""

    def in_slots(self, chosen: Chosen, samples: int) -> Package:
        """Elements in slots."""
        parts, steps = chosen.cut, chosen.steps
        count = 2 if steps.in_parts else 1
        encoding = self._encoding(tiled_layouts(parts, steps, samples // count), samples, count)
        inputs, outputs = input_specs(parts, steps.slots), output_specs(parts, steps.slots, self.known)
        return self._package(chosen, inputs, outputs, encoding)

    def of_samples(self, found: OfSamples) -> Package:
        """Samples in slots."""
        cut, slots = found.chosen.cut, found.chosen.steps.slots
        inputs = zip(input_specs(cut, slots), found.inputs, strict=True)
        outputs = zip(output_specs(cut, slots, self.known), found.outputs, strict=True)
        return self._package(
            found.chosen,
            [replace(spec, shape=layout.batch) for spec, layout in inputs],
            [replace(spec, shape=layout.batch) for spec, layout in outputs],
            self._encoding((found.inputs, found.outputs), found.samples, 1),
        )

    def _encoding(
        self, layouts: tuple[Sequence[AnyLayout], Sequence[AnyLayout]], samples: int, parts: int
    ) -> Arrays:
        steps = tuple(spec.step for spec in self.specs)
        clips = tuple(bool(spec.clip) for spec in self.specs)
        inputs, outputs = map(tuple, layouts)
        return Arrays(
            inputs,
            outputs,
            steps if any(steps) else (),
            samples,
            parts,
            clips if any(clips) else (),
            self.unwatched,
            input_scales=() if self.scaled is None else self.scaled.inputs,
            output_scales=() if self.scaled is None else self.scaled.outputs,
        )

    def _package(
        self, chosen: Chosen, inputs: Sequence[InputSpec], outputs: Sequence[OutputSpec], encoding: Arrays
    ) -> Package:
        told("package", 0, 1)
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


def chosen_of_samples(
    search: Search,
    recorded: TensorProgram,
    params: Parameters | None,
    packaging: Packaging,
    layout: LayoutName,
    shares: int | None,
) -> tuple[Chosen, Package, dict[str, float]] | None:
    """The program in the layout that takes the least time, the model, and the seconds of all layouts that
    were compared; None where no layout of samples is possible, or elements of all samples in slots take less.

    Args:
        recorded: the program of `search` before its maps were folded.
        layout: "auto", or the name of a layout of samples, which is taken then.

    Raises:
        ParameterError: where none is possible, or samples are too few.
        LevelError, RangeError: for parameters that do not fit.
    """
    if shares is not None:
        raise ParameterError(
            f"layout={layout!r}: results of this layout are for the key's owner alone; take "
            'layout="slots" with share=True'
        )
    samples = Samples.of(search, recorded, params)
    makers: dict[str, Callable[[], OfSamples]] = {
        "ciphertexts": samples.in_ciphertexts,
        "pairs": samples.in_pairs,
        "sequences": samples.in_sequences,
    }
    if layout == "auto":
        makers["ciphertexts"] = functools.partial(samples.in_ciphertexts, with_matrices=True)
        makers["sequences"] = functools.partial(samples.in_sequences, with_matrices=True)
        if not samples.may_be_sequences:
            del makers["sequences"]
    else:
        found = makers[layout]()
        return found.chosen, packaging.of_samples(found), {}
    models: dict[str, tuple[Chosen, Package]] = {}
    seconds: dict[str, float] = {}
    for name, make in makers.items():
        with suppress(*NOT_POSSIBLE):
            found = make()
            models[name] = found.chosen, packaging.of_samples(found)
            seconds[name] = _seconds(models[name][1], found.requests, search.device)
    if not models:
        return None
    with suppress(*NOT_POSSIBLE):
        if (other := samples.in_slots()) is not None:
            own, requests = other
            least = own.seconds_at_least(params, requests)
            if least < min(seconds.values()):
                chosen = own.chosen(params, None)
                models["slots"] = chosen, packaging.in_slots(chosen, own.samples)
                least = _seconds(models["slots"][1], requests, search.device)
            seconds["slots"] = least
    best = min(seconds, key=seconds.__getitem__)
    if best == "slots" and samples.batch is not None:
        return None
    return *models[best], seconds


def _seconds(model: Package, requests: int, device: str) -> float:
    """The seconds of a run on so many requests, by the table of a device."""
    seconds = model.cost(requests, device=device).seconds
    assert seconds is not None
    return seconds
