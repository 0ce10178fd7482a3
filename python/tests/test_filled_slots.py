"""The slots that hold values and those that fill a ciphertext up: NumPy is the judge of every value."""

import numpy as np
import pytest

import hemera as hm
from hemera.errors import LevelError, MismatchError, ParameterError

from .refusals import refuse, refuse_each

VALUES = 20
SLOTS = 32  # of CKKS: 12 fill up


@pytest.fixture(scope="module")
def ev(params):
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, sum_slots=True, rotations=range(1, SLOTS), conjugation=True))
    return ev, lambda x, **options: ctx.decrypt(x, sk, **options)


def random(count=VALUES, seed=1):
    return np.random.default_rng(seed).uniform(0.5, 2, count)


PROGRAMS = {
    # of x and y of VALUES values each, with the operators and methods that NumPy's arrays have
    "sum": lambda x, _: x.sum(),
    "sum after a number": lambda x, _: (x + 1).sum(),
    "sum after two numbers": lambda x, _: ((x + 1) * 3 - 0.5).sum(),
    "a number minus": lambda x, _: (1 - x).sum(),
    "sum of a sum": lambda x, _: (x + x.sum()).sum(),
    "product with a sum": lambda x, _: (x * x.sum()).sum(),
    "sum after an array": lambda x, _: (x + np.arange(VALUES)).sum(),
    "sum after one value": lambda x, _: (x + np.array([0.5])).sum(),
    "mean": lambda x, _: x.mean(),
    "mean of a sum": lambda x, _: x.sum().mean(),
    "mean after a number": lambda x, _: (x + 2).mean(),
    "mean of deviations": lambda x, _: (x - x.sum() / VALUES).mean(),
    "variance": lambda x, _: ((x - x.mean()) * (x - x.mean())).mean(),
    "covariance": lambda x, y: ((x - x.mean()) * (y - y.mean())).mean(),
    "dot": lambda x, y: x.dot(y),
    "dot after a number": lambda x, y: (x + 1).dot(y - 1),
    "matmul of vectors": lambda x, y: (x + 1) @ (y + 1),
    "dot of an array": lambda x, _: (x + 1).dot(np.arange(VALUES)),
    "polynomial": lambda x, _: (0.5 * x * x - 3 * x + 2).sum(),
    "power": lambda x, _: ((x + 1) ** 3).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_numpy_gives(ev, name):
    evaluator, decrypt = ev
    a, b = random(), random(seed=2)
    result = PROGRAMS[name](evaluator.encrypt(a), evaluator.encrypt(b))
    expected = PROGRAMS[name](a, b)
    np.testing.assert_allclose(decrypt(result), np.full(VALUES, expected), rtol=1e-5, atol=1e-5)


FUNCTION = hm.circuits.sigmoid((-4, 4), bits=12)


def test_functions_do_not_count_what_they_make_of_the_padding(ev):
    evaluator, decrypt = ev
    x = evaluator.encrypt(random())
    expected = 1 / (1 + np.exp(-random()))
    short = hm.Context(
        hm.ckks.Parameters.for_circuit(depth=FUNCTION.depth, slots=32, security=None, degree=1024), "cpu"
    )
    np.testing.assert_allclose(decrypt(FUNCTION(x).sum())[0], expected.sum(), atol=2e-2)
    np.testing.assert_allclose(decrypt(x.polyval([2, 1]).mean())[0], (2 + random()).mean(), rtol=1e-6)
    sk = short.generate_secret_key()
    few = short.bind(short.generate_keys(sk, sum_slots=32)).encrypt(random())
    with pytest.raises(
        LevelError, match=r"slots 20 to 31 .* masked.*hm\.circuits\.Mask\(np\.arange\(32\) < 20"
    ):
        FUNCTION(few).sum()


def test_a_rotation_fills_all_slots(ev):
    evaluator, decrypt = ev
    x = evaluator.encrypt(random())
    padded = np.pad(random(), (0, SLOTS - VALUES))
    turned = (x + 1).rotate(3)
    assert (x.filled, turned.filled, x.rotate(0).filled) == (VALUES, SLOTS, VALUES)
    np.testing.assert_allclose(
        decrypt(turned), np.roll(np.where(np.arange(SLOTS) < VALUES, padded + 1, 0), -3), atol=1e-6
    )
    np.testing.assert_allclose(decrypt(x + x.rotate(1)), padded + np.roll(padded, -1), atol=1e-6)
    np.testing.assert_allclose(decrypt(turned.sum())[0], (random() + 1).sum(), rtol=1e-6)
    # A product with zeros has zeros.
    assert (x * x.rotate(1)).filled == VALUES
    np.testing.assert_allclose(
        decrypt((x * x.rotate(1)).sum())[0], (padded * np.roll(padded, -1)).sum(), rtol=1e-6
    )


def test_sums_meet_values_of_any_number(ev):
    """As in NumPy, where they are numbers."""
    evaluator, decrypt = ev
    x, full = evaluator.encrypt(random()), evaluator.encrypt(random(SLOTS, seed=2))
    few = evaluator.encrypt(random(17, seed=3))
    np.testing.assert_allclose(
        decrypt((x - full.sum()).sum())[0], (random() - random(SLOTS, seed=2).sum()).sum(), rtol=1e-5
    )
    assert (decrypt(few * x.sum()).shape, decrypt(x.sum() + few).shape) == ((17,), (17,))
    np.testing.assert_allclose(
        decrypt((few + x.sum()).sum())[0], (random(17, 3) + random().sum()).sum(), rtol=1e-5
    )
    np.testing.assert_allclose(decrypt(x.sum().rotate(1)), np.full(VALUES, random().sum()), rtol=1e-6)
    single = evaluator.encrypt([0.5])
    np.testing.assert_allclose(decrypt((x + single).sum())[0], (random() + 0.5).sum(), rtol=1e-5)
    np.testing.assert_allclose(decrypt((x * single).sum())[0], (random() * 0.5).sum(), rtol=1e-5)


def test_filled_slots_survive_bytes(party):
    a = party.values(VALUES)
    for x in (party.ev.encrypt(a), party.ctx.encrypt(a, party.sk)):
        shifted = party.ev.load(bytes(party.ev.bind(x) + 1))
        assert shifted.filled == VALUES
        party.check(shifted, a + 1)
        twice = (a + 1).sum() + VALUES * (a - 1).sum()
        party.check(party.ev.load(bytes((shifted - 2).sum() + shifted)).sum(), np.full(VALUES, twice))
    plain = party.ctx.load(bytes(party.ev.encode(a)))
    assert plain.filled == VALUES
    party.check((shifted - plain).sum(), np.full(VALUES, VALUES))


def test_files_need_version_3_only_for_padding(party):
    def version(x):
        return int(hm.inspect(bytes(x)).version)

    full = party.ev.encrypt(party.values(party.ctx.params.max_slots))
    assert [version(full), version(full + 1), version(full * full)] == [1, 1, 1]
    part = party.ev.encrypt(party.values(VALUES))
    if party.exact:  # the number of values says it
        assert version(part) == 1
    else:
        assert (version(part), hm.inspect(bytes(part)).fields["filled"]) == (3, str(VALUES))
    assert version(part.sum()) == 3
    assert hm.inspect(bytes(part.sum())).fields["padding"] == "one value in all slots"


@pytest.mark.fact_of_the_cpu("a second context of the same device")
def test_batches_carry_it(ev):
    evaluator, decrypt = ev
    a = random(6 * VALUES).reshape(3, 2, VALUES)
    x = evaluator.encrypt(a) + 1
    for part, expected in (
        (x[1], a[1]),
        (x[::-1, 0], a[::-1, 0]),
        (x.reshape(6), a.reshape(6, -1)),
        (hm.stack([x[0], x[1]]), a[:2]),
        (hm.concatenate([x[0], x[2]]), np.concatenate([a[0], a[2]])),
        (x.copy(), a),
        (x.at_level(2), a),
        (x.shrink(), a),
        (x.to("cpu"), a),
        (x.sum(axis=0), a.sum(axis=0) + 2),
        (x.mean(axis=1), a.mean(axis=1)),
    ):
        assert part.filled == VALUES
        np.testing.assert_allclose(decrypt(part), expected + 1, rtol=1e-5)
    np.testing.assert_allclose(decrypt(x.sum(axis=-1))[..., 0], (a + 1).sum(axis=-1), rtol=1e-5)
    np.testing.assert_allclose(decrypt(x.sum(axis=2))[..., 0], (a + 1).sum(axis=2), rtol=1e-5)
    np.testing.assert_allclose(decrypt(x.sum(axis=-2)), (a + 1).sum(axis=-2), rtol=1e-5)
    refuse_each(lambda axis: x.sum(axis=axis), (3, -4), ParameterError, "axis")


def test_joined_batches_know_less(ev):
    evaluator, decrypt = ev
    x = evaluator.encrypt(random())
    lifted = x.polyval([2, 1])
    joined = hm.stack([x.at_level(lifted.level), lifted])
    np.testing.assert_allclose(decrypt(joined.sum())[:, 0], [random().sum(), (random() + 2).sum()], rtol=1e-5)
    assert hm.stack([x, x.rotate(1)]).filled == SLOTS


@pytest.mark.parametrize(
    "operation", ["add", "subtract", "multiply", "stack", "concatenate", "add_many", "dot"]
)
def test_different_numbers_of_values_do_not_fit(ev, operation):
    evaluator, _ = ev
    x, y = evaluator.encrypt(random()[None]), evaluator.encrypt(random(19)[None])
    calls = {
        "stack": lambda: hm.stack([x, y]),
        "concatenate": lambda: hm.concatenate([x, y]),
        "add_many": lambda: hm.add_many([x, y]),
        "dot": lambda: evaluator.dot([x], [y]),
    }
    with pytest.raises(MismatchError, match=f"{operation}: operands of 20 and 19 values do not fit"):
        calls.get(operation, lambda: getattr(evaluator, operation)(x, y))()
    if operation in ("add", "multiply"):
        with pytest.raises(MismatchError, match="operands of 20 and 19 values"):
            getattr(evaluator, operation)(x, evaluator.encode(random(19)))


@pytest.mark.parametrize("operation", ["add", "subtract", "multiply"])
def test_shorter_arrays_are_filled_only_when_told(ev, operation):
    evaluator, decrypt = ev
    for values, filled in ((random(), VALUES), (random(SLOTS), SLOTS)):
        x = evaluator.encrypt(values)
        short = np.arange(1, 4)
        with pytest.raises(MismatchError, match=f"3 values and a ciphertext of {filled} .*fill=True"):
            getattr(evaluator, operation)(x, short)
        result = getattr(evaluator, operation)(x, short, fill=True)
        expected = getattr(np, operation)(values, np.pad(short, (0, filled - 3)))
        np.testing.assert_allclose(decrypt(result), expected, atol=1e-6)
    refuse((lambda: getattr(evaluator, operation)(x, np.ones(33), fill=True), MismatchError, "33 values"))
    with pytest.raises(MismatchError, match="21 values and a ciphertext of 20"):
        getattr(evaluator, operation)(evaluator.encrypt(random()), np.ones(21), fill=True)


def test_integers_of_other_numbers_do_not_fit(integers):
    x = integers.ev.encrypt(np.arange(VALUES))
    for other in (
        np.arange(3),
        integers.ev.encrypt([1, 2]),
        integers.ev.encrypt([1]),
        integers.ev.encode([4]),
    ):
        with pytest.raises(MismatchError, match="do not fit"):
            x + other
    integers.check((x + np.array([3])).sum(), np.full(VALUES, (np.arange(VALUES) + 3).sum()))
    integers.check(integers.ev.multiply(x, np.arange(3), fill=True), np.pad([0, 1, 4], (0, VALUES - 3)))


@pytest.mark.parametrize("shape", [(VALUES, 7), (VALUES, VALUES), (VALUES, SLOTS)])
def test_matrices_see_the_filled_slots(ev, shape):
    evaluator, decrypt = ev
    matrix = np.random.default_rng(3).uniform(-1, 1, shape)
    x = evaluator.encrypt(random())
    for part, expected in ((x, random()), (x.polyval([1, 1]), random() + 1), (x + 2, random() + 2)):
        product = part @ matrix
        assert product.filled == shape[1]
        np.testing.assert_allclose(decrypt(product), expected @ matrix, atol=1e-4)
        np.testing.assert_allclose(decrypt(product.sum())[0], (expected @ matrix).sum(), atol=1e-3)
        np.testing.assert_allclose(decrypt(matrix.T @ part), expected @ matrix, atol=1e-4)


@pytest.mark.parametrize("rows", [5, VALUES - 1, VALUES + 1, SLOTS])
def test_matrices_of_other_rows_do_not_fit(ev, params, rows):
    evaluator, decrypt = ev
    matrix = np.random.default_rng(3).uniform(-1, 1, (rows, 3))
    x = evaluator.encrypt(random())
    for call in (
        lambda: x @ matrix,
        lambda: matrix.T @ x,
        lambda: x.dot(matrix),
        lambda: evaluator.matmul(x, matrix),
    ):
        refuse((call, MismatchError, rf"of 20 values and a matrix of shape \({rows}, 3\) do not fit.*slots="))
    padded = np.pad(random(), (0, SLOTS - VALUES))
    expected = padded[:rows] @ matrix
    np.testing.assert_allclose(decrypt(evaluator.matmul(x, matrix, slots=SLOTS)), expected, atol=1e-4)
    refuse(
        (lambda: evaluator.matmul(x, matrix, slots=16), MismatchError, "slots=16"),
        (lambda: x @ np.ones(rows), MismatchError, "do not fit"),
    )
    if rows > 16:
        with pytest.raises(MismatchError, match="does not multiply 20 values"):
            evaluator.transform(x, hm.circuits.LinearTransform(matrix.T, params))
    said = hm.circuits.LinearTransform(matrix.T, params, slots=SLOTS)
    np.testing.assert_allclose(decrypt(said(x)), expected, atol=1e-4)


def test_inner_sums_ask_for_a_mask(ev, params):
    evaluator, decrypt = ev
    sums = hm.circuits.InnerSum(params, slots=SLOTS, count=SLOTS)
    x = evaluator.encrypt(random())
    np.testing.assert_allclose(decrypt(sums(x + 1))[0], (random() + 1).sum(), rtol=1e-5)
    lifted = x.polyval([2, 1])
    refuse((lambda: sums(lifted), MismatchError, "mask them before"))
    mask = hm.circuits.Mask(np.arange(SLOTS) < VALUES, params, level=lifted.level)
    masked = mask(lifted)
    assert masked.filled == VALUES
    np.testing.assert_allclose(decrypt(sums(masked))[0], (random() + 2).sum(), rtol=1e-5)
    assert masked.sum().level == masked.level
    # One that keeps a slot which holds no value is no such mask.
    wide = hm.circuits.Mask(np.arange(SLOTS) <= VALUES, params, level=lifted.level)
    np.testing.assert_allclose(decrypt(wide(lifted).sum())[0], (random() + 2).sum(), rtol=1e-5)


@pytest.mark.parametrize("values", [[1e30, 2], [1e30], [2, -1e30j], [[1.0, 2.0], [1e30, 2]]])
def test_values_beyond_the_lowest_level_are_refused(ev, values):
    evaluator, decrypt = ev
    refuse((lambda: evaluator.encrypt(values), ParameterError, "does not fit"))
    refuse((lambda: evaluator.context.encode(values), ParameterError, "does not fit"))
    np.testing.assert_allclose(decrypt(evaluator.encrypt([5e5, 2])), [5e5, 2], atol=1e-3)
