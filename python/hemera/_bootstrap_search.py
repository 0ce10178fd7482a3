"""Parameters of `for_bootstrapping`: digits with which they are secure, and what fits where none are."""

from __future__ import annotations

from hemera import _core
from hemera.parameters import max_log_modulus

__all__ = ["found"]

_PRIME_BITS = 50
"""Of a special prime. The key to the ephemeral secret has one, the widest one, back from it, has two."""
_EPHEMERAL_WEIGHT = 32
_CLASSES = (256, 192, 128)
_MOST_LEVELS = 64


def found(settings: _core.BootstrapSettings, *, search: bool) -> _core.Parameters:
    """The parameters of some settings.

    Args:
        search: whether digits may be others than those of the settings: the fewest that are secure, where
            those are not.

    Raises:
        ParameterError: where there are none; with the most levels that there are at this scale, and the
            largest class of security of these levels.
    """
    try:
        return _with_keys(settings)
    except _core.ParameterError as error:
        if not search or settings.security is None:
            raise
        reason = error
    params = _of_any_digits(settings, settings.levels, settings.security)
    if params is not None:
        return params
    if _of_any_digits(settings, settings.levels, None) is None:
        raise reason  # which is another one than security
    raise _core.ParameterError(_told(settings)) from None


def _with_keys(settings: _core.BootstrapSettings) -> _core.Parameters:
    """ParameterError where a key of every bootstrap is not secure: that to the ephemeral secret, or the
    widest one."""
    params = _core.parameters_for_bootstrapping(settings)
    if settings.security is None:
        return params
    top = params.levels - 1
    for what, level, primes, weight in (
        ("the ephemeral secret", 0, 1, _EPHEMERAL_WEIGHT),
        ("a bootstrap", top, 2, settings.secret_weight),
    ):
        bits = params.log_modulus(level) + primes * _PRIME_BITS
        limit = max_log_modulus(settings.degree, settings.security, weight) or 0
        if bits > limit:
            raise _core.ParameterError(
                f"a key of {what} is over {bits:.0f} bits, and at most {limit} have {settings.security} bits "
                "of security; use smaller levels or a larger degree"
            )
    return params


def _of_any_digits(
    settings: _core.BootstrapSettings, levels: int, security: int | None
) -> _core.Parameters | None:
    """The parameters with the fewest digits that are secure at `levels`."""
    kept = settings.levels, settings.security, settings.digits
    settings.levels, settings.security, settings.digits = levels, security, 0
    try:
        return _with_keys(settings)
    except _core.ParameterError:
        return None
    finally:
        settings.levels, settings.security, settings.digits = kept


def _told(settings: _core.BootstrapSettings) -> str:
    levels, wanted = settings.levels, settings.security
    asked = f"{levels} levels of {settings.scale_bits:g} bits at N = {settings.degree}"
    fits = [
        most
        for most in range(min(levels, _MOST_LEVELS) - 1, 0, -1)
        if _of_any_digits(settings, most, wanted) is not None
    ][:1]
    classes = [bits for bits in _CLASSES if _of_any_digits(settings, levels, bits) is not None]
    most = f"at most {fits[0]} levels of this scale have them" if fits else "no level of this scale has them"
    largest = f"{classes[0]}" if classes else "below 128 (security=None)"
    return (
        f"{asked} do not have {wanted} bits of security with the keys of a bootstrap: {most}; the largest "
        f"security of {levels} levels is {largest}. Take fewer levels, a smaller scale_bits or another preset"
    )
