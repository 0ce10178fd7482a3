"""The plan of a bootstrap."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.circuits.handles import ValueT, evaluated
from hemera.circuits.plans import Plan, prepared_in
from hemera.parameters import require_naturals

if TYPE_CHECKING:
    from hemera.circuits.handles import Context
    from hemera.parameters import Parameters

_ORDERS = {
    "slots-first": "slots first",
    "standard": "standard order",
    "from-coefficients": "from coefficients",
}


class Bootstrap(Plan):
    """A bootstrap (CKKS): it brings ciphertexts from their lowest level back to the highest, so computations
    need no end.

        params = hm.ckks.Parameters.for_bootstrapping("n16-40")
        boot = hm.circuits.Bootstrap(params, slots=32768)
        keys = ctx.generate_keys(sk, plan=boot)
        ev = ctx.bind(keys, bootstrap=boot, automatic=True)  # automatic: by itself when no level is left
        y = x.bootstrap()  # boot(x) is the same

    Real and imaginary parts of the slots must be from -1 to 1. The error grows with the cube of larger
    values, and beyond a quarter of 2^ratio_bits results are wrong. Bootstraps divide larger values, and
    multiply the results, by the bound of a ciphertext (`Ciphertext.largest`) or the magnitude of
    `Context.bind`.

    With parameters that have `exponential=True`, as "n16-exact", a bootstrap gives other values:
    exp(2 pi i x / 2^ratio_bits) for slots x of any size, of which tables of whole numbers can be made. Real
    slots have one result; complex ones two, of the real and of the imaginary parts, along a first axis of the
    batch. Such a plan is called: no evaluator bootstraps by itself with it.

    With a `ratio_bits` below 3 a bootstrap gives the sine itself, of slots x of any size and the period r =
    2^ratio_bits: sin(2 pi x / r) (1 + (2 pi / r)^2 / 8) r / (2 pi). Such a plan is called, too.

    With parameters of the order "from-coefficients" results have in their slots what the ciphertext has in
    its coefficients (`Context.encode(encoding="coefficients")`). They are two along a first axis of the
    batch, of the lower and of the upper half: slot i has coefficient j of the half, where j has the bits of i
    in reverse. Such a plan is called, too.

    Parameters that have `blocks`, as "n16-40-few", bootstrap up to 256 real values, or half as many complex
    ones with merged parts, by roots of unity: in about half the time, and with no probability of failure.

    With `together=k` a batch of sparse ciphertexts, of few slots, goes through in groups of k, interleaved as
    one ciphertext: a group takes one bootstrap of k times the slots. `boot(x)`, `ev.bootstrap(x)` and
    automatic bootstraps do so with every batch, and `hm.bootstrap_many(xs)` with a list.

    Args:
        params: parameters of `hemera.ckks.Parameters.for_bootstrapping`.
        slots: the number of slots of the ciphertexts, a power of two from 2; None: all. Fewer slots take less
            time.
        real: whether the slots are real. Imaginary parts are then dropped, which takes less time. Not for the
            standard order.
        iterations: the number of bootstraps, each of which bootstraps the magnified error of those before.
            Precisions add up, as far as the scale holds them, and so do times. Each iteration beyond the
            first takes one level.
        merge_parts: whether real and imaginary parts of at most N/4 slots go through the longest step as one
            ciphertext of twice the slots. This takes about three quarters of the time, and one level (in the
            standard order none). Roots of unity merge the parts of all complex slots.
        join_parts: whether merged parts end as complex slots. If not, n slots a + i b give 2n real ones,
            (a, b), and keep the level that joining them takes. Such a plan is called: no evaluator bootstraps
            by itself with it. Slots first and one iteration only.
        together: how many elements of a batch are bootstrapped at once, from 1 to N/2 over the slots (N/4
            with merged parts). A last group of fewer takes as long as one of k. It takes one level, the same
            one that merged parts take. Slots first, with joined parts, not of exponentials.
        key_memory_limit: the bytes that the keys may take in memory; None: no limit. If they take more, some
            matrices, as few as possible, are applied in steps with few keys, which takes more time.
        upload_limit: the bytes of keys that a client uploads at most (`upload_bytes`); None: no limit. If all
            keys are more, the plan is the fastest, by counts of traffic, of those that fit: matrices take
            fewer keys, again and again, and levels share relinearization keys. Precision is the same. Keys of
            another limit are others.
        sine_range: K: the sine covers integers |I| below it (docs/bootstrapping-algorithm.md), as
            `for_bootstrapping(sine_range=)`.
        sine_degree: the degree of the sine's series, one that takes as many levels as that of
            `for_bootstrapping`; None: the largest such.
        ephemeral_weight: non-zero coefficients of the ephemeral secret, as
            `for_bootstrapping(ephemeral_weight=)`; with roots of unity it has blocks in their place.

    Raises:
        ParameterError: if the parameters or slots are others, if slots are real in another order than slots
            first, if iterations leave no level, or are more than add a bit, if there are iterations or merged
            parts of exponentials or from coefficients, or iterations of the sine, if parts are not joined
            that are not merged, or with iterations or in the standard order, if there is no room for as many
            together, or they are in another order than slots first, of exponentials or of parts that are not
            joined, or if the sine does not fit. With an upload_limit below the least possible, which the
            message has.
            With roots of unity: if there are more values than have room, or several ciphertexts together, or
            a degree of a sine.
        OutOfMemoryError: if the keys exceed the limit in every way of applying the matrices. The message has
            the least number of bytes.
    """

    _native: _core.Bootstrap

    def __init__(
        self,
        params: Parameters,
        slots: int | None = None,
        *,
        real: bool = False,
        iterations: int = 1,
        merge_parts: bool = False,
        join_parts: bool = True,
        together: int = 1,
        key_memory_limit: int | None = None,
        upload_limit: int | None = None,
        sine_range: int = 16,
        sine_degree: int | None = None,
        ephemeral_weight: int = 32,
    ) -> None:
        if slots is not None:
            require_naturals(slots=slots)
            if slots == 0:
                raise _core.ParameterError(
                    "a bootstrap of 0 slots; give a power of two from 2, or None for all"
                )
        require_naturals(iterations=iterations, together=together)
        if key_memory_limit is not None:
            require_naturals(key_memory_limit=key_memory_limit)
            if key_memory_limit == 0:
                raise _core.ParameterError("a key_memory_limit of 0 bytes; None is for no limit")
        if upload_limit is not None:
            require_naturals(upload_limit=upload_limit)
            if upload_limit == 0:
                raise _core.ParameterError("an upload_limit of 0 bytes; None is for no limit")
        require_naturals(sine_range=sine_range, ephemeral_weight=ephemeral_weight)
        if sine_degree is not None:
            require_naturals(sine_degree=sine_degree)
            if sine_degree == 0:
                raise _core.ParameterError("a sine_degree of 0; it is 1 or more, or None for the largest")
        super().__init__(
            _core.Bootstrap(
                params._native,
                slots or 0,
                real,
                iterations,
                merge_parts,
                join_parts,
                together,
                key_memory_limit or 0,
                sine_range,
                sine_degree or 0,
                upload_limit or 0,
                ephemeral_weight,
            ),
            params,
        )
        # As `Plan._prepared`, for bootstraps that scale.
        self._of_magnitudes: weakref.WeakKeyDictionary[Context, dict[float, _core.PreparedBootstrap]] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def slots(self) -> int:
        """The number of slots of the ciphertexts."""
        return self._native.slots

    @property
    def real(self) -> bool:
        """Whether imaginary parts are dropped."""
        return self._native.real

    @property
    def order(self) -> str:
        """The order of the steps: "slots-first", "standard" or "from-coefficients"."""
        return self._native.order

    @property
    def exponential(self) -> bool:
        """Whether the results are exponentials of the values."""
        return self._native.is_exponential

    @property
    def gives_sine(self) -> bool:
        """Whether the results are the sine of the values, and errors are those beside this sine."""
        return self._native.gives_sine

    @property
    def gives_parts(self) -> bool:
        """Whether results are other values than the ciphertext's: exponentials, or coefficients. For complex
        slots, and coefficients, they have a first axis of 2."""
        return self._native.gives_parts

    @property
    def ratio(self) -> float:
        """2^ratio_bits, about: the period of the sine, or of the exponential, in the values' unit."""
        return self._native.ratio

    @property
    def merge_parts(self) -> bool:
        """Whether real and imaginary parts go through EvalMod as one ciphertext."""
        return self._native.merges_parts

    @property
    def join_parts(self) -> bool:
        """Whether the result has the slots of the ciphertexts, and not twice as many real ones."""
        return self._native.joins_parts

    @property
    def together(self) -> int:
        """The number of elements of a batch that are bootstrapped at once. Counts of operations, workspace
        and times are those of one such group, and `memory_bytes(batch)` counts in groups."""
        return self._native.together

    @property
    def result_slots(self) -> int:
        """The number of slots of the result."""
        return self._native.result_slots

    @property
    def iterations(self) -> int:
        """The number of bootstraps whose precisions add up."""
        return 1 + len(self._native.factors_log2)

    @property
    def blocks(self) -> int:
        """The blocks of the secret of a bootstrap by roots of unity; 0: it is by EvalMod."""
        return self._native.blocks

    @property
    def sine_range(self) -> int:
        """Integers |I| that the sine covers are below it; 0 by roots of unity."""
        return self._native.sine_range

    @property
    def sine_degree(self) -> int:
        """The degree of the sine's series."""
        return self._native.sine_degree

    @property
    def doublings(self) -> int:
        """How often the sine's angle is doubled after its series."""
        return self._native.doublings

    @property
    def input_level(self) -> int:
        """The level to which ciphertexts are first brought down: the lowest of the user's."""
        return self.level

    @property
    def levels_left(self) -> int:
        """The number of levels from one bootstrap to the next."""
        return self.result_level - self.input_level

    @property
    def failure_log2(self) -> float:
        """log2 of the probability of a wrong result of one bootstrap; minus infinity by roots of unity."""
        return self._native.failure_log2

    def expected_precision(self, *, magnitude: float = 1) -> tuple[float, float]:
        """The mean and the worst of -log2 |error| over the slots, by the model: the lower of two kinds of
        input, uniform values up to the magnitude, and all values of the magnitude, where the sine errs most.

        Of exponentials: the error of these, for uniform values up to half the ratio.

        Args:
            magnitude: of the values, and that of `Context.bind`: errors are about `magnitude` times as large.

        Raises:
            ParameterError: if the magnitude is not finite and positive.
            RangeError: if the bootstrap's matrices do not divide by so much.
        """
        return self._native.expected_precision(magnitude)

    def simulate(self, *values: ArrayLike, seed: int = 0, magnitude: float = 1) -> NDArray[np.complex128]:
        """Values in the clear after a bootstrap, with the noise that theory gives each step.

        Exponentials of complex slots have one more axis first, of 2: real and imaginary parts. So have
        results from coefficients, where values are a_j + i a_(j + N/2) in the order of the slots. Parts that
        are not joined are twice the slots. For real slots the noise has an imaginary part too, which is gone
        where values are decoded as real numbers.

        Args:
            values: of shape [..., slots].
            seed: of the model's noise.
            magnitude: that of `Context.bind`, which divides values before and multiplies errors after.

        Raises:
            ParameterError: for values of another shape, and when the magnitude is not finite and positive.
            RangeError: if the bootstrap's matrices do not divide by so much.
        """
        return self._simulate(values, seed, magnitude)

    def as_dict(self) -> dict[str, Any]:
        """The plan for programs: see `Plan.as_dict`."""
        mean, worst = self.expected_precision()
        return {
            **super().as_dict(),
            "slots": self.slots,
            "real": self.real,
            "together": self.together,
            "levels_left": self.levels_left,
            "expected_precision": {"mean": mean, "worst": worst},
            "blocks": self.blocks,
            "failure_log2": None if self.blocks else self.failure_log2,
        }

    @property
    def _title(self) -> str:
        kind = "real" if self.real else "complex"
        title = f"bootstrap of {self.slots} {kind} slots, {_ORDERS[self.order]}"
        if self.blocks:
            title += ", by roots of unity"
        if self.together > 1:
            title += f", {self.together} ciphertexts at once"
        if self.gives_sine:
            title += ", to their sines"
        return f"{title}, to their exponentials" if self.exponential else title

    def _facts(self) -> list[str]:
        native = self._native
        mean, worst = self.expected_precision()
        lines = [
            f"{self.levels_left} levels left",
            f"precision {mean:.1f} bits, {worst:.1f} in the worst slot (values up to "
            f"{self.ratio / 2 if self.exponential else 1:.3g}, by the model)",
            f"{self.blocks} blocks of the ephemeral secret, never fails"
            if self.blocks
            else f"fails with a probability of 2^{self.failure_log2:.0f}",
        ]
        for factor in native.factors_log2:
            lines.append(f"then a bootstrap of the error that is left, times 2^{factor}")
        for name, matrices in (
            ("SlotToCoeff", native.slots_to_coefficients()),
            ("CoeffToSlot", native.coefficients_to_slots()),
        ):
            for level, diagonals, rotations, few in matrices:
                lines.append(
                    f"{name} at level {level}: {diagonals} diagonals, {rotations} rotations"
                    + (", one after the other" if few else "")
                )
        return lines

    def _simulate(
        self, values: tuple[ArrayLike, ...], seed: int, magnitude: float = 1
    ) -> NDArray[np.complex128]:
        given = np.asarray(values[0] if len(values) == 1 else values, dtype=np.complex128)
        if len(values) != 1 or given.ndim == 0 or given.shape[-1] != self.slots:
            raise _core.ParameterError(
                f"a bootstrap of {self.slots} slots does not take values of shape {given.shape}"
            )
        rows = given.reshape(-1, self.slots)
        noisy = [self._native.simulate(row.tolist(), seed + i, magnitude) for i, row in enumerate(rows)]
        found = np.asarray(noisy, dtype=np.complex128)
        if not self.gives_parts or self.real:
            return found.reshape(*given.shape[:-1], self.result_slots)
        return np.moveaxis(found.reshape(-1, 2, self.slots), 1, 0).reshape(2, *given.shape)

    def __call__(self, x: ValueT, *, out: ValueT | None = None) -> ValueT:
        """The values of `x` at the highest level, by the evaluator that `x` is bound to.

        Raises:
            MissingKeyError: if keys of `generate_keys(plan=)` are missing.
            MismatchError: if `x` has other slots, or belongs to other parameters.
            LevelError: if `x` is below the user's levels.
            ScaleError: if `x` is a product at the lowest level. Bootstrap before the product.
        """
        return evaluated(self, self._title, "a ciphertext", x, (), out)

    def __repr__(self) -> str:
        return f"<Bootstrap of {self.slots} slots, level {self.input_level} to {self.result_level}>"


def prepared_for(plan: Bootstrap, context: Context, magnitude: float | None) -> _core.PreparedBootstrap:
    """The core's plan in a context's memory, for values up to a magnitude."""
    if magnitude is None:
        own: _core.PreparedBootstrap = prepared_in(plan, context)
        return own
    of_context = plan._of_magnitudes.setdefault(context, {})
    if magnitude not in of_context:
        native: Any = plan._native
        of_context[magnitude] = native.prepare(context._native, magnitude)
    return of_context[magnitude]
