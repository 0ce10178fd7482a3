"""Evaluators on collective keys: values, and bounds against the true noise, by the secret that nobody has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera import _core

from .federation_setting import nonce
from .group_setting import Members
from .test_group_messages import encrypted, true_noise

PIECES = 10
"""With 3 of 5: where a rule forgets that a secret is a sum, its bound is too small by a factor of 3."""


class Setting:
    """Two ciphertexts of a group of 3 of 5, with keys for all sums of slots."""

    def __init__(self, scheme: str) -> None:
        self.members = Members(scheme, 5, 3, depth=3, made=("evaluation", scheme))
        native, params = self.members.context._native, self.members.params._native
        assert self.members.access.pieces == PIECES
        needs = self.members.needs([1 << k for k in range(9)])
        needs.append(_core_need(params, native.conjugation_element()))
        made = self.members.run(nonce("attempt"), needs)
        self.keys = hm.Keys(made[0].keys(), self.members.context)
        self.secret = self.members.secret_key()
        (self.a, self.x), (self.b, self.y) = (encrypted(self.members, self.keys, seed) for seed in (1, 2))


def _core_need(params: Any, element: int) -> Any:
    return _core.key_need(params, 1, element, params.highest_user_level)


@pytest.fixture(scope="module", params=["bfv", "bgv"])
def setting(request: pytest.FixtureRequest) -> Setting:
    return Setting(request.param)


def rotated(a: Any, steps: int) -> Any:
    return np.concatenate([np.roll(row, -steps) for row in np.split(a, 2)])


PLAIN = np.arange(1024) % 97 - 40
OPERATIONS: dict[str, Any] = {
    "sum": (lambda x, y: x + y, lambda a, b: a + b),
    "difference": (lambda x, y: x - y, lambda a, b: a - b),
    "negative": (lambda x, _: -x, lambda a, _: -a),
    "times a number": (lambda x, _: x * 7, lambda a, _: a * 7),
    "plus numbers": (lambda x, _: x + PLAIN, lambda a, _: a + PLAIN),
    "times numbers": (lambda x, _: x * PLAIN, lambda a, _: a * PLAIN),
    "product": (lambda x, y: x * y, lambda a, b: a * b),
    "square": (lambda x, _: x.square(), lambda a, _: a * a),
    "product of three": (lambda x, y: x * y * x, lambda a, b: a * b * a),
    "power": (lambda x, _: x**4, lambda a, _: a**4),
    "rotation": (lambda x, _: x.rotate(3), lambda a, _: rotated(a, 3)),
    "rows": (lambda x, _: x.swap_rows(), lambda a, _: np.concatenate(np.split(a, 2)[::-1])),
    "rotated product": (lambda x, y: (x * y).rotate(1), lambda a, b: rotated(a * b, 1)),
    "sum of slots": (lambda x, _: x.sum(), lambda a, _: np.full(1024, a.sum())),
    "inner product": (lambda x, y: x.evaluator.dot([x, y], [y, y]), lambda a, b: a * b + b * b),
    "lower level": (lambda x, y: (x * y).shrink(), lambda a, b: a * b),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_on_collective_keys(setting: Setting, name: str) -> None:
    encrypted_run, clear = OPERATIONS[name]
    result = encrypted_run(setting.x, setting.y)
    t = setting.members.params.plain_modulus
    expected = clear(setting.a.astype(object), setting.b.astype(object)) % t
    found = np.asarray(setting.members.context.decrypt(result, setting.secret)).astype(object) % t
    assert np.array_equal(np.broadcast_to(found, expected.shape), expected)
    truth = true_noise(setting.members, result)
    assert truth <= result.noise_bits
    assert truth > result.noise_bits - 40
