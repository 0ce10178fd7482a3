"""Operations on batches whose slots are samples, encrypted, against the same in the clear."""

import numpy as np
import pytest

import hemera as hm
from hemera import serving
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.exporting.function import package
from hemera.package.dry_run import keys_of_a_run
from hemera.package.encodings import Vectors
from hemera.package.specs import InputSpec, OutputSpec
from hemera.program import operations as op
from hemera.program.program import Program
from hemera.program.values import Form

from ..refusals import raises

RNG = np.random.default_rng(8)
SLOTS, COUNT = 32, 6
MATRIX = RNG.normal(size=(3, 2))
TAKEN = np.array([[0, 4, 2, 2], [5, 1, 3, 0]])
LEFT, RIGHT = np.array([[0, 5, 2], [1, 1, 4]]), np.array([[3, 0, 2], [1, 5, 0]])
PARAMS = hm.ckks.Parameters.for_circuit(3, scale_bits=40, slots=SLOTS, degree=1024, security=None)

CASES = {
    "reordered": lambda p: p.add(op.Reordered([5, 0, 0, 3]), 0),
    "joined": lambda p: p.add(op.Joined(), 0, p.add(op.Reordered([1, 2]), 0), 0),
    "joined products": lambda p: p.add(op.Joined(), p.add(op.Multiply(), 0, 0), p.add(op.Power(2), 0)),
    "joined levels": lambda p: p.add(op.Joined(), 0, p.add(op.MultiplyNumber(0.3), 0)),
    "rotations": lambda p: p.add(op.Rotations((3, 0, -5)), 0),
    "rotations of a product": lambda p: p.add(op.Rotations((0, 1)), p.add(op.Multiply(), 0, 0)),
    "sums of products": lambda p: p.add(op.SumsOfProducts(LEFT, RIGHT), 0, 0),
    "sums of many products": lambda p: p.add(
        op.SumsOfProducts(np.tile(LEFT, (20, 3)), np.tile(RIGHT, (20, 3))), 0, 0
    ),
    "many functions": lambda p: p.add(op.Power(3), p.add(op.Reordered(np.arange(150) % COUNT), 0)),
    "one part": lambda p: p.add(op.MatrixRows(np.tile(MATRIX, 3), np.arange(COUNT)[:, None], 32), 0),
    "8 bits": lambda p: p.add(op.MatrixRows(MATRIX, TAKEN, 8), 0),
    "16 bits": lambda p: p.add(op.MatrixRows(MATRIX, TAKEN, 16), 0),
    "32 bits": lambda p: p.add(op.MatrixRows(MATRIX, TAKEN, 32), 0),
    "whole": lambda p: p.add(op.MatrixRows(np.array([[1.0, -2], [0, 3]]), TAKEN), 0),
    "of a product": lambda p: p.add(op.MatrixRows(MATRIX, TAKEN, 32), p.add(op.Multiply(), 0, 0)),
    "whole, of a product": lambda p: p.add(op.MatrixRows(np.ones((1, 2)), TAKEN), p.add(op.Power(2), 0)),
    "parts": lambda p: p.add(op.Join(), p.add(op.Parts(), p.add(op.Multiply(), 0, 0))),
    "two layers": lambda p: p.add(
        op.MatrixRows(MATRIX, [[0], [11]], 32), p.add(op.MatrixRows(MATRIX, TAKEN, 32), 0)
    ),
}


def packaged(make):
    program = Program("ckks", [Form(SLOTS, (COUNT,))])
    program.give(make(program))
    form = program.forms[program.outputs[0]]
    found = package(
        program,
        [InputSpec("x", SLOTS, SLOTS, (COUNT,))],
        [OutputSpec("y", SLOTS, form.shape)],
        PARAMS,
        name="case",
        description="",
        encoding=Vectors(),
    )
    return serving.Package.load(bytes(found))


@pytest.mark.parametrize("name", CASES)
def test_operations_are_those_in_the_clear(name):
    model = packaged(CASES[name])
    assert model.interface.keys == keys_of_a_run(model.interface, model.program)
    ctx = hm.Context(PARAMS, threads=1)
    sk = ctx.generate_secret_key()
    prepared, keys = model.prepare(ctx), model.generate_keys(ctx, sk)
    tolerance = 0.1 if name == "8 bits" else 1e-3 if name == "16 bits" else 1e-6
    for requests in ((), (1,), (3,), (2, 2)):
        x = RNG.uniform(-1, 1, (*requests, COUNT, SLOTS))
        (y,) = prepared.run(keys, [ctx.encrypt(x, sk)])
        (wanted,) = model.program.evaluate_clear([x])
        assert (*y.shape, SLOTS) == wanted.shape == (*requests, *model.outputs[0].shape, SLOTS)
        np.testing.assert_allclose(ctx.decrypt(y, sk), wanted, atol=tolerance)


