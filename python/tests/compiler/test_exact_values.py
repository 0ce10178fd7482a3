"""Values of exact programs at their ends, their parameters, what is refused, and their packaged models."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.arrays.folding import folded
from hemera.arrays.operations import Affine, Input
from hemera.arrays.recorder import Recorder
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.tensor import TensorProgram
from hemera.compiler import Compiled, exact
from hemera.errors import FormatError, MismatchError, NoiseError, ParameterError
from hemera.package.encodings import Arrays, encoding_from_data
from hemera.serving import Package

from .exact_cases import Spec, Values, assert_equal, assert_exact, both_schemes


def test_ranges_end_at_multiples_of_the_step() -> None:
    plan = assert_exact(lambda x: x * x, Spec((2,), (-13, 10), step=4))
    assert plan.inputs[0].range == (-12, 8)


@both_schemes
def test_results_next_to_half_of_the_modulus(scheme: str) -> None:
    """The least modulus that the range allows: its ends are (t - 1) / 2."""
    kind = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}[scheme]
    params = kind.for_circuit(2, plain_bits=20, slots=64, security=None)
    half = (params.plain_modulus - 1) // 2

    def program(x: Any) -> Any:
        return {"line": x * (half // 3) + x * 0, "product": x * x - 9}

    assert_exact(lambda x: x * 1, Spec((3,), (-half, half)), scheme=scheme, params=params)
    assert_exact(program, Spec((5,), (-3, 3)), scheme=scheme, params=params)
    with pytest.raises(ParameterError, match=f"modulus from {2 * half + 3} on .20 bits., and the given one"):
        hm.compile(lambda x: x * 1, Spec((3,), (-half - 1, half)), scheme=scheme, params=params)


@both_schemes
def test_large_results(scheme: str) -> None:
    plan = assert_exact(
        lambda x, y: x * y, Spec((3,), (-(2**29), 2**29)), Spec((3,), (0, 2**28)), scheme=scheme
    )
    assert plan.params.plain_modulus > 2**58
    with pytest.raises(ParameterError, match=r"test_exact_values.py:\d+.*60 bits; there are at most 59"):
        hm.compile(lambda x: x * x, Spec((3,), (0, 2**29 + 1)), scheme=scheme)


@both_schemes
def test_values_in_between_may_wrap(scheme: str) -> None:
    """Only results, and numbers of different values, must fit under the modulus."""
    plan = assert_exact(
        lambda x: {"above": x * 10**9 > 3 * 10**9, "table": (x * 10**9) // 10**8 % 8 * 3},
        Spec((5,), (-9, 9)),
        scheme=scheme,
    )
    t = plan.params.plain_modulus
    assert t < 2**20
    # Multiples of the modulus are all 0 modulo it: another one is taken.
    own = assert_exact(lambda x: x * t > 0, Spec((5,), (-2, 2)), scheme=scheme)
    assert own.params.plain_modulus != t
    for study in (lambda x: x * t > 0, lambda x: {"one": x > 0, "other": x * t > 0}):
        with pytest.raises(ParameterError, match="are multiples of the plaintext modulus"):
            hm.compile(study, Spec((5,), (-2, 2)), scheme=scheme, params=plan.params)


def test_maps_are_composed_without_rounding() -> None:
    """Maps whose product would be rounded are not composed."""
    recorder = Recorder(precision_bits=np.inf)
    x = recorder.input("x", (2,), -4, 4, None, 1)
    big = recorder.affine([(x, SparseMap.scaling(np.full(2, 2.0**40 + 1)))], (2,))
    again = recorder.affine([(big, SparseMap.scaling(np.full(2, 2.0**40 + 1)))], (2,))
    recorder.program.outputs = [("y", again)]
    assert len(folded(recorder.program, exact=True).nodes) == 3
    assert len(folded(recorder.program).nodes) == 2


def test_coefficients_are_not_rounded() -> None:
    a, b = (1 << 29) + 1, (1 << 26) + 3
    assert_exact(lambda x: (x * a * b).sum(), Spec((2,), (0, 1)))
    assert_exact(lambda x: ((x + a) * b + 1) * 3, Spec((2,), (-1, 1)))


def test_constants_beyond_float64_are_refused() -> None:
    for value in (2**53 + 1, -(2**53) - 1, 2**60):
        with pytest.raises(ParameterError, match=r"beyond 2\^53"):
            hm.compile(lambda x, value=value: x + value, Spec((2,), (0, 1)), scheme="bfv")
    assert_exact(lambda x: x + (2**53 - 1), Spec((2,), (0, 1)))


@pytest.mark.parametrize(("scheme", "count"), [("bfv", 1), ("bgv", 8)])
def test_tables_of_each_element_for_several_samples(scheme: str, count: int) -> None:
    """And sums of what was looked up, where slots without elements must be 0; all of multiples of 5."""
    ends = np.array([1, 2, 3])

    def program(x: Any) -> Any:
        return {
            "above": x > 5 * ends,
            "rests": x // 5 % 4 * (x > 5 * ends),
            "sum": (x // 5 % 3).sum(),
            "other": (x > 5).sum(),
        }

    plan = hm.compile(program, Spec((3,), (0, 30), step=5), scheme=scheme, samples=count, security=None)
    x = 5 * np.random.default_rng(count).integers(0, 7, (count + 1, 3) if count > 1 else (3,))
    found = plan.evaluate_clear(x)
    rows = [program(each) for each in (x if count > 1 else [x])]
    for name in rows[0]:
        np.testing.assert_array_equal(
            found[name].reshape(len(rows), -1), [np.ravel(each[name]) for each in rows]
        )


def test_parameters_are_the_smallest_that_are_certain() -> None:
    plan = hm.compile(lambda x: x.sum(), Spec((100,), (0, 9)), scheme="bfv")
    assert plan.params.security_bits >= 128
    assert plan.params.degree == 4096
    wide = hm.compile(lambda x: x.sum(), Spec((100,), (0, 9)), scheme="bfv", security=192)
    assert wide.params.security_bits >= 192


@pytest.mark.parametrize("products", [1, 5])
@pytest.mark.parametrize("enough", [1, 2, 5, 9, 60, 61])
def test_the_least_depth_that_leaves_a_budget_is_taken(
    products: int, enough: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the number of products too, where these are of small values; up to 60."""
    monkeypatch.setattr(exact._Search, "_at", lambda _, depth: ("steps", depth) if depth >= enough else None)
    search = exact._Search.__new__(exact._Search)
    search._program, search._scheme = SimpleNamespace(depth=products), "bfv"  # type: ignore[assignment]
    if enough <= 60:
        assert search._without_bootstraps() == ("steps", enough)
    else:
        with pytest.raises(
            ParameterError, match=f"no BFV parameters hold this program, of {products} products"
        ):
            search._without_bootstraps()


