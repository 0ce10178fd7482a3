"""Hemera's operations for the comparison with SEAL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera import _core


class HemeraSide:
    """Keys and operands of one set of parameters. `operations` maps an operation's name to a call of it."""

    def __init__(self, params: hm.Parameters, threads: int, a: NDArray[Any], b: NDArray[Any]) -> None:
        self._ckks = params.scheme == "ckks"
        self.context = hm.Context(params, device="cpu", threads=threads)
        self._secret = self.context.generate_secret_key()
        keys = self.context.generate_keys(self._secret, rotations=[1])
        evaluator = self.context.bind(keys)
        plain, other = evaluator.encode(a), evaluator.encode(b)
        x, y = evaluator.encrypt(plain), evaluator.encrypt(other)
        product = evaluator.multiply(x, y)
        secret = self._secret._native
        self.operations: dict[str, Callable[[], Any]] = {
            "encode": lambda: evaluator.encode(a),
            "encrypt": lambda: evaluator.encrypt(plain),
            "decrypt": lambda: _core.decrypt(x._native, secret),
            "add": lambda: evaluator.add(x, y),
            "multiply_plain": lambda: evaluator.multiply(x, other),
            "multiply_relinearize": lambda: evaluator.multiply(x, y),
            "rotate": lambda: evaluator.rotate(x, 1),
        }
        if self._ckks:
            self.operations["rescale"] = lambda: evaluator.rescale(product)

    def values(self, result: Any) -> NDArray[Any]:
        """The clear values of a plaintext or ciphertext."""
        dtype = np.complex128 if self._ckks else None
        if isinstance(result, hm.Ciphertext):
            return self.context.decrypt(result, self._secret, dtype=dtype)
        plain = result if isinstance(result, hm.Plaintext) else hm.Plaintext(result, self.context)
        return self.context.decode(plain, dtype=dtype)

    def noise_budget(self, result: hm.Ciphertext) -> float:
        """BFV and BGV: bits of noise budget left."""
        return float(np.min(self.context.noise_budget(result, self._secret)))

    def levels(self, result: hm.Ciphertext) -> int:
        """CKKS: rescalings left."""
        return result.level
