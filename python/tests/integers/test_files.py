"""Files of encrypted integers: a client and a server, round trips, and files that are damaged or lie."""

import hashlib
import json
import pickle
from functools import cache

import numpy as np
import pytest

import hemera as hm
from hemera.cli import main
from hemera.errors import Error, FileError, FormatError, LevelError, MismatchError

from ..refusals import raises
from .setting import check, context

BEGIN = 24


@cache
def server():
    return hm.integers.Context(16, preset="test-exact", keys=bytes(context(16).keys))


@cache
def sample():
    return bytes(context(16).encrypt(np.arange(200, dtype=np.uint16)))


def parts(data):
    length = int.from_bytes(data[16:BEGIN], "little")
    return json.loads(data[BEGIN : BEGIN + length]), data[BEGIN + length : -32]


def file_of(header, ciphertext, magic=b"\x89HEMINTS\r\n\x1a\n\0\0\0\0"):
    """A file by the page."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    whole = magic + len(text).to_bytes(8, "little") + text + ciphertext
    return whole + hashlib.sha256(whole).digest()


@pytest.mark.parametrize("name", ["uint8", "int16", "bool"])
def test_round_trips(name, tmp_path):
    ints = context(16)
    a = np.random.default_rng(1).integers(0, 100, (3, 2, 100)).astype("uint8")
    x = ints.encrypt(a if name == "bool" else a.astype(name))
    x = x > 50 if name == "bool" else x + 1
    expected = ints.decrypt(x)
    data = bytes(x)
    x.save(tmp_path / "x.hemera")
    assert (tmp_path / "x.hemera").read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["x.hemera"]
    for source in (data, bytearray(data), tmp_path / "x.hemera", str(tmp_path / "x.hemera")):
        again = ints.load(source)
        assert type(again) is type(x)
        check(again, expected, ints)
        assert bytes(again) == data
        assert (again.error, again.failure_log2, again.levels) == (x.error, x.failure_log2, x.levels)
    assert parts(data)[0]["shape"] == [3, 2, 100]
    again = ints.load(x.to_bytes(compression=1))
    np.testing.assert_array_equal(ints.decrypt(again), expected)


def test_a_client_sends_and_a_server_answers(tmp_path):
    client = context(16)
    a = np.random.default_rng(2).integers(0, 2**16, 200, np.uint16)
    client.secret_key.save(tmp_path / "secret.hemera")
    x = server().load(bytes(client.encrypt(a)))
    assert x.failure_log2 == -np.inf
    y = x * 3 + server().encrypt(a)
    less = y < x
    with np.errstate(over="ignore"):
        expected = a * np.uint16(3) + a
    raises(TypeError, "keys of a server", server().decrypt, y)
    with pytest.raises(TypeError, match="keys of a server"):
        _ = server().secret_key
    check(client.load(bytes(y)), expected, client)
    check(client.load(bytes(less)), expected < a, client)
    small = y.shrink()
    assert small.levels == 0
    assert len(bytes(small)) < len(bytes(y)) / 2
    check(client.load(bytes(small)), expected, client)
    check(client.load(bytes(less.shrink())), expected < a, client)
    # Another day.
    later = hm.integers.Context(
        16, preset="test-exact", secret_key=tmp_path / "secret.hemera", keys=bytes(client.keys)
    )
    check(later.load(bytes(small)), expected, later)
    # Who has the secret key alone decrypts without any other.
    alone = hm.integers.Context(16, preset="test-exact", secret_key=bytes(client.secret_key))
    read = alone.load(bytes(small))
    np.testing.assert_array_equal(alone.decrypt(read), expected)
    assert (bytes(read), read.error) == (bytes(small), small.error)
    assert "keys" not in vars(alone)
    check(read + 1, expected + np.uint16(1), alone)  # makes them
    # It encrypts as well.
    alone = hm.integers.Context(16, preset="test-exact", secret_key=bytes(client.secret_key))
    sent = server().load(bytes(alone.encrypt(a)))
    assert "keys" not in vars(alone)
    check(client.load(bytes(sent * 3)), a * np.uint16(3), client)
    # What came by a file has one event more.
    again = client.load(bytes(small))
    assert again.failure_log2 == y.failure_log2
    # Two of them add up, with the refreshes of the sum.
    assert 1 < (again + client.load(bytes(small))).failure_log2 - y.failure_log2 < 2


@pytest.mark.parametrize("levels", [0, 3, 4, 16])
def test_values_are_sent_with_as_many_levels_as_they_need(levels):
    client, remote = context(16), server()
    a = np.random.default_rng(5).integers(0, 2**16, 2 * client.values + 1, np.uint16)  # three vectors
    assert (client.levels, client.product_levels) == (16, 4)
    x = client.encrypt(a, levels=levels)
    assert x.levels == levels
    same = client.encrypt(a).shrink(levels)
    assert (same.levels, same.shrink(levels + 1 if levels < 16 else 16).levels) == (levels, levels)
    by_keys = remote.encrypt(a, levels=levels)
    assert by_keys.levels == levels
    # With the secret key the second component is a seed.
    assert 1.9 < len(bytes(by_keys)) / len(bytes(x)) < 2.1
    assert len(bytes(x)) < len(bytes(client.encrypt(a))) * (levels + 5) / 21 + 1000
    before = remote.work.refreshes
    product = remote.load(bytes(x)) * by_keys
    refreshes = remote.work.refreshes - before
    check(client.load(bytes(product)), a * a, client)
    check(x, a, client)
    # A product takes two; below its levels each operand takes one before.
    assert refreshes == 3 * (2 if levels >= client.product_levels else 4)


def test_levels_that_there_are_not():
    ints = context(16)
    for wrong in (-1, 17):
        with pytest.raises(LevelError, match=f"levels={wrong}; values have from 0 to 16"):
            ints.encrypt(np.arange(3, dtype=np.uint8), levels=wrong)
        with pytest.raises(LevelError, match=f"shrink: levels={wrong}"):
            ints.encrypt(np.arange(3, dtype=np.uint8)).shrink(wrong)
    for kind in (1.0, "2"):
        with pytest.raises(TypeError, match="encrypt takes an integer as levels"):
            ints.encrypt(np.arange(3, dtype=np.uint8), levels=kind)


def test_damaged_files():
    ints, data = context(16), sample()
    random = np.random.default_rng(3)
    for length in (0, 1, 15, 16, 24, 50, 100, len(data) // 2, len(data) - 1):
        raises(FormatError, "", ints.load, data[:length])
    for position in [*range(0, 120, 3), *random.integers(0, len(data), 40)]:
        damaged = bytearray(data)
        damaged[position] ^= 1 << int(random.integers(8))
        raises(FormatError, "", ints.load, damaged)
    raises(FormatError, "", ints.load, data + b"\0")
    raises(FileError, "missing", ints.load, "missing.hemera")
    raises(FileError, "cannot write", ints.load(data).save, "/missing/x.hemera")
    raises(TypeError, "do not pickle", pickle.dumps, ints.load(data))


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"version": "1"},
        {"version": True},
        {"bits": "16"},
        {"dtype": "float64"},
        {"dtype": "uint32"},
        {"dtype": ["uint16"]},
        {"dtype": "bool", "shape": None},
        {"shape": [301, 2]},
        {"shape": [-200]},
        {"shape": [200.0]},
        {"shape": [2**40, 2**40]},
        {"shape": [1] * 33},
        {"shape": 200},
        {"shape": [True]},
        {"error": 0.0},
        {"error": -1e-8},
        {"error": 0.6},
        {"error": 1},
        {"error": float("nan")},
        {"error": None},
        {"failure_log2": float("inf")},
        {"failure_log2": "0"},
        {"failure_log2": -(10**400)},
        {"more": 1},
    ],
    ids=str,
)
def test_headers_with_other_values(change):
    header, ciphertext = parts(sample())
    expected = TypeError if change == {"dtype": "uint32"} else FormatError
    raises(expected, "", context(16).load, file_of(header | change, ciphertext))


@pytest.mark.parametrize(
    "header",
    [b"", b"{", b"[]", b"3", b"{}", b"\xff\xfe", b"[" * 60_000, b'{"version":' + b"9" * 5000 + b"}"],
    ids=lambda x: repr(x[:12]),
)
def test_headers_that_are_none(header):
    ciphertext = parts(sample())[1]
    raises(FormatError, "", context(16).load, file_of(header, ciphertext))
    raises(FormatError, "cut off", context(16).load, file_of(b" " * 70_000, ciphertext))
    header_of = {key: value for key, value in parts(sample())[0].items() if key != "error"}
    raises(FormatError, "other fields", context(16).load, file_of(header_of, ciphertext))
    with pytest.raises(FormatError, match="does not begin"):
        context(16).load(file_of(parts(sample())[0], ciphertext, b"\x89HEMMODEL\r\n\x1a\n\0\0\0"))


def test_other_ciphertexts():
    ints = context(16)
    header, _ = parts(sample())
    ckks, ev, low = ints._ckks, ints._engine.evaluator, ints._engine.lowest
    ones = np.ones((2, 512))
    wrong = {
        "parameters": ckks.params,
        "plaintext": ckks.encode(ones),
        "secret": ints.secret_key,
        "single": ev.encrypt(ones[0]),
        "three": ev.encrypt(np.ones((3, 512))),
        "axes": ev.encrypt(ones[None]),
        "slots": ev.encrypt(ones[:, :256]),
        "low": ev.encrypt(ones).at_level(low - 1),
        "high": ckks.encrypt(ckks.encode(ones, level=20), ints.secret_key),
    }
    for name, value in wrong.items():
        data = file_of(header, bytes(value))
        try:
            ints.load(data)
        except (FormatError, MismatchError):
            continue
        pytest.fail(name)
    other = hm.Context(hm.ckks.Parameters.for_circuit(depth=2, slots=512))
    with pytest.raises(MismatchError, match="parameters"):
        ints.load(file_of(header, bytes(other.encrypt(ones, other.generate_secret_key()))))
    raises(MismatchError, "16 bits, and this one has 8", context(8).load, sample())
    raises(FormatError, "does not begin", ints.load, bytes(ints.secret_key))


def test_files_that_lie_give_wrong_results_or_errors():
    """Anything that is right in form loads, and operations of it end in values or in an error."""
    ints = context(16)
    header, _ = parts(sample())
    ckks, ev = ints._ckks, ints._engine.evaluator
    x = ints.encrypt(np.arange(200, dtype=np.uint16))
    random = np.random.default_rng(4)
    noise = random.uniform(-1, 1, (2, 512))
    lies = [
        ({}, ev.encrypt(noise * 1e5)),
        ({"error": 5e-324}, ev.encrypt(noise)),
        ({"error": 0.5}, ev.encrypt(noise)),
        ({"failure_log2": 1e308}, ev.encrypt(noise)),
        ({"failure_log2": -1e308}, ckks.encrypt(ckks.encode(noise + 1j, scale=2.0**50), ints.secret_key)),
        ({"dtype": "bool"}, ev.encrypt(noise)),
        ({"dtype": "bool", "error": 0.5}, ev.encrypt(noise * 100)),
        ({"shape": [0]}, ev.encrypt(noise[:1])),
        ({"dtype": "int16"}, ckks.encrypt(ckks.encode(noise, scale=2.0**20), ints.secret_key)),
    ]
    for change, ciphertext in lies:
        y = ints.load(file_of(header | change, bytes(ciphertext)))
        operations = [lambda y=y: ints.decrypt(y), lambda y=y: y.failure_log2, lambda y=y: y == y]
        if isinstance(y, hm.integers.Integers) and y.size:
            operations += [lambda y=y: ints.decrypt(x + y), lambda y=y: y[5:], y.refresh]
        for operation in operations:
            try:
                operation()
            except (Error, TypeError) as error:
                assert not isinstance(error, FormatError)  # noqa: PT017


def test_keys_that_do_not_fit():
    ints = context(16)
    other = hm.Context(hm.ckks.Parameters.for_circuit(depth=2, slots=512))
    integer = hm.Context(hm.bfv.Parameters.for_circuit(depth=1))
    sk = other.generate_secret_key()
    raises(hm.errors.ParameterError, "for_bootstrapping", hm.integers.Context, 16, secret_key=sk)
    raises(MismatchError, "of CKKS", hm.integers.Context, 16, secret_key=integer.generate_secret_key())
    with pytest.raises(MismatchError, match='than the preset "test-exact"'):
        hm.integers.Context(16, preset="test-exact", secret_key=sk)
    raises(MismatchError, "parameters", hm.integers.Context, 16, preset="test-exact", secret_key=bytes(sk))
    with pytest.raises(MismatchError, match="takes Keys, and this is a SecretKey"):
        hm.integers.Context(16, keys=ints.secret_key)
    with pytest.raises(MismatchError, match="takes SecretKey, and this is a Ciphertext"):
        hm.integers.Context(16, preset="test-exact", secret_key=parts(sample())[1])
    with pytest.raises(MismatchError, match="two contexts"):
        hm.integers.Context(16, keys=ints.keys, secret_key=hm.Context(ints.params).generate_secret_key())
    with pytest.warns(hm.errors.SecurityWarning):
        loaded = hm.Context(hm.load_parameters(bytes(ints.params)))
    restored = hm.integers.Context(16, secret_key=loaded.load(bytes(ints.secret_key)))
    assert restored.params == ints.params
    raises(FileError, "missing", hm.integers.Context, 16, preset="test-exact", keys="missing.hemera")


def test_files_are_described(tmp_path):
    ints = context(16)
    x = ints.encrypt(np.arange(6, dtype=np.uint16).reshape(2, 3))
    for held, kind, name in ((x, "encrypted integers", "uint16"), (x + 1 < 5, "encrypted booleans", "bool")):
        held.save(tmp_path / "x.hemera")
        found = hm.inspect(tmp_path / "x.hemera")
        assert isinstance(found, type(hm.inspect(bytes(ints.secret_key))))
        assert (found.kind, found.version, found.bytes) == (kind, 1, len(bytes(held)))
        assert found.fingerprint == ints.params.fingerprint
        told = [found.fields[each] for each in ("dtype", "shape", "bits of the context", "batch", "scheme")]
        assert told == [name, "(2, 3)", "16", "(1,)", "CKKS"]
        assert found.fields["secrets"].startswith("none")
        assert float(found.fields["error of a digit"]) == pytest.approx(held.error, rel=0.01)
        assert found.fields["failure"] == ("0" if held is x else f"2^{held.failure_log2:.1f}")
        assert main(["inspect", str(tmp_path / "x.hemera")]) == 0
    raises(FormatError, "checksum", hm.inspect, sample()[:-1] + bytes([sample()[-1] ^ 1]))
    with pytest.raises(FormatError, match="this is a secret key"):
        hm.inspect(file_of(parts(sample())[0], bytes(ints.secret_key)))
