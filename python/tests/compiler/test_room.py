"""Results at the end of their range decrypt, in each front: the judges are NumPy and the rule of 15/32."""

import math
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import hemera as hm
from hemera.arrays.operations import Input
from hemera.arrays.tensor import TensorProgram
from hemera.compiler import room
from hemera.compiler.attempts import TooLargeError
from hemera.compiler.room import range_bits_for
from hemera.errors import NoiseError, RangeError
from hemera.serving import export

TOPS = [
    part * 2.0**bits
    for bits in (1, 2, 4, 5, 7, 9, 10, 11, 12)
    for part in (0.9, 0.922, 0.923, 0.936, 0.938, 0.97, 1)
]
"""Around 15/16 of powers of two, and their ends."""


def total(top):
    plan = hm.compile(lambda x: x.sum(), hm.ArraySpec((4,), range=(0, top / 4)), security=None)
    return plan.local(threads=1)(np.full(4, top / 4)), top


def lowest(top):
    plan = hm.compile(lambda x: 1.0 * x, hm.ArraySpec((4,), range=(-top, top)), security=None)
    return plan.local(threads=1)(np.full(4, -top)), np.full(4, -top)


def offset(top):
    spec = hm.ArraySpec((4,), range=(0, top))
    plan = hm.compile(lambda x: x.mean() / 2 + top / 2, spec, security=None)
    return plan.local(threads=1)(np.full(4, top)), top


def product(top):
    spec = hm.ArraySpec((4,), range=(0, top**0.5))
    plan = hm.compile(lambda x: x**2, spec, security=None)
    return plan.local(threads=1)(np.full(4, top**0.5)), np.full(4, top)


def eager(top):
    return hm.array(np.full(4, top / 4), range=(0, top / 4)).sum().decrypt(security=None, threads=1), top


def shared(top):
    spec = hm.ArraySpec((4,), range=(0, top / 4))
    plan = hm.compile(lambda x: x.sum(), spec, share=True, security=None)
    return plan.local(threads=1)(np.full(4, top / 4)), top


def together(top):
    spec = hm.ArraySpec((4,), range=(0, top / 4))
    plan = hm.compile(lambda x: x.sum(axis=-1), spec, samples=4, security=None)
    return plan.local(threads=1)(np.full((3, 4), top / 4)), np.full(3, top)


def in_ciphertexts(top):
    """With matrices that are not rescaled."""
    weights = np.full((3, 2), 0.3)
    spec = hm.ArraySpec((3,), range=(0, top / 0.9))
    plan = hm.compile(
        lambda x: x @ weights, spec, samples=512, layout="ciphertexts", precision_bits=6, security=None
    )
    return plan.local(threads=1)(np.full((512, 3), top / 0.9)), np.full((512, 2), top)


def in_pairs(top):
    specs = [hm.ArraySpec((2, 2), range=(0, (top / 2) ** 0.5))] * 2
    plan = hm.compile(lambda a, b: a @ b, *specs, samples=256, layout="pairs", security=None)
    ones = np.full((256, 2, 2), (top / 2) ** 0.5)
    return plan.local(threads=1)(ones, ones), np.full((256, 2, 2), top)


def table(top):
    spec = hm.TableSpec.of(pd.DataFrame({"a": np.zeros(8)}), ranges={"a": (0, top / 8)})
    plan = hm.compile(lambda t: {"total": t.a.sum(), "mean": t.a.mean()}, spec, security=None)
    found = plan.local(threads=1)(pd.DataFrame({"a": np.full(8, top / 8)}))
    return [found["total"], found["mean"]], [top, top / 8]


def packaged(top):
    model = export(lambda x: x + x, inputs=4, name="twice", largest=top, security=None)
    ctx = hm.Context(model.params, threads=1)
    sk = ctx.generate_secret_key()
    given = model.interface.encode(np.full(4, top / 2))
    results = model.prepare(ctx).run(
        ctx.bind(model.generate_keys(ctx, sk)), [ctx.encrypt(ctx.encode(each), sk) for each in given]
    )
    return model.interface.decode([ctx.decrypt(each, sk) for each in results]), np.full(4, top)


def declared(top):
    params = hm.ckks.Parameters.for_circuit(1, slots=4, largest=top, degree=1024, security=None)
    ctx = hm.Context(params, threads=1)
    sk = ctx.generate_secret_key()
    x = ctx.bind(ctx.generate_keys(sk)).encrypt(np.full(4, top))
    return ctx.decrypt((x * 1.0).shrink(), sk), np.full(4, top)


FRONTS = [
    total,
    lowest,
    offset,
    product,
    eager,
    shared,
    together,
    in_ciphertexts,
    in_pairs,
    table,
    packaged,
    declared,
]


