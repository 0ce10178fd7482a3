"""Packaged models of compiled programs, in either layout, and which one takes less time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hemera.arrays.tensor import TensorProgram
from hemera.compiler.approximate import Chosen, Search
from hemera.compiler.impossible import Impossible, attempted
from hemera.compiler.layouts import LayoutName, OfSamples, Samples
from hemera.compiler.progress import told
from hemera.compiler.scaling import Scaled
from hemera.compiler.specs import ArraySpec
from hemera.compiler.tiles import Known, input_specs, output_specs, tiled_layouts
from hemera.exporting.function import package
from hemera.package.encodings import AnyLayout, Arrays
from hemera.package.package import Package
from hemera.package.specs import InputSpec, OutputSpec
from hemera.parameters import Parameters

__all__ = ["Compared", "Packaging", "chosen_of_samples"]


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


@dataclass(frozen=True)
class Compared:
    """What other layouts would take, or why there are none."""

    seconds: dict[str, float] = field(default_factory=dict)
    impossible: dict[str, Impossible] = field(default_factory=dict)


def chosen_of_samples(
    search: Search,
    recorded: TensorProgram,
    params: Parameters | None,
    packaging: Packaging,
    layout: LayoutName,
) -> tuple[tuple[Chosen, Package] | None, Compared]:
    """The program and the model in the layout that takes the least time; None where no layout of samples is
    possible, or elements of all samples in slots take less.

    Args:
        recorded: the program of `search` before its maps were folded.
        layout: "auto", or the name of a layout of samples, which is taken then.

    Raises:
        NotPossibleError: where the named layout is not.
    """
    compared = Compared()
    samples = attempted(lambda: Samples.of(search, recorded, params))
    if isinstance(samples, Impossible):
        if layout != "auto":
            raise samples.reason
        return None, compared
    if layout != "auto":
        found = samples.named(layout)
        return (found.chosen, packaging.of_samples(found)), compared
    models: dict[str, tuple[Chosen, Package]] = {}
    for name, make in samples.worth_comparing.items():
        tried = attempted(make)
        if isinstance(tried, Impossible):
            compared.impossible[name] = tried
            continue
        models[name] = tried.chosen, packaging.of_samples(tried)
        compared.seconds[name] = _seconds(models[name][1], tried.requests, search.device)
    if not models:
        return None, compared
    least = min(compared.seconds.values())
    in_slots = attempted(lambda: _in_slots(samples, params, packaging, least))
    if isinstance(in_slots, Impossible):
        compared.impossible["slots"] = in_slots
    elif in_slots is not None:
        compared.seconds["slots"], found_in_slots = in_slots
        if found_in_slots is not None:
            models["slots"] = found_in_slots
    best = min(compared.seconds, key=compared.seconds.__getitem__)
    if best == "slots" and samples.batch is not None:
        return None, Compared()
    return models[best], compared


def _in_slots(
    samples: Samples, params: Parameters | None, packaging: Packaging, least: float
) -> tuple[float, tuple[Chosen, Package] | None] | None:
    """The seconds of elements in slots, and the model where they can be below the least of others; None where
    there are too many maps to compare."""
    found = samples.in_slots()
    if found is None:
        return None
    search, requests = found
    seconds = search.seconds_at_least(params, requests)
    if seconds >= least:
        return seconds, None
    chosen = search.chosen(params, None)
    model = packaging.in_slots(chosen, search.samples)
    return _seconds(model, requests, search.device), (chosen, model)


def _seconds(model: Package, requests: int, device: str) -> float:
    """The seconds of a run on so many requests, by the table of a device."""
    seconds = model.cost(requests, device=device).seconds
    assert seconds is not None
    return seconds
