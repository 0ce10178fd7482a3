"""The keys of encrypted integers, and what they take before they are made."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hemera import _core
from hemera._machine import memory_bytes
from hemera.circuits import Bootstrap
from hemera.circuits.needs import KeyNeeds
from hemera.ckks import Parameters
from hemera.integers import operations
from hemera.integers.layout import DIGIT_BITS, Layout
from hemera.integers.points import Points
from hemera.integers.refreshes import refreshes
from hemera.objects.context import Context
from hemera.objects.keys import Keys, SecretKey

_log = logging.getLogger("hemera.integers")
_GIGA = 1e9


@dataclass(frozen=True)
class Needs:
    """The memory and time of a context's keys; `str()` has them in words."""

    key_bytes: int
    """Bytes of the device's memory, for as long as the keys live."""
    peak_bytes: int
    """The most of it, while keys are made. The process has some 0.8 GB besides, of n16-exact."""
    seconds: float
    """The seconds that making them takes here, about."""

    @property
    def memory(self) -> str:
        """Both numbers of bytes, in words."""
        return f"keys of {_told(self.key_bytes)}, {_told(self.peak_bytes)} while they are made"

    def __str__(self) -> str:
        return f"{self.memory}, in about {self.seconds:.0f} s"


def _told(count: float) -> str:
    return f"{count / _GIGA:.1f} GB" if count >= _GIGA else f"{count / 1e6:.0f} MB"


def asked(layout: Layout, points: Points, *plans: Bootstrap) -> dict[str, Any]:
    """The keys of all operations, as arguments of `Context.generate_keys`. The matrices of products of the
    widest integers serve all."""
    values = layout.values
    within = [1 << k for k in range(values.bit_length() - 1)]
    between = [values << k for k in range((layout.digits - 1).bit_length())]
    level = plans[0].input_level + operations.product_levels(layout.digits)
    return {
        "rotations": [*within, *between, *(layout.slots - step for step in between)],
        "conjugation": True,
        "plan": [*plans, *points.transforms(layout.digits, level)],
    }


class NeededKeys(KeyNeeds):
    """The keys of integers of these bits, so many in a ciphertext, besides the public key. Errors as of
    `hemera.integers.Context`."""

    def __init__(self, params: Parameters, bits: int, values: int) -> None:
        made, _ = _on_ledger(params, values, bits // DIGIT_BITS)
        self._needs, self.key_bytes = _core.listed_needs(made._native), made.memory_bytes

    @property
    def needed_keys(self) -> list[_core.KeyNeed]:
        return self._needs


@lru_cache(maxsize=16)
def counted(params: Parameters, layout: Layout) -> tuple[int, int]:
    """The bytes of the keys, and the most while they are made: counted."""
    keys, peak_bytes = _on_ledger(params, layout.values, layout.digits)
    return keys.memory_bytes, peak_bytes


def _on_ledger(params: Parameters, values: int, digits: int) -> tuple[Keys, int]:
    """The keys, counted, and the most bytes while they are made."""
    ledger = Context(params, "ledger")
    secret = ledger.generate_secret_key()
    layout, *plans = refreshes(params, values, digits)
    ledger._native.reset_memory_peak()
    keys = ledger.generate_keys(secret, **asked(layout, Points(params, layout), *plans))
    return keys, ledger._native.memory_peak


def needs(ckks: Context, secret: SecretKey, layout: Layout) -> Needs:
    """The keys' needs on a device: the time by making one of them, of a rotation."""
    key_bytes, peak_bytes = counted(ckks.params, layout)
    begin = time.perf_counter()
    one = ckks.generate_keys(secret, rotations=[1], relinearization=False)
    ckks.synchronize()
    seconds = (time.perf_counter() - begin) * key_bytes / one.memory_bytes
    return Needs(key_bytes, peak_bytes, seconds)


def require_room(ckks: Context, secret: SecretKey, layout: Layout) -> None:
    """Log, if anyone listens, what the keys take that are about to be made.

    Raises:
        OutOfMemoryError: if the device has less memory than that in all.
    """
    if ckks.device == "ledger":
        return
    key_bytes, peak_bytes = counted(ckks.params, layout)
    limits = [
        limit for limit in (ckks.memory_limit, memory_bytes() if ckks.device == "cpu" else None) if limit
    ]
    if limits and peak_bytes > min(limits):
        raise _core.OutOfMemoryError(
            f"the keys of these integers take {key_bytes} bytes ({_told(key_bytes)}), and {peak_bytes} "
            f"({_told(peak_bytes)}) while they are made; {ckks.device!r} has {min(limits)} for them. Raise "
            "memory_limit=, or make them elsewhere and load them: Context(keys=)"
        )
    if _log.isEnabledFor(logging.INFO):
        _log.info("making %s", needs(ckks, secret, layout))
