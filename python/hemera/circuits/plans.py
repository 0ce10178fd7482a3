"""The plan of a circuit: its levels, keys, operations, bytes, errors and time, before it runs."""

from __future__ import annotations

import math
import weakref
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.circuits.needs import Needs, size_text
from hemera.parameters import require_naturals

if TYPE_CHECKING:
    from hemera.circuits.handles import Context, Evaluator
    from hemera.parameters import Parameters


class Prepared(Needs):
    """The common part of plans of all kinds: the core's counts, and plaintexts in contexts' memory."""

    _native: _core.Plan | _core.IntegerBootstrap

    def __init__(self, params: Parameters) -> None:
        super().__init__(params)
        # The plan's plaintexts in each context's memory, for as long as the context lives.
        self._prepared: weakref.WeakKeyDictionary[Context, Any] = weakref.WeakKeyDictionary()

    @property
    def result_level(self) -> int:
        """The level of the results."""
        return self._native.result_level

    @property
    def key_bytes(self) -> int:
        """The bytes of the plan's keys in memory."""
        return self._native.cost.key_bytes

    @property
    def plaintext_bytes(self) -> int:
        """The bytes of the plan's encoded matrices or coefficients in memory."""
        return self._native.cost.plaintext_bytes

    @property
    def workspace_bytes(self) -> int:
        """The peak of the bytes of intermediate values, results and scratch, for each element of a batch;
        exact for a CPU."""
        return self._native.cost.workspace_bytes

    def memory_bytes(self, batch: int = 1) -> int:
        """The bytes of keys, plaintexts and the workspace of a batch together."""
        require_naturals(batch=batch)
        return self._native.memory_bytes(batch)

    def require_memory(self, context: Context, batch: int = 1) -> None:
        """Check, before the keys are made, that a context has `memory_bytes(batch)` left: of its device's
        memory and of its `memory_limit`.

        Raises:
            OutOfMemoryError: if it has less. The message has both numbers of bytes.
            MismatchError: if the context has other parameters.
        """
        require_naturals(batch=batch)
        self._native.require_memory(context._native, batch)

    def prepare(self, context: Context) -> None:
        """Encode the circuit's constants in a context's memory now, and not at the first call."""
        prepared_in(self, context)

    def estimate_time(self, context: Context) -> float:
        """The seconds of one evaluation on a context's device, if nothing else runs there: the sum over its
        operations of the times in the device's table.

        Tables of some devices come with the package; `hemera calibrate` makes one of this machine.

        Raises:
            DeviceError: if there is no table of the device.
        """
        from hemera.times.table import DeviceTimes, device_name  # few users need it

        return DeviceTimes.find(device_name(context.description)).seconds(self._native.cost)

    def _prepare(self, context: Context) -> Any:
        """The native plan with its plaintexts in a context's memory."""
        native: Any = self._native  # of a kind of plan, each of which has `prepare`
        return native.prepare(context._native)

    def _counted(self) -> tuple[list[_core.KeyNeed], _core.Cost]:
        return self._native.needed_keys, self._native.cost

    def _generate_keys(self, secret_key: _core.SecretKey) -> _core.EvaluationKeys:
        return self._native.generate_keys(secret_key)


def prepared_in(plan: Prepared, context: Context) -> Any:
    """The core's plan with its plaintexts in a context's memory."""
    prepared = plan._prepared.get(context)
    if prepared is None:
        prepared = plan._prepared[context] = plan._prepare(context)
    return prepared


def forget(plan: Prepared, context: Context) -> None:
    """Give the memory of the plaintexts in a context back; the next use encodes them again."""
    plan._prepared.pop(context, None)


def result_of(plan: Prepared, evaluator: Evaluator, *natives: _core.Ciphertext) -> _core.Ciphertext:
    """The core's result for ciphertexts."""
    result: _core.Ciphertext = prepared_in(plan, evaluator.context).apply(evaluator._native, *natives)
    return result


