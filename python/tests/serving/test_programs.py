"""Programs and their operations as they are made: levels, forms, plans and what is kept of them."""

import numpy as np
import pytest

import hemera as hm
from hemera.errors import FormatError, LevelError, MismatchError, ParameterError
from hemera.program import operations as op
from hemera.program.expected_noise import ExpectedNoise
from hemera.program.keys import KeyList, OwnKey
from hemera.program.operations import Place
from hemera.program.operations.base import in_parts
from hemera.program.program import Program
from hemera.program.stored_arrays import Room, StoredArray
from hemera.program.tracing import dot, record
from hemera.program.values import (
    MAX_AXES,
    MAX_ELEMENTS,
    MAX_SLOTS,
    Form,
    constant,
    form_with_array,
    integer,
    real,
)

from ..refusals import raises

RNG = np.random.default_rng(12)
SLOTS = 32
PARAMS = hm.ckks.Parameters.for_circuit(5, scale_bits=40, slots=SLOTS, degree=1024, security=None)
DIVIDE = {"numerator_low": -1, "numerator_high": 1, "denominator_low": 2, "denominator_high": 4, "bits": 8}


def program_of(*operations, inputs=None, scheme="ckks"):
    """A program with the last value as its output."""
    found = Program(scheme, [Form(SLOTS)] if inputs is None else inputs)
    for operation, operands in operations:
        found.add(operation, *operands)
    found.give(len(found.forms) - 1)
    return found


@pytest.mark.parametrize("operands", [(1, 2), (2, 1), (0, 2), (2, 0)])
def test_the_deepest_operand_decides(operands):
    """Values 1 and 2 have a depth of 1 and 3."""
    program = program_of((op.MultiplyNumber(0.5), (0,)), (op.Power(5), (0,)), (op.Add(), operands))
    top = PARAMS.levels - 1
    assert program.depth == 3
    assert program.levels(PARAMS) == [top, top - 1, top - 3, top - 3]
    place = program.place(program.nodes[2], PARAMS, program.levels(PARAMS))
    assert (place.level, place.form) == (top - 3, Form(SLOTS))
    for inputs in ([top + 1], [-1]):
        with pytest.raises(LevelError, match=f"inputs at levels .*fresh encryptions are at {top}"):
            program.levels(PARAMS, inputs)


