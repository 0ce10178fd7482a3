"""Programs in layouts as packaged models, and what others would take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hemera.arrays.layout import Layout
from hemera.compiler.attempts import Impossible, told
from hemera.compiler.drafts import Chosen
from hemera.compiler.options import Options
from hemera.compiler.scaling import Scaled
from hemera.compiler.specs import ArraySpec
from hemera.compiler.uploads import within
from hemera.compiler.watching import Known
from hemera.exporting.function import package
from hemera.package.encodings import Arrays
from hemera.package.package import Package
from hemera.package.specs import InputSpec, OutputSpec


@dataclass(frozen=True)
class LaidOut:
    """A program in a layout, and where clients put what they encrypt."""

    chosen: Chosen
    samples: int
    """The number of samples that each ciphertext, or batch of them, holds."""
    requests: int
    """Runs that all samples take."""
    inputs: tuple[Layout, ...]
    outputs: tuple[Layout, ...]

    @classmethod
    def in_slots(cls, chosen: Chosen, samples: int, requests: int = 1) -> LaidOut:
        """A candidate with elements in slots."""
        own = samples // 2 if chosen.steps.in_parts else samples
        cut, steps = chosen.steps.cut, chosen.steps.steps
        inputs = cut.whole.inputs
        tiles = [
            (
                cut.tilings[at],
                [layout for tile in cut.tiles[at] if (layout := steps[tile].layout) is not None],
            )
            for at in (*inputs, *[at for _, at in cut.whole.outputs])
        ]
        found = [Layout.of_tiles(tiling, layouts).with_samples(own) for tiling, layouts in tiles]
        return cls(chosen, samples, requests, tuple(found[: len(inputs)]), tuple(found[len(inputs) :]))


@dataclass(frozen=True)
class Found:
    """A program in one layout, as a packaged model."""

    chosen: Chosen
    model: Package
    requests: int = 1
    """Runs of the model that all samples take."""

    def seconds(self, device: str) -> float:
        """The seconds of all runs, by the table of a device."""
        seconds = self.model.cost(self.requests, device=device).seconds
        assert seconds is not None
        return seconds


@dataclass(frozen=True)
class Compared:
    """What other layouts would take, or why there are none."""

    seconds: dict[str, float] = field(default_factory=dict)
    impossible: dict[str, Impossible] = field(default_factory=dict)


@dataclass(frozen=True)
class Packaging:
    """The common part of packaged models of one program, whatever its layout."""

    specs: tuple[ArraySpec, ...]
    options: Options
    known: Mapping[str, Known] = field(default_factory=dict)
    """The ranges of outputs, by their names."""
    readings: Mapping[str, str] = field(default_factory=dict)
    """Clients' readings of outputs, by their names, where they are not the values."""
    unwatched: tuple[str, ...] = ()
    """Lines whose functions take values that may leave the ranges of samples, where no output shows it."""
    scaled: Scaled | None = None
    """The clients' steps with inputs and results; None: nothing."""

    def found(self, at: LaidOut) -> Found:
        """A program in a layout as a packaged model. NotPossibleError where its keys exceed the limit."""
        chosen = at.chosen
        program = chosen.steps.program
        if self.options.upload_limit is not None:
            program = within(program, chosen.params, self.options.upload_limit, self.options.device)
            chosen = replace(chosen, steps=replace(chosen.steps, program=program))
        cut, slots = chosen.steps.cut, chosen.steps.slots
        batches = [layout.batch for layout in at.inputs for _ in range(layout.count)]
        inputs = [
            InputSpec(own.name, slots, slots, batch, low=own.low, high=own.high)
            for own, batch in zip(cut.program.declared.values(), batches, strict=True)
        ]
        known = [
            (self.known.get(name, Known()), self.readings.get(name, "values"), layout.batch)
            for (name, _), layout in zip(cut.whole.outputs, at.outputs, strict=True)
            for _ in range(layout.count)
        ]
        outputs = [
            OutputSpec(
                name, slots, batch, read, watched=own.watched, low=own.low, high=own.high, reach=own.reach
            )
            for (name, _), (own, read, batch) in zip(cut.program.outputs, known, strict=True)
        ]
        told("package", 0, 1)
        model = package(
            program,
            inputs,
            outputs,
            chosen.params,
            name=self.options.name,
            description=self.options.description,
            encoding=self._encoding(at),
            sharing=chosen.sharing,
        )
        return Found(chosen, model, at.requests)

    def _encoding(self, at: LaidOut) -> Arrays:
        exact = at.chosen.params.scheme != "ckks"
        steps = [int(spec.step or 1) if exact else spec.step for spec in self.specs]
        clips = [bool(spec.clip) for spec in self.specs]
        return Arrays(
            at.inputs,
            at.outputs,
            tuple(steps) if any(steps) else (),
            at.samples,
            2 if at.chosen.steps.in_parts else 1,
            tuple(clips) if any(clips) else (),
            self.unwatched,
            input_scales=() if self.scaled is None else self.scaled.inputs,
            output_scales=() if self.scaled is None else self.scaled.outputs,
            whole=exact,
        )
