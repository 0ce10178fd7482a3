"""The plan of a bootstrap of BFV or BGV."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from hemera import _core
from hemera.circuits.handles import ValueT, evaluated
from hemera.circuits.needs import size_text
from hemera.circuits.plans import Prepared
from hemera.parameters import require_naturals

if TYPE_CHECKING:
    from hemera.parameters import Parameters


_RANGE_OF_ONE = 16
"""Integers that the sine covers for one ephemeral secret."""


class IntegerBootstrap(Prepared):
    """A bootstrap (BFV and BGV): it brings the noise of ciphertexts down, so exact computations need no end.

        params = hm.bfv.Parameters.for_bootstrapping("bfv16-32", plain_modulus=65537)
        boot = hm.circuits.IntegerBootstrap(params)
        keys = ctx.generate_keys(sk, plan=boot)
        ev = ctx.bind(keys, bootstrap=boot, automatic=True)  # automatic: by itself, before products
        y = x.bootstrap()  # boot(x) is the same

    A pass is a CKKS bootstrap of the noise, and its time; each further pass gives the same number of bits
    again. All budgets are guaranteed ones (`Ciphertext.guaranteed_noise_budget`), in bits.

    Args:
        params: parameters of `hemera.bfv.Parameters.for_bootstrapping`, or BGV's.
        passes: the number of passes; None: as few as have the budget.
        budget: that results have; None: that of one product of ciphertexts and of the next bootstrap.
        failure: the largest probability that the noise of a result is beyond its bound, from 2^-40 to 2^-128.
        encoding: "coefficients": all N of them, and so values in slots as well; "slots": values in slots
            alone, which takes less time where `params.max_slots` is below N.

    Raises:
        ParameterError: if the parameters have no levels of a bootstrap, if the user's modulus does not hold
            the passes or the budget, if both are given, or for another encoding or one that they do not have.
    """

    _native: _core.IntegerBootstrap

    def __init__(
        self,
        params: Parameters,
        *,
        passes: int | None = None,
        budget: float | None = None,
        failure: float = 2**-40,
        encoding: Literal["slots", "coefficients"] = "coefficients",
    ) -> None:
        if passes is not None:
            require_naturals(passes=passes)
            if passes == 0:
                raise _core.ParameterError("a bootstrap of 0 passes; give 1 or more, or None")
        if budget is not None and not (budget > 0 and math.isfinite(budget)):
            raise _core.ParameterError(f"budget must be finite and positive, not {budget!r}")
        if passes is not None and budget is not None:
            raise _core.ParameterError("give passes or the budget that they should leave, not both")
        if not 2**-128 <= failure <= 2**-40:
            raise _core.ParameterError(f"failure must be from 2**-128 to 2**-40, not {failure!r}")
        if encoding not in ("slots", "coefficients"):
            raise _core.ParameterError(f"encoding must be 'slots' or 'coefficients', not {encoding!r}")
        super().__init__(params)
        self._encoding = encoding
        self._native = _core.IntegerBootstrap(
            params._native, passes or 0, budget or 0.0, math.ceil(-math.log2(failure)), encoding == "slots"
        )

    @property
    def encoding(self) -> str:
        """The encoding of its ciphertexts: "coefficients", which serves both, or "slots" alone."""
        return self._encoding

    @property
    def passes(self) -> int:
        """The number of CKKS bootstraps, one after the other."""
        return len(self._native.shifts)

    @property
    def needed_budget(self) -> float:
        """The budget that a ciphertext needs to be bootstrapped."""
        return self._native.needed_budget

    @property
    def budget_left(self) -> float:
        """The budget of results."""
        return self._native.budget_left

    @property
    def products(self) -> int:
        """The number of squares, one after the other, from one bootstrap to the next."""
        return self._native.products

    @property
    def failure_log2(self) -> float:
        """log2 of the probability that a result is wrong, or its noise beyond the bound."""
        return self._native.failure_log2

    def as_dict(self) -> dict[str, Any]:
        """The plan for programs: numbers and texts that JSON takes. Sizes are in bytes."""
        return {
            "plan": self._title,
            "encoding": self.encoding,
            "passes": self.passes,
            "needed_budget": self.needed_budget,
            "budget_left": self.budget_left,
            "products": self.products,
            "failure_log2": self.failure_log2,
            "operations": self.operations,
            "bytes": {
                "keys": self.key_bytes,
                "plaintexts": self.plaintext_bytes,
                "workspace": self.workspace_bytes,
            },
            "keys": self._keys(),
        }

    def report(self, device: str | None = None) -> str:
        """The plan in some lines for people: budgets, passes, keys and cost.

        Args:
            device: the name of a table of measured times, like "nvidia-h200" (`hemera calibrate --list`). The
                report then has the time of a pass, which is counted: nothing runs.

        Raises:
            DeviceError: if there is no table of the device.
        """
        passes = "1 pass" if self.passes == 1 else f"{self.passes} passes"
        products = "1 product" if self.products == 1 else f"{self.products} products"
        return "\n".join(
            (
                self._title,
                f"{passes}, with errors of 2^-{self._native.precision_bits:.1f} of the largest noise "
                "(deviation, by the model)",
                f"needs {self.needed_budget:.1f} bits of guaranteed noise budget and leaves "
                f"{self.budget_left:.1f}: {products} between two bootstraps",
                f"fails with a probability of 2^{self.failure_log2:.0f}",
                *self._group_lines(),
                f"{len(self.needed_keys)} keys of {size_text(self.key_bytes)}, plaintexts of "
                f"{size_text(self.plaintext_bytes)}, workspace of {size_text(self.workspace_bytes)}",
                *self._key_lines(),
                self._operations_line(),
                *([] if device is None else [self._time_line(device)]),
            )
        )

    def _group_lines(self) -> list[str]:
        """What a secret of several pieces costs."""
        pieces, covered = self._params._native.secret_terms, self._native.sine_range
        if pieces == 1:
            return []
        levels = math.ceil(math.log2(covered / _RANGE_OF_ONE))
        return [
            f"for a group of {pieces} pieces: a sum of as many ephemeral secrets, whose integers are below "
            f"{covered} (of one below {_RANGE_OF_ONE}), takes {levels} level{'s'[: levels != 1]} more"
        ]

    def _time_line(self, device: str) -> str:
        """Milliseconds of a pass, and of all."""
        from hemera.times import DeviceTimes  # few users need it

        whole = 1000 * DeviceTimes.find(device).seconds(self._native.cost)
        all_passes = "" if self.passes == 1 else f", {whole:.3g} ms in all"
        return (
            f"about {whole / self.passes:.3g} ms a pass{all_passes} (counted with the times of operations on "
            f"{device})"
        )

    def _repr_html_(self) -> str:
        """A table for notebooks, with the report."""
        from hemera import _html

        facts = {
            "passes": self.passes,
            "budget needed, bits": round(self.needed_budget, 1),
            "budget left, bits": round(self.budget_left, 1),
            "products": self.products,
            "bytes of keys": self.key_bytes,
        }
        return _html.table(self._title, facts, self.report())

    def __call__(self, x: ValueT, *, out: ValueT | None = None) -> ValueT:
        """The integers of `x` with little noise, by the evaluator that `x` is bound to.

        Raises:
            NoiseError: if `x` has less guaranteed budget than is needed.
            MissingKeyError: if keys of `generate_keys(plan=)` are missing.
            MismatchError: if `x` belongs to other parameters, or is not in slots and the plan is for slots.
        """
        return evaluated(self, self._title, "a ciphertext", x, (), out)

    @property
    def _title(self) -> str:
        params = self._params
        slots = f", {params.max_slots} slots" if self.encoding == "slots" else ""
        return (
            f"bootstrap of {params.scheme.upper()} modulo {params._native.plain_modulus}, "
            f"N = {params.degree}{slots}"
        )

    def __repr__(self) -> str:
        return f"<IntegerBootstrap of {self.passes} passes, {self.budget_left:.1f} bits left>"
