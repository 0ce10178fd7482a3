"""The keys of a program: every one is used and none is missing; what a check tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera import _core, serving
from hemera.program.keys import KeyList, OwnKey

from .operation_cases import CKKS, MATRIX, RNG, SLOTS, Client


def test_every_key_is_used_and_none_is_missing() -> None:
    package = serving.export(CKKS["several steps"], inputs=[SLOTS] * 2, name="steps", security=None)
    client = Client(package)
    told = package.describe()["keys"]
    assert told["relinearization"]
    assert told["rotations"] == [[1, package.params.levels - 3]]  # after two products
    assert not client.keys.has_public_key
    assert len(client.keys.galois_elements) == 1
    linear = Client(serving.export(lambda x: x * 0.5, inputs=4, name="linear", security=None))
    assert not linear.keys.has_relinearization
    assert not linear.keys.galois_elements


def test_a_matrix_with_few_keys() -> None:
    few, many = (
        serving.export(
            lambda x, few=few: x.matmul(MATRIX, fewest_keys=few), inputs=SLOTS, name="matrix", security=None
        ).describe()["keys"]["rotations"]
        for few in (True, False)
    )
    assert len(few) <= 3 < len(many)


def test_keys_of_a_matrix_are_for_one_level() -> None:
    package = serving.export(
        lambda x: ((x * x) @ MATRIX).rotate(9) + x.rotate(4) * 0.5, inputs=SLOTS, name="levels", security=None
    )
    rotations = dict(package.describe()["keys"]["rotations"])
    top = package.params.levels - 1
    assert rotations.pop(9) == top - 2
    assert set(rotations.values()) == {
        top
    }  # that by 4 is done before the product, and is one of the matrix's


def test_what_no_output_takes_is_left_out() -> None:
    def circuit(x: Any, y: Any) -> Any:
        _ = (x**8).rotate(5) * y
        return x.rotate(1) - y

    package = serving.export(circuit, inputs=[4, 4], name="lazy", security=None)
    assert package.program.operations == {"rotate": 1, "subtract": 1}
    assert package.describe()["keys"]["rotations"] == [[1, 1]]
    np.testing.assert_array_equal(package.evaluate_clear([np.arange(4), np.ones(4)]), [0, 1, 2, -1])


def test_check_names_every_missing_key() -> None:
    package = serving.export(
        lambda x: (x * x).rotate(5) + x.conjugate() + x @ np.eye(SLOTS, k=3),
        inputs=SLOTS,
        name="many",
        security=None,
    )
    ctx = hm.Context(package.params, "cpu")
    sk = ctx.generate_secret_key()
    few = ctx.generate_keys(sk, relinearization=False)
    with pytest.raises(hm.errors.MissingKeyError, match=r"relinearization; rotations by .*5.*; conjugation"):
        package.check(ctx, few)
    # A rotation may be made up of powers of two; those of a matrix may not.
    steps = [steps for steps, _ in package.describe()["keys"]["rotations"] if steps != 5]
    package.check(ctx, ctx.generate_keys(sk, rotations=[1, 4, *steps], conjugation=True))
    with pytest.raises(hm.errors.MissingKeyError):
        package.check(ctx, ctx.generate_keys(sk, rotations=[1, 2, 4, 8, 16], conjugation=True))
    low = ctx.generate_keys(sk, rotations=[5, *steps], conjugation=True, galois_level=0)
    package.check(ctx, low)
    with pytest.raises(hm.errors.LevelError, match="limited to level 0"):
        package.prepare(ctx).run(low, [ctx.encrypt(np.zeros(SLOTS), sk)])


def test_check_is_of_each_context() -> None:
    """What was asked for in one stands for no other."""
    package = serving.export(lambda x: (x**4).rotate(1), inputs=16, name="m", security=None)
    own = hm.Context(package.params, "cpu")
    package.check(own, package.generate_keys(own, own.generate_secret_key()))
    flat = hm.Context(hm.ckks.Parameters.for_circuit(1, slots=16, security=None), "cpu")
    with pytest.raises(hm.errors.LevelError, match="depth of 2"):
        package.check(flat, flat.generate_keys(flat.generate_secret_key(), rotations=[1]))


class OpenFheContext(hm.Context):
    """With OpenFHE's rotations of BFV: from N/2 on they exchange the rows, too."""

    _rotates_as_openfhe = True


