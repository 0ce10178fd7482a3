"""Devices, and the options of a context on one: threads, memory, stream, multiplier, storage, keys."""

from __future__ import annotations

import importlib.util
import numbers

from hemera import _core
from hemera.inputs.arguments import require_type
from hemera.inputs.device import stream_handle
from hemera.parameters import Parameters

__all__ = ["devices", "memory_limit_of", "open_device"]

_STORAGES = ("eight-byte", "six-byte")
_KEY_PLACES = ("device", "host")


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
    params: Parameters,
    device: str,
    *,
    threads: int | None,
    memory_limit: int | None,
    stream: object | None,
    multiplier: str,
    storage: str,
    keys: str,
    rotates_as_openfhe: bool,
    times_operations: bool,
) -> _core.Context:
    """The core's context of these options. They, and the errors, are those of `hemera.Context`.

    Args:
        rotates_as_openfhe: whether rotations by N/2 steps or more are OpenFHE's.
        times_operations: whether each operation is timed, for calibration.
    """
    require_type(device, str, "Context", 'a device by its name, like "cuda:0"')
    if threads is not None and not (_is_integer(threads) and 1 <= threads < 1 << 31):
        raise _core.ParameterError(
            f"threads must be an integer of 1 or more, or None for all processors, not {threads!r}"
        )
    if memory_limit is not None and not (_is_integer(memory_limit) and memory_limit >= 1):
        raise _core.ParameterError(
            f"memory_limit must be an integer of 1 byte or more, or None for no limit, not {memory_limit!r}"
        )
    if storage not in _STORAGES:
        raise _core.ParameterError(
            f"storage must be one of {', '.join(map(repr, _STORAGES))}, not {storage!r}"
        )
    if keys not in _KEY_PLACES:
        raise _core.ParameterError(f"keys must be one of {', '.join(map(repr, _KEY_PLACES))}, not {keys!r}")
    if device == "auto":
        device = devices()[0] if multiplier == "ntt" else "cpu"
    return _core.make_context(
        params._native,
        device,
        threads or 0,
        memory_limit or 0,
        multiplier,
        None if stream is None else stream_handle(stream),
        storage == "six-byte",
        keys == "host",
        rotates_as_openfhe,
        times_operations,
    )


def _is_integer(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