@both_schemes
def test_given_parameters_without_room_are_refused(scheme: str) -> None:
    kind = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}[scheme]
    small = kind.for_circuit(1, plain_bits=20, slots=64, security=None)
    with pytest.raises(NoiseError, match="no noise budget that is certain"):
        hm.compile(lambda x: x**200, Spec((4,), (-1, 1)), scheme=scheme, params=small)
    other = {"bfv": "bgv", "bgv": "bfv"}[scheme]
    with pytest.raises(MismatchError, match=f"takes parameters of {other.upper()}"):
        hm.compile(lambda x: x, Spec((4,), (0, 1)), scheme=other, params=small)
    coefficients = kind.for_circuit(1, plain_modulus=1 << 20, security=None)
    for size in (4, 5000):
        with pytest.raises(ParameterError, match="has no slots"):
            hm.compile(lambda x: x, Spec((size,), (0, 1)), scheme=scheme, params=coefficients)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x.mean(), "0.125 is not whole.* return the sum and divide after decryption"),
        (lambda x: x + 0.5, "0.5 is not whole"),
        (lambda x: x * np.array([1, 2.5, 1, 1, 1, 1, 1, 1]), "2.5 is not whole"),
        (lambda x: x @ np.full((8, 2), 0.1), "0.1 is not whole"),
        (lambda x: np.concatenate([x, [0.25]]), "0.25 is not whole"),
        (lambda x: np.exp(x), "exp is an approximation.*after decryption"),
        (lambda x: x**-1, "1 / x is an approximation"),
        (lambda x: 2**x, r"2 \*\* x is an approximation"),
        (lambda x: hm.circuits.sigmoid((-8, 8), bits=8)(x), "sigmoid is an approximation"),
        (lambda x: np.sin(x), "values, from 1 to 50000 in steps of 1.* at most 64"),
        (lambda x: np.where(x.sum() > 9, x, 0), "up to 399993 values, from -1 to 399991.* at most 64"),
        (lambda x: x.prod(), "too large; give the inputs a narrower range .range=., or"),
    ],
)
def test_what_is_not_exact_is_refused_with_its_line(function: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as error:
        hm.compile(function, Spec((8,), (1, 50_000)), scheme="bfv")
    assert error.match(r"test_exact_values.py:\d+")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision_bits": 16}, "results are exact"),
        ({"share": True}, "no errors"),
        ({"shares": 10}, "no errors"),
        ({"device": "cpu-avx512-16"}, "by noise budgets"),
        ({"calibrate": np.zeros((3, 4))}, "no bounds"),
        ({"margin": 0.1}, "no bounds"),
    ],
)
def test_options_of_approximate_programs_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(options))}= does not go with .*{message}"):
        hm.compile(lambda x: x, Spec((4,), (0, 1)), scheme="bfv", **options)


