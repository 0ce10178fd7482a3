"""Parameters of exact programs, and what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest

import hemera as hm
from hemera.arrays.operations import Affine, Input
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.tensor import Node, TensorProgram
from hemera.compiler import exact
from hemera.errors import MismatchError, NoiseError, ParameterError

from ..refusals import raises
from .exact_cases import Spec, both_schemes


def test_parameters_are_the_smallest_that_are_certain():
    plan = hm.compile(lambda x: x.sum(), Spec((100,), (0, 9)), scheme="bfv")
    assert plan.params.security_bits >= 128
    assert plan.params.degree == 4096
    wide = hm.compile(lambda x: x.sum(), Spec((100,), (0, 9)), scheme="bfv", security=192)
    assert wide.params.security_bits >= 192


@pytest.mark.parametrize("products", [1, 2, 5, 8])
@pytest.mark.parametrize("enough", [1, 2, 3, 4, 7, 8, 9, 60, 61])
def test_the_least_depth_that_leaves_a_budget_is_taken(products, enough, monkeypatch):
    """Below the number of products too, where these are of small values; up to 60."""
    monkeypatch.setattr(exact._Search, "_at", lambda _, depth: ("steps", depth) if depth >= enough else None)
    search = exact._Search.__new__(exact._Search)
    search._program, search._scheme = SimpleNamespace(depth=products), "bfv"
    if enough <= 60:
        assert search._without_bootstraps() == ("steps", enough)
    else:
        with pytest.raises(
            ParameterError, match=f"no BFV parameters hold this program, of {products} products"
        ):
            search._without_bootstraps()


@both_schemes
def test_given_parameters_without_room_are_refused(scheme):
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
        (lambda x: x / 2, "0.5 is not whole"),
        (lambda x: x + 0.5, "0.5 is not whole"),
        (lambda x: x * np.array([1, 2.5, 1, 1, 1, 1, 1, 1]), "2.5 is not whole"),
        (lambda x: x @ np.full((8, 2), 0.1), "0.1 is not whole"),
        (lambda x: np.concatenate([x, [0.25]]), "0.25 is not whole"),
        (lambda x: x.var(), "0.125 is not whole"),
        (lambda x: np.exp(x), "exp is an approximation.*after decryption"),
        (lambda x: np.sqrt(x), "sqrt is an approximation"),
        (lambda x: 1 / x, "1 / x is an approximation"),
        (lambda x: x**-1, "1 / x is an approximation"),
        (lambda x: 2**x, r"2 \*\* x is an approximation"),
        (lambda x: hm.circuits.sigmoid((-8, 8), bits=8)(x), "sigmoid is an approximation"),
        (lambda x: np.sin(x), "values, from 1 to 50000 in steps of 1.* at most 64"),
        (lambda x: np.where(x.sum() > 9, x, 0), "up to 399993 values, from -1 to 399991.* at most 64"),
        (lambda x: x.prod(), "too large; give the inputs a narrower range .range=., or"),
    ],
)
def test_what_is_not_exact_is_refused_with_its_line(function, message):
    with pytest.raises(ParameterError, match=message) as error:
        hm.compile(function, Spec((8,), (1, 50_000)), scheme="bfv")
    assert error.match(r"test_exact_refusals.py:\d+")


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
def test_options_of_approximate_programs_are_refused(options, message):
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
def test_inputs_that_are_not_whole_are_refused(spec):
    raises(ParameterError, "input", hm.compile, lambda x: x, spec, scheme="bfv")


def test_other_schemes_and_whole_division_without_one():
    with pytest.raises(ParameterError, match="scheme must be 'ckks', 'bfv' or 'bgv', not 'tfhe'"):
        hm.compile(lambda x: x, Spec((4,), (0, 1)), scheme="tfhe")
    with pytest.raises(ParameterError, match="at most 10 different values"):
        hm.compile(lambda x: x // 2, Spec((4,), (0, 10), step=1))
    for wrong in (lambda x: x // 2.5, lambda x: x % x, lambda x: 7 % x):
        with pytest.raises(TypeError):
            hm.compile(wrong, Spec((4,), (1, 8)), scheme="bfv")
    raises(ZeroDivisionError, "", lambda: hm.compile(lambda x: x // 0, Spec((4,), (1, 8)), scheme="bfv"))
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
def test_the_least_modulus_holds_results_with_their_signs(largest, between, least):
    program = TensorProgram()
    same = Affine((SparseMap.scaling(np.ones(1)),))
    program.add(Input("x", -largest, largest), (), (), "", (-largest, largest))
    program.add(same, (0,), (), "", (-between, between))
    program.add(same, (1,), (), "", (-largest, largest))
    program.outputs = [("y", 2)]
    assert exact._least_modulus(program) == pytest.approx(least, rel=1e-12)


def test_the_least_modulus_is_above_inputs():
    program = TensorProgram()
    program.add(Input("x", -202, 7), (), (), "", (-202, 7))
    program.add(Affine((SparseMap.scaling(np.ones(1)),)), (0,), (), "", (-100, 100))
    program.outputs = [("y", 1)]
    assert exact._least_modulus(program) == 203
    program.nodes[0] = Node(program.nodes[0].operation, (), (), "", (-200, 7))
    assert exact._least_modulus(program) == 201
