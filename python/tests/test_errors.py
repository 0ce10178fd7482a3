"""Mistakes: the type and the text of the error."""

import re
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera import errors
from hemera.errors import LevelError, MismatchError, MissingKeyError, ParameterError
from hemera.objects.keys import rotations_for_sum

from .refusals import raises, refuse, refuse_each

ROOT = Path(__file__).parents[2]
HEADER = ROOT / "include" / "hemera" / "runtime" / "error.hpp"


def test_every_class_of_the_core_is_there_with_its_base():
    classes = re.findall(r"class (\w+) : public ([\w:]+)", HEADER.read_text())
    assert len(classes) >= 12
    for name, base in classes:
        found = getattr(errors, name)
        assert found.__module__ == "hemera.errors"
        assert found.__doc__
        assert issubclass(found, Exception if base.startswith("std") else getattr(errors, base))
    warnings = {"HemeraWarning", "NoiseWarning", "PrecisionWarning", "RangeWarning", "SecurityWarning"}
    of_python = {"PrecisionError"}  # of the compiler, which has no C++
    assert set(errors.__all__) == {name for name, _ in classes} | warnings | of_python
    assert all(issubclass(getattr(errors, name), errors.HemeraWarning) for name in warnings)
    assert issubclass(errors.HemeraWarning, UserWarning)


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("ParameterError", ValueError),
        ("MismatchError", ValueError),
        ("FormatError", ValueError),
        ("MissingKeyError", LookupError),
        ("RangeError", ValueError),
        ("NoiseError", ArithmeticError),
        ("FileError", OSError),
        ("OutOfMemoryError", MemoryError),
        ("DeviceError", RuntimeError),
    ],
)
def test_builtin_ancestors(name, builtin):
    assert issubclass(getattr(errors, name), builtin)
    assert issubclass(getattr(errors, name), hm.Error)
    assert str(getattr(errors, name)("what clashed")) == "what clashed"


def literals(text):
    """The string literals of a C++ source without comments; those that follow each other are one line."""
    code = re.sub(r"(?m)^\s*(//|#).*$", "", text)
    joined = re.sub(r'(?<!\\)"\s*\n\s*"', "", code)
    return "\n".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', joined))


def test_messages_of_cpp_name_no_python_and_get_its_words():
    sources = [path for path in (ROOT / "src").rglob("*") if path.suffix in {".cpp", ".hpp", ".cu"}]
    assert len(sources) > 200
    texts = [path.read_text() for path in sources]
    messages = "\n".join(map(literals, texts))
    assert not re.findall(r".*\b(?:Python|NumPy|None|True|hm)\b.*", messages)
    header = (ROOT / "include" / "hemera" / "runtime" / "error.hpp").read_text()
    values = re.findall(r"^  (\w+),$", header.split("enum class WayOut")[1].split("};")[0], re.M)
    assert len(values) > 10
    given = set(re.findall(r"Message\(\s*WayOut::(\w+)", "\n".join(texts)))
    worded = re.findall(r"case WayOut::(\w+):", (ROOT / "python" / "bindings" / "errors.cpp").read_text())
    assert sorted(given) == sorted(worded) == sorted(values)


def test_missing_keys(party):
    ev = party.ctx.bind(party.ctx.generate_keys(party.sk, public_key=False, relinearization=False))
    x = party.ctx.encrypt(party.values(16), party.sk)
    refuse(
        (lambda: ev.encrypt(party.values(16)), MissingKeyError, r"no public key.*public_key=True"),
        (lambda: ev.bind(x).square(), MissingKeyError, "relinearization key"),
        (lambda: ev.bind(x).rotate(3), MissingKeyError, "rotation by 3"),
        (lambda: ev.bind(x).sum(), MissingKeyError, r"sum: .*sum_slots=True\)"),
    )
    # All rotations, and the swap of rows that BFV and BGV need too is missing.
    steps = rotations_for_sum(party.ctx.params, 16)
    rotating = party.ctx.bind(party.ctx.generate_keys(party.sk, rotations=steps))
    if party.exact:
        refuse((lambda: rotating.bind(x).sum(), MissingKeyError, r"sum: .*sum_slots=True\)"))
    lazy = party.ctx.bind(
        party.ctx.generate_keys(party.sk, relinearization=False, sum_slots=True), relinearization="lazy"
    )
    refuse((lambda: (lazy.bind(x) * lazy.bind(x)).sum(), MissingKeyError, "relinearization key"))
    refuse((lambda: ev.keys.public_only(), MissingKeyError, "no public key"))
    other = ev.bind(x).conjugate if party.scheme == "ckks" else ev.bind(x).swap_rows
    refuse((other, MissingKeyError, r"conjugation|swapping rows"))
    # A ciphertext of the client is bound to no keys, and still adds.
    party.check(x + x, 2 * party.values(16))
    refuse((lambda: x * x, MissingKeyError, r"no evaluation keys here.*x\.to\(evaluator\)"))


