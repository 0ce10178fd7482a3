"""Parameters: constructors, properties, security, pickling."""

import math
import pickle
import re

import pytest

import hemera as hm
from hemera.errors import MismatchError, ParameterError, SecurityError, SecurityWarning
from hemera.parameters import require_security

from .conftest import make_params
from .refusals import raises, refuse


@pytest.mark.parametrize("scheme", ["ckks", "bfv", "bgv"])
def test_for_circuit_is_secure_and_prefers_fast_primes(scheme):
    module = getattr(hm, scheme)
    params = module.Parameters.for_circuit(depth=3, slots=1024)
    assert params.scheme == scheme
    assert params.security_bits >= 128
    assert params.max_slots >= 1024
    primes = [*params.primes[-1], *params.special_primes]
    assert all(prime < 2**50 and prime % (2 * params.degree) == 1 for prime in primes)
    assert sum(len(digit) for digit in params.digits) == len(params.primes[-1])
    text = params.describe()
    assert str(params.degree) in text
    assert params.security in text
    assert str(params.degree) in repr(params)


def test_for_circuit_of_ckks_takes_what_the_user_wants():
    params = hm.ckks.Parameters.for_circuit(depth=6, scale_bits=40, slots=4096)
    assert (params.levels, params.scale) == (7, 2.0**40)
    assert params.level_bits(0) == pytest.approx(62, abs=0.1)  # 20 bits of range, and two to spare
    small = hm.ckks.Parameters.for_circuit(depth=6, scale_bits=40, slots=4096, range_bits=10)
    assert small.level_bits(0) == pytest.approx(50, abs=0.1)
    deeper = hm.ckks.Parameters.for_circuit(depth=7, scale_bits=40, slots=4096)
    assert deeper.levels == 8
    wide = hm.ckks.Parameters.for_circuit(depth=1, degree=32768, security=256)
    assert (wide.degree, wide.security) == (32768, ">=256")


def test_plain_modulus_by_bits_or_by_value(integers):
    module = getattr(hm, integers.scheme)
    by_bits = module.Parameters.for_circuit(depth=1, plain_bits=22)
    assert by_bits.plain_modulus.bit_length() == 22
    assert by_bits.plain_modulus % (2 * by_bits.degree) == 1
    by_value = module.Parameters.for_circuit(depth=1, plain_modulus=65537)
    assert by_value.plain_modulus == 65537
    with pytest.raises(ParameterError, match="not both"):
        module.Parameters.for_circuit(depth=1, plain_bits=20, plain_modulus=65537)
    powers = module.Parameters.for_circuit(depth=1, plain_modulus=2**16)
    assert powers.max_slots == 0


@pytest.mark.parametrize("scheme", ["ckks", "bfv", "bgv"])
def test_explicit_primes_give_the_same_parameters(scheme):
    params = make_params(scheme)
    own = {"scale": params.scale} if scheme == "ckks" else {"plain_modulus": params.plain_modulus}
    again = type(params)(
        degree=params.degree,
        primes=(),
        levels=params.primes,
        special_primes=params.special_primes,
        digits=params.digits,
        security=None,
        **own,
    )
    assert (again, hash(again), again.fingerprint) == (params, hash(params), params.fingerprint)
    last_base = len(params.primes[0])
    chain = type(params)(
        degree=params.degree,
        primes=params.primes[-1],
        last_base=last_base,
        special_primes=params.special_primes,
        digits=params.digits,
        security=None,
        **own,
    )
    assert chain == params
    with pytest.raises(ParameterError, match="not both"):
        type(params)(
            degree=1024,
            primes=params.primes[-1],
            levels=params.primes,
            special_primes=(),
            security=None,
            **own,
        )


@pytest.mark.parametrize("scheme", ["ckks", "bfv", "bgv"])
def test_the_last_base_has_some_of_the_primes_or_all(scheme):
    params = make_params(scheme)
    own = {"scale": 2.0**40} if scheme == "ckks" else {"plain_modulus": params.plain_modulus}
    primes = params.primes[-1]

    def of(last_base):
        special = params.special_primes
        return type(params)(
            degree=1024, primes=primes, last_base=last_base, special_primes=special, security=None, **own
        )

    for last_base in range(1, len(primes) + 1):
        found = [primes[:size] for size in range(last_base, len(primes) + 1)]
        assert (of(last_base).primes, of(last_base).levels) == (found, len(found))
    count = len(primes)
    for wrong in (0, -1, count + 1):
        raises(ParameterError, f"1 to {count} of the {count} primes, not {wrong}", of, wrong)


def test_levels_that_there_are():
    params = make_params("ckks")
    sizes = [sum(map(math.log2, own)) for own in params.primes]
    assert [params.level_bits(level) for level in range(params.levels)] == pytest.approx(sizes)
    for wrong in (-1, params.levels):
        raises(ParameterError, f"level {wrong} is not in 0 to {params.levels - 1}", params.level_bits, wrong)
    one = hm.bgv.Parameters.for_circuit(0)
    assert "1 level," in repr(one)
    assert "in 1 prime, 1 level\n" in one.describe()