@pytest.mark.parametrize("front", FRONTS, ids=lambda each: each.__name__)
def test_results_at_the_end_of_their_range_decrypt(front):
    coarse = front is in_ciphertexts
    for top in TOPS[:: 3 if front in (table, in_pairs, in_ciphertexts) else 1]:
        found, wanted = front(top)
        np.testing.assert_allclose(found, wanted, rtol=2.0**-5 if coarse else 2.0**-12, atol=2.0**-12)


@pytest.mark.parametrize("bits", [2, 3, 6, 10, 11])
def test_the_rule_is_that_of_decryption(bits):
    """15/32 of the modulus, less a 64th: the largest that is taken decrypts, and one beyond does not."""
    params = hm.ckks.Parameters.for_circuit(1, slots=4, range_bits=bits, degree=1024, security=None)
    assert not params.checks_range
    room = 2.0 ** (math.fsum(map(math.log2, params.primes[0])) - math.log2(params.scale))
    most = 15 / 32 * 63 / 64 * 2.0**bits
    assert range_bits_for(most * (1 - 1e-9)) == bits
    assert range_bits_for(most * (1 + 1e-9)) == (bits + 1 if bits < 11 else 12)
    ctx = hm.Context(params, threads=1)
    sk = ctx.generate_secret_key()
    x = ctx.bind(ctx.generate_keys(sk)).encrypt(np.full(4, most / 2))
    np.testing.assert_allclose(ctx.decrypt((x + x).shrink(), sk), most)
    beyond = ctx.bind(ctx.generate_keys(sk)).encrypt(np.full(4, room * 15 / 64 * (1 + 1e-6)))
    with pytest.raises(NoiseError, match="15/32"):
        ctx.decrypt((beyond + beyond).shrink(), sk)


@pytest.mark.parametrize("bits", [12, 13, 20])
def test_spare_bits_leave_the_room(bits):
    assert range_bits_for(2.0 ** (bits - 1)) == bits
    assert range_bits_for(2.0 ** (bits - 1) * (1 + 1e-9)) == bits + 1
    assert range_bits_for(2.0 ** (bits - 1), spared=False) == bits + 1


@pytest.mark.parametrize("bits", [4, 10, 12, 15])
def test_given_parameters_take_what_decrypts_and_no_more(bits):
    """15/32 of the last modulus, or a quarter where two bits are to spare."""
    params = hm.ckks.Parameters.for_circuit(1, slots=4, range_bits=bits, degree=1024, security=None)
    room = 2.0 ** (math.fsum(map(math.log2, params.primes[0])) - math.log2(params.scale))
    most = room * 63 / 64 * (1 / 4 if params.checks_range else 15 / 32)

    def compiled(top):
        return hm.compile(lambda x: x.sum(), hm.ArraySpec((4,), range=(0, top / 4)), params=params)

    taken = compiled(most * (1 - 1e-9))
    found = taken.local(threads=1)(np.full(4, most / 4 * (1 - 1e-9)))
    assert found == pytest.approx(most, rel=2.0**-12)
    with pytest.raises(RangeError, match=r"for results up to .* range_bits=\d+"):
        compiled(most * (1 + 1e-9))


@pytest.mark.parametrize("offset", [-1000.0, 1000.0, -5000.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_before_an_offset_have_room(offset, sign):
    """The result is from 0 to 4, and the sum before it as large as the offset, of either sign."""
    middle = sign * -offset / 4
    spec = hm.ArraySpec((4,), range=(min(middle, middle + sign), max(middle, middle + sign)))
    plan = hm.compile(lambda x: sign * x.sum() + offset, spec, security=None, scales=False)
    assert plan.params.range_bits == range_bits_for(4 + abs(offset)) > math.log2(abs(offset))
    x = np.full(4, middle + sign / 2)
    assert plan.local(threads=1)(x) == pytest.approx(2, abs=2.0**-10)


@pytest.mark.parametrize(("level", "primes"), [(None, 1), (1, 2), (3, 4)])
def test_room_of_programs_with_bootstraps_is_that_of_their_lowest_level(level, primes, monkeypatch):
    """Results leave bootstrapped programs at the level from which values are bootstrapped, or above."""
    params = hm.ckks.Parameters.for_circuit(4, slots=4, range_bits=10, degree=1024, security=None)
    boot = None if level is None else SimpleNamespace(input_level=level)
    monkeypatch.setattr(room, "bootstrap_of", lambda *_: boot)
    assert len(params.primes[primes - 1]) == primes
    bits = math.fsum(map(math.log2, params.primes[primes - 1])) - math.log2(params.scale)
    most = 2.0**bits * 63 / 64 * (1 / 4 if params.checks_range else 15 / 32)
    for part, taken in ((1 - 1e-9, True), (1 + 1e-9, False)):
        program = TensorProgram()
        program.add(Input("x", 0, 1), (), (), "", (-part * most, 1))
        program.outputs = [("y", 0)]
        with nullcontext() if taken else pytest.raises(TooLargeError, match="result 'y' can be as large as"):
            room.require_room(program, SimpleNamespace(slots=4), params)