def test_arguments_of_another_kind_say_what_is_taken(party):
    ctx, ev, sk = party.ctx, party.ev, party.sk
    x = ev.encrypt(party.values(16))
    mistakes = [
        (lambda: hm.Context("ckks"), r"parameters, as .*for_circuit.*not the str 'ckks'"),
        (lambda: hm.Context(ctx), "parameters, .*not Context"),
        (lambda: hm.Context(type(ctx.params)), "parameters, .*not the class Parameters itself"),
        (lambda: hm.Context(ctx.params, 0), "device by its name.*not int"),
        (lambda: ctx.bind(sk), r"ctx\.generate_keys\(secret_key\), not the SecretKey"),
        (lambda: ctx.bind(None), "keys of .*not NoneType"),
        (lambda: ev.bind(ev.encode(party.values(16))), "bind takes a ciphertext, not Plaintext"),
        (lambda: ctx.decrypt(bytes(x)[:0], sk), "decrypt takes a ciphertext, not the bytes b''"),
        (lambda: ctx.decode(x), "a ciphertext decrypts"),
        (lambda: ev.negate(3), "negate takes a ciphertext, not int"),
        (lambda: ev.rotate(3, 1), "rotate takes a ciphertext, not int"),
        (lambda: ev.at_level(x, "top"), "'str' object cannot be interpreted as an integer"),
        (lambda: ev.add(x, x, out=3), "out=, not int"),
        (lambda: ev.reencrypt(x, ev.keys), "generate_switching_key.*not Keys"),
        (lambda: ev.keys | sk, "other keys, not SecretKey"),
        (lambda: ev.capture(lambda y: y, sk), "capture takes ciphertexts as examples, not SecretKey"),
        (lambda: ev.capture(lambda y: y, x)(sk), "graph takes ciphertexts, not SecretKey"),
        (lambda: x.to(3), "to takes a context.*not int"),
    ]
    for call, message in mistakes:
        with pytest.raises(TypeError, match=message) as caught:
            call()
        assert "_core" not in str(caught.value)


def test_different_contexts(ckks, parties):
    bfv = parties("bfv")
    x, y = ckks.ev.encrypt([1.0, 2.0]), bfv.ev.encrypt([1, 2])
    refuse(
        (lambda: ckks.ev.add(x, y), MismatchError, r"parameters|context"),
        (lambda: ckks.ctx.bind(bfv.ev.keys), MismatchError, "belong"),
        (lambda: ckks.ev.bind(y), MismatchError, "belong"),
        (lambda: ckks.ctx.decrypt(x, bfv.sk), MismatchError, None),
        (lambda: ckks.ctx.decrypt(y, ckks.sk), MismatchError, None),
        (lambda: ckks.ctx.generate_keys(bfv.sk), MismatchError, None),
    )


@pytest.mark.parametrize("scheme", ["ckks", "bfv", "bgv"])
def test_other_parameters_of_one_scheme(parties, scheme):
    party = parties(scheme)
    own = {"scale_bits": 40} if scheme == "ckks" else {"plain_modulus": 12289}
    params = type(party.ctx.params).from_bits(
        degree=1024, prime_bits=[50, 40], special_bits=[50], security=None, **own
    )
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    keys = ctx.generate_keys(sk)
    x = ctx.bind(keys).encrypt(party.values(16))
    for call in (
        lambda: party.ev.bind(x),
        lambda: x.to(party.ev),
        lambda: party.ev.load(bytes(x)),
        lambda: party.ctx.bind(keys),
        lambda: party.ctx.decrypt(x, party.sk),
        lambda: party.ctx.decrypt(party.ev.encrypt(party.values(16)), sk),
        lambda: party.ev.encrypt(party.values(16)) + x,
        lambda: party.ev.keys | keys,
    ):
        refuse((call, MismatchError, r"belong|parameters"))


