"""Parameters of bootstraps without cliffs: digits are found, keys are secure, refusals have the way out."""

import math
import re

import pytest

import hemera as hm
from hemera.errors import ParameterError

from .refusals import refuse

of = hm.ckks.Parameters.for_bootstrapping

_LARGEST = 1747
"""log2 of the largest modulus of 128 bits at N = 2^16: J.-P. Bossuat et al., 2024/463, Table 5.2."""


def widest_key(params):
    """log2 of the largest modulus of a key: of the bootstrap's, and of the user's own."""
    needs = hm.circuits.Bootstrap(params, 2**15).needed_keys
    own = [sum(map(math.log2, [*need.primes, *need.special_primes])) for need in needs]
    return max(*own, params.log_modulus)


# Scales with few levels or many, and at the preset's 14, where the number of digits changes.
@pytest.mark.parametrize(("levels", "scale_bits"), [(5, 36), (14, 39), (16, 40)])
def test_found_parameters_are_secure_and_bootstrap(levels, scale_bits):
    params = of(levels=levels, scale_bits=scale_bits)
    assert widest_key(params) <= _LARGEST
    assert hm.circuits.Bootstrap(params, 2**15).levels_left == levels
    assert params.scale == pytest.approx(2.0**scale_bits, rel=0.05)


@pytest.mark.parametrize(
    ("preset", "fingerprint"),
    [
        ("n16-40", "6dff9c88c905851e"),
        ("n16-40-light", "b2faead4617a590e"),
        ("n16-40-sparse128", "308a44540486a532"),
        ("n16-40-precise", "c8d8d970e7889182"),
        ("n16-45", "88b4a272322f9154"),
        ("n16-59", "e6f111ca810b1218"),
        ("n15-31", "8bf928b191b7aebd"),
        ("n15-40", "a7de8f487884568a"),
        ("n15-36", "fe07a0adef21275a"),
        ("n15-34", "00a5fee2e002c133"),
        ("n15-30", "a2d41c4f02527c90"),
        ("n16-exact", "ea3c93bf9133632c"),
        ("test-40", "e21a8a615d1f8f1f"),
        ("test-exact", "1760a9fda8383c98"),
    ],
)
def test_presets_are_as_they_were(preset, fingerprint):
    assert of(preset).fingerprint[:16] == fingerprint


def test_digits_of_the_preset_stay_where_they_are_secure():
    assert (of(levels=14), of(levels=15)) == (of(levels=14, digits=2), of(levels=15, digits=3))
    assert of(levels=13, scale_bits=38) == of(levels=13, scale_bits=38, digits=5)


@pytest.mark.parametrize(("levels", "scale_bits"), [(20, 38)])
def test_too_many_levels_are_refused_with_the_most_that_fit(levels, scale_bits):
    with pytest.raises(ParameterError, match=r"do not have 128 bits .* is below 128") as told:
        of(levels=levels, scale_bits=scale_bits)
    found = re.search(r"at most (\d+) levels", str(told.value))
    assert found is not None
    most = int(found[1])
    assert widest_key(of(levels=most, scale_bits=scale_bits)) <= _LARGEST
    refuse((lambda: of(levels=most + 1, scale_bits=scale_bits), ParameterError, f"at most {most} levels"))


def test_too_much_security_is_refused_with_the_largest():
    # No estimate gives 192 bits to the ephemeral secret, whatever the levels.
    with pytest.raises(ParameterError, match=r"192 bits .* no level .* security of 13 levels is 128"):
        of(security=192)


def test_other_reasons_and_digits_by_hand_are_told_as_they_are():
    refuse(
        (lambda: of(levels=15, digits=2), ParameterError, "digits"),
        (lambda: of(digits=99), ParameterError, "at least as many primes"),
        (lambda: of(levels=0), ParameterError, "needs a level of the user's"),
    )
    # The widest key of a bootstrap, though the user's own keys were secure.
    refuse((lambda: of(levels=23, digits=12), ParameterError, "a key of a bootstrap is over"))


def test_deep_circuits_name_the_way_out():
    circuit = hm.ckks.Parameters.for_circuit
    refuse((lambda: circuit(42), ParameterError, r"depth 42 .*for_bootstrapping, or degree=2\*\*17"))
    assert (circuit(42, degree=2**17).degree, circuit(2, slots=2**16).degree) == (2**17, 2**17)
    assert circuit(34).degree == 2**16
