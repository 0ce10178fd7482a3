"""What NumPy and pandas make of a ciphertext: its own operations, or an error that names the right call."""

import numpy as np
import pandas as pd
import pytest

import hemera as hm
from hemera.objects.keys import rotations_for_sum

from .refusals import raises, refuse, refuse_each

SLOTS = 16


def operands(party):
    return party.ev.encrypt(party.values(2, SLOTS)), party.values(SLOTS, seed=2)


REFUSED = [
    (lambda x, _: np.asarray(x), r"np.asarray .*ctx\.decrypt"),
    (lambda x, _: np.array([x, x]), r"np.asarray .*ctx\.decrypt"),
    (lambda x, w: np.dot(x, w), r"np\.dot .*ev\.dot"),
    (lambda x, w: np.dot(w, x), r"np\.dot .*ev\.dot"),
    (lambda x, _: hm.stack([x, x]) @ hm.stack([x, x]), r"matmul .*ev\.dot"),
    (lambda x, _: x @ np.ones((2, 2, 2)), r"matmul .*ev\.dot"),
    (lambda x, w: np.einsum("i,i", x, w), r"np\.einsum .*ev\.dot"),
    (lambda x, _: np.sum(x), r"np\.sum .*x\.sum\(\)"),
    (lambda x, w: np.add.outer(w, x), r"np\.add\.outer takes no Ciphertext"),
    (lambda x, _: np.stack([x, x]), r"np\.stack .*hm\.stack"),
    (lambda x, _: np.concatenate([x, x]), r"np\.concatenate .*hm\.concatenate"),
    (lambda x, _: np.roll(x, 1), r"np\.roll .*x\.rotate"),
    (lambda x, _: np.size(x), r"np\.size .*x\.slots"),
    (lambda x, _: np.sin(x), r"np\.sin takes no Ciphertext: .*\+ - \*"),
    (lambda x, _: np.exp(x), r"np\.exp .*hm\.circuits\.exp"),
    (lambda x, w: np.maximum(x, w), r"np\.maximum .*hm\.circuits\.maximum"),
    (lambda x, w: w > x, r"np\.(less|greater) .*hm\.circuits\.compare"),
    (lambda x, _: np.square(x), r"np\.square .*x\.square\(\)"),
    (lambda x, w: w / x, r"np\.divide .*nothing divides by a ciphertext"),
    (lambda x, w: w == x, r"np\.equal .*different encryptions"),
    (lambda x, w: np.add(w, x, out=w), r"np\.add takes no out .*array \+ x"),
    (lambda x, w: w.__iadd__(x), r"np\.add takes no out .*array \+ x"),
    (lambda x, _: x.evaluator.encrypt(x), r"np.asarray .*ctx\.decrypt"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_other_functions_name_the_right_call(party, call, message):
    x, w = operands(party)
    refuse_each(lambda each: call(each, w), (x, x[0]), TypeError, message)


@pytest.mark.parametrize(
    ("name", "apply"),
    [("add", lambda a, b: a + b), ("subtract", lambda a, b: a - b), ("multiply", lambda a, b: a * b)],
)
def test_functions_of_the_operators_are_the_operators(party, name, apply):
    x, w = operands(party)
    a = party.values(2, SLOTS)
    function = getattr(np, name)
    for result, expected in (
        (function(x, w), apply(a, w)),
        (function(w, x), apply(w, a)),
        (function(w[0], x), apply(w[0], a)),
        (function(x, x), apply(a, a)),
        (function(party.ev.encode(w), x), apply(w, a)),
    ):
        assert isinstance(result, hm.Ciphertext)
        party.check(result, expected)


@pytest.mark.parametrize("apply", [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b])
def test_series_and_frames_are_arrays(party, apply):
    x, w = operands(party)
    a, rows = party.values(2, SLOTS), party.values(2, SLOTS, seed=3)
    for each, clear in ((x, a), (x[0], a[0])):
        for plain, values in ((pd.Series(w), w), (pd.DataFrame(rows), rows)):
            party.check(apply(plain, each), apply(values, clear))
            party.check(apply(each, plain), apply(clear, values))
    party.check(np.multiply(pd.Series(w), x), w * a)
    refuse((lambda: pd.Series(x), TypeError, r"ctx\.decrypt"))


def test_plaintexts_are_no_arrays_either(party):
    plain, w = party.ev.encode(party.values(SLOTS)), party.values(SLOTS, seed=2)
    refuse((lambda: np.asarray(plain), TypeError, r"np\.asarray takes no Plaintext: ctx\.decode"))
    for call in (lambda: w * plain, lambda: plain * w, lambda: plain + plain, lambda: np.add(plain, w)):
        refuse((call, TypeError, r"takes no Plaintext: add it to a ciphertext|unsupported operand"))


@pytest.mark.parametrize("batch", [(), (3,)])
def test_no_truth_value(party, batch):
    x = party.ev.encrypt(np.ones((*batch, 4), int))
    refuse((lambda: bool(x), ValueError, "truth value of a ciphertext is encrypted"))
    with pytest.raises(ValueError, match="truth value"):
        assert not x


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: abs(x), r"hm\.circuits\.abs\(interval\)\(x\)"),
        (lambda x: x > 1, r"hm\.circuits\.compare.*hm\.circuits\.maximum"),
        (lambda x: x <= x, r"hm\.circuits\.compare"),
        (lambda x: np.arange(4) < x, r"hm\.circuits\.compare"),
        (lambda x: max(x, x), r"hm\.circuits\.maximum"),
        (lambda x: 1 / x, r"hm\.circuits\.inverse"),
        (lambda x: np.ones(4) / x, r"hm\.circuits\.inverse"),
        (lambda x: np.max(x), r"hm\.circuits\.maximum"),
        (lambda x: np.abs(x), r"hm\.circuits\.abs"),
        (lambda x: np.mean(x), r"x\.mean\(\)"),
        (lambda x: np.var(x), r"x - x\.mean\(\)"),
        (lambda x: x.rotate(1.5), "rotate takes an integer as steps, not float"),
        (lambda x: x.rotate("1"), "rotate takes an integer as steps, not the str '1'"),
        (lambda x: x.rotate_many(3), r"rotate_many takes a sequence of steps, like \[3\], not int"),
        (lambda x: x.sum(axis=0.5), "sum takes an integer as axis"),
        (lambda x: x.evaluator.dot([x], 3), "dot: several ciphertexts take as many operands, not int"),
    ],
)
def test_operators_that_are_not_there_name_what_is(ckks, call, message):
    refuse((lambda: call(ckks.ev.encrypt(np.ones(4))), TypeError, message))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("max", r"hm\.circuits\.maximum"),
        ("T", "LinearTransform"),
        ("std", r"x\.mean\(\)"),
        ("decrypt", r"ctx\.decrypt\(x, secret_key\)"),
        ("argmax", "decrypt and compare"),
        ("nonsense", "^a Ciphertext has no attribute 'nonsense'$"),
    ],
)
def test_attributes_that_are_not_there_name_what_is(ckks, name, message):
    x = ckks.ev.encrypt(np.ones(4))
    assert not hasattr(x, name)
    refuse((lambda: getattr(x, name), AttributeError, message))


