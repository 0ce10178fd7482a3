"""Saving and loading: every object, through bytes and files; what is refused, and how."""

import copy
import os
import pickle
import resource
import stat

import numpy as np
import pytest

import hemera as hm
from hemera.errors import Error, FileError, FormatError, MismatchError, MissingKeyError

from .conftest import make_params
from .refusals import raises, refuse


def objects(party):
    a = party.values(2, 16)
    return {
        "ciphertext": party.ev.encrypt(a),
        "seeded": party.ctx.encrypt(a, party.sk),
        "plaintext": party.ctx.encode(a),
        "secret": party.sk,
        "keys": party.ctx.generate_keys(party.sk, rotations=[1]),
        "switching": party.ctx.generate_switching_key(party.sk, party.ctx.generate_secret_key()),
    }


@pytest.mark.parametrize("name", ["ciphertext", "seeded", "plaintext", "secret", "keys", "switching"])
def test_round_trip(party, name, tmp_path):
    value = objects(party)[name]
    data = bytes(value)
    path = tmp_path / "object.hemera"
    value.save(path)
    assert path.read_bytes() == data
    for source in (data, bytearray(data), memoryview(data), path, str(path)):
        again = party.ctx.load(source)
        assert type(again) is type(value)
        assert bytes(again) == data
    compressed = value.to_bytes(compression=3)
    assert bytes(party.ctx.load(compressed)) == data
    value.save(path, compression=3)
    assert path.read_bytes() == compressed


def test_objects_move_between_contexts(party):
    other = hm.Context(party.ctx.params, threads=1)
    for name, value in objects(party).items():
        moved = value.to(other)
        assert type(moved) is type(value), name
        assert moved.context is other
        assert bytes(moved) == bytes(value), name
    ev = other.bind(party.ev.keys.to(other))
    x = party.ev.encrypt(party.values(2, 16)).to(ev)
    assert x.evaluator is ev
    party.check((x + x).to(party.ev), 2 * party.values(2, 16))
    other.synchronize()
    with pytest.raises(MismatchError):
        x.to(hm.Context(make_params("bgv" if party.ctx.params.scheme == "ckks" else "ckks")))


def test_loaded_objects_work(party):
    a = party.values(2, 16)
    ctx = hm.Context(hm.load_parameters(bytes(party.ctx.params)), "cpu")
    sk = ctx.load(bytes(party.sk))
    ev = ctx.bind(ctx.load(bytes(party.ev.keys)))
    x = ev.load(bytes(party.ev.encrypt(a)))
    assert x.evaluator is ev
    found = ctx.decrypt(x * x.rotate(1), sk)
    expected = party.decrypt(party.ev.encrypt(a) * party.ev.encrypt(a).rotate(1))
    np.testing.assert_allclose(found, expected, rtol=0, atol=2**-18)
    seeded = ctx.load(bytes(party.ctx.encrypt(a, party.sk)))
    np.testing.assert_allclose(ctx.decrypt(seeded, sk), a, rtol=0, atol=2**-18)
    public = ctx.bind(ctx.load(bytes(party.ev.keys.public_only())))
    np.testing.assert_allclose(ctx.decrypt(public.encrypt(a), sk), a, rtol=0, atol=2**-18)


def test_seeds_halve_what_is_sent(party):
    found = objects(party)
    assert len(bytes(found["seeded"])) < 0.55 * len(bytes(found["ciphertext"]))


def test_what_does_not_pickle(party):
    """Nor is copied that way; the message says how to keep one."""
    package = hm.serving.export(lambda x: x + x, inputs=8, name="sums", params=party.ctx.params)
    for name, value in objects(party).items():
        way = r"SecretKey does not pickle.*save\(path\).*load\(path\)"
        way = way if name == "secret" else r"does not pickle.*bytes\(x\).*load\(\)"
        refuse((lambda value=value: pickle.dumps(value), TypeError, way))
    nested = [1, {"key": party.sk}]
    refuse(
        (lambda: pickle.dumps(nested), TypeError, "SecretKey does not pickle"),
        (lambda: copy.copy(party.sk), TypeError, "SecretKey does not pickle"),
        (lambda: copy.deepcopy(party.sk), TypeError, "SecretKey does not pickle"),
        *((lambda n=n: pickle.dumps(party.ev, n), TypeError, "pickle its params") for n in (0, 2, 5)),
        (lambda: pickle.dumps(package.prepare(party.ctx)), TypeError, "pickle its params"),
        (lambda: pickle.dumps(party.ctx), TypeError, "pickle its params"),
    )


def test_other_parameters_are_refused(ckks, parties):
    data = bytes(parties("bfv").sk)
    refuse(
        (lambda: ckks.ctx.load(data), MismatchError, "parameters"),
        (lambda: ckks.ev.load(bytes(ckks.sk)), MismatchError, r"ciphertexts, but this is a SecretKey"),
        (lambda: ckks.ctx.load(bytes(ckks.ctx.params)), MismatchError, "parameters"),
        (lambda: hm.load_parameters(bytes(ckks.ev.encrypt([1.0]))), MismatchError, "ciphertext"),
    )