def test_exhausted_levels(ckks):
    x = ckks.ev.encrypt(ckks.values(16))
    for _ in range(ckks.ctx.params.levels - 1):
        x = x * x
    refuse(
        (lambda: x.square(), LevelError, r"no level is left.*more depth, or bootstrap before$"),
        (lambda: x.at_level(0).rescale(), LevelError, r"level 0.*more depth$"),
        (lambda: ckks.ev.encrypt([1.0]).at_level(9), LevelError, r"at_level.*not 9"),
        (lambda: ckks.ev.encrypt([1.0]).at_level(-1), LevelError, r"at_level.*not -1"),
    )
    levels = ckks.ctx.params.levels
    for level in (levels, -1):
        wrong = rf"^level {level} is not in 0 to {levels - 1}$"
        raises(LevelError, wrong, ckks.ctx.encode, [1.0], level=level)
        raises(LevelError, wrong, ckks.ctx.generate_keys, ckks.sk, galois_level=level)
        raises(LevelError, wrong, ckks.ctx.generate_switching_key, ckks.sk, ckks.sk, level=level)


def test_operands_of_other_kinds(party):
    x = party.ev.encrypt(party.values(2, 16))
    refuse(
        (lambda: x + "one", TypeError, None),
        (lambda: x + None, TypeError, None),
        (lambda: party.ev.add(3, x), TypeError, "first operand must be a Ciphertext"),
        (lambda: x == x, TypeError, "can not be compared"),
        (lambda: hash(x), TypeError, None),
        (lambda: x**0, ParameterError, "1, 2, 3"),
    )
    refuse_each(lambda exponent: x**exponent, (1.5, -1, 2**64), ParameterError, "1, 2, 3")
    refuse((lambda: x.rotate(1.5), TypeError, "integer"))


def test_operations_of_other_schemes(party):
    x = party.ev.encrypt(party.values(16))
    if party.scheme == "ckks":
        refuse(
            (lambda: x.swap_rows(), TypeError, "conjugate"),
            (lambda: x.mod_switch(), TypeError, "call rescale"),
            (lambda: x / x, TypeError, "only be divided by plain numbers"),
            (lambda: x / party.ctx.encode([1.0]), TypeError, "only be divided by plain numbers"),
            (lambda: party.ctx.generate_keys(party.sk, swap_rows=True), ParameterError, "swap_rows"),
            (lambda: party.ev.encode([1.0], encoding="coefficients"), ParameterError, "name it, as level=0"),
            (lambda: party.ctx.noise_budget(x, party.sk), ParameterError, r"hemera\.ckks\.precision"),
            (lambda: x.guaranteed_noise_budget, ParameterError, "no budget"),
            (lambda: party.ev.encode([1.0], level=-1), LevelError, "level -1"),
            (lambda: party.ctx.decrypt(x, party.sk, dtype=int), ParameterError, "float64 or complex128"),
        )
    else:
        refuse(
            (lambda: x.conjugate(), TypeError, "swap_rows"),
            (lambda: party.ctx.generate_keys(party.sk, conjugation=True), ParameterError, "conjugation"),
            (lambda: x / 2, TypeError, "no division"),
            (lambda: x + 0.5, TypeError, "integers"),
            (lambda: party.ev.encrypt([0.5]), TypeError, "integers"),
            (lambda: party.ev.encode([1], scale=2.0), ParameterError, "scale is of CKKS"),
            (lambda: party.ctx.decrypt(x, party.sk, dtype=float), ParameterError, "int64 or uint64"),
        )