@pytest.mark.parametrize("module", [hm.ckks, hm.bfv, hm.bgv])
def test_as_many_slots_as_there_are_rings_for(module):
    most = 2**16 if module is hm.ckks else 2**17
    for slots in (2**15, 2**16, most):
        params = module.Parameters.for_circuit(1, slots=slots)
        assert params.max_slots >= slots
        assert params.degree == slots * (2 if module is hm.ckks else 1)
    refuse((lambda: module.Parameters.for_circuit(1, slots=2 * most), ParameterError, "slots"))


def test_weak_parameters_need_security_none():
    arguments = {"degree": 2048, "prime_bits": [40, 30], "special_bits": [40], "scale_bits": 30}
    with pytest.raises(SecurityError, match=r"below 128.*degree 2048 allows 53.*security=None") as caught:
        hm.ckks.Parameters.from_bits(**arguments)
    assert isinstance(caught.value, ParameterError)
    assert isinstance(caught.value, ValueError)
    weak = hm.ckks.Parameters.from_bits(**arguments, security=None)
    assert (weak.security, weak.security_bits) == ("below 128", 0)
    # Parameters that exist load, whatever their security, and say it.
    with pytest.warns(SecurityWarning, match="below 128"):
        assert hm.load_parameters(bytes(weak)) == weak
    with pytest.warns(SecurityWarning, match="below 128"):
        assert hm.ckks.Parameters.load(bytes(weak)) == weak


@pytest.mark.parametrize("scheme", ["ckks", "bfv", "bgv"])
def test_bytes_and_pickle(scheme, tmp_path):
    params = make_params(scheme)
    other = pickle.loads(pickle.dumps(params))
    assert type(other) is type(params)
    assert (other, bytes(other)) == (params, bytes(params))
    path = tmp_path / "parameters.hemera"
    params.save(path)
    assert path.read_bytes() == bytes(params)
    for source in (path, str(path), bytes(params), bytearray(bytes(params)), memoryview(bytes(params))):
        assert (hm.load_parameters(source), type(params).load(source)) == (params, params)


def test_parameters_of_another_scheme_do_not_load():
    with pytest.raises(
        MismatchError, match=r"parameters of CKKS, not of BFV.*hemera\.ckks\.Parameters\.load"
    ):
        hm.bfv.Parameters.load(bytes(make_params("ckks")))
    assert make_params("bfv") != make_params("bgv")
    assert make_params("bfv") != "bfv"


def test_policies_keep_the_fingerprint():
    ckks = make_params("ckks")
    manual = ckks.with_rescaling("manual")
    assert ((ckks.rescaling, manual.rescaling), manual) == (("automatic", "manual"), ckks)
    with pytest.raises(ParameterError, match="'automatic', 'manual'"):
        ckks.with_rescaling("never")
    with pytest.raises(ParameterError, match="'behz'"):
        hm.bfv.Parameters.for_circuit(1).with_multiplication("schoolbook")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"depth": 2000}, "more than the 1000"),
        ({"depth": 1, "scale_bits": 5}, "scale_bits"),
        ({"depth": 1, "slots": 2**20}, "slots"),
        ({"depth": 1, "security": 100}, "128, 192"),
        ({"depth": -1}, "depth must be an integer of 0 or more, not -1"),
        ({"depth": 1, "slots": 2.5}, "slots must be an integer"),
        ({"depth": 200, "scale_bits": 50}, "secure"),
    ],
)
def test_requests_that_can_not_be_met(arguments, text):
    refuse((lambda: hm.ckks.Parameters.for_circuit(**arguments), ParameterError, text))


def test_base_class_makes_no_parameters():
    refuse(
        (lambda: hm.Parameters(), TypeError, r"hemera\.ckks\.Parameters"),
        (lambda: hm.Parameters.load(bytes(hm.ckks.Parameters.for_circuit(1))), TypeError, "load_parameters"),
        (lambda: make_params("ckks").level_bits(9), ParameterError, "level 9"),
    )


def test_security_is_told_for_keys():
    params = hm.ckks.Parameters.for_circuit(depth=1, slots=512)
    ctx = hm.Context(params, device="cpu", threads=1)
    sk = ctx.generate_secret_key()
    keys = ctx.generate_keys(sk, rotations=[1])
    assert keys.security == params.security
    assert ctx.generate_switching_key(sk, sk, level=0).security >= ">=128"
    without = ctx.generate_keys(sk, public_key=False, relinearization=False)
    assert without.security is None


@pytest.mark.parametrize("wanted", [None, 128, 192, 256])
def test_security_that_is_asked_for_is_the_least(wanted):
    of = {"below 128": 0, ">=128 (2018 table)": 0, ">=128": 128, ">=192": 192, ">=256": 256}
    for found, bits in of.items():
        if wanted is None or bits >= wanted:
            require_security(found, wanted, "the keys have")
            continue
        words = f"the keys have security {found}, less than the {wanted} bits asked for"
        raises(SecurityError, re.escape(words), require_security, found, wanted, "the keys have")
    require_security(None, wanted, "nothing")
