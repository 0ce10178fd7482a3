"""Packaged models of compiled programs, in any layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hemera.compiler.candidates import Found
from hemera.compiler.layouts import LaidOut
from hemera.compiler.scaling import Scaled
from hemera.compiler.specs import ArraySpec
from hemera.compiler.tracing import told
from hemera.compiler.watching import Known
from hemera.exporting.function import package
from hemera.package.encodings import Arrays, WholeArrays
from hemera.package.specs import InputSpec, OutputSpec

__all__ = ["Packaging"]


@dataclass(frozen=True)
class Packaging:
    """The common part of packaged models of one program, whatever its layout."""

    specs: tuple[ArraySpec, ...]
    name: str
    description: str
    known: Mapping[str, Known] = field(default_factory=dict)
    """The ranges of outputs, by their names."""
    unwatched: tuple[str, ...] = ()
    """Lines whose functions take values that may leave the ranges of samples, where no output shows it."""
    scaled: Scaled | None = None
    """The clients' steps with inputs and results; None: nothing."""

    def found(self, at: LaidOut) -> Found:
        """A program in a layout as a packaged model."""
        chosen = at.chosen
        cut, slots = chosen.cut, chosen.steps.slots
        batches = [layout.batch for layout in at.inputs for _ in range(layout.count)]
        inputs = [
            InputSpec(own.name, slots, slots, batch, low=own.low, high=own.high)
            for own, batch in zip(cut.program.declared.values(), batches, strict=True)
        ]
        known = [
            (self.known.get(name, Known()), layout.batch)
            for (name, _), layout in zip(cut.whole.outputs, at.outputs, strict=True)
            for _ in range(layout.count)
        ]
        outputs = [
            OutputSpec(name, slots, batch, watched=own.watched, low=own.low, high=own.high, reach=own.reach)
            for (name, _), (own, batch) in zip(cut.program.outputs, known, strict=True)
        ]
        told("package", 0, 1)
        model = package(
            chosen.steps.program,
            inputs,
            outputs,
            chosen.params,
            name=self.name,
            description=self.description,
            encoding=self._encoding(at),
            sharing=chosen.sharing,
        )
        return Found(chosen, model, at.requests)

    def _encoding(self, at: LaidOut) -> Arrays:
        if at.chosen.params.scheme != "ckks":
            multiples = tuple(int(spec.step or 1) for spec in self.specs)
            return WholeArrays(at.inputs, at.outputs, multiples, at.samples)
        steps = tuple(spec.step for spec in self.specs)
        clips = tuple(bool(spec.clip) for spec in self.specs)
        return Arrays(
            at.inputs,
            at.outputs,
            steps if any(steps) else (),
            at.samples,
            2 if at.chosen.steps.in_parts else 1,
            clips if any(clips) else (),
            self.unwatched,
            input_scales=() if self.scaled is None else self.scaled.inputs,
            output_scales=() if self.scaled is None else self.scaled.outputs,
        )