def test_evaluators_do_not_decrypt(ckks):
    refuse((lambda: ckks.ev.decrypt, AttributeError, r"ctx\.decrypt\(x, secret_key\) does"))


def test_integers_have_no_mean(integers):
    x = integers.ev.encrypt([[1, 2, 3], [4, 5, 6]])
    refuse((lambda: x.mean(), TypeError, r"decrypt x\.sum\(\) and divide it"))
    integers.check(x.sum(axis=0), np.array([5, 7, 9]))


def test_tables_are_refused(party):
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]})
    for call in (party.ev.encrypt, party.ev.encode, lambda table: party.ctx.encrypt(table, party.sk)):
        raises(TypeError, r"a table is no array.*frame\.to_numpy\(\)\.T", call, frame)
    party.check(party.ev.encrypt(frame.to_numpy().T), frame.to_numpy().T)
    party.check(party.ev.encrypt(frame["a"]), frame["a"].to_numpy())


def test_rotations_take_integers(ckks):
    refuse((lambda: ckks.ctx.generate_keys(ckks.sk, rotations=3), TypeError, "takes a sequence of steps"))
    with pytest.raises(TypeError, match="takes an integer as steps, not float"):
        ckks.ctx.generate_keys(ckks.sk, rotations=[1.5])
    with pytest.raises(TypeError, match="rotations_for_sum takes an integer as slots, not float"):
        ckks.ctx.generate_keys(ckks.sk, sum_slots=2.5)
    with pytest.raises(TypeError, match="rotations_for_sum takes parameters and a number of slots, not int"):
        rotations_for_sum(1024)
    with pytest.raises(TypeError, match="rotations_needed takes a sequence of steps"):
        hm.rotations_needed(ckks.ctx.params, 3)


def test_dir_has_the_public_names():
    assert set(dir(hm)) == set(hm.__all__)
    assert "Client" in dir(hm)


def test_missing_keys_name_plans_first(ckks):
    matrix = np.random.default_rng(1).uniform(-1, 1, (64, 64))
    ev = ckks.ctx.bind(ckks.ctx.generate_keys(ckks.sk))
    x = ev.encrypt(np.ones(64))
    refuse((lambda: x @ matrix, hm.errors.MissingKeyError, r"plan=transform .*\(\d+ in all\)$"))
    refuse((lambda: x.rotate(3), hm.errors.MissingKeyError, r"plan=circuit, or with rotations \[3\] alone"))