EDGES = [
    # What is tried with a number, the last that is taken, the first that is not, the error and its message.
    (lambda a: op.Take(a).form([Form(4, (3, 2))]), 2, 3, MismatchError, "index 3 of a batch"),
    (lambda a: op.Power(a).validated("ckks"), 2, 1, ParameterError, "exponent"),
    (lambda a: op.Lower(a).validated("ckks"), 1, 0, ParameterError, "levels"),
    (lambda a: op.Rotate(a).validated("ckks"), MAX_SLOTS - 1, MAX_SLOTS, ParameterError, "rotation"),
    (lambda a: op.Rotate(a).validated("ckks"), 1 - MAX_SLOTS, -MAX_SLOTS, ParameterError, "rotation"),
    (lambda a: op.AddNumber(a).validated("bfv"), 1 << 62, (1 << 62) + 1, ParameterError, "a summand"),
    (lambda a: op.MultiplyNumber(a).validated("bgv"), 3, 3.5, TypeError, "a factor"),
    (lambda a: op.MultiplyNumber(a).validated("ckks"), 1e300, np.inf, ParameterError, "finite"),
    (lambda a: op.Bootstraps(iterations=a).validated("ckks"), 8, 9, ParameterError, "iterations"),
    (lambda a: op.Bootstraps(magnitude=a).validated("ckks"), 1e-9, 0.0, ParameterError, "positive"),
    (lambda a: op.ExactBootstraps(0, a).validated("bfv"), 128, 129, ParameterError, "probability"),
    (lambda a: op.ExactBootstraps(0, a).validated("bfv"), 40, 39, ParameterError, "probability"),
    (lambda a: op.ExactBootstraps(a).validated("bfv"), 16, 17, ParameterError, "passes"),
    (lambda a: op.Matmul(np.ones((a, 3))).form([Form(8)]), 8, 9, MismatchError, "do not fit"),
    (lambda a: op.Matmul(np.ones((3, a))).form([Form(8)]), 8, 9, MismatchError, "do not fit"),
    (lambda a: op.Map.of([a], np.ones((1, 4))).form([Form(8)]), 7, 8, MismatchError, "do not fit"),
    (lambda a: op.Map.of([0], np.ones((1, a))).form([Form(8)]), 8, 16, MismatchError, "period 16"),
    (lambda a: op.RowMap.of([0], np.ones((1, a))).form([Form(8)]), 4, 8, MismatchError, "period 8"),
    (lambda a: op.Dot().form([Form(8)] * a), 4, 3, MismatchError, "3 operands are no pairs"),
    (lambda a: op.Join().form([Form(8, (3, a))]), 2, 3, MismatchError, "two values"),
    (lambda a: form_with_array("add", Form(8), np.ones(a)), 8, 9, MismatchError, r"shape \(9,\)"),
    (lambda a: Form(a), MAX_SLOTS, MAX_SLOTS + 1, ParameterError, "slots"),
    (lambda a: Form(1, (1,) * a), MAX_AXES, MAX_AXES + 1, ParameterError, "axes"),
    (lambda a: Form(1, (a,)), MAX_ELEMENTS, MAX_ELEMENTS + 1, ParameterError, "ciphertexts"),
    (lambda a: Form(1, (a,)), 1, 0, ParameterError, "batch of shape"),
    (lambda a: integer(a, "it", -1, 4), 4, 5, ParameterError, "it must be from -1 to 4, not 5"),
    (lambda a: integer(a, "it", -1, 4), -1, -2, ParameterError, "it must be from -1 to 4, not -2"),
    (lambda a: integer(a, "it", 0, 4), np.int8(1), True, TypeError, "not bool"),
    (lambda a: real(a, "it"), np.float32(1), True, TypeError, "not bool"),
    (lambda a: real(a, "it"), 1, np.nan, ParameterError, "finite"),
    (lambda a: program_of((op.Add(), (0, a))), 0, 1, ParameterError, "a value's number"),
    (lambda a: program_of((op.Rotate(1), (0,) * a)), 1, 2, ParameterError, "takes 1 values, not 2"),
    (lambda a: program_of((op.Rotate(1), (0,)), scheme=a), "ckks", "bfv", ParameterError, "BFV has no"),
    (
        lambda a: op.OfNamedFunction("sign", {"gap": 0.5, "bits": a}).validated("ckks"),
        4,
        51,
        ParameterError,
        "50",
    ),
]


@pytest.mark.parametrize("at", range(len(EDGES)))
def test_the_last_that_is_taken_and_the_first_that_is_not(at):
    tried, last, first, error, message = EDGES[at]
    tried(last)
    raises(error, message, tried, first)


def test_values_are_brought_into_the_interval_of_each_input():
    x, y = np.array([-3.0, 0.5, 3.0, 1.0]), np.array([1.0, 3.0, 9.0, 2.0])
    program = program_of((op.OfNamedFunction("divide", DIVIDE), (0, 1)), inputs=[Form(4)] * 2)
    (found,) = program.evaluate_clear([x, y], clip=True)
    np.testing.assert_allclose(found, np.clip(x, -1, 1) / np.clip(y, 2, 4), atol=2.0**-8)
    raises(hm.errors.RangeError, "", program.evaluate_clear, [x, y])
    power = program_of((op.OfPolynomial.of(hm.circuits.Polynomial([0, 0, 1])), (0,)), inputs=[Form(4)])
    np.testing.assert_allclose(power.evaluate_clear([x], clip=True)[0], x**2)  # of any values


