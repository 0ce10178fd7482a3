"""`compile`: from a Python function on arrays to a plan, which is a packaged model too."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from hemera._process import cached_property
from hemera.arrays.array import Array
from hemera.arrays.element_layout import ElementLayout
from hemera.arrays.folding import folded
from hemera.arrays.fusing import FusingRecorder
from hemera.arrays.pair_layout import PairLayout
from hemera.arrays.sequence_layout import SequenceLayout
from hemera.arrays.splitting import SplitProgram
from hemera.arrays.squares import with_squares
from hemera.arrays.tensor import TensorProgram
from hemera.arrays.watch import results_of, watched
from hemera.compiler.agreement import Agreement, agreement, exact_agreement, expected_bits
from hemera.compiler.approximate import MOST_SLOTS, Search
from hemera.compiler.exact import exact_parts, require_no_approximations
from hemera.compiler.layouts import LayoutName
from hemera.compiler.local import Local
from hemera.compiler.lowering import Lowered
from hemera.compiler.packaged import Packaged
from hemera.compiler.packaging import Packaging, chosen_of_samples
from hemera.compiler.precision import (
    MOST_SLOTS_DRAWN,
    Budget,
    Draws,
    ResultError,
    draws,
    precise,
    result_errors,
    roughly_noisy,
)
from hemera.compiler.progress import told
from hemera.compiler.report import deepest_text, layout_line, table
from hemera.compiler.results import named_results
from hemera.compiler.scaling import are_far, scaled
from hemera.compiler.specs import ArraySpec, spec_of
from hemera.compiler.tiles import require_samples, require_tiles
from hemera.compiler.watching import Watching, tell_outside
from hemera.errors import LevelError, MismatchError, ParameterError, RangeError
from hemera.inputs.arguments import Progress
from hemera.inputs.plain import plain_array
from hemera.parameters import Parameters
from hemera.serving.encodings import Arrays
from hemera.serving.noise import ExpectedNoise
from hemera.serving.package import Package

__all__ = ["Compiled", "compile"]

Values = NDArray[Any]

_PRECISION_BITS = 16
_MARGIN = 0.5
_DEVICE = "cpu-avx512-16"
_SHARES = 1024


class Compiled(Packaged):
    """A compiled program: what it needs and costs, before there is a ciphertext, and the packaged model.

    `compile` makes one. It encodes nothing and needs no device.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        specs: Sequence[ArraySpec],
        parts: SplitProgram,
        steps: Lowered,
        model: Package,
        *,
        program: TensorProgram | None = None,
        of_samples: bool | None = None,
        layout_seconds: Mapping[str, float] | None = None,
        examples: Sequence[Values | None] = (),
        by_program: bool = False,
    ) -> None:
        super().__init__(model)
        self._function = function
        self._specs = tuple(specs)
        self._parts = parts
        self._program = results_of(
            program or parts.whole, [each.name for each in model.outputs if each.watched]
        )
        """On the arrays of the inputs' shapes."""
        self._of_samples = program is None if of_samples is None else of_samples
        """Whether the program is of one of several samples."""
        self._lowered = steps
        self._layout_seconds = dict(layout_seconds or {})
        self._arrays = model
        """The model whose clients give arrays."""
        self._bits: float | None = None
        self._examples = tuple(examples)
        self._by_program = by_program

    @property
    def inputs(self) -> tuple[ArraySpec, ...]:
        """What is encrypted."""
        return self._specs

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """The shape of each result by its name."""
        return {name: self._program.nodes[at].shape for name, at in self._program.outputs}

    @property
    def depth(self) -> int:
        """Levels that the program takes; with BFV and BGV its products one after the other."""
        return self._package.interface.depth

    @property
    def slots(self) -> int:
        """Slots of its ciphertexts."""
        return self._lowered.slots

    @property
    def samples(self) -> int:
        """The samples that each ciphertext holds. With several, arrays have an axis of them."""
        encoding = self._arrays.interface.encoding
        assert isinstance(encoding, Arrays)
        return encoding.samples

    @property
    def layout(self) -> LayoutName:
        """ "ciphertexts": each element has a ciphertext, whose slots are samples; "pairs": matrices are
        factors of each other; "sequences": slots are tokens and samples; "slots": elements lie in slots."""
        encoding = self._arrays.interface.encoding
        assert isinstance(encoding, Arrays)
        names: dict[type, LayoutName] = {
            ElementLayout: "ciphertexts",
            PairLayout: "pairs",
            SequenceLayout: "sequences",
        }
        return names.get(type(encoding.inputs[0]), "slots")

    @property
    def layout_seconds(self) -> dict[str, float]:
        """By the table of times of a device, about the seconds of the layouts that were compared; empty where
        there was one. Of elements in slots, where another layout was taken, at least the seconds."""
        return dict(self._layout_seconds)

    def _of_one(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A run of arrays of the inputs' own shapes."""
        if self.samples == 1 or not self._of_samples:
            return run

        def of_one(*inputs: Any) -> Any:
            found = run(*(np.asarray(each)[np.newaxis] for each in inputs))
            return {name: each[0] for name, each in found.items()} if isinstance(found, dict) else found[0]

        return of_one

    def report(self, device: str | None = None) -> str:
        """The parameters, the cost, the bits, and a line for each operation: for people."""
        if self._bits is None:
            self._bits = self.expected_bits()
        return self._report(device, self._bits)

    def _report(self, device: str | None, bits: float | None) -> str:
        cost = self.cost(device)
        seconds = self._layout_seconds
        lines = [layout_line(self.layout, seconds)] if seconds or self.layout != "slots" else []
        return table(self._parts, self._lowered, self.samples, self.params, cost, bits, lines)

    def expected_bits(self, *samples: Any) -> float:
        """The bits of the result that is expected to have the fewest, relative to its own largest value: by
        approximations, and by noise that is drawn at random for values in the clear, as encryption and each
        operation add it. `check` measures them. Infinite for exact programs.

        Args:
            samples: for each input, of shape (samples, *shape); none: of `calibrate=`, or uniform draws from
                the inputs' ranges.

        Raises:
            MismatchError: for samples of other shapes.
        """
        if self.params.scheme != "ckks":
            return math.inf
        given = self._given(samples) if samples else [each[:1] for each in self._draws.inputs]
        noise = ExpectedNoise(self._arrays.program, self.params)
        return expected_bits(self._of_types, self._noisy(noise), given)

    def _noisy(self, noise: ExpectedNoise) -> Callable[..., Any]:
        """A run in the clear, with noise."""

        def run(*inputs: Any) -> Any:
            return self._arrays.evaluate_clear(inputs[0] if len(inputs) == 1 else list(inputs), noise=noise)

        return self._of_one(run)

    @cached_property
    def _draws(self) -> Draws:
        """Of the inputs, by which errors of results are told."""
        return draws(self._program, self._specs, self._examples)

    def _result_errors(self, asked: float) -> list[ResultError]:
        """What is expected of each result of a CKKS program, on the samples or on draws from the ranges, next
        to the bits that were asked for."""
        program = self._arrays.program
        if sum(form.slots * math.prod(form.shape) for form in program.forms) <= MOST_SLOTS_DRAWN:
            noisy = self._noisy(ExpectedNoise(program, self.params))
        else:
            noisy = roughly_noisy(self._program, self.params, self.slots)
        return result_errors(self._program, self._draws, noisy, asked)

    def _of_types(self, *inputs: Any) -> Any:
        """The user's own function, for arrays of the types that the inputs have."""
        typed = (
            x if own.dtype is None else np.asarray(x).astype(own.dtype)
            for own, x in zip(self._specs, inputs, strict=False)
        )
        return self._function(*typed) if not self._by_program else self._recorded_values(*inputs)

    def _recorded_values(self, *inputs: Any) -> Any:
        """What the function gives, by the program that was recorded of it, with exact functions: where it
        calls methods that plain arrays have not."""
        program = self._program
        batch = [np.asarray(each, np.float64)[np.newaxis] for each in inputs]
        with np.errstate(all="ignore"):
            values = program.values(batch, clip=True, formulas=program.approximated)
        found = {name: values[at][0] for name, at in program.outputs}
        return found["output"] if list(found) == ["output"] else found

    def _given(self, samples: Sequence[Any]) -> list[Values]:
        """Samples of the inputs as arrays. MismatchError for other shapes."""
        exact = self.params.scheme != "ckks"
        given = [plain_array(each, "samples", None if exact else np.float64) for each in samples]
        shapes = [each.shape[1:] for each in given]
        if shapes != [spec.shape for spec in self._specs] or len({len(each) for each in given}) != 1:
            raise MismatchError(
                f"samples of shapes {[each.shape for each in given]}; the inputs have "
                f"{[spec.shape for spec in self._specs]}, after an axis of samples"
            )
        return given

    def local(self, *, device: str = "cpu", threads: int | None = None, progress: Progress = None) -> Local:
        """Both parties in this process: it encrypts its arguments, runs, and decrypts."""
        return Local(self._package, device=device, threads=threads, progress=progress, watch=self._watch)

    @property
    def _watch(self) -> Callable[[Any, int | None], None] | None:
        """Warns of rows that leave the ranges of samples, where no output shows it."""
        encoding = self._arrays.interface.encoding
        assert isinstance(encoding, Arrays)
        bootstraps = "bootstrap" in self._lowered.program.operations
        if not (encoding.unwatched or (bootstraps and any(spec.watched for spec in self._arrays.outputs))):
            return None

        def watch(given: Any, count: int | None) -> None:
            named = given if isinstance(given, Mapping) else None
            listed = given if isinstance(given, list) else [given]
            inputs = listed if named is None else [named[spec.name] for spec in self._specs]
            clipped = [
                np.clip(np.asarray(each, np.float64), *(spec.range or (-np.inf, np.inf)))
                for each, spec in zip(inputs, self._specs, strict=True)
            ]
            tell_outside(self._program, clipped, everything=bootstraps, rows=encoding.rows, count=count)

        return watch

    def check(self, *samples: Any, encrypted: int = 1, threads: int | None = None) -> Agreement:
        """The compiled program next to the user's function, on samples. Exact results are compared exactly.

        Args:
            samples: for each input, of shape (samples, *shape); whole numbers for exact programs.
            encrypted: how many of them are encrypted too, in this process.
            threads: of the encrypted runs.

        Raises:
            MismatchError: for samples of other shapes.
        """
        given = self._given(samples)
        run = self._of_one(self.local(threads=threads)) if encrypted else None
        if self.params.scheme != "ckks":
            clear = self._of_one(self.evaluate_clear)
            return exact_agreement(self._of_types, clear, run, given, encrypted)
        return agreement(self._of_types, self._program, run, given, encrypted)

    def evaluate_clear(self, *inputs: Any) -> Any:
        """The results of the compiled program for arrays in the clear, of shape (..., *shape)."""
        return self._package.evaluate_clear(inputs[0] if len(inputs) == 1 else list(inputs))

    def clear(self, *inputs: Any) -> Any:
        """The results of the user's own function for arrays in the clear, of the inputs' shapes."""
        return self._of_types(*inputs)

    def _html_facts(self) -> dict[str, object]:
        named = {f"input {spec.name}": _spec_text(spec) for spec in self._specs}
        outputs = {f"result {name}": f"shape {shape}" for name, shape in self.outputs.items()}
        counts = self._lowered.program.operations
        return {
            **named,
            **outputs,
            **super()._html_facts(),
            "slots": self.slots,
            "samples in a ciphertext": self.samples,
            "operations": ", ".join(f"{count} {kind}" for kind, count in counts.items()),
        }

    def __repr__(self) -> str:
        return (
            f"<Compiled {self._package.name!r}: {len(self._program.nodes)} operations, depth {self.depth}, "
            f"{self.params!r}>"
        )


def _spec_text(spec: ArraySpec) -> str:
    """An input's shape and range for people."""
    low, high = spec.range or (-math.inf, math.inf)
    return f"shape {spec.shape}, from {low:g} to {high:g}"


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
            results alone, and are told only in general that rows may leave; `local` and `check` name them.
        scales: whether clients may scale inputs that are far from 0, and inputs and results that are small,
            where noise would hide them.
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
        ParameterError: with `share`: when the given parameters lack the room, by the bits that the message
            tells, or none have it without bootstraps.
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
    most_slots = MOST_SLOTS if params is None else params.max_slots
    require_samples(samples, most_slots)
    require_tiles(specs, most_slots // samples)
    shown = (_SHARES if shares is None else shares) if share else None

    def make(budget: Budget) -> tuple[Compiled, TensorProgram]:
        recorder = FusingRecorder(
            precision_bits=budget.function_bits, margin=margin, more_bits=budget.more_bits
        )
        arguments = []
        for spec, own in zip(specs, examples, strict=True):
            assert spec.range is not None
            number = recorder.input(spec.name, spec.shape, *spec.range, own, spec.step)
            arguments.append(Array(recorder, number, spec.kind)._as_argument())
        told("trace", 0, 1)
        recorder.program.outputs = named_results(what(*arguments), recorder)
        told("trace", 1, 1)
        recorder.settle()
        program = recorder.program
        watching = Watching.of(recorder)
        packaging = Packaging(tuple(specs), title, description, watching.unwatched, watching.lines)

        def prepared(program: TensorProgram, steps: Packaging) -> tuple[TensorProgram, Search, Packaging]:
            """The program before and after its maps are folded, for values as they are encrypted."""
            recorded, given, reach = with_squares(program), list(examples), watching.reach
            if budget.scaled:
                by_clients = scaled(recorded, specs)
                recorded, given = by_clients.program, by_clients.examples(examples)
                reach /= min(factor for factor, _ in by_clients.outputs)
                steps = replace(steps, scaled=by_clients, known=by_clients.known(steps.known))
            search = Search(
                folded(recorded), samples, budget.noise_bits, security, device or _DEVICE, tuple(given), reach
            )
            return recorded, search, steps

        recorded, search, steps = prepared(program, packaging)
        taken = None
        if layout != "slots":
            try:
                taken = chosen_of_samples(search, recorded, params, steps, layout, shown)
            except (LevelError, ParameterError, RangeError):
                if layout != "auto":
                    raise
        if taken is None:
            if watch and shown is None and watching.watches:
                program = watched(program, watching.watches)
                steps = replace(packaging, known=watching.watched, unwatched=())
                _, search, steps = prepared(program, steps)
            try:
                chosen = search.chosen(params, shown)
            except LevelError as error:
                raise LevelError(f"{error}{deepest_text(search.whole)}") from error
            taken = chosen, steps.in_slots(chosen, samples), {}
        chosen, model, seconds = taken
        plan = Compiled(
            what,
            specs,
            chosen.cut,
            chosen.steps,
            model,
            program=folded(with_squares(program)) if budget.scaled else search.whole,
            of_samples=samples > 1,
            layout_seconds=seconds,
            examples=examples,
            by_program=recorder.has_own_methods,
        )
        return plan, recorder.program

    return precise(make, precision_bits, far=are_far(specs), scales=scales)


def _examples(given: Any, count: int) -> list[Values | None]:
    """The samples of each input, of shape (samples, *shape)."""
    if given is None:
        return [None] * count
    listed = [given] if count == 1 and not isinstance(given, (list, tuple)) else list(given)
    if len(listed) != count:
        raise ParameterError(f"calibrate has samples of {len(listed)} inputs, and there are {count}")
    return [plain_array(each, "calibrate", np.float64) for each in listed]
