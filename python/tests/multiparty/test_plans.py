"""Flooding and margin are tied; their judge is the formula."""

import math

import numpy as np
import pytest

from hemera import _core, errors

from ..refusals import raises
from .federation_oracle import errors as drawn_errors
from .federation_setting import DEGREE, Committee, nonce


def test_floodings_have_their_deviation():
    committee = Committee()
    oracle = committee.oracle(committee.list({"x": 1}))
    drawn = np.concatenate([oracle.flooding(nonce(k), k) for k in range(20)]).astype(float)
    measured = np.std(drawn) / 2.0**committee.plan.margin.flooding_log2
    assert abs(measured - 1) < 5 / math.sqrt(2 * len(drawn))


def least_flooding_log2(margin):
    """sqrt(12 openings) 2^(bits / 2) |v|, |v|^2 <= sigma^2 |w|^2 (N + 2 sqrt(N x) + 2 x) but for e^-x."""
    x = math.log(2.0**margin.failure_bits * margin.openings)
    norm = (
        margin.sigma
        * margin.weight_norm
        * math.sqrt(margin.degree + 2 * math.sqrt(margin.degree * x) + 2 * x)
    )
    return math.log2(math.sqrt(12 * margin.openings) * 2 ** (margin.opening_bits / 2) * norm)


def most_noise_log2(margin):
    tail = math.sqrt(2 * math.log(2 * margin.values * 2.0**margin.failure_bits))
    flooding = tail * 2.0**margin.flooding_log2 * math.sqrt(margin.pieces)
    rounding = margin.pieces * 2.0 ** (margin.share_dropped - 1)
    uploads = margin.weight_sum * 2.0 ** (margin.upload_dropped - 1)
    return math.log2(flooding + rounding + uploads + tail * margin.sigma * margin.weight_norm)


PLANS = [
    {},
    {"contributors": 1, "rounds": 1, "values": 1},
    {"contributors": 100, "rounds": 10_000, "values": 2**20},
    {"weight": 1000, "contributors": 100},
    {"members": 9, "threshold": 5, "value_bits": 8},
    {"failure_bits": 128},
]


@pytest.mark.parametrize("given", PLANS)
def test_flooding_and_margin_are_tied(given):
    """Moving either constant of a plan makes it fail."""
    plan = Committee(**given).plan
    margin = plan.margin
    assert margin.openings == -(-given.get("values", 40) // DEGREE) * given.get("rounds", 100)
    assert margin.flooding_log2 == math.ceil(least_flooding_log2(margin))
    assert margin.noise_log2 == pytest.approx(most_noise_log2(margin), abs=1e-9)
    assert margin.noise_log2 < margin.delta_log2 - 1
    assert margin.delta_log2 == pytest.approx(math.log2(math.prod(plan.primes) >> margin.sum_bits), abs=1e-9)
    margin.require()
    changes = [
        lambda m: setattr(m, "flooding_log2", m.flooding_log2 - 1),
        lambda m: setattr(m, "flooding_log2", m.flooding_log2 + 3),
        lambda m: setattr(m, "opening_bits", m.opening_bits + 2),
        lambda m: setattr(m, "openings", m.openings * 4),
        lambda m: setattr(m, "sigma", m.sigma * 2),
        lambda m: setattr(m, "weight_norm", m.weight_norm * 2),
        lambda m: setattr(m, "weight_sum", m.weight_sum * 8),
        lambda m: setattr(m, "upload_dropped", m.upload_dropped + 3),
        lambda m: setattr(m, "share_dropped", m.share_dropped + 12),
        lambda m: setattr(m, "delta_log2", m.delta_log2 - 2),
        lambda m: setattr(m, "sum_bits", m.sum_bits - 1),
        lambda m: setattr(m, "value_bits", m.value_bits + 1),
        lambda m: setattr(m, "pieces", m.pieces * 1000),
    ]
    for change in changes:
        moved = plan.margin
        change(moved)
        raises(errors.NoiseError, "", moved.require)


def test_errors_stay_below_their_bound():
    """The norm that floodings hide: of forty sums of eight errors."""
    margin = Committee().plan.margin
    norms = []
    for trial in range(40):
        v = sum(drawn_errors(nonce(trial), k, DEGREE, 3.19) for k in range(8))
        norms.append(float(np.linalg.norm(v.astype(float))))
    assert 0.75 * 2**margin.error_norm_log2 < max(norms) < 2**margin.error_norm_log2


def plan_with(**changed):
    usual = {"values": 10, "value_bits": 16, "contributors": 8, "weight": 1, "rounds": 10}
    usual |= {"opening_bits": 40, "pieces": 3, "degree": DEGREE, "security": None}
    return _core.FederationPlan(**(usual | changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"values": 0},
        {"value_bits": 1},
        {"value_bits": 41},
        {"contributors": 0},
        {"weight": 0},
        {"rounds": 0},
        {"opening_bits": 0},
        {"opening_bits": 65},
        {"failure_bits": 39},
        {"failure_bits": 129},
        {"pieces": 0},
        {"pieces": 129},
        {"degree": 1000},
        {"degree": 512},
        {"degree": 0},
        {"weight": 2**32, "value_bits": 40},
        {"security": 128},
        {"security": 128, "degree": 4096, "opening_bits": 64, "weight": 2**20},
    ],
)
def test_plans_that_are_refused(changed):
    raises(errors.ParameterError, "", plan_with, **changed)


def test_fewer_failures_cost_a_bit():
    """A bit of the modulus, or less; a plan for 2^-40 has no room for 2^-128."""
    plans = [plan_with(failure_bits=bits, values=2**20, contributors=100) for bits in (40, 128)]
    assert 0 <= plans[1].upload_bits - plans[0].upload_bits <= 1
    margins = [plan.margin for plan in plans]
    for margin in margins:
        margin.upload_dropped, margin.share_dropped = 0, 0
        margin.flooding_log2 = 30
    assert 0.5 < margins[1].noise_log2 - margins[0].noise_log2 < 1
    margin = plans[0].margin
    margin.upload_dropped = 0
    margin.delta_log2 = margin.noise_log2 + 1.01
    margin.require()
    margin.failure_bits = 128
    raises(errors.NoiseError, r"stay below half|does not hide", margin.require)


def test_a_plan_of_a_large_model():
    """2^20 parameters, a hundred clients, a thousand rounds: 31 bits up, 36 a share."""
    plan = plan_with(values=2**20, contributors=100, rounds=1000, degree=4096, security=128)
    assert plan.upload_bits <= 31
    assert plan.share_bits <= 36
    assert plan.parameters.security in (">=128", ">=192")
