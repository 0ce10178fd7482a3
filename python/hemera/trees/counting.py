"""Operations of an evaluator that count their ciphertexts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.evaluator import Evaluator

NAMES = (
    "multiplications",
    "plain_multiplications",
    "additions",
    "subtractions",
    "rotations",
    "relinearizations",
)


class Counted:
    """The operations that the circuits of trees use. `counts`: by operation, the number of ciphertexts that
    it has made so far. A batch of B counts B times; a sum of products counts each of its products and
    additions."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.counts: Counter[str] = Counter(dict.fromkeys(NAMES, 0))

    def _count(self, result: Ciphertext, **counts: int) -> Ciphertext:
        batch = math.prod(result.shape)
        for name, count in counts.items():
            self.counts[name] += count * batch
        return result

    def add(self, a: Ciphertext, b: Ciphertext | Plaintext, out: Ciphertext | None = None) -> Ciphertext:
        """a + b."""
        return self._count(self.evaluator.add(a, b, out=out), additions=1)

    def subtract(self, a: Ciphertext, b: Ciphertext | Plaintext, out: Ciphertext | None = None) -> Ciphertext:
        """a - b."""
        return self._count(self.evaluator.subtract(a, b, out=out), subtractions=1)

    def multiply(self, a: Ciphertext, b: Ciphertext, out: Ciphertext | None = None) -> Ciphertext:
        """a * b of ciphertexts, by a lazy evaluator: the result has size 3."""
        return self._count(self.evaluator.multiply(a, b, out=out), multiplications=1)

    def multiply_plain(self, a: Ciphertext, b: Plaintext, out: Ciphertext | None = None) -> Ciphertext:
        """a * b for a plaintext b."""
        return self._count(self.evaluator.multiply(a, b, out=out), plain_multiplications=1)

    def dot(self, a: Sequence[Ciphertext], b: Sequence[Ciphertext]) -> Ciphertext:
        """The sum of products of ciphertexts, by an eager evaluator: relinearized once."""
        result = self.evaluator.dot(a, b)
        return self._count(result, multiplications=len(a), additions=len(a) - 1, relinearizations=1)

    def dot_plain(self, a: Sequence[Ciphertext], b: Sequence[Plaintext]) -> Ciphertext:
        """The sum of products by plaintexts."""
        result = self.evaluator.dot(a, b)
        return self._count(result, plain_multiplications=len(a), additions=len(a) - 1)

    def negate(self, a: Ciphertext) -> Ciphertext:
        """-a, counted as a subtraction."""
        return self._count(self.evaluator.negate(a), subtractions=1)

    def relinearize(self, a: Ciphertext) -> Ciphertext:
        """`a` in two parts, in place. A ciphertext of two parts stays as it is, and counts."""
        return self._count(self.evaluator.relinearize(a, out=a), relinearizations=1)

    def rotate(self, a: Ciphertext, steps: int) -> Ciphertext:
        """Slots turned left."""
        return self._count(self.evaluator.rotate(a, steps), rotations=1)

    def swap_rows(self, a: Ciphertext) -> Ciphertext:
        """The two rows of slots exchanged, counted as a rotation."""
        return self._count(self.evaluator.swap_rows(a), rotations=1)
