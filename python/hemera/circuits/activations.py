"""Activations of networks: rectifiers by the sign of their input, smooth units, and quotients."""

from __future__ import annotations

from hemera import _core
from hemera.circuits.elementary import made, on_interval
from hemera.circuits.functions import Function, Interval, tolerance_of


def relu(interval: Interval = (-1, 1), *, bits: float = 11) -> Function:
    """max(x, 0) on an interval, within 2^-bits everywhere: x (1 + sign(x)) / 2 by a composition of odd
    minimax polynomials (E. Lee, J.-W. Lee, J.-S. No, Y.-S. Kim, 2020/834; J.-W. Lee et al., 2022), with the
    degrees of the fewest levels, then of the fewest products.

        relu = hm.circuits.relu((-8, 8), bits=8)
        y = relu(x)  # x a ciphertext of values from -8 to 8, or an array in the clear

    On (-1, 1) 11 bits take 12 levels, 13 bits 14. Bits are absolute: on (-8, 8) 8 bits take what 11 take on
    (-1, 1). Wide intervals take a level more where a first polynomial of a low degree does not map them.
    Where the interval is on one side of 0, the function is x without a level, or 0.

    Args:
        interval: where x lies.
        bits: errors are at most 2^-bits, here and in the functions below; those of ciphertexts come on top.

    Raises:
        ParameterError: for an empty interval, and when no polynomials are as near.
    """
    low, high = (float(end) for end in interval)
    recipe = {"low": low, "high": high, "bits": float(bits)}
    return Function(made(_core.relu, low, high, tolerance_of(bits)), "relu", recipe=recipe)


def abs(interval: Interval = (-1, 1), *, bits: float = 10) -> Function:  # noqa: A001
    """|x| on an interval, as x sign(x): see `relu`, whose error is half of this one's."""
    low, high = (float(end) for end in interval)
    recipe = {"low": low, "high": high, "bits": float(bits)}
    return Function(made(_core.absolute, low, high, tolerance_of(bits)), "abs", recipe=recipe)


def leaky_relu(slope: float = 0.01, interval: Interval = (-1, 1), *, bits: float = 11) -> Function:
    """x where x > 0, else slope x: see `relu`.

    Raises:
        ParameterError: as `relu`, and for a slope that is not finite.
    """
    low, high = (float(end) for end in interval)
    recipe = {"low": low, "high": high, "slope": float(slope), "bits": float(bits)}
    native = made(_core.leaky_relu, low, high, float(slope), tolerance_of(bits))
    return Function(native, "leaky_relu", recipe=recipe)


def silu(interval: Interval, *, bits: float = 20, clip: bool | float = False) -> Function:
    """x / (1 + exp(-x)) on an interval, which is called swish, too: see `sigmoid`."""
    return on_interval(_core.silu, "silu", interval, bits, clip)


def softplus(interval: Interval, *, bits: float = 20, clip: bool | float = False) -> Function:
    """log(1 + exp(x)) on an interval: see `sigmoid`."""
    return on_interval(_core.softplus, "softplus", interval, bits, clip)


def divide(numerator: Interval, denominator: Interval, *, bits: float = 20) -> Function:
    """x / y of two inputs, within 2^-bits: x times the `inverse` of y.

        ratio = hm.circuits.divide((-1, 1), (0.5, 4), bits=16)
        z = ratio(x, y)

    It takes at most one level more than the inverse: x is multiplied before the iterations.

    Args:
        numerator: the interval of x.
        denominator: the interval of y, without 0.
        bits: of the quotient.

    Raises:
        ParameterError: for an empty interval, a denominator with 0 in it, and when no inverse is as near.
    """
    low, high = (float(end) for end in numerator)
    least, most = (float(end) for end in denominator)
    recipe = {
        "numerator_low": low,
        "numerator_high": high,
        "denominator_low": least,
        "denominator_high": most,
        "bits": float(bits),
    }
    return Function(
        made(_core.divide, (low, high), (least, most), tolerance_of(bits)), "divide", recipe=recipe
    )
