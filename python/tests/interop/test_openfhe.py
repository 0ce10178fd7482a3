"""Sessions with OpenFHE on objects that OpenFHE wrote."""

import contextlib
import io
import json

import numpy as np
import pytest

import hemera as hm
from hemera.cli import main
from hemera.interop import openfhe

from ..refusals import raises
from .foreign_files import VECTORS, read, read_all

VERSIONS = VECTORS / "openfhe-versions"
FOLDERS = ["bfv", "bgv", "ckks-fixedmanual", "ckks-flexibleauto"]


class Files:
    """The objects of one context, decompressed."""

    def __init__(self, folder, target):
        self.folder = folder
        self.target = target
        for name, data in read_all(VECTORS / "openfhe" / folder).items():
            (target / name).write_bytes(data)
        self.values = json.loads((target / "values.json").read_bytes())

    def path(self, name):
        return self.target / name

    def has(self, name):
        return self.path(name).exists()

    def session(self):
        session = openfhe.Session(self.path("cryptocontext.bin"), device="cpu")
        files = {"relinearization": "eval_mult_key.bin", "galois": "eval_automorphism_keys.bin"}
        session.load_keys(**{kind: self.path(name) for kind, name in files.items() if self.has(name)})
        return session

    def ciphertexts(self):
        return [name for name in self.values["ciphertexts"] if self.has(f"{name}.bin")]

    def expected(self, name):
        stated = self.values["ciphertexts"][name]
        return np.array(stated["expected"]["first_64_slots"]), stated.get("tolerance", 0)


@pytest.fixture(params=FOLDERS)
def files(request, tmp_path):
    return Files(request.param, tmp_path)


def one(data):
    assert isinstance(data, bytes)
    return data


def assert_expected(files, session, x, name):
    secret = session.load_secret_key(files.path("secret_key.bin"))
    decrypted = np.real(session.context.decrypt(x, secret))[:64]
    expected, tolerance = files.expected(name)
    if tolerance:
        np.testing.assert_allclose(decrypted, expected, atol=tolerance, rtol=0)
    else:
        np.testing.assert_array_equal(decrypted % 65537, expected)


def test_ciphertexts_have_openfhes_values_and_metadata(files):
    session = files.session()
    for name in files.ciphertexts():
        x = session.load_ciphertext(files.path(f"{name}.bin"))
        assert_expected(files, session, x, name)
        stated = files.values["ciphertexts"][name]
        metadata = session.metadata(x)
        assert metadata == {
            "level": stated["level"],
            "noise_scale_degree": stated["noise_scale_deg"],
            "scaling_factor": pytest.approx(stated["scaling_factor"], rel=1e-14),
            "scaling_factor_int": stated["scaling_factor_int"],
            "slots": stated["slots"],
            "components": stated["components"],
            "limbs": stated["limbs"],
        }
        assert session.metadata(session.load_ciphertext(one(session.dump_ciphertext(x)))) == metadata
        assert (
            session.metadata(session.load_ciphertext(one(session.dump_ciphertext(x, format="json"))))
            == metadata
        )


def test_results_are_those_that_openfhe_gives(tmp_path):
    files = Files("ckks-flexibleauto", tmp_path)
    session = files.session()
    a = session.load_ciphertext(files.path("ct_a.bin"))
    b = session.load_ciphertext(files.path("ct_b.bin"))
    for name, result in {"mul": a * b, "mul_aba": a * b * a, "rotate_1": a.rotate(1), "add": a + b}.items():
        assert_expected(files, session, result, name)
        stated = files.values["ciphertexts"][name]
        found = session.metadata(result)
        assert (found["level"], found["noise_scale_degree"]) == (stated["level"], stated["noise_scale_deg"])
        assert found["scaling_factor"] == pytest.approx(stated["scaling_factor"], rel=1e-14)


