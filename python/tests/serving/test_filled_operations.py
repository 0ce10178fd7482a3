"""Operations on slots that values do not fill, and on operands of other lengths."""

import functools

import numpy as np
import pytest

import hemera as hm
from hemera import serving
from hemera.errors import MismatchError
from hemera.program.tracing import Recorder
from hemera.program.values import Form

from ..test_filled_slots import PROGRAMS
from ..test_filled_slots import VALUES as WIDTH
from .operation_cases import MATRIX, RNG, SLOTS, Client

VECTOR = RNG.uniform(-1, 1, WIDTH)
PARTIAL = {
    **{name: each for name, each in PROGRAMS.items() if name != "matmul of vectors"},
    "twice summed": lambda x, _: x.sum().sum() if isinstance(x, serving.Symbol) else x.sum() * WIDTH,
    "vector": lambda x, _: (x + 1) @ VECTOR,
    "matrix": lambda x, _: (((x + 1) @ MATRIX[:WIDTH, :7]) + 1).sum(),
    "function": lambda x, _: (x.polyval([2, 1]) if isinstance(x, serving.Symbol) else x + 2).sum(),
    "mean of a function": lambda x, _: (x.polyval([2, 1]) if isinstance(x, serving.Symbol) else x + 2).mean(),
    "dots": lambda x, y: (
        serving.dot([x + 1, y], [y, y + 2]) if isinstance(x, serving.Symbol) else (x + 1) * y + y * (y + 2)
    ).sum(),
}


@pytest.mark.parametrize("name", PARTIAL)
def test_slots_that_fill_up_do_not_count(name):
    specs = [serving.InputSpec(each, WIDTH, slots=SLOTS) for each in "xy"]
    package = serving.export(PARTIAL[name], inputs=specs, name=name, security=None)
    rows = RNG.uniform(-0.8, 0.8, (2, 3, WIDTH))
    expected = [PARTIAL[name](x, y) for x, y in zip(*rows, strict=True)]
    for found in (package.evaluate_clear(list(rows)), Client(package).run(list(rows))):
        np.testing.assert_allclose(np.real(found)[:, 0], expected, rtol=1e-6, atol=2**-18)


def test_integers_that_fill_up_do_not_count():
    params = hm.bfv.Parameters.for_circuit(2, slots=1024, security=None)

    def circuit(x):
        return ((x + 1) * x + x.sum()).sum()

    package = serving.export(circuit, inputs=WIDTH, name="integers", params=params)
    row = RNG.integers(-20, 20, (1, WIDTH))
    for found in (package.evaluate_clear(row), Client(package).run(row)):
        assert found[0, 0] == circuit(row[0])


@pytest.mark.parametrize("shape", [(5, 3), (3, 8), (8, 8 + 1), (9, 3), (16, 3)])
def test_matrices_of_other_rows_do_not_fit(shape):
    matrix = RNG.uniform(-1, 1, shape)
    if shape[0] == 8:
        serving.export(
            lambda x: x @ matrix, inputs=[serving.InputSpec("x", 8, slots=16)], name="a", security=None
        )
        return
    spec = serving.InputSpec("x", 8, slots=16)
    for call in (
        lambda x: x @ matrix,
        lambda x: matrix.T @ x,
        lambda x: x.dot(matrix),
        lambda x: x.matmul(matrix),
    ):
        with pytest.raises(hm.errors.MismatchError, match="a value of 8 and a matrix of shape"):
            serving.export(call, inputs=[spec], name="a", security=None)
    package = serving.export(lambda x: x.matmul(matrix, slots=16), inputs=[spec], name="a", security=None)
    row = RNG.uniform(-1, 1, (1, 8))
    padded = np.pad(row, ((0, 0), (0, 8)))[:, : shape[0]]
    np.testing.assert_allclose(np.real(package.evaluate_clear(row))[:, : shape[1]], padded @ matrix)


