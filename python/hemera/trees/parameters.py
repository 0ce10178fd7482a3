"""Parameters of BFV for trees: the smallest for a model, and the paper's."""

from __future__ import annotations

import math

import numpy as np

import hemera
from hemera.errors import MismatchError, ParameterError
from hemera.trees.ensemble import Ensemble
from hemera.trees.quantise import Quantiser, bound

PLAIN_BITS = 20
"""The bits of the plaintext modulus, unless a model's scores are so large that they would be coarse."""
_COARSE, _FINE = 8, 12
"""The least bits of scores after the point: with the usual modulus, and with a larger one."""
_MOST_PLAIN_BITS = 48
_PLAIN_MODULUS = 786433
"""The prime of 20 bits that is 1 modulo 2N for both of the paper's degrees."""

# Degree, bits of the primes, bits of the special prime, least security. Primes and digits are as many as
# SEAL's default for these degrees: of 218 and 438 bits in all, and of the bits that the tables of 2024 allow
# for 128.
_SIZES: dict[str, tuple[int, list[int], int, int | None]] = {
    "8192-218": (8192, [43, 43, 44, 44], 44, None),
    "16384-438": (16384, [48, 48, 48, *[49] * 5], 49, None),
    "8192-214": (8192, [42, 43, 43, 43], 43, 128),
    "16384-430": (16384, [47, 47, *[48] * 6], 48, 128),
}
PARAMETERS = ("auto", *_SIZES)
"""The names of `parameters_for`: "auto" (the smallest for the model with 128 bits of security), or degree and
bits. "8192-218" and "16384-438" are those of the paper, with 128 bits of security by the table of 2018 and a
little less by that of 2024. The others are nearly as large, with 128 bits by both."""


def parameters_for(
    given: str | hemera.bfv.Parameters, model: Ensemble, quantiser: Quantiser, depth: int | None = None
) -> hemera.bfv.Parameters:
    """The server's parameters for `given`: a name, or parameters.

    Args:
        depth: of products one after the other; None: a comparison by a plaintext, then the depth of the tree
            less one.

    Raises:
        MismatchError: if the parameters do not have N slots.
        ParameterError: if the name is unknown, or the scores are too large for any parameters.
    """
    if isinstance(given, hemera.bfv.Parameters):
        if given.max_slots != given.degree:
            raise MismatchError(
                f"the parameters have {given.max_slots or 'no'} slots, and trees take all {given.degree}; "
                "take a prime plain_modulus = 1 modulo 2N"
            )
        return given
    if given != "auto":
        if given not in _SIZES:
            raise ParameterError(f"parameters are named {', '.join(PARAMETERS)}, not {given!r}")
        degree, primes, special, security = _SIZES[given]
        return hemera.bfv.Parameters.from_bits(
            degree=degree,
            plain_modulus=_PLAIN_MODULUS,
            prime_bits=primes,
            special_bits=[special],
            digits=len(primes),
            security=security,
        )
    depth = depth or model.depth + (quantiser.digit > 1)
    terms = model.trees * model.leaves.shape[2]
    return hemera.bfv.Parameters.for_circuit(
        depth, plain_bits=_plain_bits(model), slots=2 * model.leaves.shape[0], terms=max(16, terms)
    )


def _plain_bits(model: Ensemble) -> int:
    """The bits of a plaintext modulus that holds the model's scores in fine enough steps."""
    whole = math.ceil(math.log2(1 + bound(model.leaves, model.base))) + 2
    is_integral = all(np.array_equal(own, np.rint(own)) for own in (model.leaves, model.base))
    coarse, fine = (0, 0) if is_integral else (_COARSE, _FINE)
    if whole + coarse <= PLAIN_BITS:
        return PLAIN_BITS
    return min(whole + fine, _MOST_PLAIN_BITS)