def test_sources_are_bytes_paths_and_streams(tmp_path):
    files = Files("bgv", tmp_path)
    session = openfhe.Session(files.path("cryptocontext.bin").read_bytes(), device="cpu")
    path = files.path("ct_a.bin")
    found = [
        session.dump_ciphertext(session.load_ciphertext(source))
        for source in (str(path), path, path.read_bytes(), io.BytesIO(path.read_bytes()))
    ]
    assert found == [path.read_bytes()] * 4
    assert session.dump_context() == files.path("cryptocontext.bin").read_bytes()
    # Any object opens a session.
    other = openfhe.Session(path, device="cpu")
    assert other.params == session.params
    with pytest.raises(TypeError, match="load_ciphertext"):
        session.load_ciphertext(3)
    raises(hm.errors.FileError, "", lambda: session.load_ciphertext(tmp_path / "nothing"))


def test_batches(tmp_path):
    files = Files("bgv", tmp_path)
    session = files.session()
    names = [files.path("ct_a.bin"), files.path("ct_b.bin")]
    for count in (1, 2):  # a file for each, also of one
        batch = session.load_ciphertext(names[:count])
        assert batch.shape == (count,)
        assert session.dump_ciphertext(batch) == [name.read_bytes() for name in names[:count]]
    assert len(session.dump_ciphertext(batch * batch)) == 2
    with pytest.raises(hm.errors.MismatchError, match="batch"):
        session.load_ciphertext([files.path("ct_a.bin"), files.path("mul_aba.bin")])


def test_keys_are_written_back(tmp_path):
    files = Files("ckks-flexibleauto", tmp_path)
    session = files.session()
    for form in ("binary", "json"):
        other = openfhe.Session(session.dump_context(format=form), device="cpu")
        keys = other.load_keys(**session.dump_keys(session.keys, format=form))
        assert keys.has_relinearization
        assert keys.galois_elements == session.keys.galois_elements == [5]
    secret = session.load_secret_key(files.path("secret_key.bin"))
    assert session.dump_secret_key(secret) == files.path("secret_key.bin").read_bytes()


def test_errors_are_typed(tmp_path):
    files = Files("bfv", tmp_path)
    (tmp_path / "other").mkdir()
    others = Files("bgv", tmp_path / "other")
    session = files.session()
    with pytest.raises(hm.errors.MismatchError, match="crypto context"):
        session.load_ciphertext(others.path("ct_a.bin"))
    with pytest.raises(hm.errors.FormatError):
        session.load_ciphertext(files.path("ct_a.bin").read_bytes()[:-1])
    raises(hm.errors.FormatError, "", lambda: session.load_ciphertext(files.path("secret_key.bin")))
    with pytest.raises(hm.errors.ParameterError, match="format"):
        session.dump_context(format="xml")
    # Without a key tag OpenFHE would not find the keys of a result.
    fresh = openfhe.Session(files.path("cryptocontext.bin"), device="cpu")
    secret = fresh.context.generate_secret_key()
    raises(hm.errors.MismatchError, "key tag", fresh.dump_secret_key, secret)
    x = session.load_ciphertext(files.path("ct_a.bin"))
    raises(hm.errors.MissingKeyError, "", x.rotate, 1)


def test_bootstraps_need_a_context_that_was_set_up(tmp_path):
    files = Files("ckks-flexibleauto", tmp_path)
    x = files.session().load_ciphertext(files.path("ct_a.bin"))
    raises(hm.errors.ParameterError, "EvalBootstrapSetup", x.bootstrap)
    assert files.session().bootstrap_input_levels == {}


def test_objects_live_in_hemeras_format(files):
    session = files.session()
    context = hm.Context(hm.load_parameters(session.params.to_bytes()), "cpu")
    secret = context.load(session.load_secret_key(files.path("secret_key.bin")).to_bytes())
    for name in files.ciphertexts():
        x = context.load(session.load_ciphertext(files.path(f"{name}.bin")).to_bytes())
        expected, tolerance = files.expected(name)
        decrypted = np.real(context.decrypt(x, secret))[:64]
        if tolerance:
            np.testing.assert_allclose(decrypted, expected, atol=tolerance, rtol=0)
        else:
            np.testing.assert_array_equal(decrypted % 65537, expected)


