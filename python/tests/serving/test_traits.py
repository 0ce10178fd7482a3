"""What operations of programs say of themselves, against NumPy's results of all of them."""

import ast
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.errors import ParameterError
from hemera.package.error_bounds import noise_bounds
from hemera.program import operations as op
from hemera.program.expected_noise import ExpectedNoise
from hemera.program.program import Program
from hemera.program.values import Form

RNG = np.random.default_rng(31)
PARAMS = hm.ckks.Parameters.for_circuit(6, scale_bits=40, slots=8, degree=1024, security=None)
CUBIC, TANH = hm.circuits.Polynomial([0.5, 0.25, 0, -0.1]), hm.circuits.tanh((-2, 2), bits=8)


def examples(period, slots):
    """For each operation one with numbers that repeat, the batch that it takes, and how many of them."""
    numbers, matrix = np.tile(RNG.uniform(0.2, 1, (3, period)), slots // period), RNG.normal(size=(4, 3))
    rows, steps = RNG.integers(1, 9, (3, min(4, period))), (0, 1, 3)
    one = [op.Negate(), op.Power(3), op.AddNumber(0.5), op.MultiplyNumber(0.5), op.Conjugate()]
    one += [op.AddArray(numbers[0]), op.MultiplyArray(numbers[1]), op.Sum(), op.Rotate(3), op.RotateRows(3)]
    one += [op.SwapRows(), op.Matmul(matrix), op.Map.of(steps, rows / 7), op.RowMap.of(steps, rows)]
    one += [op.OfPolynomial.of(CUBIC), op.OfNamedFunction("tanh", TANH.recipe), op.Bootstraps(real=True)]
    found = [(own, (), 1) for own in (*one, op.Lower(1), op.ExactBootstraps())]
    found += [(own, (), 2) for own in (op.Add(), op.Subtract(), op.Multiply(), op.Dot())]
    found += [(own, (3,), 1) for own in (op.Take(1), op.Reordered([2, 0, 0]), op.Rotations((1, 0)))]
    found += [(op.MatrixRows(matrix, [[0], [1], [2]]), (3,), 1), (op.DotArrays(tuple(numbers)), (), 3)]
    found += [(op.Joined(), (3,), 2), (op.SumsOfProducts([[0, 1]], [[2, 1]]), (3,), 2)]
    found += [(op.Parts(), (2,), 1), (op.Join(), (2,), 1), (op.PairProducts(), (2,), 2)]
    return {own.name: (own, shape, count) for own, shape, count in found}


ALL = examples(8, 8)
CKKS = [name for name in ALL if "ckks" in op.OPERATIONS[name].schemes and name != "bootstrap"]
REAL = ("polynomial", "function")


def results(operation, xs, slots=8):
    program = Program(operation.schemes[0], [Form(slots, x.shape[:-1]) for x in xs])
    program.give(program.add(operation, *range(len(xs))))
    return program.evaluate_clear(xs)[0]


def values(name):
    """Operands of 8 slots: complex ones, but of functions."""
    found = RNG.uniform(-1, 1, (2, ALL[name][2], *ALL[name][1], 8))
    return list(found[0] if name in REAL else found[0] + 1j * found[1])


@pytest.mark.parametrize(("whole", "period", "slots"), [(False, 8, 8), (True, 4, 32)])
@pytest.mark.parametrize("name", ALL)
def test_slots_of_several_samples_have_each_ones(name, whole, period, slots):
    operation = examples(period, slots)[name][0]
    many = operation.with_samples(4, whole)
    assert many or ALL[name][1] or name in ("sum", "swap rows", "matmul")

    def interleaved(own):
        slot_by_slot = np.stack(own, axis=-1).reshape(*own[0].shape[:-1], -1)
        return np.tile(slot_by_slot, slots // period // 4 if whole else 1)

    samples = [[x[..., :period] for x in values(name)] for _ in range(4)]
    each = [results(operation, [np.tile(x, slots // period) for x in xs], slots) for xs in samples]
    if many is not None:
        assert getattr(many, "baby_steps", 0) == 4 * getattr(operation, "baby_steps", 0)  # as many rotations
        wanted = interleaved([own[..., :period] for own in each])
        operands = [interleaved(own) for own in zip(*samples, strict=True)]
        np.testing.assert_allclose(results(many, operands, wanted.shape[-1]), wanted, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_what_is_linear_and_slot_by_slot(name):
    operation, factor = ALL[name][0], 0.25 if name in REAL else 0.25 - 0.5j
    xs, ys = values(name), values(name)
    together = results(operation, [x / 2 + factor * y for x, y in zip(xs, ys, strict=True)])
    apart = results(operation, xs) / 2 + factor * results(operation, ys)
    assert np.allclose(together, apart, rtol=0, atol=1e-9) == operation.linear
    if operation.summand is not None:
        np.testing.assert_allclose(results(operation, xs), xs[0] + operation.summand)
    halved = operation.halved() or operation
    np.testing.assert_allclose(results(halved, xs) * (1 + (halved is not operation)), results(operation, xs))
    assert halved.depth == operation.depth
    if operation.slotwise:  # in each ciphertext of a batch
        pairs = [np.stack(pair) for pair in zip(xs, ys, strict=True)]
        before = results(operation, pairs).copy()
        np.testing.assert_allclose(before[0], results(operation, xs), atol=1e-12)
        for pair in pairs:
            pair[1, 3] = 0.125
        assert np.argwhere(results(operation, pairs) != before).tolist() == [[1, 3]]


@pytest.mark.parametrize("name", CKKS)
def test_drawn_noise_is_below_the_bounds(name):
    operation, shape, count = ALL[name]
    program = Program("ckks", [Form(8, shape)] * count)
    program.give(program.add(operation, *range(count)))
    noise, xs = ExpectedNoise(program, PARAMS), [x.real for x in values(name)]
    (exact,) = program.evaluate_clear(xs, changed=noise.rounded)
    errors = [program.evaluate_clear(xs, changed=noise.added)[0] - exact for _ in range(40)]
    drawn = float(np.sqrt(np.mean(np.abs(errors) ** 2)))
    assert 2.0**-38 < drawn < 2.0**-25
    if type(operation).bounded is not op.Operation.bounded and name != "power":
        assert drawn < noise_bounds(program, PARAMS, [1.0] * count, {})[0] < 2.0**14 * drawn
        return
    with pytest.raises(ParameterError, match=f"'{name}' has no worst-case bound"):
        noise_bounds(program, PARAMS, [1.0] * count, {})


@pytest.mark.parametrize("name", [name for name in CKKS if op.OPERATIONS[name].scales])
def test_scales_are_those_of_ciphertexts(name, ckks):
    operation = ALL[name][0].validated("ckks").without_rescale()
    xs = [ckks.ctx.encrypt(x.real, ckks.sk) for x in values(name)]
    plan = operation.plan(op.Place(ckks.ctx.params, xs[0].level, Form(8, xs[0].shape)))
    wanted = xs[0].scale ** (1 if operation.scales == "kept" else 2) * operation.factor
    assert operation.run(op.Running(ckks.ev, plan), *xs).scale == pytest.approx(wanted, rel=1e-6)


def test_no_pass_has_a_list_of_operations():
    """A file names at most two kinds of operations in `isinstance`, tuples and unions."""
    assert op.OPERATIONS.keys() - ALL == {"integers"}  # of digits alone
    top, kinds = Path(hm.__file__).parent, {kind.__name__ for kind in op.OPERATIONS.values()}
    names = {f"op.{kind}" for kind in kinds} | kinds - {"Multiply"}  # which arrays have too
    passes = [each for room in ("program", "package", "exporting") for each in top.glob(f"{room}/*.py")]
    for path in [*passes, *top.glob("compiler/**/*.py")]:
        told = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_asked = isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
            if is_asked or isinstance(node, (ast.Tuple, ast.List, ast.BinOp)):
                told |= names & {ast.unparse(each) for each in ast.iter_child_nodes(node)}
        assert len(told) <= 2, f"{path} tells {told} apart"
