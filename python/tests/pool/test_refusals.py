"""What one context refuses, a pool refuses with the same error and words: a table of every method."""

import re

import numpy as np
import pytest

import hemera as hm

from .setting import make
from .test_interface import public

ROWS = np.zeros((0, 8), int)

GIVEN = {
    "generate_keys": [
        *(lambda c, _, __, sk, n=n: c.generate_keys(sk, galois_level=n) for n in (-1, 4, 0.5, "1")),
        *(lambda c, _, __, sk, n=n: c.generate_keys(sk, sum_slots=n) for n in (-1, 2**20)),
        *(lambda c, _, __, sk, n=n: c.generate_keys(sk, rotations=n) for n in (3, ["a"])),
        *(lambda c, _, __, sk, n=n: c.generate_keys(sk, plan=n) for n in (3, [3])),
        lambda c, ev, *_: c.generate_keys(ev.keys),
        lambda c, _, __, sk: c.generate_keys(sk, conjugation=True, swap_rows=True),
        lambda c, _, __, sk: c.generate_keys(sk, progress=lambda *_: 1 / 0),
    ],
    "save_keys": [
        *(lambda c, _, __, sk, n=n: c.save_keys("keys", sk, galois_level=n) for n in (-1, 4, 0.5)),
        lambda c, ev, *_: c.save_keys("keys", ev.keys),
        lambda c, _, __, sk: c.save_keys("/proc/none/keys", sk),
        lambda c, _, __, sk: c.save_keys("keys", sk, conjugation=True, swap_rows=True),
    ],
    "generate_switching_key": [
        lambda c, _, __, sk, n=n: c.generate_switching_key(sk, sk, level=n) for n in (-1, 4, 0.5)
    ],
    "Context.bind": [
        *(lambda c, _, __, sk, n=n: c.bind(n or sk) for n in (3, None)),
        *(lambda c, ev, *_, n=n: c.bind(ev.keys, bootstrap=n) for n in (3, "plan", hm.circuits.Bootstrap)),
        *(lambda c, ev, *_, n=n: c.bind(ev.keys, magnitude=n) for n in (3, -1)),
        lambda c, ev, *_: c.bind(ev.keys, automatic=True),
    ],
    "encode": [
        *(lambda c, *_, n=n: c.encode(n) for n in (ROWS, [], "a", None, np.zeros((3, 1025), int))),
        *(lambda c, *_, n=n: c.encode([1], level=n) for n in (-1, 4, 0.5)),
        lambda c, *_: c.encode([1], scale=-1.0),
        lambda c, *_: c.encode([1], encoding="no"),
    ],
    "encrypt": [
        *(lambda c, _, __, sk, n=n: c.encrypt(n, sk) for n in (ROWS, "a", None)),
        *(lambda c, ev, *_, n=n: c.encrypt(n, ev.keys) for n in (ROWS, [[1], [10**40]])),
        *(lambda _, ev, *__, n=n: ev.encrypt(n) for n in (ROWS, [[1], [10**40]])),
    ],
    "decode": [lambda c, *_, n=n: c.decode(c.encode([1]), **n) for n in ({"dtype": "U3"}, {"out": [1]})],
    "decrypt": [
        *(lambda c, _, x, sk, n=n: c.decrypt(x, sk, **n) for n in ({"errors": "no"}, {"out": np.zeros(3)})),
        lambda c, ev, x, _: c.decrypt(x, ev.keys),
    ],
    "decrypt_for_sharing": [
        lambda c, _, x, sk, n=n: c.decrypt_for_sharing(x, sk, noise_bound=8.0, shares=n) for n in (0, 0.5)
    ],
    "noise_budget": [lambda c, _, x, __: c.noise_budget(x, 1), lambda c, _, __, sk: c.noise_budget(1, sk)],
    "noise_bound": [lambda c, *_: c.noise_bound(depth=-1), lambda c, *_: c.noise_bound(depth=1, terms=0)],
    "load": [lambda c, *_, n=n: c.load(n) for n in (b"abc", "/nowhere", 3)],
    "multiply_matrices": [lambda _, ev, x, __: ev.multiply_matrices(3, x, x)],
    "rotation_plan of": [lambda _, ev, *__: ev.rotation_plan(3, 5)],
    "apply": [lambda _, ev, x, __: ev.apply(3, x)],
    "transform_all": [lambda _, ev, x, __: ev.transform_all(3, x)],
    "multiply_rows": [lambda _, ev, x, __, n=n: ev.multiply_rows(n, x) for n in (np.zeros((3, 4)), "a")],
    "capture": [
        lambda _, ev, *__: ev.capture(lambda y: y),
        lambda _, ev, x, __: ev.capture(lambda _: 3, x),
        *(lambda _, ev, x, __, n=n: ev.capture(lambda y: y + y, x)(*[x, x[:2], 3][n]) for n in
          (slice(0), slice(2), slice(1, 2), slice(2, 3))),
    ],
    "index": [lambda _, __, x, ___, n=n: x[n] for n in (5, "a", (0, 0), slice(0, 0))],
    "reshape": [lambda _, __, x, ___, n=n: x.reshape(n) for n in (4, "a", (-1, -1))],
    "concatenate": [
        lambda _, __, x, ___, n=n: hm.concatenate(n(x))
        for n in (lambda x: [x, x.reshape(1, 5)], lambda x: [x, x[0]], lambda x: [x[0], x], lambda x: [x, 3],
                  lambda x: [x, x.at_level(1)])
    ],
    "stack": [lambda _, __, x, ___: hm.stack([x, x[:2]])],
    "to_bytes": [lambda _, __, x, ___: x.to_bytes(compression=99)],
    "save": [lambda _, __, x, ___: x.save("/nowhere/x")],
}  # fmt: skip
OPERANDS = {
    **dict.fromkeys(("add", "subtract", "multiply"), ("a", None, np.zeros((4, 8), int))),
    **dict.fromkeys(("sum", "mean"), (2, 0.5)),
    "divide": (0, "a"),
    "matmul": (np.zeros((3, 3)), "a"),
    "power": (0, -1, 0.5),
    "at_level": (-1, 4, 0.5),
    "declare": (-1.0, "a"),
    "with_slots": (3, 10**6),
    **dict.fromkeys(("rotate", "rotation_plan"), (0.5, "a")),
    "rotate_many": ([0.5], 3),
    "bootstrap": (None, 3),
    "polyval": ([], "a"),
    "dot": (3, [3]),
    **dict.fromkeys(("transform", "reencrypt"), (3,)),
}
"""Methods of an evaluator and a ciphertext."""
OF_NONE = ("load", "bind", "relinearize", "rescale", "mod_switch", "shrink", "negate", "square", "conjugate",
           "swap_rows", "add_many", "multiply_many")  # fmt: skip
