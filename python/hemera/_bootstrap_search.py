"""Parameters of `for_bootstrapping`: digits with which they are secure, and what fits where none are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from hemera import _core
from hemera.parameters import check_security, max_log_modulus, require_naturals

EphemeralSecret = Literal["fixed weight", "blocks"]
"""The kinds of secrets that a bootstrap goes through: of a fixed weight, or of 64 blocks."""

Make = Callable[[_core.BootstrapSettings], _core.Parameters]
"""Parameters of settings, of a scheme."""

_PRIME_BITS = 50
"""The bits of a special prime. The key to the ephemeral secret has one, the widest, back from it, has two."""
_BLOCKS = 64
_FEW: Mapping[str, Any] = {"slots_to_coefficients": [34], "coefficients_to_slots": [45]}
"""The fields of a bootstrap by roots of unity: the blocks of its secret, and the bits that matrices drop."""
_FEW_LAST_BITS = 45
_DEVICE = "nvidia-h200"
_CLASSES = (256, 192, 128)
_MOST_LEVELS = 64


def with_fields(settings: _core.BootstrapSettings, fields: Mapping[str, Any]) -> _core.BootstrapSettings:
    """The settings of a preset with fields in their place.

    Raises:
        ParameterError: for an unknown field, and a security that is no class.
        TypeError: for a value of another type.
    """
    names = [name for name in dir(settings) if not name.startswith("_")]
    for name, value in fields.items():
        if name not in names:
            raise _core.ParameterError(
                f"for_bootstrapping has no field {name!r}; its fields are {', '.join(names)}"
            )
        try:
            setattr(settings, name, value)
        except TypeError:
            raise TypeError(
                f"for_bootstrapping: {name} is {value!r}, no {type(getattr(settings, name)).__name__}"
            ) from None
    check_security(settings.security)
    return settings


def found(
    settings: _core.BootstrapSettings, *, search: bool, make: Make = _core.parameters_for_bootstrapping
) -> _core.Parameters:
    """The parameters of some settings.

    Args:
        make: makes them of settings.
        search: whether digits may be others than those of the settings: the fewest that are secure, where
            those are not.

    Raises:
        ParameterError: where there are none; with the most levels that there are at this scale, and the
            largest class of security of these levels.
    """
    if settings.blocks:
        _core.check_blocks(settings)  # no digits help a secret without an estimate
    try:
        return _with_keys(settings, make)
    except _core.ParameterError as error:
        if not search or settings.security is None:
            raise
        reason = error
    params = _of_any_digits(settings, settings.levels, settings.security, make)
    if params is not None:
        return params
    if _of_any_digits(settings, settings.levels, None, make) is None:
        raise reason  # which is another one than security
    raise _core.ParameterError(_told(settings, make)) from None


def of_real_slots(
    preset: str, fields: Mapping[str, Any], real_slots: int | None, ephemeral_secret: EphemeralSecret
) -> _core.Parameters:
    """The parameters of a preset. With secrets in blocks those of a bootstrap by roots of unity with the same
    levels instead, where they count as the faster ones for that number of real slots on an H200, with no more
    than a bit less of precision.

    Raises:
        ParameterError: as `found`, for a number of slots that no bootstrap has, and for blocks without one.
    """
    if ephemeral_secret not in get_args(EphemeralSecret):
        raise _core.ParameterError(
            f"for_bootstrapping: ephemeral_secret is {ephemeral_secret!r}, and there are 'fixed weight' and "
            "'blocks'"
        )
    settings = with_fields(_core.bootstrap_preset(preset), fields)
    whole = found(settings, search="digits" not in fields)
    if real_slots is None:
        if ephemeral_secret == "blocks" and settings.blocks == 0:
            raise _core.ParameterError(
                "for_bootstrapping: secrets in blocks bootstrap up to 256 real slots or so; give "
                "real_slots=, the number of yours"
            )
        return whole
    require_naturals(real_slots=real_slots)
    if settings.blocks or settings.exponential or settings.arcsine or settings.order != "slots-first":
        return whole
    plan = _real_plan(whole, real_slots)
    if ephemeral_secret == "fixed weight":
        return whole
    return _faster(preset, fields, real_slots, plan) or whole


def _faster(
    preset: str, fields: Mapping[str, Any], real_slots: int, plan: _core.Bootstrap
) -> _core.Parameters | None:
    """The parameters by roots of unity, where they count as faster than `plan`."""
    few = with_fields(_core.bootstrap_preset(preset), fields)
    few.blocks = _BLOCKS
    for name, value in _FEW.items():
        if name not in fields:
            setattr(few, name, value)
    few.last_bits = min(few.last_bits, _FEW_LAST_BITS)
    try:
        params = found(few, search="digits" not in fields)
        other = _real_plan(params, real_slots)
    except _core.ParameterError:
        return None  # too many slots, too small a degree, or a security without an estimate
    is_worse = any(
        a < b - 1 for a, b in zip(other.expected_precision(1), plan.expected_precision(1), strict=True)
    )
    return None if is_worse or _seconds(other) >= _seconds(plan) else params


def _real_plan(params: _core.Parameters, slots: int) -> _core.Bootstrap:
    return _core.Bootstrap(params, slots, True, 1, False, True, 1, 0, 16, 0)


def _seconds(plan: _core.Bootstrap) -> float:
    from hemera.times import DeviceTimes  # few users need it

    return DeviceTimes.find(_DEVICE).seconds(plan.cost, graph=True)


def of_integers(
    scheme: _core.Scheme,
    preset: str,
    plain_modulus: int,
    fields: Mapping[str, Any],
    openings: _core.Openings | None = None,
) -> _core.Parameters:
    """The parameters of BFV or BGV for a preset with fields in place of its own.

    Args:
        openings: those of a group, whose ephemeral secret is a sum of one for each piece.
    """
    require_naturals(plain_modulus=plain_modulus)
    make = functools.partial(_core.integer_parameters_for_bootstrapping, scheme, plain_modulus)

    def of_pieces(pieces: int) -> _core.Parameters:
        settings = with_fields(_core.integer_bootstrap_preset(preset, pieces), fields)
        return found(settings, search="digits" not in fields, make=make)

    pieces = 1 if openings is None else openings.pieces
    try:
        params = of_pieces(pieces)
    except _core.ParameterError as error:
        if pieces == 1:
            raise
        most = _most_pieces(of_pieces, pieces)
        raise _core.ParameterError(
            f"{preset!r} has no bootstrap for a group of {pieces} pieces, at most for one of {most}: {error}"
        ) from None
    if openings is not None:
        _require_room(params, openings)
    return params


def _most_pieces(of_pieces: Callable[[int], _core.Parameters], pieces: int) -> int:
    """The most pieces, fewer than some, that have parameters; 0: none."""
    low, high = 0, pieces
    while high - low > 1:
        middle = (low + high) // 2
        try:
            of_pieces(middle)
            low = middle
        except _core.ParameterError:
            high = middle
    return low


def _require_room(params: _core.Parameters, openings: _core.Openings) -> None:
    """ParameterError where no passes leave the budget that an opening of a result takes."""
    needed = openings.budget(params.degree)
    try:
        _core.IntegerBootstrap(params, 0, needed, 40, False)
    except _core.ParameterError as error:
        raise _core.ParameterError(
            f"openings take {needed:.1f} bits of noise budget, which no bootstrap leaves: {error}; or take "
            "fewer openings, or fewer opening_bits"
        ) from None


def _with_keys(settings: _core.BootstrapSettings, make: Make) -> _core.Parameters:
    """ParameterError where a key of every bootstrap is not secure: that to the ephemeral secret, or the
    widest one."""
    params = make(settings)
    if settings.security is None:
        return params
    top = params.levels - 1
    keys = [("a bootstrap", top, 2, settings.secret_weight)]
    if settings.blocks == 0:  # the core knows the bounds of secrets in blocks
        keys.insert(0, ("the ephemeral secret", 0, 1, settings.ephemeral_weight))
    for what, level, primes, weight in keys:
        bits = params.log_modulus(level) + primes * _PRIME_BITS
        limit = max_log_modulus(settings.degree, settings.security, weight) or 0
        if bits > limit:
            raise _core.ParameterError(
                f"a key of {what} is over {bits:.0f} bits, and at most {limit} have {settings.security} bits "
                "of security; use smaller levels or a larger degree"
            )
    return params


def _of_any_digits(
    settings: _core.BootstrapSettings, levels: int, security: int | None, make: Make
) -> _core.Parameters | None:
    """The parameters with the fewest digits that are secure at `levels`."""
    kept = settings.levels, settings.security, settings.digits
    settings.levels, settings.security, settings.digits = levels, security, 0
    try:
        return _with_keys(settings, make)
    except _core.ParameterError:
        return None
    finally:
        settings.levels, settings.security, settings.digits = kept


def _told(settings: _core.BootstrapSettings, make: Make) -> str:
    levels, wanted = settings.levels, settings.security
    asked = f"{levels} levels of {settings.scale_bits:g} bits at N = {settings.degree}"
    fits = [
        most
        for most in range(min(levels, _MOST_LEVELS) - 1, 0, -1)
        if _of_any_digits(settings, most, wanted, make) is not None
    ][:1]
    classes = [bits for bits in _CLASSES if _of_any_digits(settings, levels, bits, make) is not None]
    most = f"at most {fits[0]} levels of this scale have them" if fits else "no level of this scale has them"
    largest = f"{classes[0]}" if classes else "below 128 (security=None)"
    return (
        f"{asked} do not have {wanted} bits of security with the keys of a bootstrap: {most}; the largest "
        f"security of {levels} levels is {largest}. Take fewer levels, a smaller scale_bits or another preset"
    )
