"""`compile`: from a Python function on arrays to a plan, which is a packaged model too."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.chains import FusingRecorder
from hemera.arrays.tensor import TensorProgram
from hemera.compiler.attempts import Impossible, attempted
from hemera.compiler.candidates import Compared, Found, LaidOut, LayoutName, Packaging, cheapest_of
from hemera.compiler.compiled import Compiled
from hemera.compiler.exact import exact_parts, require_no_approximations
from hemera.compiler.layouts import Samples
from hemera.compiler.parameter_search import MOST_SLOTS, Search
from hemera.compiler.passes import ARRAYS, OnArrays, traced
from hemera.compiler.precision import Budget, precise
from hemera.compiler.report import deepest_text
from hemera.compiler.result_errors import Recording
from hemera.compiler.specs import ArraySpec, are_far, require_fitting, spec_of
from hemera.compiler.watching import Watching
from hemera.errors import LevelError, ParameterError, RangeError
from hemera.inputs.plain import plain_array
from hemera.parameters import Parameters, require_naturals

Values = NDArray[Any]

_PRECISION_BITS = 16
_MARGIN = 0.5
_DEVICE = "cpu-avx512-16"
_SHARES = 1024


def compile(  # noqa: A001
    what: Callable[..., Any],
    *inputs: Any,
    calibrate: Any = None,
    scheme: str = "ckks",
    precision_bits: float | None = None,
    margin: float | None = None,
    samples: int = 1,
    layout: LayoutName = "auto",
    params: Parameters | None = None,
    security: int | None = 128,
    device: str | None = None,
    share: bool = False,
    shares: int | None = None,
    watch: bool = True,
    scales: bool = True,
    upload_limit: int | None = None,
    name: str | None = None,
    description: str = "",
) -> Compiled:
    """Compile a Python function on arrays into an encrypted program.

        def study(x):
            z = (x - x.mean()) / 10
            return {"mean": x.mean(), "spread": (z**2).mean()}

        plan = hm.compile(study, hm.ArraySpec((1000,), range=(0, 120)))
        print(plan.report())
        print(plan.local()(ages))

    The function is called once with an encrypted array for each input, which has the operators and methods of
    NumPy's arrays, and NumPy's functions take it. It can not depend on values. Layouts in slots, diagonals,
    rotations, levels and parameters are chosen.

    Args:
        what: the function; returns an array, or a sequence or a dict of them.
        inputs: for each argument an `ArraySpec`, or an array as an example of the shape.
        calibrate: samples of the inputs, of shape (samples, *shape): an array, or one for each input. They
            give ranges, to inputs without one and to all values in between. Clients bring what is outside
            of an input's range into it, with a `RangeWarning` (`ArraySpec.clip`).
        scheme: "ckks"; or "bfv" or "bgv" for exact programs on whole numbers, whose inputs are specs with a
            range. `calibrate`, `precision_bits`, `margin`, `device`, `share` and `shares` are of "ckks".
        precision_bits: bits that each result has, relative to its own largest value on the samples, or on
            draws from the ranges (16).
        margin: the part by which the ranges of `calibrate` are widened to both sides (0.5).
        samples: that each ciphertext holds, a power of two: slots that one leaves free are those of others,
            and the operations are as many. Inputs are then of shape (n, *shape), for any number n.
        layout: "ciphertexts": each element of a sample has a ciphertext of its own, whose slots are samples,
            and linear layers are products of plain matrices with batches of ciphertexts, without keys. That
            is for samples that fill the slots: those of `samples=`, or along an axis of the arrays where the
            function does nothing but the same with each. "pairs": such samples are encrypted matrices, and
            the function is x @ y or x @ (y @ z) (`hemera.circuits.MatrixBatchProduct`). "sequences": slots
            are samples and the first axis of each, that of tokens, which meet by sums and products that are
            the same for each token (docs/compile.md#sequences). "slots": elements lie in slots. "auto":
            what takes the least time, by the table of `device`; `report` has the times.
        params: parameters of the scheme; None: those of the depth that is found, or, where no ring holds it,
            those of `for_bootstrapping`. With these, bootstraps are placed where the program needs them.
        security: in bits, for parameters that are found; None: not checked.
        device: the name of a table of times (`hemera calibrate --list`), by which bootstraps are placed, and
            layouts chosen ("cpu-avx512-16").
        share: whether others will see the results. The scale has room for the noise that hides their errors
            (docs/security.md), which leaves `precision_bits`, and the plan decrypts with it.
        shares: with `share`: how many results, a ciphertext each, may be shown under one secret key (1024).
        watch: whether values that inputs could take out of a function's interval go to the client as further
            encrypted outputs, by which it names rows that leave the ranges of `calibrate`. False: clients see
            results alone, and are warned only in general that rows may leave; `local` and `check` name them.
        scales: whether clients may scale inputs that are far from 0, and inputs and results that are small,
            where noise would hide them.
        upload_limit: the most bytes of keys that each client uploads; None: no limit. Rotations of linear
            maps are then taken as rotations of rotations, in the least time, by the table of `device`, that
            is found for so many keys (docs/compile.md#fewer-keys).
        name: of the model; None: the function's.

    Raises:
        TypeError: when the function depends on values, or calls what encrypted arrays have not.
        ParameterError: when a range is missing or no approximation has the precision, and when an array would
            take more than 4,096 ciphertexts.
        PrecisionError: a ParameterError, when a result can not have its bits: with those that it can have,
            and the line that costs most.
        MismatchError: when shapes do not fit.
        LevelError: when the given parameters have too few levels.
        RangeError: when results do not fit the given parameters.
        ParameterError: where keys take more than `upload_limit`, with the fewest bytes that are found.
        ParameterError: with `share`: when the given parameters lack the room, by the bits that the message
            names, or none have it without bootstraps.
        ParameterError: with "bfv" and "bgv": for fractions, divisions and approximations, with the line of
            the function; for results and look-ups that are too large.
        NoiseError: with "bfv" and "bgv": when the given parameters leave no noise budget, or an operation
            takes more than their bootstraps leave.

    Examples:
        >>> def study(x):
        ...     return {"mean": x.mean(), "spread": ((x - x.mean()) ** 2).mean()}
        >>> plan = hm.compile(study, hm.ArraySpec((100,), range=(0, 120)))
        >>> plan.outputs
        {'mean': (), 'spread': ()}
        >>> found = plan.local()(np.arange(100.0))
        >>> float(found["mean"].round(2)), float(found["spread"].round(2))
        (49.5, 833.25)
    """
    if not callable(what):
        raise TypeError(f"compile takes a function, not {type(what).__name__}")
    if not inputs:
        raise ParameterError("compile needs the inputs: an ArraySpec, or an example, for each argument")
    if upload_limit is not None:
        require_naturals(upload_limit=upload_limit)
        if scheme != "ckks" or share:
            raise ParameterError('upload_limit is of scheme="ckks", without share=True')
    title = name or str(getattr(what, "__name__", "model"))
    if scheme != "ckks":
        refused = {
            "calibrate": calibrate,
            "precision_bits": precision_bits,
            "margin": margin,
            "device": device,
            "share": share or None,
            "shares": shares,
            "layout": None if layout == "auto" else layout,
        }
        require_no_approximations(scheme, refused)
        parts = exact_parts(
            what,
            inputs,
            scheme,
            samples=samples,
            params=params,
            security=security,
            name=title,
            description=description,
        )
        return Compiled(what, *parts)
    if layout not in get_args(LayoutName):
        raise ParameterError(f"layout is one of {', '.join(get_args(LayoutName))}, not {layout!r}")
    precision_bits = _PRECISION_BITS if precision_bits is None else precision_bits
    if not (math.isfinite(precision_bits) and precision_bits > 0):
        raise ParameterError(f"precision_bits is a finite number above 0, not {precision_bits:g}")
    margin = _MARGIN if margin is None else margin
    examples = _examples(calibrate, len(inputs))
    specs = [
        spec_of(each, at, own, margin) for at, (each, own) in enumerate(zip(inputs, examples, strict=True))
    ]
    require_fitting(specs, samples, MOST_SLOTS if params is None else params.max_slots)
    shown = (_SHARES if shares is None else shares) if share else None
    device = device or _DEVICE
    settings = (
        margin,
        samples,
        layout,
        params,
        security,
        device,
        upload_limit,
        shown,
        watch,
        title,
        description,
    )
    own = _Compilation(what, specs, examples, *settings)
    return precise(own.recorded, own.compiled, precision_bits, far=are_far(specs), scales=scales)


@dataclass(frozen=True)
class _Compilation:
    """The settings that do not change between the tries of `precise`: see `compile`."""

    what: Callable[..., Any]
    specs: Sequence[ArraySpec]
    examples: Sequence[Values | None]
    margin: float
    samples: int
    layout: LayoutName
    params: Parameters | None
    security: int | None
    device: str
    upload_limit: int | None
    shown: int | None
    """Results that others will see; None: nobody will."""
    watch: bool
    title: str
    description: str

    def recorded(self, budget: Budget) -> Recording:
        """The function on encrypted arrays."""
        recorder = FusingRecorder(
            precision_bits=budget.function_bits, margin=self.margin, more_bits=budget.more_bits
        )
        traced(self.what, self.specs, recorder, self.examples).settle()
        return Recording(recorder, self.specs, self.examples)

    def compiled(self, recording: Recording, budget: Budget) -> Compiled:
        """A recorded program as a plan: in a layout of samples, or with elements in slots."""
        program, watching = recording.recorder.program, Watching.of(recording.recorder)
        packaging = Packaging(
            tuple(self.specs),
            self.title,
            self.description,
            watching.unwatched,
            watching.lines,
            upload_limit=self.upload_limit,
            device=self.device,
        )
        at = self._on_arrays(program, budget)
        search, encrypted = self._search(at, packaging, budget)
        found, compared = self._of_samples(at, search, encrypted)
        if found is None:
            if self.watch and self.shown is None and watching.watches:
                watches = {name: each.at for name, each in watching.watches.items()}
                packaging = replace(packaging, known=watching.watched, unwatched=())
                at = self._on_arrays(program.with_outputs(watches), budget)
                search, encrypted = self._search(at, packaging, budget)
            try:
                found = encrypted.found(LaidOut.in_slots(search.chosen(self.shown), self.samples))
            except (LevelError, RangeError) as error:
                raise type(error)(f"{error}{deepest_text(search.whole)}") from error
        if budget.scaled:  # for people, in the units of the user's
            at = self._on_arrays(program, replace(budget, scaled=False))
        return Compiled(
            self.what,
            self.specs,
            found.chosen.cut,
            found.chosen.steps,
            found.model,
            program=at.program,
            of_samples=self.samples > 1,
            compared=compared,
            examples=self.examples,
            by_program=recording.recorder.has_own_methods,
        )

    def _on_arrays(self, program: TensorProgram, budget: Budget) -> OnArrays:
        return ARRAYS.run(OnArrays(program, self.specs, scales=budget.scaled))

    def _search(self, at: OnArrays, packaging: Packaging, budget: Budget) -> tuple[Search, Packaging]:
        """What parameters are chosen by, and what clients do, for values as they are encrypted."""
        given = list(self.examples)
        if at.scaled is not None:
            given = at.scaled.examples(given)
            packaging = replace(packaging, scaled=at.scaled, known=at.scaled.known(packaging.known))
        reach = max([own.reach or 0.0 for own in packaging.known.values() if not own.watched], default=0.0)
        bits, samples = budget.noise_bits, self.samples
        own = at.program, samples, bits, self.security, self.device, tuple(given), reach, self.params
        return Search(*own), packaging

    def _of_samples(
        self, at: OnArrays, search: Search, packaging: Packaging
    ) -> tuple[Found | None, Compared]:
        """The program in the layout that takes the least time; None where no layout of samples is possible,
        or elements of all samples in slots take less.

        Raises:
            NotPossibleError: where the layout that the user names is not.
            ParameterError: for one of samples, with share=True.
        """
        if self.shown is not None and self.layout not in ("auto", "slots"):
            raise ParameterError(
                f"layout={self.layout!r}: results of this layout are for the key's owner alone; take "
                'layout="slots" with share=True'
            )
        if self.shown is not None or self.layout == "slots":
            return None, Compared()
        assert at.unfolded is not None
        samples = attempted(functools.partial(Samples.of, search, at.unfolded))
        if isinstance(samples, Impossible):
            if self.layout != "auto":
                raise samples.reason
            return None, Compared()
        if self.layout != "auto":
            return packaging.found(samples.named(self.layout)), Compared()
        name, found, compared = cheapest_of(samples.candidates, packaging.found, self.device)
        if name == "slots" and samples.batch is not None:
            return None, Compared()
        return found, compared


def _examples(given: Any, count: int) -> list[Values | None]:
    """The samples of each input, of shape (samples, *shape)."""
    if given is None:
        return [None] * count
    listed = [given] if count == 1 and not isinstance(given, (list, tuple)) else list(given)
    if len(listed) != count:
        raise ParameterError(f"calibrate has samples of {len(listed)} inputs, and there are {count}")
    return [plain_array(each, "calibrate", np.float64) for each in listed]
