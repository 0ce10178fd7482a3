"""The needs and the cost of any function of ciphertexts, from a run that counts operations and computes
none."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hemera import _core
from hemera.circuits.needs import Needs, size_text
from hemera.inputs.arguments import described, require_type
from hemera.objects.batches import concatenate
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator, Relinearization
from hemera.objects.keys import Keys
from hemera.parameters import Parameters, require_naturals
from hemera.times.table import DeviceTimes

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
        """The level of fresh inputs."""
        return self._levels[0]

    @property
    def result_level(self) -> int:
        """The lowest level of the results."""
        return self._levels[1]

    @property
    def depth(self) -> int:
        """The number of levels that the function takes; negative if it gives levels back."""
        return self.level - self.result_level

    @property
    def key_bytes(self) -> int:
        """The bytes of the function's switching keys in memory."""
        return self._bytes["keys"]

    @property
    def plaintext_bytes(self) -> int:
        """The bytes of encoded matrices and coefficients that stay in memory for further calls."""
        return self._bytes["plaintexts"]

    @property
    def workspace_bytes(self) -> int:
        """The peak of the bytes of intermediate values, results and scratch; exact for a CPU."""
        return self._bytes["workspace"]

    def _counted(self) -> tuple[list[_core.KeyNeed], _core.Cost]:
        return self._needs, self._cost

    @property
    def seconds(self) -> float | None:
        """About the seconds of one call on the named device, if nothing else runs there; None if no device
        was named."""
        return None if self._times is None else self._times.seconds(self._cost)

    def as_dict(self) -> dict[str, Any]:
        """The counts for programs: numbers and texts that JSON takes. Sizes are in bytes."""
        return {
            "level": self.level,
            "result_level": self.result_level,
            "depth": self.depth,
            "operations": self.operations,
            "bytes": {**self._bytes, "upload": self.upload_bytes},
            "keys": self._keys(),
            "device": None if self._times is None else self._times.device,
            "seconds": self.seconds,
        }

    def report(self) -> str:
        """The counts in some lines for people."""
        return "\n".join(
            (
                f"level {self.level} to {self.result_level}",
                f"{len(self.needed_keys)} keys of {size_text(self.key_bytes)}, "
                f"{size_text(self.upload_bytes)} to upload, plaintexts of "
                f"{size_text(self.plaintext_bytes)}, workspace of {size_text(self.workspace_bytes)}",
                *self._key_lines(),
                self._operations_line(),
                *([] if self._times is None else [f"about {self.seconds:.3g} s on {self._times.device}"]),
            )
        )

    def __repr__(self) -> str:
        return f"<Cost: level {self.level} to {self.result_level}, {self._operations_line()}>"

    def _repr_html_(self) -> str:
        """A table for notebooks, with the report."""
        from hemera import _html

        facts = {
            "level": f"{self.level} to {self.result_level}",
            "keys": len(self.needed_keys),
            "bytes of keys": self.key_bytes,
            "bytes to upload": self.upload_bytes,
            "bytes of plaintexts": self.plaintext_bytes,
            "bytes of workspace": self.workspace_bytes,
            "operations": self._operations_line(),
            "seconds": self.seconds,
            "device": None if self._times is None else self._times.device,
        }
        return _html.table("Cost", facts, self.report())


def cost(
    function: Callable[..., Any],
    *inputs: Shape,
    params: Parameters,
    device: str | None = None,
    threads: int = 1,
) -> Cost:
    """Count the keys, operations, levels and bytes of a function of ciphertexts without computing it.

    The function runs twice on a context that counts operations and bytes and has no values: first without
    keys, to note those that it needs, then with these keys. Each key is for the highest level at which the
    function needs it.

        report = hm.cost(lambda x, y: (x * y).rotate(1), 1024, 1024, params=params)
        keys = ctx.generate_keys(sk, plan=report)

    Args:
        function: takes a ciphertext for each input, and returns ciphertexts, alone or in lists, tuples and
            dictionaries. It may use circuits, and bootstraps through a plan.
        inputs: the shape of each input, which is that of the array to encrypt: (..., slots), or the number of
            slots.
        params: the parameters.
        device: the name of a table of measured times, like "nvidia-h200" or "cpu-avx512-16", from which the
            cost has its `seconds`. `hemera calibrate --list` names all tables.
        threads: the number of threads of the CPU whose scratch memory is counted.

    Raises:
        DeviceError: if the function decrypts, or reads values in another way, or if there is no table of the
            device.
        TypeError: if `function` is no function, or an input is no shape.

    Examples:
        >>> params = hm.ckks.Parameters.for_circuit(depth=2, slots=1024)
        >>> counted = hm.cost(lambda x, y: (x * y).rotate(1), 1024, 1024, params=params)
        >>> counted.operations["products"], len(counted.needed_keys)
        (1, 2)
    """
    if not callable(function):
        raise TypeError(f"cost takes a function of ciphertexts, not {described(function)}")
    require_type(params, Parameters, "cost", "parameters, as params=")
    require_naturals(threads=threads)
    times = None if device is None else DeviceTimes.find(device)
    specs = [FreshInput(_shape(given)) for given in inputs]
    return DryRun(Context(params, "ledger", threads=threads)).cost(lambda _: function, specs, times=times)


@dataclass(frozen=True)
class FreshInput:
    """A fresh encryption: the shape (..., slots) of its values, or the number of slots, and its level; None:
    the highest."""

    shape: Shape
    level: int | None = None


