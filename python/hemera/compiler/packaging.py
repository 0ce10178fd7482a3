"""Packaged models of compiled programs, in any layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hemera.compiler.candidates import Found
from hemera.compiler.layouts import LaidOut
from hemera.compiler.progress import told
from hemera.compiler.scaling import Scaled
from hemera.compiler.specs import ArraySpec
from hemera.compiler.tiles import Known, input_specs, output_specs
from hemera.exporting.function import package
from hemera.package.encodings import Arrays, WholeArrays

__all__ = ["Packaging"]


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

    def found(self, at: LaidOut) -> Found:
        """A program in a layout as a packaged model."""
        chosen = at.chosen
        cut, slots = chosen.cut, chosen.steps.slots
        told("package", 0, 1)
        model = package(
            chosen.steps.program,
            input_specs(cut, at.inputs, slots),
            output_specs(cut, at.outputs, slots, self.known),
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
