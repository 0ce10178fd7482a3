"""`compile`: from a Python function on arrays to a plan, which is a packaged model too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.chains import FusingRecorder
from hemera.arrays.tensor import TensorProgram
from hemera.compiler.candidates import Compared, LaidOut, Packaging
from hemera.compiler.compiled import Compiled, Made
from hemera.compiler.exact import exact_program
from hemera.compiler.layouts import cheapest_of_samples
from hemera.compiler.options import LayoutName, Options
from hemera.compiler.parameter_search import MOST_SLOTS, Search
from hemera.compiler.passes import ARRAYS, OnArrays, readings_of, traced
from hemera.compiler.precision import Budget, precise
from hemera.compiler.repeated import require_repeated
from hemera.compiler.report import deepest_text
from hemera.compiler.result_errors import Recording
from hemera.compiler.specs import ArraySpec, are_far, names_of, require_fitting, spec_of
from hemera.compiler.watching import Watching
from hemera.errors import LevelError, ParameterError, RangeError
from hemera.inputs.plain import plain_array
from hemera.parameters import require_naturals

Values = NDArray[Any]


def compile(what: Callable[..., Any], *inputs: Any, **options: Any) -> Compiled:  # noqa: A001
    """Compile a Python function on arrays into an encrypted program: see `hemera.compile`.

    Args:
        what: the function; returns an array, or a sequence or a dict of them.
        inputs: for each argument an `ArraySpec`, or an array as an example of the shape.
        options: the fields of `hemera.compiler.options.Options`; None: the default, but for `security`.
    """
    if not callable(what):
        raise TypeError(f"compile takes a function, not {type(what).__name__}")
    if not inputs:
        raise ParameterError("compile needs the inputs: an ArraySpec, or an example, for each argument")
    given = {name: value for name, value in options.items() if value is not None or name == "security"}
    own = Options(**given)
    own = replace(own, name=own.name or str(getattr(what, "__name__", "model")))
    if own.upload_limit is not None:
        require_naturals(upload_limit=own.upload_limit)
        if own.scheme != "ckks" or own.share:
            raise ParameterError('upload_limit is of scheme="ckks", without share=True')
    if own.scheme != "ckks":
        return Compiled(Made(what, *exact_program(what, inputs, own, given)))
    if own.openings is not None:
        raise ParameterError(
            'openings= is of "bfv" and "bgv"; a group takes CKKS programs with params= of '
            "ckks.Parameters.for_circuit(openings=)"
        )
    if own.layout not in get_args(LayoutName):
        raise ParameterError(f"layout is one of {', '.join(get_args(LayoutName))}, not {own.layout!r}")
    if not (math.isfinite(own.precision_bits) and own.precision_bits > 0):
        raise ParameterError(f"precision_bits is a finite number above 0, not {own.precision_bits:g}")
    examples = _examples(own.calibrate, len(inputs))
    specs = [
        spec_of(each, name, shown, own.margin)
        for each, name, shown in zip(inputs, names_of(what, inputs), examples, strict=True)
    ]
    require_fitting(specs, own.samples, MOST_SLOTS if own.params is None else own.params.max_slots)
    tries = _Compilation(what, specs, examples, own)
    return precise(tries.recorded, tries.compiled, own.precision_bits, far=are_far(specs), scales=own.scales)


@dataclass(frozen=True)
class _Compilation:
    """What does not change between the tries of `precise`."""

    what: Callable[..., Any]
    specs: Sequence[ArraySpec]
    examples: Sequence[Values | None]
    own: Options

    def recorded(self, budget: Budget) -> Recording:
        """The function on encrypted arrays."""
        return Recording(self._traced(budget), self.specs, self.examples)

    def _traced(self, budget: Budget) -> FusingRecorder:
        recorder = FusingRecorder(
            precision_bits=budget.function_bits, margin=self.own.margin, more_bits=budget.more_bits
        )
        traced(self.what, self.specs, recorder, self.examples).settle()
        return recorder

    def compiled(self, recording: Recording, budget: Budget) -> Compiled:
        """A recorded program as a plan: in a layout of samples, or with elements in slots."""
        own, program = self.own, recording.recorder.program
        given = self.what, self.specs, recording.one, recording.recorder
        require_repeated(*given, lambda: self._traced(budget))
        watching = Watching.of(recording.recorder)
        readings = readings_of(recording.recorder, own.precision_bits)
        packaging = Packaging(tuple(self.specs), own, watching.unwatched, readings, watching.lines)
        at, search, packaging = self._on_arrays(program, packaging, budget)
        found, compared = None, Compared()
        assert at.unfolded is not None
        if own.layout != "slots" and (own.layout != "auto" or (search.may_fill_slots and not own.share)):
            found, compared = cheapest_of_samples(search, at.unfolded, packaging)
        if found is None:
            if own.watch and not own.share and watching.watches:
                watches = {name: each.at for name, each in watching.watches.items()}
                packaging = replace(packaging, known=watching.watched, unwatched=())
                at, search, packaging = self._on_arrays(program.with_outputs(watches), packaging, budget)
            try:
                found = packaging.found(
                    LaidOut.in_slots(search.chosen(own.shares if own.share else None), own.samples)
                )
            except (LevelError, RangeError) as error:
                raise type(error)(f"{error}{deepest_text(search.whole)}") from error
        if budget.scaled:  # for people, in the units of the user's
            at = ARRAYS.run(OnArrays(program, self.specs))
        by_program, is_scaled = recording.recorder.has_own_methods, packaging.scaled is not None
        facts = at.program, own.samples > 1, compared, self.examples, by_program, is_scaled
        return Compiled(Made(self.what, self.specs, found, *facts))

    def _on_arrays(
        self, program: TensorProgram, packaging: Packaging, budget: Budget
    ) -> tuple[OnArrays, Search, Packaging]:
        """The program after its passes, what parameters are chosen by, and what clients do, for values as
        they are encrypted."""
        at = ARRAYS.run(OnArrays(program, self.specs, scales=budget.scaled))
        given, own = list(self.examples), self.own
        if at.scaled is not None:
            given = at.scaled.examples(given)
            packaging = replace(packaging, scaled=at.scaled, known=at.scaled.known(packaging.known))
        reach = max([each.reach or 0.0 for each in packaging.known.values() if not each.watched], default=0.0)
        facts = at.program, own.samples, budget.noise_bits, own.security, own.device, tuple(given), reach
        return at, Search(*facts, own.params), packaging


def _examples(given: Any, count: int) -> list[Values | None]:
    """The samples of each input, of shape (samples, *shape)."""
    if given is None:
        return [None] * count
    listed = [given] if count == 1 and not isinstance(given, (list, tuple)) else list(given)
    if len(listed) != count:
        raise ParameterError(f"calibrate has samples of {len(listed)} inputs, and there are {count}")
    return [plain_array(each, "calibrate", np.float64) for each in listed]