class DryRun:
    """Runs functions of ciphertexts where operations are counted, not computed, and there are no values.

    Args:
        context: of the device "ledger".
        symmetric: whether inputs are encrypted by the secret key, as clients do, or by the public key.
        relinearization: of evaluators: see `Context.bind`.
    """

    def __init__(
        self, context: Context, *, symmetric: bool = False, relinearization: Relinearization = "eager"
    ) -> None:
        self._context = context
        self._relinearization = relinearization
        self._secret = context.generate_secret_key()
        self._public = context.generate_keys(self._secret, relinearization=False)
        self._symmetric = symmetric
        self._zeros: dict[tuple[int, int | None], Plaintext] = {}

    def asking(self, *, own_products: bool = False, own_rotations: bool = False) -> Keys:
        """Keys that note which ones are asked for, and are there at once. `own_products`: each product asks
        for a relinearization key over the primes of its level alone, as circuits with `own_keys` do;
        `own_rotations`: rotations too, if products do."""
        return Keys(_core.asking_keys(self._public._native, own_products, own_rotations), self._context)

    def bind(self, keys: Keys) -> Evaluator:
        """The evaluator of keys."""
        return self._context.bind(keys, relinearization=self._relinearization)

    def encrypted(self, inputs: Iterable[FreshInput], evaluator: Evaluator) -> list[Ciphertext]:
        """The inputs, bound to an evaluator."""
        found = []
        for spec in inputs:
            batch, plain = spec.shape[:-1] if isinstance(spec.shape, tuple) else (), self._plain(spec)
            if self._symmetric:
                one = evaluator.bind(self._context.encrypt(plain, self._secret))
            else:
                one = evaluator.encrypt(plain)
            found.append(_repeated(one, math.prod(batch)).reshape(*batch))
        return found

    def _plain(self, spec: FreshInput) -> Plaintext:
        """The zeros of an input, which are encoded once."""
        slots = spec.shape[-1] if isinstance(spec.shape, tuple) else spec.shape
        key = slots, spec.level
        if key not in self._zeros:
            kind = np.float64 if self._context.params.scheme == "ckks" else np.int64
            self._zeros[key] = self._context.encode(np.zeros((1, slots), dtype=kind), level=spec.level)
        return self._zeros[key]

    def cost(
        self,
        prepare: Callable[[Evaluator], Callable[..., Any]],
        inputs: Sequence[FreshInput],
        *,
        needs: list[_core.KeyNeed] | None = None,
        own_products: bool = False,
        own_rotations: bool = False,
        times: DeviceTimes | None = None,
    ) -> Cost:
        """The needs and costs of a function.

        Args:
            prepare: gives the function (see `hemera.cost`) for an evaluator. The plaintexts that it makes are
                those that stay for further calls.
            inputs: of the function.
            needs: the keys that it has; None: those that it asks for.
            own_products, own_rotations: see `asking`.
            times: of the device that seconds are for.
        """
        native = self._context._native
        for spec in inputs:
            self._plain(spec)
        unbound = native.memory_used
        asking = self.asking(own_products=own_products, own_rotations=own_rotations)
        self._run(prepare, inputs, self.bind(asking))
        if needs is None:
            needs = _core.needs_of(asking._native)
        del asking
        plaintext_bytes = native.memory_used - unbound
        switching = _core.generate_needed_keys(self._secret._native, needs)
        keys = Keys(self._public._native.merged(switching), self._context)
        ends = self._run(prepare, inputs, self.bind(keys))
        return Cost(
            self._context.params,
            needs,
            _core.counted_cost(native),
            levels=ends.levels,
            key_bytes=switching.memory_bytes,
            plaintext_bytes=plaintext_bytes + ends.prepared_bytes,
            workspace_bytes=ends.workspace_bytes,
            times=times,
        )

    def _run(
        self,
        prepare: Callable[[Evaluator], Callable[..., Any]],
        inputs: Sequence[FreshInput],
        evaluator: Evaluator,
    ) -> _Ends:
        """One run."""
        native = self._context._native
        unprepared = native.memory_used
        function = prepare(evaluator)
        prepared_bytes = native.memory_used - unprepared
        values = self.encrypted(inputs, evaluator)
        _core.clear_ledger(native)
        native.reset_memory_peak()
        before = native.memory_used
        results = list(_ciphertexts(function(*values)))
        if not results:
            raise TypeError("cost: the function returned no ciphertext; return its results")
        top = max((x.level for x in values), default=self._context.params.levels - 1)
        return _Ends(prepared_bytes, (top, min(map(_level, results))), native.memory_peak - before)


@dataclass(frozen=True)
class _Ends:
    """The bytes and levels of a run."""

    prepared_bytes: int
    levels: tuple[int, int]
    """The level of inputs, and the lowest level of results."""
    workspace_bytes: int
    """The most bytes above those before."""


def _repeated(x: Ciphertext, count: int) -> Ciphertext:
    """As often along the first axis: there is no memory behind it, and arrays of values would take some."""
    result = x
    while len(result) < count:
        result = concatenate([result, result[: count - len(result)]])
    return result


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
    """The level of a result, after its rescale if it waits for one."""
    return result.level - max(result._native.noise_scale_degree - 1, 0)


def _shape(given: Shape) -> Shape:
    sizes = given if isinstance(given, tuple) else (given,)
    whole = all(isinstance(size, int | np.integer) and not isinstance(size, bool) for size in sizes)
    if not sizes or not whole or any(size < 1 for size in sizes):
        raise TypeError(
            f"cost takes shapes, as 1024 or (8, 1024), not {described(given)}; params= names the parameters"
        )
    return given
