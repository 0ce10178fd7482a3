"""What the operations of a context take, by its plan, before anything runs."""

from __future__ import annotations

from math import log2

from hemera.circuits import Bootstrap
from hemera.integers.layout import DIGIT_BITS, Layout

_OPERATIONS = (
    ("a + b, a - b, -a", 1),
    ("a < b, <=, >, >=; minimum, maximum", 1),
    ("a == b, !=", 1),
    ("a & b, |, ^; a << k, >>; Table", 1),
    ("a * b", 0),
    ("~a; where; booleans with &, |, ^, ~; astype to fewer bits", None),
)
"""With their refreshes; of a product: one, and one for each lazy carry."""


def report(layout: Layout, whole: Bootstrap) -> str:
    """The values of a ciphertext, and the refreshes and the probability of failure of each operation."""
    lazy_carries = 1 if layout.digits == 2 else 2
    rows = []
    for name, refreshes in _OPERATIONS:
        if refreshes is None:
            rows.append(f"  {name}: no refresh")
            continue
        count = refreshes or 1 + lazy_carries
        words = "1 refresh" if count == 1 else f"{count} refreshes"
        rows.append(
            f"  {name}: {words}, fails with a probability of 2^{whole.failure_log2 + log2(count):.1f}"
        )
    mean, worst = whole.expected_precision()
    return "\n".join(
        (
            f"integers of {layout.digits * DIGIT_BITS} bits: {layout.digits} digits of base 16, "
            f"{layout.values} values in a ciphertext",
            f"{whole.levels_left} levels after a refresh; exponentials of {mean:.1f} bits, {worst:.1f} in "
            "the worst slot",
            "of each operation, for two ciphertexts at once:",
            *rows,
            "  signed comparisons, abs, signed astype to more bits: one refresh more, of the signs",
            "operands with too few levels, or too large an error, take one refresh each before",
        )
    )
