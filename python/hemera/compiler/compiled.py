"""A compiled program: a plan, which is a packaged model too."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera._process import cached_property
from hemera.arrays.tensor import TensorProgram
from hemera.compiler.agreement import Agreement, agreement, exact_agreement, expected_bits
from hemera.compiler.candidates import Compared, Found
from hemera.compiler.draws import Draws, draws
from hemera.compiler.options import LayoutName
from hemera.compiler.packaged import Local, Packaged
from hemera.compiler.report import layout_lines, table
from hemera.compiler.result_errors import MOST_SLOTS_DRAWN, Recording, ResultError, roughly_noisy
from hemera.compiler.specs import ArraySpec
from hemera.compiler.watching import tell_outside
from hemera.errors import MismatchError
from hemera.inputs.arguments import Progress
from hemera.inputs.plain import plain_array
from hemera.package.encodings import Arrays
from hemera.program.expected_noise import ExpectedNoise

Values = NDArray[Any]


@dataclass(frozen=True)
class Made:
    """The facts of a compiled program."""

    function: Callable[..., Any]
    specs: Sequence[ArraySpec]
    found: Found
    program: TensorProgram | None = None
    """On the arrays of the inputs' shapes; None: that of the layout."""
    of_samples: bool | None = None
    compared: Compared = field(default_factory=Compared)
    examples: Sequence[Values | None] = ()
    by_program: bool = False
    """Whether results in the clear are those of the recorded program."""
    is_scaled: bool = False
    """Whether clients scale inputs and results."""


class Compiled(Packaged):
    """A compiled program: its needs and costs, before there is a ciphertext, and the packaged model.

    `compile` makes one. It encodes nothing and needs no device.
    """

    def __init__(self, made: Made) -> None:
        super().__init__(made.found.model)
        self.made = made
        self._function, self._specs, self._compared = made.function, tuple(made.specs), made.compared
        self._found, self._lowered = made.found, made.found.chosen.steps
        self._program = (made.program or self._lowered.cut.whole).without_outputs(
            [each.name for each in made.found.model.outputs if each.watched]
        )
        """On the arrays of the inputs' shapes."""
        self._of_samples = made.program is None if made.of_samples is None else made.of_samples
        """Whether the program is of one of several samples."""
        self._arrays = made.found.model
        """The model whose clients give arrays."""
        self._bits: float | None = None

    @property
    def inputs(self) -> tuple[ArraySpec, ...]:
        """The inputs that are encrypted."""
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
        first = encoding.inputs[0]
        if not first.is_batch or first.lines:
            return "pairs" if first.lines else "slots"
        return "ciphertexts" if first.period == encoding.samples else "sequences"

    @property
    def layout_seconds(self) -> dict[str, float]:
        """About the seconds of the layouts that were compared, by a device's table of times; empty where
        there was one. At least the seconds, for elements in slots where another layout was taken."""
        return dict(self._compared.seconds)

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
        lines = layout_lines(self.layout, self._compared.seconds, self._compared.impossible)
        return table(self._lowered, self.samples, self.params, cost, bits, lines)

    def expected_bits(self, *samples: Any) -> float:
        """The bits of the result that is expected to have the fewest, relative to its own largest value: by
        approximations, and by noise that is drawn at random for values in the clear, as encryption and each
        operation add it. `check` measures them. Infinite for exact programs.

        Args:
            samples: for each input, of shape (samples, *shape); none: of `calibrate=`, or a uniform draw from
                the inputs' ranges; where functions are approximated their ends, too, and where these bend.

        Raises:
            MismatchError: for samples of other shapes.
        """
        if self.params.scheme != "ckks":
            return math.inf
        return self._bits_of(self._given(samples) if samples else self._drawn)

    def _bits_of(self, samples: Sequence[Values]) -> float:
        """The expected bits of results, on samples."""
        return expected_bits(self._of_types, self._noisy(), samples)

    @property
    def _drawn(self) -> list[Values]:
        """Inputs by which bits are told where no samples are given."""
        few = self._draws.extremes[: self._draws.first_enough + 1]
        return [each[few] for each in self._draws.inputs]

    def _noisy(self) -> Callable[..., list[Values]]:
        """A run of one sample in the clear, with the noise that encryption and each operation add."""
        program, interface, slots = self._arrays.program, self._arrays.interface, self._lowered.slots
        encoding, noise = interface.encoding, ExpectedNoise(program, interface.params)
        assert isinstance(encoding, Arrays)
        of_one = self._of_samples and encoding.samples > 1

        def noisy(*inputs: Values) -> list[Values]:
            given = [np.asarray(each)[np.newaxis] for each in inputs] if of_one else inputs
            rows = given[0].shape[encoding.inputs[0].axis] if encoding.samples > 1 else None
            found = encoding.of_slots(noise.run(encoding.in_slots(given, slots)), rows)
            own = found[: len(self._program.outputs)]  # what is watched comes after them
            return [each[0] for each in own] if of_one else own

        return noisy

    @cached_property
    def _draws(self) -> Draws:
        """Draws of the inputs, where no samples are given."""
        return draws(self._program, self._specs, self.made.examples)

    def _errors_of(self, recording: Recording, asked: float) -> list[ResultError]:
        """The expected bits of each result of a CKKS program, on the samples or on draws from the ranges,
        next to the bits that were asked for."""
        program, nodes = self._lowered.program, self._program.nodes
        is_large = sum([form.slots * math.prod(form.shape) for form in program.forms]) > MOST_SLOTS_DRAWN
        # Noise that is estimated without slots is near enough for maps and products of unscaled values.
        is_plain = "bootstrap" not in program.operations and program.inputs[0].shape == ()
        is_plain = is_plain and not (self.made.is_scaled or any(node.operation.intervals for node in nodes))
        if is_large or is_plain:
            found = recording.with_noise(roughly_noisy(self._program, self.params, self.slots), asked)
            if is_large or all(each.has_little_noise(asked) for each in found):
                return found
        return recording.with_noise(self._noisy(), asked)

    def _of_types(self, *inputs: Any) -> Any:
        """The user's own function, for arrays of the types that the inputs have."""
        typed = (
            x if own.dtype is None else np.asarray(x).astype(own.dtype)
            for own, x in zip(self._specs, inputs, strict=False)
        )
        return self._function(*typed) if not self.made.by_program else self._recorded_values(*inputs)

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
            listed = given if isinstance(given, (list, tuple)) else [given]
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

    def clear(self, *inputs: Any) -> Any:
        """The results of the user's own function for arrays in the clear, of the inputs' shapes."""
        return self._of_types(*inputs)

    def _html_facts(self) -> dict[str, object]:
        ends = [(spec, spec.range or (-math.inf, math.inf)) for spec in self._specs]
        named = {f"input {own.name}": f"shape {own.shape}, from {a:g} to {b:g}" for own, (a, b) in ends}
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