@pytest.mark.parametrize(
    "spec",
    [
        Spec((4,), (0, 1.5)),
        Spec((4,), (0, 1), step=0.5),
        Spec((4,), (0, 1), step=0),
        Spec((4,), (0, 1), step=-1),
        Spec((4,), (0, 2**53)),
        Spec((4,)),
        np.zeros(4),
    ],
)
def test_inputs_that_are_not_whole_are_refused(spec: Any) -> None:
    with pytest.raises(ParameterError, match="input"):
        hm.compile(lambda x: x, spec, scheme="bfv")


def test_other_schemes_and_whole_division_without_one() -> None:
    with pytest.raises(ParameterError, match="scheme must be 'ckks', 'bfv' or 'bgv', not 'tfhe'"):
        hm.compile(lambda x: x, Spec((4,), (0, 1)), scheme="tfhe")
    with pytest.raises(ParameterError, match="at most 10 different values"):
        hm.compile(lambda x: x // 2, Spec((4,), (0, 10), step=1))
    for wrong in (lambda x: x // 2.5, lambda x: x % x, lambda x: 7 % x):
        with pytest.raises(TypeError):
            hm.compile(wrong, Spec((4,), (1, 8)), scheme="bfv")
    with pytest.raises(ZeroDivisionError):
        hm.compile(lambda x: x // 0, Spec((4,), (1, 8)), scheme="bfv")
    with pytest.raises(TypeError, match="can not depend on them"):
        hm.compile(lambda x: x if x.sum() > 3 else -x, Spec((4,), (0, 1)), scheme="bfv")


@pytest.mark.parametrize(
    ("largest", "between", "least"),
    [
        (100, 100, 201),
        (100, 2**53, 201),
        # Beyond 2^53 ranges are rounded, by less than 2^-30 of the largest number that they came of.
        (100, 2**60, 2 * (100 + 2**30) + 1),
        (2**57 - 1, 2**57 - 1, 2 * (2**57 - 1 + 2**27) + 1),
    ],
)
def test_the_least_modulus_holds_results_with_their_signs(largest: int, between: int, least: int) -> None:
    program = TensorProgram()
    program.add(Input("x", -between, between), (), (), "", (-between, between))
    program.add(Affine((SparseMap.scaling(np.ones(1)),)), (0,), (), "", (-largest, largest))
    program.outputs = [("y", 1)]
    assert exact._least_modulus(program) == pytest.approx(least, rel=1e-12)


def survey(answers: Any) -> Any:
    return {"counts": np.histogram(answers, [1, 2, 3, 4, 5, 6])[0], "high": (answers > 3).sum()}


@functools.cache
def plan_of(scheme: str) -> Compiled:
    plan: Compiled = hm.compile(survey, Spec((30,), (1, 5)), scheme=scheme, security=None, name="survey")
    return plan


def answers(count: int, seed: int = 1) -> Values:
    return np.random.default_rng(seed).integers(1, 6, (count, 30))


@both_schemes
def test_the_plan_states_what_it_is(scheme: str) -> None:
    plan = plan_of(scheme)
    assert plan.outputs == {"counts": (5,), "high": ()}
    assert plan.inputs[0].step == 1
    assert plan.slots == plan.params.max_slots
    report = plan.report()
    assert "look-up of 5 values" in report
    assert "test_exact_values.py:" in report
    assert plan.cost().report()
    with pytest.raises(ParameterError, match="are exact: they have no errors"):
        _ = plan.sharing


def test_check_compares_without_rounding() -> None:
    plan = plan_of("bfv")
    found = plan.check(answers(4), encrypted=2, threads=1)
    assert (found.samples, found.encrypted, found.error, found.clear_error) == (4, 2, 0, 0)
    assert "exactly equal" in str(found)
    plan._function = lambda x: {**survey(x), "high": (x > 3).sum() + 1}
    try:
        assert plan.check(answers(1), threads=1).error == 1
        plan._function = lambda x: {**survey(x), "high": (x > 3)}
        with pytest.raises(MismatchError, match="other shapes"):
            plan.check(answers(1), encrypted=0)
    finally:
        plan._function = survey
    large = hm.compile(lambda x: x * 2**40, Spec((1,), (0, 2**15)), scheme="bfv", security=None)
    large._function = lambda x: x * 2**40 + 1
    # As numbers of float64 the results would be equal.
    assert large.check(np.full((1, 1), 2**15), threads=1).error == 1


@both_schemes
def test_files(scheme: str, tmp_path: Path) -> None:
    plan = plan_of(scheme)
    plan.save(tmp_path / "survey.hemera-model")
    again = Package.load(tmp_path / "survey.hemera-model")
    assert again.to_bytes() == plan.package.to_bytes()
    x = answers(1)[0]
    assert_equal(again.evaluate_clear(x), survey(x))
    context = hm.Context(again.params, threads=1)
    sk = context.generate_secret_key()
    model = again.prepare(context)
    slots = again.interface.encode(x)[0]
    assert slots.dtype == np.int64
    given = context.encrypt(context.encode(slots), sk)
    results = model.run(again.generate_keys(context, sk), [given])
    assert_equal(again.interface.decode([context.decrypt(each, sk) for each in results]), survey(x))


def test_encodings_take_whole_numbers_alone() -> None:
    plan = hm.compile(lambda x: x > 6, Spec((2,), (-12, 12), step=3), scheme="bfv", security=None)
    interface = plan.package.interface
    for given in ([3, 9], [3.0, 9.0], np.array([3, 9], np.uint8), np.array([3, 9], object)):
        assert interface.encode(np.asarray(given))[0].dtype == np.int64
    for wrong in (
        [3, 1],
        [3, 1.5],
        [3, 15],
        [3, np.nan],
        [3, 2**70],
        [3, np.inf],
        ["a", "b"],
        [3, 1j],
        [3, None],
    ):
        with pytest.raises(ParameterError, match=r"^x: "):
            interface.encode(np.asarray(wrong))
    with pytest.raises(MismatchError):
        interface.encode(np.zeros(3, int))


def test_damaged_encodings_are_refused() -> None:
    data = plan_of("bfv").package.interface.encoding.to_data()
    read = encoding_from_data(data, (), ())
    assert isinstance(read, Arrays)
    assert (read.whole, read.to_data()) == (True, data)
    for steps in ([], [1, 1], [0], [1.5], ["1"]):
        with pytest.raises((FormatError, ParameterError, TypeError)):
            encoding_from_data({**data, "steps": steps}, (), ())