class Plan(Prepared):
    """A circuit whose keys and costs are known before it runs: a `LinearTransform`, a `FunctionPlan`, a
    `Bootstrap`. `Context.generate_keys(plan=)` makes its keys, and a call of the plan evaluates it.

    A run without values counts keys and costs when they are first read."""

    _native: _core.Plan

    def __init__(self, native: _core.Plan, params: Parameters) -> None:
        super().__init__(params)
        self._native = native

    @property
    def level(self) -> int:
        """The level of the inputs. Higher ciphertexts are brought down to it."""
        return self._native.level

    @property
    def depth(self) -> int:
        """The number of levels that the plan takes; negative for a bootstrap, which gives levels back."""
        return self.level - self.result_level

    @property
    def scale(self) -> float:
        """The scale of the inputs."""
        return self._native.scale

    @property
    def result_scale(self) -> float:
        """The scale of the results, which is that of their level."""
        return self._native.result_scale

    def expected_error(self, input_error: float | None = None) -> tuple[float, float]:
        """The errors of rounding and noise in the slots of results, for complex values, by the plan's model:
        the root mean square, and that of the worst slot.

        Args:
            input_error: the root mean square of the inputs' errors; None: that of fresh encryptions.
        """
        return self._native.expected_error(input_error)

    def simulate(self, *values: ArrayLike, seed: int = 0) -> NDArray[np.complex128]:
        """The plan's results for values in the clear, with noise of the size that the model expects, drawn
        from `seed`. ParameterError if the values do not fit."""
        return self._simulate(values, seed)

    def as_dict(self) -> dict[str, Any]:
        """The plan for programs: numbers and texts that JSON takes. Sizes are in bytes."""
        mean, worst = self.expected_error()
        return {
            "plan": self._title,
            "level": self.level,
            "result_level": self.result_level,
            "depth": self.depth,
            "scale_bits": math.log2(self.scale),
            "result_scale_bits": math.log2(self.result_scale),
            "expected_error": {"mean": mean, "worst": worst},
            "operations": self.operations,
            "bytes": {
                "keys": self.key_bytes,
                "upload": self.upload_bytes,
                "plaintexts": self.plaintext_bytes,
                "workspace": self.workspace_bytes,
            },
            "keys": self._keys(),
        }

    def report(self) -> str:
        """The plan in some lines for people: its needs, cost and results."""
        mean, worst = self.expected_error()
        return "\n".join(
            (
                self._title,
                f"level {self.level} to {self.result_level}, scale 2^{math.log2(self.scale):.2f} to "
                f"2^{math.log2(self.result_scale):.2f}",
                f"expected noise in a slot: {_power(mean)}, {_power(worst)} at the worst",
                *self._facts(),
                f"{len(self.needed_keys)} keys of {size_text(self.key_bytes)}, "
                f"{size_text(self.upload_bytes)} to upload, plaintexts of "
                f"{size_text(self.plaintext_bytes)}, workspace of {size_text(self.workspace_bytes)}",
                *self._key_lines(),
                self._operations_line(),
            )
        )

    def _repr_html_(self) -> str:
        """A table for notebooks, with the report."""
        from hemera import _html

        facts = {
            "level": f"{self.level} to {self.result_level}",
            "depth": self.depth,
            "keys": len(self.needed_keys),
            "bytes of keys": self.key_bytes,
            "bytes to upload": self.upload_bytes,
            "bytes of plaintexts": self.plaintext_bytes,
            "bytes of workspace": self.workspace_bytes,
            "operations": self._operations_line(),
        }
        return _html.table(self._title, facts, self.report())

    def __repr__(self) -> str:
        return f"<{self._title} at level {self.level}, depth {self.depth}>"

    @property
    @abstractmethod
    def _title(self) -> str:
        """The plan in a few words."""

    def _facts(self) -> list[str]:
        """Lines of the report for this kind of plan."""
        return []

    @abstractmethod
    def _simulate(self, values: tuple[ArrayLike, ...], seed: int) -> NDArray[np.complex128]: ...


class ClearPlan(Plan):
    """A plan that also computes exactly in the clear. `simulate` adds noise of the expected size."""

    @abstractmethod
    def evaluate_clear(self, *values: Any, **options: Any) -> NDArray[np.complex128]:
        """The plan's results for values in the clear."""

    def _simulate(self, values: tuple[ArrayLike, ...], seed: int) -> NDArray[np.complex128]:
        clear = np.asarray(self.evaluate_clear(*values), dtype=np.complex128)
        deviation = self.expected_error()[0] / math.sqrt(2)
        parts = np.random.default_rng(seed).normal(0, deviation, (*clear.shape, 2))
        return clear + parts[..., 0] + 1j * parts[..., 1]


def _power(error: float) -> str:
    return f"2^{math.log2(error):.1f}" if error > 0 else "0"