def test_inspect_and_convert(files, capsys):
    context = files.path("cryptocontext.bin")
    described = hm.inspect(context)
    assert (described.library, described.kind) == ("OpenFHE", "crypto context")
    assert described.fields["format"] == "binary"
    name = files.ciphertexts()[0]
    source = files.path(f"{name}.bin")
    assert hm.inspect(source).kind == "ciphertext"
    assert hm.inspect(files.path("secret_key.bin")).kind == "secret key"
    assert main(["inspect", str(source)]) == 0
    assert "OpenFHE" in capsys.readouterr().out

    own, text, back = (files.path(f"converted.{end}") for end in ("hemera", "json", "bin"))
    assert main(["convert", str(source), str(own), "--to", "hemera"]) == 0
    assert hm.inspect(own).library == "Hemera"
    assert main(["convert", str(own), str(text), "--to", "openfhe-json", "--with", str(source)]) == 0
    assert hm.inspect(text).fields["format"] == "JSON"
    assert main(["convert", str(text), str(back), "--to", "openfhe"]) == 0
    session = files.session()
    assert session.dump_ciphertext(session.load_ciphertext(source)) == back.read_bytes()
    # A context alone has no key tag.
    assert main(["convert", str(own), str(back), "--to", "openfhe", "--with", str(context)]) == 1
    assert "key tag" in capsys.readouterr().err


def test_damaged_names_are_errors_of_hemera(tmp_path, capsys):
    """The message quotes bytes of the file, which need not be UTF-8."""
    files = Files("bfv", tmp_path)
    session = files.session()
    whole = files.path("ct_a.bin").read_bytes()
    name = whole.index(b"lbcrypto::CryptoParameters")
    damaged = tmp_path / "damaged.bin"
    for byte in (b"\xff", b"\x80", b"\xc3"):
        data = whole[:name] + byte + whole[name + 1 :]
        damaged.write_bytes(data)
        for call in (session.load_ciphertext, openfhe.Session, hm.inspect):
            raises(hm.errors.FormatError, r"the type '\\x[0-9a-f]{2}bcrypto", call, data)
        assert main(["inspect", str(damaged)]) == 1
        assert "Traceback" not in capsys.readouterr().err
    # A tag is quoted where it is not the session's, and told by inspect.
    tag = hm.inspect(whole).fields["key tag"].encode()
    data = whole.replace(tag, b"\xff" + tag[1:])
    raises(hm.errors.MismatchError, r"\\xff", session.load_ciphertext, data)
    assert hm.inspect(data).fields["key tag"].startswith("\\xff")


def test_every_damaged_byte_of_a_header_is_an_error_of_hemera(tmp_path):
    files = Files("bgv", tmp_path)
    session = files.session()
    whole = files.path("ct_a.bin").read_bytes()
    for at in range(700):
        data = bytearray(whole)
        data[at] ^= 0xFF
        with contextlib.suppress(hm.errors.Error):
            session.load_ciphertext(bytes(data))


def test_sessions_follow_the_special_primes_of_the_first_key():
    """OpenFHE 1.6.1 has one more than the rule that a context alone is opened by."""
    files = read_all(VERSIONS / "1.6.1" / "ckks")
    values = json.loads(files["values.json"])
    session = openfhe.Session(files["cryptocontext.bin"], device="cpu")
    first = session.context
    with pytest.raises(hm.errors.FormatError):
        session.load_keys(relinearization=files["eval_mult_key.bin"], galois=files["ct.bin"])
    assert session.context is first
    session.load_keys(relinearization=files["eval_mult_key.bin"])
    assert session.context is not first
    assert len(session.params.special_primes) == len(first.params.special_primes) + 1
    second = session.context
    session.load_keys(galois=files["eval_automorphism_keys.bin"])
    assert session.context is second
    x = session.load_ciphertext(files["ct.bin"])
    secret = session.load_secret_key(files["secret_key.bin"])
    y = session.context.decrypt((x * x).rotate(values["steps"]), secret)
    np.testing.assert_allclose(y, values["result"], atol=1e-7, rtol=0)
    # A ciphertext before the keys fixes the primes.
    late = openfhe.Session(files["cryptocontext.bin"], device="cpu")
    late.load_ciphertext(files["ct.bin"])
    with pytest.raises(hm.errors.MismatchError, match="load keys before ciphertexts"):
        late.load_keys(relinearization=files["eval_mult_key.bin"])


