"""Steps of rotations: those that callers give, and those that make up sums and other rotations."""

from __future__ import annotations

from collections.abc import Iterable

from hemera import _core
from hemera.inputs.arguments import as_integer, described, require_type
from hemera.parameters import Parameters

__all__ = ["all_steps", "as_steps", "rotations_for_sum", "rotations_needed"]


def as_steps(params: Parameters, operation: str, steps: int) -> int:
    """The steps of a rotation as a number that the core takes; they count modulo N/2. TypeError if they are
    no integer."""
    number = as_integer(steps, operation, "steps")
    # N/2 is added back: OpenFHE's rotations by N/2 steps or more are others (rlwe::LongRotations).
    half = params.degree // 2
    return number if abs(number) < 1 << 62 else number % half + half


def all_steps(params: Parameters, operation: str, steps: Iterable[int]) -> list[int]:
    """The steps of several rotations. Raises as `as_steps`, and TypeError if `steps` is no sequence."""
    if not isinstance(steps, Iterable):
        raise TypeError(f"{operation} takes a sequence of steps, like [{steps}], not {described(steps)}")
    return [as_steps(params, operation, step) for step in steps]


def rotations_for_sum(params: Parameters, slots: int | None = None) -> list[int]:
    """The steps of the rotations that `Ciphertext.sum` takes for ciphertexts of `slots` slots (None: all).
    TypeError if the arguments are no parameters and no integer, ParameterError for a number of slots that no
    ciphertext has.

    Examples:
        >>> params = hm.ckks.Parameters.for_circuit(depth=1, slots=4096)
        >>> hm.rotations_for_sum(params, 16)
        [1, 2, 4, 8]
    """
    require_type(params, Parameters, "rotations_for_sum", "parameters and a number of slots")
    if slots is not None:
        slots = as_integer(slots, "rotations_for_sum", "slots")
        if not 1 <= slots <= params.max_slots:
            raise _core.ParameterError(
                f"rotations_for_sum: ciphertexts have 1 to {params.max_slots} slots here, not {slots}"
            )
    return _core.rotations_for_sum(params._native, params.max_slots if slots is None else slots)


def rotations_needed(params: Parameters, steps: Iterable[int]) -> list[int]:
    """The power-of-two steps, as few as possible, that make up each of `steps`. Keys for them serve all.

    These keys are fewer to send; a rotation with a key of its own is faster. TypeError if the arguments are
    no parameters and no integers.

    Examples:
        >>> params = hm.ckks.Parameters.for_circuit(depth=1, slots=4096)
        >>> hm.rotations_needed(params, [3, 5])
        [-1, 1, 4]
    """
    require_type(params, Parameters, "rotations_needed", "parameters and steps")
    if not isinstance(steps, Iterable):
        raise TypeError(f"rotations_needed takes a sequence of steps, not {described(steps)}")
    row = params.max_slots if params.scheme == "ckks" else params.max_slots // 2
    return _core.rotations_needed(
        [as_integer(step, "rotations_needed", "steps") for step in steps], row or params.degree // 2
    )
