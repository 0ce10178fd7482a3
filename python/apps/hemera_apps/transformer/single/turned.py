"""Sums of products of two factors whose places turn round each head."""

from __future__ import annotations

import numpy as np

import hemera as hm
from hemera_apps.transformer.single.layout import SingleLayout


class TurnedProducts:
    """The sum over 0 <= m < w, for heads of w places, of one factor turned by m times `unit` slots and of
    another one turned by m times `other` slots. Where m leads beyond a head, at the places e with e + m >= w,
    it is m - w for both.

    With "in" for the places within the head, and "beyond" for the others, this is

        sum over m of (rot(x, unit m) in) rot(y, other m)
            + rot(sum over m of (rot(x, unit m) beyond) rot(y', other m), -unit w),
        y' = rot(y, (unit - other) w),

    as turns by w places leave "beyond" as it is. With m = g + b, giant steps g and baby steps b, the turn of
    all products by `other` g comes behind the sum over b:

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
        self._unit, self._other, self._width = unit, other, width
        self._babies = range(1 << (width.bit_length() + 1) // 2)
        place = np.arange(layout.slots) % width
        self._inside: list[list[hm.circuits.Mask]] = []
        self._beyond: list[list[hm.circuits.Mask]] = []
        for giant in range(0, width, len(self._babies)):
            # Where products stand before they are turned by this giant step.
            before = (place - other * giant) % width
            beyond = [before + giant + baby >= width for baby in self._babies]
            for masks, wraps in ((self._inside, False), (self._beyond, True)):
                masks.append(
                    [
                        hm.circuits.Mask(out == wraps, params, level=level)
                        for out in beyond
                        if wraps <= out.any()
                    ]
                )

    def prepare(self, context: hm.Context) -> None:
        """Encode the masks now, and not in the first call."""
        for masks in (*self._inside, *self._beyond):
            for mask in masks:
                mask.prepare(context)

    def __call__(self, x: hm.Ciphertext, y: hm.Ciphertext) -> hm.Ciphertext:
        """The sum, a level below y. The first axis of the batches is that of y; along others x may be one
        for all."""
        count, step = len(y), len(self._babies)
        right = _all_turned(y, self._babies, self._other)
        wrapped = _all_turned(y.rotate((self._unit - self._other) * self._width), self._babies, self._other)
        giants = [x]
        for _ in self._inside[1:]:
            giants.append(giants[-1].rotate((self._unit - self._other) * step))
        total: hm.Ciphertext | None = None
        for inside, beyond in zip(reversed(self._inside), reversed(self._beyond), strict=True):
            left = _all_turned(giants.pop(), self._babies, self._unit)
            sums = hm.concatenate([_masked_sum(left, inside, right), _masked_sum(left, beyond, wrapped)])
            total = sums if total is None else total.rotate(self._other * step) + sums
        assert total is not None
        return total[:count] + total[count:].rotate(-self._unit * self._width)


def _masked_sum(
    left: list[hm.Ciphertext], masks: list[hm.circuits.Mask], right: list[hm.Ciphertext]
) -> hm.Ciphertext:
    """The sum of products of the last factors, as many as there are masks."""
    count = len(masks)
    masked = [mask(rows) for mask, rows in zip(masks, left[-count:], strict=True)]
    return left[0].evaluator.dot(masked, right[-count:])


def _all_turned(x: hm.Ciphertext, numbers: range, unit: int) -> list[hm.Ciphertext]:
    """x turned by each number of units, from 0 on."""
    return [x, *x.rotate_many([number * unit for number in numbers[1:]])]