def test_check_knows_the_rotations_of_other_libraries() -> None:
    params = hm.bfv.Parameters.from_bits(
        degree=1024, plain_modulus=12289, prime_bits=[36] * 3, special_bits=[36], security=None
    )
    package = serving.export(lambda x: x.rotate(600), inputs=1024, name="m", params=params)
    for kind, step, other in ((hm.Context, 88, 87), (OpenFheContext, 600, 88)):
        ctx = kind(params, "cpu")
        sk = ctx.generate_secret_key()
        keys = ctx.generate_keys(sk, rotations=[step])
        package.check(ctx, keys)
        package.prepare(ctx).run(keys, [ctx.encrypt(np.arange(1024), sk)])
        with pytest.raises(hm.errors.MissingKeyError, match="rotations by"):
            package.check(ctx, ctx.generate_keys(sk, rotations=[other]))


def test_check_tells_what_else_does_not_fit() -> None:
    package = serving.export(lambda x: x**8, inputs=512, name="deep", security=None)
    flat = hm.Context(hm.ckks.Parameters.for_circuit(depth=1, slots=512, security=None), "cpu")
    keys = flat.generate_keys(flat.generate_secret_key())
    with pytest.raises(hm.errors.LevelError, match="depth of 3"):
        package.check(flat, keys)
    exact = hm.Context(hm.bfv.Parameters.for_circuit(2, slots=1024, security=None), "cpu")
    other = exact.generate_keys(exact.generate_secret_key())
    with pytest.raises(hm.errors.MismatchError, match="is of CKKS, and the keys are of BFV"):
        package.check(exact, other)
    with pytest.raises(hm.errors.MismatchError, match="the keys belong to"):
        package.check(flat, other)
    small, large = (
        hm.bfv.Parameters.from_bits(
            degree=degree, plain_modulus=12289, prime_bits=[40, 40], special_bits=[40], security=None
        )
        for degree in (1024, 2048)
    )
    own = serving.export(lambda x: x + 1, inputs=1024, name="small", params=small)
    home = hm.Context(large, "cpu")
    with pytest.raises(
        hm.errors.MismatchError, match="for 1024 slots modulo 12289, and the parameters have 2048"
    ):
        own.check(home, home.generate_keys(home.generate_secret_key()))
    wide = serving.export(lambda x: x + 1, inputs=4096, name="wide", security=None)
    with pytest.raises(hm.errors.MismatchError, match="needs 4096 slots"):
        wide.check(flat, keys)


KEYS: dict[str, dict[str, Any]] = {
    "none": {},
    "relinearization": {"relinearization": 0},
    "rotations": {"rotations": {1: 2, -3: 0}},
    "conjugation": {"conjugation": 1},
    "of one level": {"own": (OwnKey("rotation", 5, 2, 1), OwnKey("conjugation", 0, 1, 1))},
    "of one level, for products": {"own": (OwnKey("relinearization", 0, 2, 1),)},
}


@pytest.mark.parametrize("name", KEYS)
def test_the_told_number_of_keys_is_that_of_those_made(name: str) -> None:
    """Each kind of keys alone, and beside all others; by those that the core makes."""
    params = hm.ckks.Parameters.for_circuit(3, slots=32, degree=1024, security=None)
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    merged: dict[str, Any] = {}
    for own in KEYS.values():
        merged |= own
    for fields in (KEYS[name], merged | KEYS[name]):
        listed = KeyList(**fields)
        needs = listed.needs(ctx)
        made = _core.generate_needed_keys(sk._native, needs)
        assert listed.count == len({repr(need) for need in needs}) == len(needs)
        assert hm.Keys(made, ctx).memory_bytes == sum(16 * key_limbs(need) * params.degree for need in needs)
        assert KeyList.from_data(listed.to_data(), params) == listed


def key_limbs(need: Any) -> int:
    return int(need.digits * (len(need.primes) + len(need.special_primes)))


def test_one_key_serves_all_levels_of_a_rotation() -> None:
    """Up to the highest, in whichever order they come."""
    for steps in ((1, 2), (2, 1)):
        package = serving.export(
            lambda x, s=steps: (x.rotate(s[0]) * 0.5).rotate(s[1]) * 0.5 + (x * 0.5).rotate(s[0]) * 0.25,
            inputs=SLOTS,
            name="m",
            security=None,
        )
        assert package.describe()["keys"]["rotations"] == [[k, [2, 1][steps.index(k)]] for k in (1, 2)]
        row = RNG.uniform(-1, 1, (1, SLOTS))
        expected = np.real(package.evaluate_clear(row))
        np.testing.assert_allclose(Client(package).run(row), expected, atol=2**-20)
