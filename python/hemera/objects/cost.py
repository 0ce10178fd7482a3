"""What any function of ciphertexts needs and costs: it is run where operations are counted, not computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera.circuits.needs import Needs, size_text
from hemera.inputs.arguments import described, require_type
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.keys import Keys
from hemera.parameters import Parameters, require_naturals
from hemera.times.table import DeviceTimes

__all__ = ["Cost", "cost"]

Shape = int | tuple[int, ...]


class Cost(Needs):
    """The keys, operations, levels and bytes of a function, as `cost` counted them."""

    def __init__(
        self,
        params: Parameters,
        needs: list[_core.KeyNeed],
        counted: _core.Cost,
        *,
        levels: tuple[int, int],
        key_bytes: int,
        plaintext_bytes: int,
        workspace_bytes: int,
        times: DeviceTimes | None,
    ) -> None:
        super().__init__(params)
        self._needs, self._cost = needs, counted
        self._levels = levels
        self._times = times
        self._bytes = {"keys": key_bytes, "plaintexts": plaintext_bytes, "workspace": workspace_bytes}

    @property
    def level(self) -> int:
        """Level of fresh inputs."""
        return self._levels[0]

    @property
    def result_level(self) -> int:
        """The lowest level of the results."""
        return self._levels[1]

    @property
    def depth(self) -> int:
        """Levels that it takes; negative for what gives levels back."""
        return self.level - self.result_level

    @property
    def key_bytes(self) -> int:
        """Bytes of its switching keys in memory."""
        return self._bytes["keys"]

    @property
    def plaintext_bytes(self) -> int:
        """Bytes of encoded matrices and coefficients that stay in memory for further calls."""
        return self._bytes["plaintexts"]

    @property
    def workspace_bytes(self) -> int:
        """The most bytes of values in between, results and scratch at once: exactly those of a CPU."""
        return self._bytes["workspace"]

    def _counted(self) -> tuple[list[_core.KeyNeed], _core.Cost]:
        return self._needs, self._cost

    @property
    def seconds(self) -> float | None:
        """About how long it takes on the device that was named, where nothing else runs; None: none was."""
        return None if self._times is None else self._times.seconds(self._cost)

    def as_dict(self) -> dict[str, Any]:
        """What was counted, for programs: numbers and texts that JSON takes. Sizes are in bytes."""
        return {
            "level": self.level,
            "result_level": self.result_level,
            "depth": self.depth,
            "operations": self.operations,
            "bytes": dict(self._bytes),
            "keys": self._keys(),
            "device": None if self._times is None else self._times.device,
            "seconds": self.seconds,
        }

    def report(self) -> str:
        """What was counted, in some lines for people."""
        return "\n".join(
            (
                f"level {self.level} to {self.result_level}",
                f"{len(self.needed_keys)} keys of {size_text(self.key_bytes)}, plaintexts of "
                f"{size_text(self.plaintext_bytes)}, workspace of {size_text(self.workspace_bytes)}",
                *self._key_lines(),
                self._operations_line(),
                *([] if self._times is None else [f"about {self.seconds:.3g} s on {self._times.device}"]),
            )
        )

    def __repr__(self) -> str:
        return f"<Cost: level {self.level} to {self.result_level}, {self._operations_line()}>"


def cost(
    function: Callable[..., Any],
    *inputs: Shape,
    params: Parameters,
    device: str | None = None,
    threads: int = 1,
) -> Cost:
    """What a function of ciphertexts needs and costs, without computing it.

    The function runs twice on a context that counts operations and bytes and has no values: first to see
    which keys it asks for, then with these keys. A key serves the highest level at which it was asked for.

        report = hm.cost(lambda x, y: (x * y).rotate(1), 1024, 1024, params=params)
        keys = ctx.generate_keys(sk, plan=report)

    Args:
        function: takes a ciphertext for each input, and returns ciphertexts, or anything that holds some in
            lists, tuples and dictionaries. It may use circuits, and bootstraps through a plan.
        inputs: the shape of each input, as an array that is encrypted has it: (..., slots), or the number of
            slots.
        params: the parameters.
        device: the name of a table of measured times, like "nvidia-h200" or "cpu-avx512-16": the cost has
            `seconds` then. `hemera calibrate --list` names all tables.
        threads: of the CPU whose scratch memory is counted.

    Raises:
        DeviceError: when the function decrypts, or reads values in another way, and when there is no table
            of that device.
        TypeError: when it is no function, or an input is no shape.
    """
    if not callable(function):
        raise TypeError(f"cost takes a function of ciphertexts, not {described(function)}")
    require_type(params, Parameters, "cost", "parameters, as params=")
    require_naturals(threads=threads)
    times = None if device is None else DeviceTimes.find(device)
    context = Context(params, "ledger", threads=threads)
    native = context._native
    secret = context.generate_secret_key()
    public = context.generate_keys(secret, relinearization=False)
    arrays: list[NDArray[Any]] = [np.zeros(_shape(given), dtype=_number(params)) for given in inputs]

    unbound = native.memory_used
    asking = Keys(_core.asking_keys(public._native), context)
    _run(function, arrays, context, asking)
    needs = _core.needs_of(asking._native)
    del asking
    plaintext_bytes = native.memory_used - unbound
    switching = _core.generate_needed_keys(secret._native, needs)
    levels, workspace = _run(function, arrays, context, Keys(public._native.merged(switching), context))
    return Cost(
        params,
        needs,
        _core.counted_cost(native),
        levels=levels,
        key_bytes=switching.memory_bytes,
        plaintext_bytes=plaintext_bytes,
        workspace_bytes=workspace,
        times=times,
    )


def _run(
    function: Callable[..., Any], arrays: Iterable[NDArray[Any]], context: Context, keys: Keys
) -> tuple[tuple[int, int], int]:
    """One run: the levels of inputs and results, and the most bytes above those before."""
    evaluator = context.bind(keys)
    inputs = [evaluator.encrypt(array) for array in arrays]
    native = context._native
    _core.clear_ledger(native)
    native.reset_memory_peak()
    before = native.memory_used
    results = list(_ciphertexts(function(*inputs)))
    if not results:
        raise TypeError("cost: the function returned no ciphertext; return what it computes")
    top = max((x.level for x in inputs), default=context.params.levels - 1)
    return (top, min(map(_level, results))), native.memory_peak - before


def _ciphertexts(value: object) -> Iterable[Ciphertext]:
    if isinstance(value, Ciphertext):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _ciphertexts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _ciphertexts(item)


def _level(result: Ciphertext) -> int:
    """The level of a result, rescaled if it waits for that."""
    return result.level - max(result._native.noise_scale_degree - 1, 0)


def _shape(given: Shape) -> Shape:
    sizes = given if isinstance(given, tuple) else (given,)
    whole = all(isinstance(size, int | np.integer) and not isinstance(size, bool) for size in sizes)
    if not sizes or not whole or any(size < 1 for size in sizes):
        raise TypeError(
            f"cost takes shapes, as 1024 or (8, 1024), not {described(given)}; params= names the parameters"
        )
    return given


def _number(params: Parameters) -> type:
    return np.float64 if params.scheme == "ckks" else np.int64