def test_values_that_do_not_encode(party):
    slots = party.ctx.params.max_slots
    refuse((lambda: party.ev.encrypt([]), MismatchError, "no values"))
    refuse((lambda: party.ev.encrypt(1), MismatchError, "last axis"))
    message = rf"encode: {slots + 1} values .* {slots} slots .*2 rows, an array of shape \(\.\.\., {slots}\)"
    refuse((lambda: party.ev.encrypt(np.zeros((1, slots + 1), dtype=int)), ParameterError, message))
    if party.exact:
        with pytest.raises(ParameterError, match=r"1025 values .* 1024 coefficients"):
            party.ev.encrypt(np.zeros(1025, dtype=int), encoding="coefficients")
    refuse(
        (lambda: party.ev.encrypt(["one"]), TypeError, None),
        (lambda: party.ev.encrypt([1], encoding="rows"), ParameterError, "'slots' or 'coefficients'"),
        (lambda: party.ctx.encrypt([1], None), TypeError, "SecretKey or Keys"),
    )
    too_large = 2**40 if party.exact else 1e300
    refuse((lambda: party.ev.encrypt([too_large]), ParameterError, r"plaintext modulus|does not fit"))
    if party.exact:
        refuse((lambda: party.ev.encrypt(np.array([2**64 - 1], dtype=np.uint64)), ParameterError, "2\\^63"))
    else:
        refuse((lambda: party.ev.encrypt([np.nan]), ParameterError, "finite"))


def test_devices():
    params = hm.ckks.Parameters.for_circuit(1)
    assert "cpu" in hm.devices()
    assert hm.Context(params).device == hm.devices()[0]
    refuse((lambda: hm.Context(params, "tpu"), errors.DeviceError, "tpu"))
    if "cuda:0" not in hm.devices():
        # The reason and the way out.
        raises(errors.DeviceError, r"'cuda:0' is not available: .*'cpu'", hm.Context, params, "cuda")
    else:
        refuse((lambda: hm.Context(params, "cuda:999"), errors.DeviceError, "this machine has"))
        with pytest.raises(errors.OutOfMemoryError, match="limit"):
            hm.Context(params, "cuda", memory_limit=1 << 10).generate_secret_key()
    with pytest.raises(errors.OutOfMemoryError, match="limit"):
        hm.Context(params, "cpu", memory_limit=1 << 10).generate_secret_key()
    assert hm.Context(params, "cpu", memory_limit=1 << 30).generate_secret_key()
    refuse((lambda: hm.Context(params, memory_limit=0), ParameterError, "memory_limit"))
    refuse((lambda: hm.Context(params, threads=0), ParameterError, "threads"))


def test_more_memory_than_there_is():
    params = hm.ckks.Parameters.for_circuit(20, degree=2**17, slots=2**16)
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    x = ctx.encrypt([1.0], sk)
    # 2^22 copies of a ciphertext of 40 MB: more than the 2^47 bytes that a process can address, so that
    # systems which promise more memory than they have refuse it too.
    refuse((lambda: x[np.newaxis][np.zeros(1 << 22, dtype=int)], errors.OutOfMemoryError, "bytes"))


def test_keyword_choices(party):
    refuse(
        (lambda: party.ctx.bind(party.ev.keys, relinearization="never"), ParameterError, "'eager' or 'lazy'"),
        (lambda: party.ctx.generate_switching_key(party.sk, party.sk, level=99), LevelError, "level 99"),
        (lambda: party.ctx.generate_keys(party.sk, galois_level=-1), LevelError, "level -1"),
        (lambda: party.ctx.decrypt(party.ev.encrypt([1]), party.ev.keys), TypeError, "SecretKey"),
    )


@pytest.mark.parametrize(("scheme", "most"), [("ckks", 1 << 16), ("bfv", 1 << 17), ("bgv", 1 << 17)])
@pytest.mark.parametrize("beyond", [0, 1])
def test_parameters_that_errors_name_can_be_made(scheme, most, beyond, parties):
    party = parties(scheme)
    make = getattr(hm, scheme).Parameters.for_circuit
    with pytest.raises(ParameterError, match=f"{most + beyond} values do not fit") as told:
        party.ev.encrypt(np.zeros(most + beyond, np.int64))
    advised = re.search(r"for_circuit\(\.\.\., slots=(\d+)\)", str(told.value))
    if beyond:
        assert advised is None
        refuse((lambda: make(depth=0, slots=most + beyond), ParameterError, None))
    else:
        assert advised is not None
        assert make(depth=0, slots=int(advised[1])).max_slots >= most