def test_the_clear_ones_are_numpys():
    x = RNG.normal(size=(2, COUNT, SLOTS))
    rows = op.MatrixRows(MATRIX, TAKEN).clear(x)
    for request in range(2):
        for row in range(3):
            for part in range(4):
                own = sum(MATRIX[row, j] * x[request, TAKEN[j, part]] for j in range(2))
                np.testing.assert_allclose(rows[request, row * 4 + part], own, atol=1e-12)
    np.testing.assert_array_equal(op.Reordered([5, 0]).clear(x), x[:, [5, 0]])
    np.testing.assert_array_equal(
        op.Rotations((3, 0)).clear(x), np.concatenate([np.roll(x, -3, axis=-1), x], axis=1)
    )
    sums = np.stack([x[:, 0] * x[:, 3] + x[:, 1] ** 2, x[:, 5] * x[:, 0] + x[:, 1] * x[:, 5]], axis=1)
    np.testing.assert_allclose(op.SumsOfProducts(LEFT[:, :2], RIGHT[:, :2]).clear(x, x), sums, atol=1e-12)
    np.testing.assert_array_equal(op.Joined().clear(x, x[:, :1]), np.concatenate([x, x[:, :1]], axis=1))


def test_weights_of_32_bits_are_closer():
    x = RNG.normal(size=(COUNT, SLOTS))
    errors = {}
    for bits in (8, 16, 32):
        own = op.MatrixRows(MATRIX, TAKEN, bits)
        plan = own.plan(op.Place(PARAMS, 3, Form(SLOTS, (COUNT,))))
        assert len(plan) == (2 if bits == 32 else 1)
        errors[bits] = np.abs(own.rounded(plan, x) - own.clear(x)).max()
    assert errors[8] > 50 * errors[16] > 50 * 2**12 * errors[32] > 0
    exact = op.MatrixRows(np.ones((1, 2)), TAKEN)
    assert (exact.depth, exact.plan(op.Place(PARAMS, 3, Form(SLOTS, (COUNT,))))) == (0, ())
    assert op.MatrixRows(32768 * np.ones((1, 2)), TAKEN).depth == 1
    assert op.MatrixRows(0.5 * np.ones((1, 2)), TAKEN).depth == 1


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (lambda: op.Reordered([6]), MismatchError),
        (lambda: op.Reordered([-1]), ParameterError),
        (lambda: op.Reordered([0.0]), TypeError),
        (lambda: op.Reordered([[0]]), TypeError),
        (lambda: op.Reordered([1 << 20]), ParameterError),
        (lambda: op.Rotations(()), MismatchError),
        (lambda: op.Rotations((1 << 20,)), ParameterError),
        (lambda: op.MatrixRows(MATRIX, TAKEN + 1), MismatchError),
        (lambda: op.MatrixRows(MATRIX, TAKEN[:1]), MismatchError),
        (lambda: op.MatrixRows(MATRIX * 1j, TAKEN), MismatchError),
        (lambda: op.MatrixRows(MATRIX[0], TAKEN), MismatchError),
        (lambda: op.MatrixRows(MATRIX, TAKEN, 12), ParameterError),
        (lambda: op.MatrixRows(MATRIX, TAKEN, 64), ParameterError),
    ],
)
def test_what_does_not_fit_is_refused(operation, error):
    program = Program("ckks", [Form(SLOTS, (COUNT,))])
    raises(error, "", program.add, operation(), 0)
    for wrong in (LEFT + 1, LEFT[:, :1]):
        with pytest.raises(MismatchError):
            Program("ckks", [Form(SLOTS, (COUNT,))]).add(op.SumsOfProducts(wrong, RIGHT), 0, 0)
    raises(MismatchError, "", Program("ckks", [Form(SLOTS, (COUNT, 2))]).add, op.Reordered([0]), 0)
    raises(MismatchError, "", Program("ckks", [Form(SLOTS, (COUNT,)), Form(SLOTS)]).add, op.Joined(), 0, 1)
    with pytest.raises(MismatchError):
        Program("ckks", [Form(SLOTS, (4,)), Form(SLOTS, (8,))]).add(op.PairProducts(), 0, 1)


def test_damaged_programs_are_refused():
    model = packaged(CASES["16 bits"])
    arrays = []
    data = model.program.to_data(arrays)
    assert Program.from_data(data, arrays).forms == model.program.forms
    data["nodes"][0]["bits"] = 10
    raises(FormatError, "8, 16 or 32", Program.from_data, data, arrays)