@pytest.mark.parametrize("count", [3, WIDTH - 1, WIDTH + 1])
def test_arrays_of_other_lengths_do_not_fit(count):
    array = np.ones(count)
    spec = serving.InputSpec("x", WIDTH, slots=SLOTS)
    for call in (
        lambda x: x + array,
        lambda x: array - x,
        lambda x: x * array,
        lambda x: x @ array,
        lambda x: serving.dot([x], [array]),
    ):
        with pytest.raises(hm.errors.MismatchError, match="do not fit"):
            serving.export(call, inputs=[spec], name="a", security=None)


VALUES = np.arange(1, WIDTH + 1)
STEPS = {
    # Steps of a value that is filled in part and one that is full, with all that other slots can hold.
    "zeros": lambda x, _: x,
    "full": lambda _, f: f,
    "a number": lambda x, _: 2 - x * 3,
    "one value": lambda x, _: x - VALUES[:1],
    "an array": lambda x, _: x * VALUES + VALUES,
    "turned": lambda x, _: x.rotate(1),
    "not turned": lambda x, _: x.rotate(0),
    "turned after a number": lambda x, _: (x + 1).rotate(-2),
    "one in all": lambda x, _: -x.sum(),
    "a sum of sums": lambda x, _: x.sum().sum() + 1,
    "of all": lambda _, f: f.sum(),
    "unknown": lambda x, _: x + x.sum(),
    "a fraction of one in all": lambda x, _: x.sum() * 0.5,
    "a fraction of what is unknown": lambda x, _: x.polyval([2, 1]) * 0.5,
    "a mean": lambda x, _: x.mean(),
    "a mean of what is unknown": lambda x, _: x.polyval([2, 1]).mean(),
    "a matrix": lambda x, _: x @ MATRIX[:WIDTH, :5],
    "a polynomial of each": lambda x, _: x.polyval(np.ones((2, SLOTS)), per_slot=True),
    "one in all, of each": lambda x, _: x.sum().polyval(np.ones((2, SLOTS)), per_slot=True),
}
OF_BOTH = list(STEPS)[: list(STEPS).index("a fraction of one in all")]
MET = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}


@functools.cache
def compared(scheme):
    """What is known of the slots of a result, of a program's and of ciphertexts, as C++ joins them."""
    is_exact = scheme == "bfv"
    slots = 1024 if is_exact else SLOTS
    kind = hm.bfv.Parameters if is_exact else hm.ckks.Parameters
    params = kind.for_circuit(5, slots=slots, degree=1024, security=None)
    ctx = hm.Context(params, "cpu")
    ev = ctx.bind(ctx.generate_keys(ctx.generate_secret_key(), sum_slots=True, rotations=range(-2, SLOTS)))
    given = [ev.encrypt(np.ones(count, int if is_exact else float)) for count in (WIDTH, slots)]

    def both(function):
        recorder = Recorder(scheme, [Form(slots)] * 2, [WIDTH, slots])
        found = []
        for of, known in ((recorder.inputs, "_filling"), (given, "_native")):
            try:
                y = function(*of)
            except MismatchError:
                found.append("refused")
                continue
            found.append((y.filled, getattr(y, known).padding if y.filled < slots else "none"))
        return found

    return both


@pytest.mark.filterwarnings("ignore::hemera.errors.NoiseWarning")
@pytest.mark.parametrize(
    ("scheme", "name"), [*(("ckks", name) for name in STEPS), *(("bfv", name) for name in OF_BOTH)]
)
def test_programs_know_of_slots_what_ciphertexts_know(scheme, name):
    both, first = compared(scheme), STEPS[name]
    recorded, known = both(first)
    assert recorded == known
    for other in OF_BOTH:
        for meet in MET.values():
            recorded, known = both(lambda x, f, o=STEPS[other], m=meet: m(first(x, f), o(x, f)))
            # Values of BFV have as many slots as values: fewer ones do not meet all.
            assert recorded == known or (scheme == "bfv" and known == "refused")
