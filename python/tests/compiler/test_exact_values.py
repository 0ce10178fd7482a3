"""Values of exact programs at their ends: large results, wraps, and coefficients without rounding."""

import numpy as np
import pytest

import hemera as hm
from hemera.arrays.folding import folded
from hemera.arrays.recorder import Recorder
from hemera.arrays.sparse_map import SparseMap
from hemera.errors import ParameterError

from .exact_cases import Spec, assert_exact, both_schemes


def test_ranges_end_at_multiples_of_the_step():
    plan = assert_exact(lambda x: x * x, Spec((2,), (-13, 10), step=4))
    assert plan.inputs[0].range == (-12, 8)


@both_schemes
def test_results_next_to_half_of_the_modulus(scheme):
    """The least modulus that the range allows: its ends are (t - 1) / 2."""
    kind = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}[scheme]
    params = kind.for_circuit(2, plain_bits=20, slots=64, security=None)
    half = (params.plain_modulus - 1) // 2

    def program(x):
        return {"line": x * (half // 3) + x * 0, "product": x * x - 9}

    assert_exact(lambda x: x * 1, Spec((3,), (-half, half)), scheme=scheme, params=params)
    assert_exact(program, Spec((5,), (-3, 3)), scheme=scheme, params=params)
    with pytest.raises(ParameterError, match=f"modulus from {2 * half + 3} on .20 bits., and the given one"):
        hm.compile(lambda x: x * 1, Spec((3,), (-half - 1, half)), scheme=scheme, params=params)


@both_schemes
def test_large_results(scheme):
    plan = assert_exact(
        lambda x, y: x * y, Spec((3,), (-(2**29), 2**29)), Spec((3,), (0, 2**28)), scheme=scheme
    )
    assert plan.params.plain_modulus > 2**58
    with pytest.raises(ParameterError, match=r"test_exact_values.py:\d+.*60 bits; there are at most 59"):
        hm.compile(lambda x: x * x, Spec((3,), (0, 2**29 + 1)), scheme=scheme)


@both_schemes
def test_values_in_between_may_wrap(scheme):
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


def test_maps_are_composed_without_rounding():
    """Maps whose product would be rounded are not composed."""
    recorder = Recorder(precision_bits=np.inf)
    x = recorder.input("x", (2,), -4, 4, None, 1)
    big = recorder.affine([(x, SparseMap.scaling(np.full(2, 2.0**40 + 1)))], (2,))
    again = recorder.affine([(big, SparseMap.scaling(np.full(2, 2.0**40 + 1)))], (2,))
    recorder.program.outputs = [("y", again)]
    assert len(folded(recorder.program, exact=True).nodes) == 3
    assert len(folded(recorder.program).nodes) == 2


def test_coefficients_are_not_rounded():
    a, b = (1 << 29) + 1, (1 << 26) + 3
    assert_exact(lambda x: (x * a * b).sum(), Spec((2,), (0, 1)))
    assert_exact(lambda x: ((x + a) * b + 1) * 3, Spec((2,), (-1, 1)))


def test_constants_beyond_float64_are_refused():
    for value in (2**53 + 1, -(2**53) - 1, 2**60):
        with pytest.raises(ParameterError, match=r"beyond 2\^53"):
            hm.compile(lambda x, value=value: x + value, Spec((2,), (0, 1)), scheme="bfv")
    assert_exact(lambda x: x + (2**53 - 1), Spec((2,), (0, 1)))


@both_schemes
@pytest.mark.parametrize("count", [1, 2, 8])
def test_tables_of_each_element_for_several_samples(scheme, count):
    """And sums of what was looked up, where slots without elements must be 0; all of multiples of 5."""
    ends = np.array([1, 2, 3])

    def program(x):
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