def test_arrays_are_encoded_for_the_slots_the_level_and_the_scale_of_what_they_meet(ckks):
    """Added to one after the other, each right."""
    values, array = RNG.uniform(-1, 1, 16), RNG.uniform(-1, 1, 16)
    top = ckks.ctx.params.levels - 1
    for product, combined in ((False, values + array), (True, values * array)):
        encoded = op.Encoded(array, product=product)
        for level, scale in ((top, 2.0**40), (top, 2.0**35), (top - 1, 2.0**35), (top, 2.0**40)):
            x = ckks.ctx.encrypt(ckks.ctx.encode(values, level=level, scale=scale), ckks.sk)
            plain = encoded.for_operand(ckks.ev, x)
            y = ckks.ev.multiply(x, plain) if product else ckks.ev.add(x, plain)
            np.testing.assert_allclose(ckks.ctx.decrypt(y, ckks.sk), combined, atol=2.0**-16)


@pytest.mark.parametrize(
    ("first", "second", "calls"),
    [
        ((64,), (64,), 1),
        ((65,), (65,), 2),
        ((128,), (128,), 2),
        ((2, 65), (2, 65), 3),
        ((130,), (1,), 1),
        ((130,), (), 1),
    ],
)
def test_large_batches_are_taken_some_at_a_time(ckks, first, second, calls):
    """Batches of one shape; others are broadcast at once."""
    x, y = (RNG.uniform(-1, 1, (*shape, 4)) for shape in (first, second))
    counted = []

    def multiply(a, b):
        counted.append(a)
        return ckks.ev.multiply(a, b)

    found = in_parts(multiply, [ckks.ctx.encrypt(each, ckks.sk) for each in (x, y)])
    assert (found.shape, len(counted)) == (first, calls)
    np.testing.assert_allclose(ckks.ctx.decrypt(found, ckks.sk), x * y, atol=2.0**-16)


@pytest.mark.parametrize("own_keys", [False, True])
@pytest.mark.parametrize("numbers", [(0, 1, 2, 3), (0, 5, 9, 30), tuple(range(0, 32, 2))])
def test_baby_steps_are_decided_as_the_plan_chooses_them(numbers, own_keys):
    """Once, with the keys that the matrix takes by itself, whatever its values are."""
    diagonals = RNG.normal(size=(len(numbers), SLOTS))
    place = Place(PARAMS, 3, Form(SLOTS))
    kept = op.Map.of(numbers, diagonals)
    own = op.Map(kept.numbers, kept.values, kept.places, own_keys=own_keys)
    wanted = hm.circuits.LinearTransform.from_diagonals(
        dict(zip(numbers, diagonals, strict=True)), PARAMS, slots=SLOTS, level=3, own_keys=own_keys
    )
    decided = own.decided(place)
    assert decided.decided(place) is decided
    assert decided.baby_steps > 0
    assert (decided.own_keys, decided.samples) == (own_keys, 1)
    for each in (own, decided, decided.without_values()):
        assert each.plan(place).rotations == wanted.rotations
        assert repr(each.plan(place).needed_keys) == repr(wanted.needed_keys)
    x = RNG.normal(size=SLOTS)
    np.testing.assert_allclose(decided.clear(x), wanted.evaluate_clear(x).real, atol=1e-12)


def test_a_program_tells_all_its_rotations():
    """As many keys as clients make."""
    program = program_of(
        (op.Rotations((3, 0, -5)), (0,)), (op.Take(1), (1,)), (op.Rotate(7), (2,)), inputs=[Form(SLOTS, (2,))]
    )
    assert program.told_keys(PARAMS, program.levels(PARAMS)).rotations.keys() == {3, SLOTS - 5, 7}
    program = program_of((op.Map.of((0, 1, 8), np.ones((3, SLOTS))), (0,)), (op.Rotate(9), (1,)))
    assert program.told_keys(PARAMS, program.levels(PARAMS)).rotations.keys() == {1, 8, 9}


def test_the_noise_of_a_rescale_is_that_of_the_secret_s_weight():
    """sqrt(2 n (1 + h) / 12) / scale, of 2 N / 3 coefficients on average, or of as many as there are."""
    sparse = hm.ckks.Parameters.for_bootstrapping("test-40")
    for params, weight in ((PARAMS, 2 * 1024 / 3), (sparse, sparse._native.secret_weight)):
        scale = params._native.scale
        for slots in (8, 64):
            wanted = np.sqrt(2 * slots * (1 + (weight or 2 * params.degree / 3)) / 12) / scale
            assert ExpectedNoise.of_rescale(params, slots) == pytest.approx(wanted, rel=1e-9)