"""Methods of an evaluator that are given 3."""
ELSEWHERE = {
    *("generate_secret_key", "on", "synchronize", "decode_on_device", "decrypt_on_device"),
    *("map", "replicate", "close", "circuit"),
}
"""Without refusals, or with those that follow from several devices."""
TABLE = {
    **{f"{name} {at}": call for name, calls in GIVEN.items() for at, call in enumerate(calls)},
    **{f"{name} {at}": lambda _, ev, x, __, name=name, n=n:
       (getattr(ev, name)(x, axis=n) if name in ("sum", "mean") else getattr(ev, name)(x, n))
       for name, operands in OPERANDS.items() for at, n in enumerate(operands)},
    **{f"{name} of 3": lambda _, ev, *__, name=name: getattr(ev, name)(3) for name in OF_NONE},
}  # fmt: skip


@pytest.fixture(scope="module", params=["ckks", "bfv"])
def setting(request):
    own = make(request.param, 3)
    yield own, own.one.encrypt(own.values(5))
    own.pool.close()


def refusal(call, *own):
    try:
        found = call(*own)
    except Exception as error:
        return type(error), re.sub("Pool(?=Cipher|Plain)| of the pool", "", str(error))
    return type(found), str(getattr(found, "shape", ""))


@pytest.mark.parametrize("name", TABLE)
def test_a_pool_refuses_what_a_context_refuses(setting, name):
    own, x = setting
    expected = refusal(TABLE[name], own.pool.contexts[0], own.one, x, own.sk)
    assert refusal(TABLE[name], own.pool, own.ev, own.ev.bind(x), own.sk) == expected
    assert issubclass(expected[0], Exception)


def test_every_method_has_refusals():
    methods = {n for own in (hm.Pool, hm.Evaluator) for n in public(own) if callable(getattr(own, n))}
    assert methods - ELSEWHERE <= GIVEN.keys() | OPERANDS.keys() | set(OF_NONE)
