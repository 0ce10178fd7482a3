"""Sums of products of two factors whose places turn round each head."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np

import hemera as hm
from hemera_apps.transformer.single.layout import SingleLayout


class TurnedProducts:
    """The sum over 0 <= m < w, for heads of w places, of a real factor turned by m times `unit` slots and of
    another one turned by m times `other` slots, as complex numbers: the real part of the first factor is that
    of the places e with e + m < w, where the turn stays in the head, and the imaginary part that of the
    others, where m would have to be m - w.

    With m = g + b, giant steps g and baby steps b, the turn of all products by `other` g comes behind the sum
    over b:

        rot(x, unit m) rot(y, other m) = rot(rot(x, unit b + (unit - other) g) rot(y, other b), other g).

    So y takes a rotation for each b alone, and sums are relinearized for each g. (The steps are those of the
    product of matrices of X. Jiang, M. Kim, K. Lauter, Y. Song, 2018/1041.)

    Args:
        layout: of the slots.
        params: of the ciphertexts.
        level: of x. Masks take a level, and y is a level lower.
        unit, other: the slots for each m. They differ by whole periods and by the same number of places.
    """

    def __init__(
        self, layout: SingleLayout, params: hm.ckks.Parameters, level: int, unit: int, other: int
    ) -> None:
        width = layout.shape.width
        self._level, self._unit, self._other = level, unit, other
        self._babies = range(1 << (width.bit_length() + 1) // 2)
        self._giants = range(0, width, len(self._babies))
        place = np.arange(params.max_slots) % width
        # Where products stand before they are turned by their giant step.
        self._places = {giant: (place - other * giant) % width for giant in self._giants}
        self._width = width
        self._encoded: weakref.WeakKeyDictionary[hm.Context, dict[int, hm.Plaintext]] = (
            weakref.WeakKeyDictionary()
        )

    def prepare(self, context: hm.Context) -> None:
        """Encode the masks, 1 within the head and i beyond it, now, and not in the first call."""
        if context in self._encoded:
            return
        self._encoded[context] = {
            giant + baby: context.encode(
                np.where(self._places[giant] + giant + baby < self._width, 1, 1j), level=self._level
            )
            for giant in self._giants
            for baby in self._babies
        }

    def __call__(self, x: hm.Ciphertext, factors: Sequence[hm.Ciphertext]) -> hm.Ciphertext:
        """The sum for each of the other factors, a level below them, along a new first axis."""
        self.prepare(x.context)
        masks, babies = self._encoded[x.context], self._babies
        right = [_all_turned(y, babies, self._other) for y in factors]
        starts = [x]
        for _ in self._giants[1:]:
            starts.append(starts[-1].rotate((self._unit - self._other) * len(babies)))
        total: hm.Ciphertext | None = None
        for giant in reversed(self._giants):
            left = _all_turned(starts.pop(), babies, self._unit)
            masked = [(rows * masks[giant + baby]).rescale() for baby, rows in enumerate(left)]
            products = hm.concatenate([x.evaluator.dot(masked, turned) for turned in right])
            total = products if total is None else total.rotate(self._other * len(babies)) + products
        assert total is not None
        return total.reshape(len(factors), len(x))


def _all_turned(x: hm.Ciphertext, numbers: range, unit: int) -> list[hm.Ciphertext]:
    """x turned by each number of units, from 0 on."""
    return [x, *x.rotate_many([number * unit for number in numbers[1:]])]
