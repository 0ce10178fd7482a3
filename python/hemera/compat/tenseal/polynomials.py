"""Polynomials without a constant term, no deeper than TenSEAL's."""

from __future__ import annotations

from collections.abc import Sequence

from hemera.inputs.encoding import power_of_two
from hemera.objects.ciphertext import Ciphertext


def real_polynomial(x: Ciphertext, coefficients: Sequence[float]) -> Ciphertext:
    """coefficients[0] * x + coefficients[1] * x^2 + ... (CKKS); the last coefficient is not 0.

    Takes ceil(log2(degree + 1)) levels; a whole multiple of x^(2^k) takes k, as it multiplies by no encoded
    number.
    """
    degree, last = len(coefficients), coefficients[-1]
    if degree != power_of_two(degree) or not float(last).is_integer():
        return x.polyval([0.0, *coefficients])
    lower = list(coefficients[:-1])
    while lower and lower[-1] == 0:
        lower.pop()
    highest = x**degree * int(last)
    return highest + real_polynomial(x, lower) if lower else highest


def integer_polynomial(x: Ciphertext, coefficients: Sequence[int]) -> Ciphertext:
    """coefficients[0] * x + coefficients[1] * x^2 + ..., by powers of the least depth (BFV)."""
    powers = [x]
    for exponent in range(2, len(coefficients) + 1):
        half = exponent // 2
        powers.append(powers[half - 1] * powers[exponent - half - 1])
    terms = [power * each for power, each in zip(powers, coefficients, strict=True) if each != 0]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
