"""Devices, and the options of a context on one: threads, memory, stream, multiplier, storage, keys."""

from __future__ import annotations

import importlib.util
import numbers
import warnings
from dataclasses import dataclass
from typing import Any

from hemera import _core
from hemera.inputs.arguments import require_type
from hemera.inputs.device import stream_handle
from hemera.parameters import Parameters

STORAGES = ("auto", "eight-byte", "packed")
FORMER_STORAGE = "six-byte"
"""The name of "packed" in 0.2, which goes with 0.4."""
KEY_PLACES = ("device", "host")


@dataclass(frozen=True)
class DeviceOptions:
    """The device of a context, and its options: arguments of `hemera.Context`, which describes them."""

    device: str = "auto"
    threads: int | None = None
    memory_limit: int | None = None
    stream: object | None = None
    multiplier: str = "ntt"
    storage: str = "auto"
    keys: str = "device"

    def __post_init__(self) -> None:
        if self.storage == FORMER_STORAGE:
            warnings.warn(
                f"storage={FORMER_STORAGE!r} is storage='packed' now, for primes below 2^50",
                DeprecationWarning,
                stacklevel=5,  # of the call that makes a context
            )
            object.__setattr__(self, "storage", "packed")

    @property
    def arguments(self) -> dict[str, Any]:
        """Their values by name, for `Context`."""
        return dict(vars(self))

    def require_valid(self) -> None:
        """Raise the errors of `hemera.Context` that need no device."""
        require_type(self.device, str, "Context", 'a device by its name, like "cuda:0"')
        if self.threads is not None and not (_is_integer(self.threads) and 1 <= self.threads < 1 << 31):
            raise _core.ParameterError(
                f"threads must be an integer of 1 or more, or None for all processors, not {self.threads!r}"
            )
        if self.memory_limit is not None and not (_is_integer(self.memory_limit) and self.memory_limit >= 1):
            raise _core.ParameterError(
                "memory_limit must be an integer of 1 byte or more, or None for no limit, not "
                f"{self.memory_limit!r}"
            )
        if self.storage not in STORAGES:
            raise _core.ParameterError(
                f"storage must be one of {', '.join(map(repr, STORAGES))}, not {self.storage!r}"
            )
        if self.keys not in KEY_PLACES:
            raise _core.ParameterError(
                f"keys must be one of {', '.join(map(repr, KEY_PLACES))}, not {self.keys!r}"
            )


def _cuda_folders() -> list[str]:
    """Where the package hemera-cuda has its library. The package is found, not imported."""
    found = importlib.util.find_spec("hemera_cuda")
    return [] if found is None else list(found.submodule_search_locations or ())


_core.set_cuda_search(_cuda_folders)


def devices() -> list[str]:
    """The devices that contexts can be made on, best first: "cuda:0", ..., "cpu"."""
    return _core.devices()


def memory_limit_of(device: str, given: int | None) -> int | None:
    """Bytes of memory that a context on a device may take, of those that it was given; None: no limit."""
    own = [gpu.memory_bytes for gpu in _core.find_cuda_devices().devices if device == f"cuda:{gpu.index}"]
    return min(own if given is None else [given, *own], default=None)


def open_device(
    params: Parameters, options: DeviceOptions, *, rotates_as_openfhe: bool, times_operations: bool
) -> _core.Context:
    """The core's context of these options. The errors are those of `hemera.Context`.

    Args:
        rotates_as_openfhe: whether rotations by N/2 steps or more are OpenFHE's.
        times_operations: whether each operation is timed, for calibration.
    """
    options.require_valid()
    device = options.device
    if device == "auto":
        device = devices()[0] if options.multiplier == "ntt" else "cpu"
    return _core.make_context(
        params._native,
        device,
        options.threads or 0,
        options.memory_limit or 0,
        options.multiplier,
        None if options.stream is None else stream_handle(options.stream),
        options.storage,
        options.keys == "host",
        rotates_as_openfhe,
        times_operations,
    )


def _is_integer(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