def test_damaged_files(party):
    """A sample of truncations and flipped bits; the C++ tests try thousands of each."""
    data = bytes(party.ctx.encrypt(party.values(16), party.sk))
    random = np.random.default_rng(5)
    for length in (0, 1, 63, 64, 100, len(data) // 2, len(data) - 1):
        with pytest.raises(FormatError):
            party.ctx.load(data[:length])
    for position in random.integers(0, len(data), 50):
        damaged = bytearray(data)
        damaged[position] ^= 1 << int(random.integers(8))
        raises(Error, "", party.ctx.load, damaged)
    refuse((lambda: party.ctx.load(data + b"\0"), FormatError, None))
    with pytest.raises(ValueError, match="Hemera"):
        hm.load_parameters(b"not a file of Hemera's, but long enough to be looked at in some detail......")


def test_files_that_can_not_be_read_or_written(party, tmp_path):
    missing = tmp_path / "missing.hemera"
    with pytest.raises(FileError, match=r"missing\.hemera") as caught:
        party.ctx.load(missing)
    assert isinstance(caught.value, OSError)
    refuse((lambda: party.sk.save(tmp_path / "nowhere" / "key.hemera"), FileError, "nowhere"))
    refuse((lambda: party.ctx.load(17), TypeError, "bytes or the path"))


def test_a_full_disk_leaves_the_old_file(party, tmp_path):
    """/dev/full stands for a full disk; a path on it can not be replaced by a half-written file."""
    if not os.access("/dev/full", os.W_OK):
        pytest.skip("this system has no /dev/full")
    refuse((lambda: party.ev.encrypt(party.values(16)).save("/dev/full"), FileError, "No space left"))
    path = tmp_path / "good.hemera"
    party.sk.save(path)
    before = path.read_bytes()
    path.parent.chmod(0o500)
    try:
        if os.geteuid() != 0:
            refuse((lambda: party.sk.save(path), FileError, None))
    finally:
        path.parent.chmod(0o700)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["good.hemera"]


def test_secret_keys_are_for_their_owner(party, tmp_path):
    path = tmp_path / "secret.hemera"
    party.sk.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_paths_of_any_bytes(party, tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9 \xc3\xa9")
    party.sk.save(path)
    assert bytes(party.ctx.load(path)) == bytes(party.sk)


def test_inspect(party):
    kinds = {
        "ciphertext": "ciphertext",
        "plaintext": "plaintext",
        "secret": "secret key",
        "keys": "evaluation keys",
        "switching": "switching key",
    }
    found = objects(party)
    for name, kind in kinds.items():
        description = hm.inspect(bytes(found[name]))
        assert (description.kind, description.fingerprint) == (kind, party.ctx.params.fingerprint)
        assert description.bytes == len(bytes(found[name]))
        assert description.sections
        assert description.fields["degree"] == "1024"
        assert kind in str(description)
    params = hm.inspect(bytes(party.ctx.params))
    assert (params.kind, params.fields["scheme"]) == ("parameters", party.scheme.upper())
    refuse((lambda: hm.inspect(bytes(party.sk)[:-1]), FormatError, None))


def test_keys_merge(party):
    first = party.ctx.generate_keys(party.sk, public_key=False, relinearization=False, rotations=[1])
    second = party.ctx.generate_keys(party.sk, rotations=[2])
    both = first | second
    assert both.has_public_key
    assert both.has_relinearization
    assert both.has_rotation(1)
    assert both.has_rotation(2)
    assert not both.has_rotation(3)
    assert not first.has_public_key
    a = party.values(16)
    party.check(party.ctx.bind(both).encrypt(a) * 2, a * 2)


def test_keys_without_galois_keys(party):
    whole = party.ctx.generate_keys(party.sk, rotations=[1, 2])
    few = whole.without_galois_keys()
    assert (few.has_public_key, few.has_relinearization, few.galois_elements) == (True, True, [])
    assert whole.has_rotation(2)
    expected = party.ctx.generate_keys(party.sk)
    assert few.memory_bytes == expected.memory_bytes < whole.memory_bytes
    assert len(bytes(few)) == len(bytes(expected))
    a = party.values(16)
    for keys in (few, party.ctx.load(bytes(few))):
        ev = party.ctx.bind(keys)
        x = ev.encrypt(a)
        party.check(x * x, a * a)
        raises(MissingKeyError, "", x.rotate, 1)
    none = party.ctx.generate_keys(party.sk, public_key=False, relinearization=False, rotations=[1])
    assert none.without_galois_keys().memory_bytes == 0


def test_bytes_are_written_where_python_has_them():
    """Counted in fresh pages of memory: the file's own, and those of the section that it is made of."""
    params = hm.ckks.Parameters.for_circuit(8, degree=2**15)
    ctx = hm.Context(params, "cpu", threads=1)
    x = ctx.bind(ctx.generate_keys(ctx.generate_secret_key(), relinearization=False)).encrypt(
        np.zeros((16, 8))
    )
    size = len(bytes(x))
    # So large that the allocator keeps none of it.
    assert size > 2**25
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    data = bytes(x)
    pages = (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) * resource.getpagesize()
    assert len(data) == size
    assert pages < 2.5 * size