@pytest.mark.parametrize(
    "calls", [("relinearization galois",), ("relinearization", "galois"), ("galois", "")], ids=str
)
@pytest.mark.parametrize(("version", "changes"), [("1.4.2", False), ("1.6.1", True)])
def test_all_of_a_session_is_of_one_context(version, changes, calls):
    """After each call, also where keys change it."""
    names = {"relinearization": "eval_mult_key.bin", "galois": "eval_automorphism_keys.bin"}
    files = read_all(VERSIONS / version / "ckks")
    session = openfhe.Session(files["cryptocontext.bin"], device="cpu")
    first = session.context
    for kinds in calls:
        keys = session.load_keys(**{kind: files[names[kind]] for kind in kinds.split()})
        x, secret = session.load_ciphertext(files["ct.bin"]), session.load_secret_key(files["secret_key.bin"])
        for each in (session.evaluator, session.keys, keys, x, x + x, secret):
            assert each.context is session.context
        assert (session.context is not first) == changes


@pytest.mark.fact_of_the_cpu("bytes of its memory pool")
def test_keys_that_have_no_room_leave_the_session_as_it_was():
    """Also where a context of other special primes was made for them: no later call takes it."""
    ciphertext, key = (read(VERSIONS / "1.6.1" / "ckks" / f"{name}.bin") for name in ("ct", "eval_mult_key"))
    session = openfhe.Session(ciphertext, device="cpu", memory_limit=len(key) // 2)
    first = session.context
    raises(hm.errors.OutOfMemoryError, "", session.load_keys, relinearization=key)
    assert session.load_keys().galois_elements == []
    assert session.context is first
    assert session.load_ciphertext(ciphertext).context is first


@pytest.mark.parametrize("version", ["1.4.2", "1.6.1"])
@pytest.mark.parametrize("scheme", ["bfv", "bgv"])
def test_rotations_by_half_the_ring_and_more(version, scheme):
    files = read_all(VERSIONS / version / scheme)
    values = json.loads(files["values.json"])
    session = openfhe.Session(files["cryptocontext.bin"], device="cpu")
    session.load_keys(relinearization=files["eval_mult_key.bin"], galois=files["eval_automorphism_keys.bin"])
    secret = session.load_secret_key(files["secret_key.bin"])
    x = session.load_ciphertext(files["ct.bin"]).square()
    steps = values["steps"]
    lazy = session.context.bind(session.keys, relinearization="lazy")
    for turned in (x.rotate(steps), x.rotate_many([steps])[0], lazy.rotate(x, steps)):
        assert session.context.decrypt(turned, secret).tolist() == values["result"]
    # Modulo N/2 it is another rotation, whose key the client did not make.
    raises(hm.errors.MissingKeyError, "", lambda: x.rotate(steps - session.params.degree // 2))
    # Keys that are made here are of the same automorphism; huge steps count modulo N/2 and exchange the rows.
    made = session.context.generate_keys(secret, rotations=[steps])
    assert (
        session.context.decrypt(session.context.bind(made).rotate(x, steps), secret).tolist()
        == values["result"]
    )
    half = session.params.degree // 2
    huge = steps + half * 2**70
    assert session.context.decrypt(x.rotate(huge), secret).tolist() == values["result"]
