"""The softmax by normalized squares, on the scores of one input."""

from __future__ import annotations

import hemera as hm
from hemera_apps.transformer.refresh import declared
from hemera_apps.transformer.single.shared import SharedPlans
from hemera_apps.transformer.softmax import NormalizedSquares


def normalized(terms: hm.Ciphertext, softmax: NormalizedSquares, plans: SharedPlans) -> hm.Ciphertext:
    """The softmax, in ciphertexts as those of the terms, two levels above the lowest one.

    Each square takes a bootstrap of all terms, in pairs. The first squares have one of their own.

    Args:
        terms: the exponentials of `softmax`, a batch of the ciphertexts of all shares of the tokens, at this
            level.
        softmax: the polynomials.
        plans: of the block.
    """
    base, top, refresh = plans.levels.base, plans.levels.top, plans.refresh
    count = plans.layout.ciphertexts
    shares = [slice(start, start + count) for start in range(0, len(terms), count)]

    def squares(level: int) -> hm.Ciphertext:
        """The squares of the terms, at this level, summed over the shares."""
        found = terms.square().at_level(level)
        return hm.add_many([found[share] for share in shares])

    # Each place of a head has to have the same sum, with its noise: it is taken behind the bootstrap.
    first = declared(squares(base + 1).at_level(base))
    sums = plans.head_sums[top](hm.concatenate(refresh.twice(first, top)))
    for number, root in enumerate(softmax.roots):
        if number > 0:
            sums = plans.head_sums[top - 1](squares(top - 1))
        factors, own = root(sums).at_level(base + 2), terms.at_level(base + 2)
        terms = hm.concatenate([own[share] * factors for share in shares]).square()
        level = base + 2 if number == len(softmax.roots) - 1 else top
        terms = hm.concatenate(refresh.twice(declared(terms.at_level(base)), level))
    return terms
