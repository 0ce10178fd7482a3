"""Layouts whose slots are samples: an element in each ciphertext, tokens and samples, matrices of pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hemera import ckks
from hemera._process import cached_property
from hemera.arrays.batches import Batch, over_samples
from hemera.arrays.folding import folded
from hemera.arrays.layout import Layout
from hemera.arrays.tensor import TensorProgram
from hemera.arrays.tiling import Tiling, filled
from hemera.compiler.attempts import Impossible, NotPossibleError, TooLargeError, attempted
from hemera.compiler.batches import in_batches, input_places
from hemera.compiler.candidates import Compared, Found, LaidOut, Packaging
from hemera.compiler.drafts import Chosen
from hemera.compiler.lowering import Lowered
from hemera.compiler.options import LayoutName
from hemera.compiler.pairs import factors_of, in_pairs
from hemera.compiler.parameter_search import FULL, LEAST_RING, MOST_SLOTS, Search
from hemera.compiler.room import largest_of, range_bits_for, require_levels, require_room
from hemera.compiler.unscaled import bits_of_noise, without_rescales
from hemera.errors import ParameterError
from hemera.parameters import Parameters
from hemera.program.operations import MatrixRows, SumsOfProducts

Layouts = tuple[Layout, ...]

_DRAWN = 64
"""Samples of inputs without examples, by which noise is expected."""
_MOST_MAPS = 1 << 10
"""Between tiles, of a program that is made only to be compared."""


def cheapest_of_samples(
    search: Search, recorded: TensorProgram, packaging: Packaging
) -> tuple[Found | None, Compared]:
    """The program in the layout that takes the least time; None where no layout of samples is possible, or
    elements of all samples in slots take less.

    Args:
        recorded: the user's program before its maps were folded.

    Raises:
        NotPossibleError: where the layout that the user names is not.
        ParameterError: for one of samples, with share=True.
    """
    layout, device = packaging.options.layout, packaging.options.device
    if packaging.options.share:
        raise ParameterError(
            f"layout={layout!r}: results of this layout are for the key's owner alone; take "
            'layout="slots" with share=True'
        )
    samples = attempted(lambda: Samples.of(search, recorded))
    if isinstance(samples, Impossible):
        if layout != "auto":
            raise samples.reason
        return None, Compared()
    if layout != "auto":
        return packaging.found(samples.makers(compared=False)[layout]()), Compared()
    compared, made = Compared(), dict[str, Found]()

    def compare(name: LayoutName, make: Callable[[], LaidOut]) -> None:
        tried = attempted(lambda: packaging.found(make()))
        if isinstance(tried, Impossible):
            compared.impossible[name] = tried
        else:
            compared.seconds[name], made[name] = tried.seconds(device), tried

    for name, make in samples.makers(compared=True).items():
        compare(name, make)
    # Elements in slots are the most to plan: only where another layout is possible, and they may take less.
    bound = attempted(samples.seconds_in_slots_at_least) if made else None
    if isinstance(bound, Impossible):
        compared.impossible["slots"] = bound
    elif bound is not None and bound >= min(compared.seconds.values()):
        compared.seconds["slots"] = bound
    elif bound is not None:
        compare("slots", samples.in_slots)
    best = min(compared.seconds, key=compared.seconds.__getitem__, default="slots")
    if best == "slots" and samples.batch is not None:
        return None, Compared()
    return made.get(best), compared


@dataclass(frozen=True)
class Samples:
    """The program of one sample, and how many there are."""

    search: Search
    """The search for parameters of that program."""
    recorded: TensorProgram
    """The user's program before its maps were folded."""
    count: int
    batch: Batch | None
    """Where samples are an axis of the arrays of the user's program."""

    @classmethod
    def of(cls, search: Search, recorded: TensorProgram) -> Samples:
        """The samples in the slots of a program that has several, or those along an axis of its
        arrays. NotPossibleError where there is no such axis."""
        if search.samples > 1:
            return cls(search, recorded, search.samples, None)
        batch = over_samples(search.whole, 2) if search.may_fill_slots else None
        if batch is None:
            raise NotPossibleError(
                "slots are samples: the function does not do the same with each sample along an axis of its "
                f"arrays, of {search.least_samples} or more; compile the function of one sample, with "
                "samples="
            )
        return cls(replace(search, whole=batch.one), recorded, batch.count, batch)

    @property
    def _program(self) -> TensorProgram:
        return self.search.whole

    def makers(self, *, compared: bool) -> dict[LayoutName, Callable[[], LaidOut]]:
        """The layouts besides elements in slots. They raise NotPossibleError where one is not.

        Args:
            compared: those that may take the least time; else those that users may name.
        """
        found: dict[LayoutName, Callable[[], LaidOut]] = {
            "ciphertexts": lambda: self.in_ciphertexts(with_matrices=compared),
            "pairs": self.in_pairs,
            "sequences": lambda: self.in_sequences(with_matrices=compared),
        }
        if compared and not self._may_be_sequences:
            del found["sequences"]
        return found

    def in_ciphertexts(self, *, with_matrices: bool = False) -> LaidOut:
        """An element in each ciphertext.

        Args:
            with_matrices: whether it needs linear maps that are matrices, or sums of products of tokens: all
                else takes the same time with elements in slots.

        Raises:
            NotPossibleError: where this is not possible, samples are too few, or parameters do not fit.
        """
        needed = {MatrixRows.name} if with_matrices else set[str]()
        return self._in_batches(self._program, 1, needed, "an element in each ciphertext")

    def in_sequences(self, *, with_matrices: bool = False) -> LaidOut:
        """Tokens, along the first axis of the arrays, and samples in slots. As `in_ciphertexts`."""
        if self.batch is not None or not self._length:
            shape = self._program.nodes[self._program.inputs[0]].shape
            raise NotPossibleError(
                f'layout="sequences": inputs of shape {shape}; compile the function of one sample, with '
                "samples=, whose first axis is that of tokens: a power of two, filled up where it is none"
            )
        needed = {MatrixRows.name, SumsOfProducts.name} if with_matrices else set[str]()
        program = folded(self.recorded, for_tokens=True)
        return self._in_batches(program, self._length, needed, "tokens and samples in slots")

    def _in_batches(self, program: TensorProgram, length: int, needed: set[str], what: str) -> LaidOut:
        """Batches of ciphertexts, of `length` tokens; `needed`: operations, of which there is one."""
        bits = self.search.precision_bits
        samples = max(2, min(self.search.most_slots // length, filled(self.count)))
        steps, places = in_batches(program, length, samples, bits)
        if needed and not needed & set(steps.program.operations):
            raise NotPossibleError(f"{what}: the function has no linear layer")
        params = self._parameters(steps.program.depth, length * (samples if self.batch is None else 2))
        most = MOST_SLOTS if params is None else params.max_slots
        chosen = self._without_rescales(steps, params) if length == 1 and self.search.params is None else None
        if chosen is None:
            self._require_full(most, length, what)
            if samples * length > most:
                samples = most // length
                steps, places = in_batches(program, length, samples, bits)
            chosen = self.search.faster(params, steps)
        samples = chosen.steps.slots // length

        def layouts(nodes: Sequence[int], tokens: Sequence[int | None], axes: Sequence[int]) -> Layouts:
            return tuple(
                Layout.in_ciphertexts(program.nodes[at].shape, samples, length, own, axis)
                for at, own, axis in zip(nodes, tokens, axes, strict=True)
            )

        inputs, outputs = self._axes
        return LaidOut(
            chosen,
            samples,
            -(-self.count // samples),
            layouts(program.inputs, input_places(program, length), inputs),
            layouts([at for _, at in program.outputs], places, outputs),
        )

    def _without_rescales(self, steps: Lowered, params: Parameters | None) -> Chosen | None:
        """An element in each ciphertext, with matrices that are not rescaled, where that takes a smaller ring
        or fewer primes, and leaves the bits.

        Args:
            steps: of any number of samples.
            params: with matrices that are rescaled; None: there are none.
        """
        program, bits, largest = self._program, self.search.precision_bits, largest_of(self._program)
        unscaled = without_rescales(steps, largest)
        if unscaled is None:
            return None
        most, primes = 2 * MOST_SLOTS, math.inf
        if params is not None:
            most, primes = params.degree, len(params.primes[-1])
        degree = 2 * (LEAST_RING // FULL if self.batch is not None else filled(self.count))
        results = max(max(map(abs, program.nodes[at].range)) for _, at in program.outputs)
        while degree <= most:
            found = unscaled.parameters(degree, self.search.scale_bits, self.search.security)
            samples = filled(self.count) if self.batch is None else min(degree // 2, filled(self.count))
            is_full = found is not None and FULL * samples >= found.max_slots
            if found is not None and is_full and (degree < most or len(found.primes[-1]) < primes):
                own, _ = in_batches(program, 1, samples, bits)
                again = without_rescales(own, largest)
                assert again is not None
                # Weights, which are rounded as where they are rescaled, have the other half of the error.
                if bits_of_noise(again.steps.program, found, self._inputs(), results) >= bits + 1:
                    return Chosen(found, again.steps)
            degree *= 2
        return None

    def _inputs(self) -> list[NDArray[np.float64]]:
        """Elements of samples of each input, of shape (samples, elements): of the user's, or uniform."""
        nodes, found = self._program.nodes, []
        own = self.search.examples if self.batch is None else ()
        random = np.random.default_rng(0)
        for number, at in enumerate(self._program.inputs):
            given = own[number] if own else None
            if given is None:
                given = random.uniform(*nodes[at].range, (_DRAWN, nodes[at].size))
            found.append(given.reshape(len(given), -1))
        return found

    @property
    def _may_be_sequences(self) -> bool:
        """Whether tokens in slots are worth a comparison, by shapes and functions, before a plan: a token has
        several elements, and tokens fill half of the slots of any ring it takes."""
        program, length = self._program, self._length
        if self.batch is not None or not length or program.nodes[program.inputs[0]].size == length:
            return False
        params = attempted(lambda: self._parameters(program.least_depth, self.count))
        if isinstance(params, Impossible):
            return False
        return FULL * self.count * length >= (MOST_SLOTS if params is None else params.max_slots)

    @property
    def _length(self) -> int:
        """The tokens of the first input; 0 where they are no power of two."""
        shape = self._program.nodes[self._program.inputs[0]].shape
        return shape[0] if shape and shape[0] > 1 and not shape[0] & (shape[0] - 1) else 0

    def in_pairs(self) -> LaidOut:
        """Encrypted matrices as factors of each other. Errors as of `in_ciphertexts`."""
        program = self._program
        factors = factors_of(program)
        if factors is None:
            raise NotPossibleError(
                "matrices as pairs: the function is none of two or three encrypted matrices, x @ y or "
                "x @ (y @ z), each an input or a transposed one, that are multiplied and nothing else; "
                "compute the rest in another program, or take another layout"
            )
        size = max(2, *(filled(extent) for at in program.inputs for extent in program.nodes[at].shape))
        least = size * (self.count if self.batch is None else 2)
        params = self._parameters(len(factors) - 1, least, size)
        if params is None:
            raise NotPossibleError('matrices as pairs: no ring is as large; take layout="slots"')
        _require_range(program, params, size)
        self._require_full(params.max_slots, size, "matrices as pairs")
        if params._native.galois_generator != 5:
            raise NotPossibleError(
                "matrices as pairs: parameters whose slots are turned by powers of 5 are needed"
            )
        steps = in_pairs(program, factors, size, params.max_slots)
        require_levels(steps, params)
        require_room(program, steps, params)
        samples = params.max_slots // size

        def layout(at: int, axis: int, *, left: bool) -> Layout:
            return Layout.in_pairs(program.nodes[at].shape, size, samples, left=left, axis=axis)

        given, (axis,) = self._axes
        inputs = tuple(
            layout(at, own, left=factors[number])
            for number, (at, own) in enumerate(zip(program.inputs, given, strict=True))
        )
        outputs = (layout(program.outputs[0][1], axis, left=False),)
        return LaidOut(Chosen(params, steps), samples, -(-self.count // samples), inputs, outputs)

    def seconds_in_slots_at_least(self) -> float | None:
        """See `Search.seconds_at_least`; None for more maps between tiles than are planned for a comparison.
        NotPossibleError for too large arrays."""
        search, requests = self._in_slots
        nodes, slots = search.whole.nodes, self.search.most_slots // search.samples
        try:
            counts = [Tiling.of(node.shape, slots).count for node in nodes]
        except ParameterError as reason:
            raise NotPossibleError(str(reason)) from reason
        maps = sum(
            counts[at] * sum(counts[source] for source in node.operands)
            for at, node in enumerate(nodes)
            if node.operation.is_linear
        )
        return search.seconds_at_least(requests) if maps <= _MOST_MAPS else None

    def in_slots(self) -> LaidOut:
        """Elements in slots, of as many samples as a ciphertext holds."""
        search, requests = self._in_slots
        return LaidOut.in_slots(search.chosen(), search.samples, requests)

    @cached_property
    def _in_slots(self) -> tuple[Search, int]:
        """The search for elements in slots, with the samples of a ciphertext, and how many requests there are
        of these."""
        search, samples = self.search, self.search.samples
        if self.batch is not None:
            largest = max(math.prod(map(filled, node.shape)) for node in search.whole.nodes)
            samples = max(1, min(self.search.most_slots // largest, filled(self.count)))
            search = replace(search, samples=samples)
        return search, -(-self.count // samples)

    @property
    def _axes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The axes of the samples, in each input and in each output."""
        if self.batch is not None:
            return self.batch.inputs, self.batch.outputs
        return (0,) * len(self._program.inputs), (0,) * len(self._program.outputs)

    def _parameters(self, depth: int, least: int, growth: int = 1) -> Parameters | None:
        """The parameters that are given, or found without bootstraps; None where there are none.

        Args:
            least: the fewest slots.
            growth: of how many elements slots hold sums.
        """
        own = self.search
        return own.params or own.for_circuit(self._program, depth, least, own.scale_bits, growth=growth)

    def _require_full(self, slots: int, each: int, what: str) -> None:
        """NotPossibleError for samples that leave most of the slots empty."""
        if FULL * self.count * each < slots:
            raise NotPossibleError(
                f"{what}: {self.count} samples fill too few of the {slots} slots; at least "
                f"{slots // each // FULL} are needed"
            )


def _require_range(program: TensorProgram, params: Parameters, growth: int) -> None:
    """TooLargeError for parameters whose slots hold no sums of `growth` elements."""
    assert isinstance(params, ckks.Parameters)
    largest = growth * max(max(map(abs, node.range)) for node in program.nodes)
    bits = range_bits_for(max(1.0, largest), spared=params.checks_range)
    if bits > params.range_bits:
        raise TooLargeError(
            f"matrices as pairs: slots hold values up to {largest:g}; give parameters with "
            f"range_bits={bits}, not {params.range_bits}"
        )