def test_lists_of_keys_as_data():
    """Files from before relinearization keys had a level have them for the highest one; others are refused at
    the first number that is none."""
    top = PARAMS.levels - 1
    data = KeyList(1, {3: top, -2: 0}, None, pairs=((4, top),)).to_data()
    assert KeyList.from_data(data, PARAMS).to_data() == data
    old = {name: value for name, value in data.items() if name != "relinearization_level"}
    assert KeyList.from_data(old, PARAMS).relinearization == top
    assert KeyList.from_data({**old, "relinearization": False}, PARAMS).relinearization is None
    for wrong in (
        {"rotations": [[3, top + 1]]},
        {"rotations": [[MAX_SLOTS + 1, 0]]},
        {"conjugation": -1},
        {"relinearization_level": top + 1},
        {"pairs": [[1, top]]},
        {"pairs": [[4, 0]]},
        {"own": [["rotation", 1, 1, 0]]},
        {"own": [["rotation", 1, 1, 65]]},
        {"own": [["spin", 1, 1, 1]]},
        {"bootstraps": [{"slots": 1, "real": True, "iterations": 1, "merge_parts": False}]},
        {"bootstraps": [{"slots": 2, "real": True, "iterations": 9, "merge_parts": False}]},
    ):
        raises(ParameterError, "", KeyList.from_data, {**data, **wrong}, PARAMS)


