"""The storage of switching keys: an option of GPUs, which means the same everywhere."""

import warnings

import numpy as np
import pytest

import hemera as hm
from hemera import errors
from hemera.objects.devices import DeviceOptions


def parameters(bits):
    return hm.ckks.Parameters.from_bits(
        degree=1024, prime_bits=[bits] * 3, special_bits=[bits], scale_bits=36, security=None
    )


@pytest.mark.fact_of_the_cpu("keys in eight bytes")
def test_packed_keys_change_nothing_on_a_cpu():
    with pytest.warns(UserWarning, match=r"'packed' is of GPUs: on 'cpu' keys are kept as 'eight-byte'"):
        ctx = hm.Context(parameters(46), "cpu", storage="packed")
    assert ctx.storage == "eight-byte"
    assert ctx.on("cpu") is ctx
    sk = ctx.generate_secret_key()
    keys = ctx.generate_keys(sk, rotations=[1])
    usual = hm.Context(parameters(46), "cpu")
    assert usual.storage == "eight-byte"
    assert keys.memory_bytes == usual.load(bytes(keys)).memory_bytes
    x = ctx.bind(keys).encrypt(np.arange(4) / 8)
    there = usual.bind(usual.load(bytes(keys))).bind(usual.load(bytes(x)))
    assert bytes((x * x).rotate(1)) == bytes((there * there).rotate(1))


@pytest.mark.fact_of_the_cpu("the line that made a context")
def test_the_former_name_of_packed_storage_is_told():
    with pytest.warns(DeprecationWarning, match="'six-byte' is storage='packed' now") as told:
        ctx = hm.Context(parameters(50), "cpu", storage="six-byte")
    assert (told[0].filename, ctx.on("cpu").storage) == (__file__, "eight-byte")
    assert DeviceOptions(storage="six-byte").storage == "packed"  # as pools and servers take it


@pytest.mark.parametrize("scheme", [hm.bfv, hm.bgv])
@pytest.mark.fact_of_the_cpu("keys in eight bytes")
def test_another_storage_than_was_asked_for_is_told(scheme):
    params = scheme.Parameters.for_circuit(1, plain_bits=20)
    with pytest.warns(UserWarning, match="kept as 'eight-byte'") as told:
        assert hm.Context(params, "cpu", storage="packed").storage == "eight-byte"
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hm.Context(params, "cpu").on("cpu").storage == "eight-byte"


@pytest.mark.filterwarnings("ignore:storage=")
def test_primes_must_fit_on_every_device():
    for name in ("packed", "eight-byte", "auto"):
        assert hm.Context(parameters(50), "cpu", storage=name)
    assert hm.Context(parameters(51), "cpu")
    with pytest.raises(errors.ParameterError, match="words of 50 bits"):
        hm.Context(parameters(51), "cpu", storage="packed")
    with pytest.raises(errors.ParameterError, match="'auto', 'eight-byte', 'packed', not 'six'"):
        hm.Context(parameters(46), "cpu", storage="six")
