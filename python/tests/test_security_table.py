"""The fixed weights of src/rlwe/security.cpp are what tools/security_table.py derives from the estimates."""

import pytest

import hemera as hm
import security_table as table
from hemera import _core
from hemera.parameters import max_log_modulus

WEIGHTS = (1, 16, 31, 32, 63, 64, 127, 128, 191, 192, 193, 512, 5461, 5462, 21845, 21846, 43690, 43691, 65536)


def row(attack, bits, **changes):
    """An estimate at N = 2^16, weight 192 and 1,000 bits."""
    point = {"log_degree": 16, "weight": 192, "log_modulus": 1000, "model": "MATZOV"}
    point |= {"time_limit": False, "search": "grid"}
    return {**point, "attack": attack, "bits": bits, **changes}


@pytest.mark.parametrize("bits", [128, 192, 256])
@pytest.mark.parametrize("log_degree", range(10, 18))
def test_the_library_has_what_the_estimates_give(log_degree, bits):
    derived = table.derive(table.load())
    for weight in WEIGHTS:
        expected = table.look_up(derived, log_degree, weight, bits)
        assert max_log_modulus(1 << log_degree, bits, weight) == expected, weight


def test_estimates_are_of_one_kind():
    rows = table.load()
    for line in rows:
        assert (line["sigma"], line["samples"]) == (3.19, 2 << line["log_degree"])
        assert line["estimator"] == "27a581bb (2026-06-06)"
        assert 0 < line["bits"] < 1000
    assert {line["model"] for line in rows} == {"MATZOV", "ADPS16"}
    # The estimator gives uniform secrets what the guidelines' table gives them.
    uniform = {
        (line["log_degree"], line["log_modulus"]): line["bits"]
        for line in rows
        if line["weight"] == 0 and line["model"] == "MATZOV"
    }
    of_table = [uniform.pop(size) for size in ((12, 106), (13, 214), (15, 868), (16, 1747))]
    assert of_table == pytest.approx([128] * 4, abs=1.5)
    # The rings of searches are below that table.
    assert {
        (params.degree.bit_length() - 1, round(params.log_union + params.log_special)): bits
        for params, bits in zip(map(_core.search_parameters, (False, True)), (140.8, 195.2), strict=True)
    } == uniform


def test_a_fixed_weight_is_never_allowed_more_than_a_uniform_secret():
    for entry in table.derive(table.load()):
        uniform = max_log_modulus(1 << entry.log_degree, entry.bits)
        assert uniform is not None
        assert entry.log_modulus <= uniform


@pytest.mark.parametrize(
    ("rows", "bits"),
    [
        ([row("dual_mitm", 132), row("bdd_mitm", 140)], 128),
        ([row("dual_mitm", 140), row("bdd_mitm", 131.9)], None),
        ([row("dual_mitm", 200), row("bdd_mitm", 196)], 192),
        # One of the two is missing: 8 bits; a search that was cut off: 16; both.
        ([row("dual_mitm", 140)], 128),
        ([row("dual_mitm", 139.9)], None),
        ([row("dual_mitm", 140), row("bdd_mitm", 147.9, time_limit=True)], None),
        ([row("dual_mitm", 140), row("bdd_mitm", 148, time_limit=True)], 128),
        ([row("dual_mitm", 155.9, time_limit=True)], None),
        ([row("dual_mitm", 156, time_limit=True)], 128),
        # A lower estimate by another search of the same attack, whole or cut off.
        ([row("dual_mitm", 140), row("bdd_mitm", 134, time_limit=True), row("bdd_mitm", 133)], 128),
        ([row("dual_mitm", 140), row("bdd_mitm", 133, time_limit=True), row("bdd_mitm", 134)], None),
        ([row("dual_mitm", 140), row("bdd_mitm", 133, time_limit=True), row("bdd_mitm", 133)], 128),
        # The estimator's own search: 8 bits, unless the grid found the same.
        ([row("dual_mitm", 140), row("bdd_mitm", 139.9, search="direct")], None),
        ([row("dual_mitm", 140), row("bdd_mitm", 140, search="direct")], 128),
        ([row("dual_mitm", 140), row("bdd_mitm", 133, search="direct"), row("bdd_mitm", 133)], 128),
        # Any attack counts; none of the two, other models and what is no attack do not.
        ([row("dual_mitm", 140), row("bdd_mitm", 140), row("usvp", 131)], None),
        ([row("dual_hybrid", 180), row("usvp", 180)], None),
        ([row("dual_mitm", 180, model="ADPS16")], None),
        ([row("dual_mitm", 140), row("what_if_cube_root", 100)], 128),
        # Weights below 64: 16 bits, and no more than 126 bits of modulus.
        ([row("dual_mitm", 152, weight=32, log_modulus=126)], 128),
        ([row("dual_mitm", 151.9, weight=32, log_modulus=126)], None),
        ([row("dual_mitm", 180, weight=32, log_modulus=127)], None),
    ],
)
def test_rules(rows, bits):
    derived = table.derive(rows)
    assert max((entry.bits for entry in derived), default=None) == bits


def test_the_largest_modulus_is_the_entry():
    rows = [row("dual_mitm", 150 - step, log_modulus=1000 + step) for step in (0, 5, 20)]
    assert table.derive(rows) == [(16, 192, 128, 1005)]


def test_refusals_say_which_table_refuses():
    """SEAL's default for N = 8192 has 128 bits by the table of 2018, which is not the one asked for."""
    sizes = {"degree": 8192, "prime_bits": [43, 43, 44, 44], "special_bits": [44], "digits": 4}
    words = "by the table of 2018 alone, and by that of 2024 less than the 128 bits asked for: log2"
    with pytest.raises(hm.errors.SecurityError, match=words):
        hm.bfv.Parameters.from_bits(plain_modulus=786433, **sizes)
    sizes |= {"prime_bits": [49] * 6, "special_bits": [49], "digits": 6}
    with pytest.raises(hm.errors.SecurityError, match="have security below 128, less than the 128 bits"):
        hm.bfv.Parameters.from_bits(plain_modulus=786433, **sizes)


def test_secrets_in_blocks_have_the_entry_that_their_estimates_give():
    blocks = table.ESTIMATES.with_name("blocks.jsonl")
    derived = table.derive(table.load(blocks))
    assert derived == [table.Entry(14, 64, 128, 95)]
    source = (table.ESTIMATES.parents[2] / "src" / "rlwe" / "security.cpp").read_text()
    rows = source.split("block_table[] = {")[1].split("};")[0]
    assert rows.split() == ["{14,", "64,", "128,", "95},"]