@pytest.mark.parametrize("modulus", [5, 8, 17])
def test_integers_in_the_clear_are_the_nearest_to_zero(modulus):
    """From -(t - 1) / 2 to t / 2."""
    program = program_of((op.MultiplyNumber(3), (0,)), inputs=[Form(4 * modulus)], scheme="bfv")
    x = np.arange(-2 * modulus, 2 * modulus)
    (found,) = program.evaluate_clear([x], modulus)
    assert found.dtype == np.int64
    assert (found.min(), found.max()) == (-((modulus - 1) // 2), modulus // 2)
    np.testing.assert_array_equal((found - 3 * x) % modulus, 0)


def test_arrays_of_programs_are_copies_of_their_type():
    given = np.arange(4)
    for scheme, kind in (("ckks", np.float64), ("bfv", np.int64)):
        program = program_of((op.AddArray(given), (0,)), inputs=[Form(4)], scheme=scheme)
        kept = program.nodes[0].operation.values
        assert (kept.dtype, kept.flags.writeable, np.shares_memory(kept, given)) == (kind, False, False)
    assert constant(1j * given, "ckks", "it").dtype == np.complex128
    for wrong, scheme in ((given + 0.5, "bfv"), (np.zeros((2, 0)), "ckks"), (["a"], "ckks")):
        raises(TypeError, "it: ", constant, wrong, scheme, "it")


def test_arrays_of_files_are_made_once_for_each_type():
    made, room = [], Room(4 * 8 + 4 * 16)
    stored = StoredArray("<i1", (4,), lambda: made.append(1) or bytes([1, 2, 3, 255]), room)
    first = stored.converted(np.float64)
    assert first.tolist() == [1, 2, 3, -1]
    assert stored.converted("<f8") is first
    assert np.asarray(stored, np.complex128).tolist() == [1, 2, 3, -1]
    assert len(made) == 2
    with pytest.raises(FormatError, match=r"takes 32 bytes of memory, and all before it 96: .* may take 96"):
        stored.converted(np.int64)


def test_outputs_have_names_of_their_places_or_keys():
    forms = [Form(4)] * 2
    for function, names, outputs in (
        (lambda x, y: x + y, ["output"], [2]),
        (lambda x, y: [y, x], ["output0", "output1"], [1, 0]),
        (lambda _, y: (y,), ["output"], [1]),
        (lambda x, y: {"b": x, 3: y}, ["b", "3"], [0, 1]),
    ):
        program, found = record(function, "ckks", forms)
        assert (found, program.outputs) == (names, outputs)
    for wrong in (lambda *_: [], lambda x, _: [x, 1], lambda *_: None):
        raises(TypeError, "the function returns", record, wrong, "ckks", forms)


def test_keys_of_one_level_are_told():
    wanted = {
        OwnKey("rotation", -3, 2, 1): "rotation by -3 at level 2 alone",
        OwnKey("relinearization", 0, 4, 2): "relinearization at level 4 alone",
    }
    assert {key: str(key) for key in wanted} == wanted


def _windows(x, count, stride):
    return sum(np.roll(x, -k * stride, axis=-1) for k in range(count))


MATRIX = RNG.normal(size=(SLOTS, SLOTS))
METHODS = {
    # Methods of two values, with all that operators and methods of programs can be, and the same by NumPy.
    "numbers": (lambda x, y: 2 - 3 * x / 4 + y * 0.5 - 1, lambda x, y: 2 - 3 * x / 4 + y * 0.5 - 1),
    "arrays": (
        lambda x, y: (MATRIX[0] - x) / (2 + MATRIX[1] ** 2) * y,
        lambda x, y: (MATRIX[0] - x) / (2 + MATRIX[1] ** 2) * y,
    ),
    "powers": (lambda x, y: x**1 + x**3 - y.square() * -y + +x, lambda x, y: x + x**3 + y**3 + x),
    "turned": (
        lambda x, y: x.rotate(3) - y.rotate(-2) + x.rotate(0),
        lambda x, y: np.roll(x, -3, -1) - np.roll(y, 2, -1) + x,
    ),
    "sums": (
        lambda x, y: x.sum() * y - y.mean(),
        lambda x, y: x.sum(-1, keepdims=True) * y - y.mean(-1, keepdims=True),
    ),
    **{
        f"windows of {n}, {k} apart": (
            lambda x, _, n=n, k=k: x.inner_sum(n, stride=k),
            lambda x, _, n=n, k=k: _windows(x, n, k),
        )
        for n, k in ((1, 1), (2, 1), (2, 5), (8, 1), (8, 2), (4, 8))
    },
    "inner products": (
        lambda x, y: x.dot(y) + y @ MATRIX[0],
        lambda x, y: (x * y + y * MATRIX[0]).sum(-1, keepdims=True) + 0 * x,
    ),
    "matrices": (lambda x, y: x @ MATRIX - MATRIX @ y, lambda x, y: x @ MATRIX - y @ MATRIX.T),
    "polynomials": (
        lambda x, y: x.polyval([1, 0, -2]) + y.polyval([0, 1], basis="chebyshev", interval=(-4, 4)),
        lambda x, y: 1 - 2 * x**2 + y / 4,
    ),
    "sums of products": (
        lambda x, y: dot([x, y], [y, y]) + dot([x, y], [MATRIX[0], MATRIX[1]]),
        lambda x, y: x * y + y * y + x * MATRIX[0] + y * MATRIX[1],
    ),
    "conjugates": (lambda x, y: x.conjugate() * y, lambda x, y: np.conj(x) * y),
}


@pytest.mark.parametrize("name", METHODS)
def test_values_of_programs_have_numpys_operators(name):
    recorded, judge = METHODS[name]
    program, _ = record(recorded, "ckks", [Form(SLOTS)] * 2)
    x, y = RNG.uniform(-2, 2, (2, 3, SLOTS))
    (found,) = program.evaluate_clear([x, y])
    np.testing.assert_allclose(found, judge(x, y), atol=1e-9)


def test_rows_of_integers_are_turned_and_exchanged():
    program, _ = record(
        lambda x: x.rotate(1) * 2 - x.swap_rows() + x.inner_sum(2, stride=2), "bfv", [Form(16)]
    )
    x = RNG.integers(-9, 9, 16)
    rows = x.reshape(2, 8)
    wanted = np.roll(rows, -1, 1) * 2 - rows[::-1] + rows + np.roll(rows, -2, 1)
    np.testing.assert_array_equal(program.evaluate_clear([x], 65537)[0], wanted.ravel())


@pytest.mark.parametrize("count", [0, 3, -2])
def test_windows_are_powers_of_two(count):
    with pytest.raises(ParameterError, match=f"a power of two, not {count}"):
        record(lambda x: x.inner_sum(count), "ckks", [Form(8)])
