"""Sessions with SEAL, on files that SEAL wrote (tests/vectors/seal)."""

import io
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.cli import main
from hemera.interop import seal

from ..refusals import raises

VECTORS = Path(__file__).resolve().parents[3] / "tests" / "vectors" / "seal"
SCHEMES = ["bfv", "bgv", "ckks"]


class Files:
    def __init__(self, scheme):
        self.scheme = scheme
        self.values = json.loads((VECTORS / scheme / "values.json").read_text())
        self.scale = self.values.get("initial_scale")

    def path(self, begin):
        return min((VECTORS / self.scheme).glob(f"{begin}*.seal"))

    def read(self, begin):
        return self.path(begin).read_bytes()

    def session(self, **options):
        return seal.Session(self.path("parms"), scale=self.scale, **options)

    def check(self, s, ciphertext, sk, name):
        found = s.context.decrypt(ciphertext, sk, dtype=complex if self.scale else None)
        entry = self.values["ciphertexts"][name]
        wanted = np.zeros(self.values["slots"]["count"], complex if self.scale else np.int64)
        slots = entry["expected"]
        filled = dict(enumerate(slots["first_64_slots"])) | slots["nonzero_after_64"]
        for slot, value in filled.items():
            wanted[int(slot)] = complex(*value) if self.scale else value
        if self.scale:
            assert np.abs(found - wanted).max() < entry["tolerance"]
        else:
            assert np.array_equal(found % self.values["parameters"]["plain_modulus"], wanted)


@pytest.fixture(scope="module", params=SCHEMES)
def files(request):
    return Files(request.param)


def test_a_session_as_in_the_documentation(files):
    s = files.session(device="cpu", threads=1)
    keys = s.load_keys(public_key=files.path("public_key"), relinearization=files.read("relin_keys"))
    assert keys.has_public_key
    assert keys.has_relinearization
    assert s.keys is keys
    with files.path("ct_a").open("rb") as stream:
        x = s.load_ciphertext(stream)
    y = s.load_ciphertext(str(files.path("ct_b")))
    sk = s.load_secret_key(io.BytesIO(files.read("secret_key")))
    assert x.slots == files.values["slots"]["count"]
    with warnings.catch_warnings():
        # Unknown noise is no spent budget.
        warnings.simplefilter("error")
        product = x * y
    files.check(s, product, sk, "mul_relin.seal")
    if not files.scale:
        assert x.guaranteed_noise_budget == 0
    entry = files.values["ciphertexts"]["mul_relin.seal"]
    told = s.metadata(product)
    assert list(told) == [
        "parms_id",
        "size",
        "is_ntt_form",
        "coeff_modulus_count",
        "scale",
        "correction_factor",
    ]
    assert told["scale"] == entry["scale"]
    words = [bytes.fromhex(word)[::-1].hex() for word in entry["parms_id_words"]]
    assert told["parms_id"] == "".join(words)
    for compression in ("none", "zlib", "zstd"):
        data = s.dump_ciphertext(product, compression=compression)
        assert isinstance(data, bytes)
        files.check(s, s.load_ciphertext(data), sk, "mul_relin.seal")

    # Loaded objects have a form in Hemera's own files.
    files.check(s, s.context.load(bytes(product)), sk, "mul_relin.seal")
    assert s.context.load(bytes(keys)).has_relinearization


def test_ciphertexts_keep_the_keys_loaded_before_them(files):
    s = files.session()
    early = s.load_ciphertext(files.read("ct_a"))
    s.load_keys(relinearization=files.read("relin_keys"))
    late = s.load_ciphertext(files.read("ct_a"))
    assert late.square().shape == ()
    raises(hm.errors.MissingKeyError, "", early.square)
    # Each call adds.
    before = s.keys
    after = s.load_keys(public_key=files.read("public_key"))
    assert after.has_relinearization
    assert after.has_public_key
    assert not before.has_public_key


def test_plaintexts(files):
    s = files.session()
    plain = s.load_plaintext(files.read("plaintext_m"))
    x = s.load_ciphertext(files.read("ct_a"))
    sk = s.load_secret_key(files.read("secret_key"))
    files.check(s, x * plain, sk, "mul_plain.seal")
    data = s.dump_plaintext(plain)
    assert isinstance(data, bytes)
    files.check(s, x * s.load_plaintext(data), sk, "mul_plain.seal")
    values = s.context.decode(plain)
    for count in (1, 2):  # a file for each of a batch, also of one
        batch = s.dump_plaintext(s.context.encode(np.stack([values] * count)))
        assert isinstance(batch, list)
        assert len(batch) == count
        for each in batch:
            np.testing.assert_allclose(s.context.decode(s.load_plaintext(each)), values, atol=1e-6)
        found = s.dump_ciphertext(s.load_ciphertext([files.read("ct_a")] * count))
        assert isinstance(found, list)
        assert len(found) == count


def test_wrong_sources(files, tmp_path):
    s = files.session()
    data = files.read("ct_a")
    raises(hm.errors.FormatError, "", lambda: s.load_ciphertext(data[:-1]))
    raises(hm.errors.FormatError, "no SEAL object", s.load_ciphertext, b"x" * 100)
    raises(hm.errors.FileError, "missing", lambda: s.load_ciphertext(tmp_path / "missing"))
    with pytest.raises(TypeError, match="bytes, a path or a binary stream"):
        s.load_ciphertext(3)
    with pytest.raises(TypeError, match="binary streams"):
        s.load_ciphertext(io.StringIO("text"))
    raises(hm.errors.ParameterError, "", s.load_ciphertext, [])
    with pytest.raises(hm.errors.MismatchError, match="at the level of keys"):
        s.load_ciphertext(files.read("public_key"))
    other = Files("bfv" if files.scale else "ckks").session()
    raises(hm.errors.MismatchError, "parms_id", other.load_ciphertext, data)
    raises(hm.errors.MismatchError, "", lambda: other.dump_ciphertext(s.load_ciphertext(data)))
    with pytest.raises(hm.errors.ParameterError, match="compression"):
        s.dump_context(compression="lz4")
    with pytest.raises(hm.errors.ParameterError, match="scale"):
        seal.Session(files.read("parms"), scale=None if files.scale else 2.0**40)
    raises(hm.errors.ParameterError, "encoding", files.session, encoding="both")


def test_values_in_coefficients():
    files = Files("bfv")
    s = files.session(encoding="coefficients")
    plain = s.load_plaintext(files.read("plaintext_a"))
    coefficients = s.context.decode(plain) % files.values["parameters"]["plain_modulus"]
    assert coefficients[:16].tolist() == files.values["plaintext_a_first_16_coefficients"]
    # Short ones stay short.
    short = s.context.encode([3, 0, 5], encoding="coefficients")
    data = s.dump_plaintext(short, compression="none")
    assert isinstance(data, bytes)
    assert s.context.decode(s.load_plaintext(data)).tolist() == [3, 0, 5]


def test_inspect(files, capsys):
    parms = files.read("parms")
    told = hm.inspect(parms)
    assert told.library == "SEAL"
    assert told.kind == "encryption parameters"
    assert told.fields["scheme"] == files.scheme.upper()
    # BFV has its ciphertexts in coefficient form, which no public key is in.
    assert hm.inspect(files.read("ct_a")).kind == (
        "ciphertext" if files.scheme == "bfv" else "ciphertext or public key"
    )
    assert hm.inspect(files.path("public_key"), parms=parms).kind == "public key"
    told = hm.inspect(files.read("secret_key"), parms=files.path("parms"))
    assert told.kind == "secret key"
    assert "library" in str(told)
    raises(hm.errors.FormatError, "", lambda: hm.inspect(files.read("ct_a")[:-1]))
    raises(hm.errors.FormatError, "", hm.inspect, b"neither")
    assert main(["inspect", str(files.path("ct_b")), "--with", str(files.path("parms")), "--json", "-"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["library"] == "SEAL"
    assert printed["kind"] == "ciphertext"
    assert printed["version"] == "4.4"
    assert printed["fields"]["size"] == "2"
    assert main(["inspect", str(files.path("relin_keys"))]) == 0
    assert "relinearization keys" in capsys.readouterr().out


def test_convert(files, tmp_path, capsys):
    """There and back: every kind of object by the command."""

    def convert(source, target, to, *options):
        scale = ["--scale", f"{files.scale}"] if files.scale else []
        path = tmp_path / target
        command = ["convert", str(source), str(path), "--to", to, *options, *scale]
        assert main(command) == 0, capsys.readouterr().err
        return path

    parms = files.path("parms")
    with_parms = ("--with", str(parms))
    own = convert(parms, "params.hemera", "hemera")
    s = files.session()
    assert hm.load_parameters(own) == s.params
    back = convert(own, "parms.seal", "seal-none", *with_parms)
    assert back.read_bytes() == s.dump_context(compression="none")
    for begin in ("ct_b", "plaintext_m", "secret_key", "public_key", "relin_keys"):
        stored = convert(files.path(begin), f"{begin}.hemera", "hemera", *with_parms)
        assert hm.inspect(stored).library == "Hemera"
        written = convert(stored, f"{begin}.seal", "seal-zlib", *with_parms)
        kind = hm.inspect(files.path(begin), parms=parms).kind
        assert hm.inspect(written, parms=parms).kind == kind
        again = convert(written, f"{begin}.again.hemera", "hemera", *with_parms)
        assert hm.inspect(again).fields == hm.inspect(stored).fields
    assert (tmp_path / "secret_key.seal").stat().st_mode & 0o77 == 0

    # Nothing converts one library's files to another's, or Hemera's to its own format.
    for source, to, reason in (
        (files.path("ct_b"), "openfhe", "is a file of SEAL, and OpenFHE has other parameters"),
        (tmp_path / "ct_b.hemera", "hemera", "is a file of Hemera already"),
    ):
        capsys.readouterr()
        assert main(["convert", str(source), str(tmp_path / "none"), "--to", to, *with_parms]) == 1
        assert reason in capsys.readouterr().err
        assert not (tmp_path / "none").exists()

    # Keys of several kinds go to a file each.
    sk = s.context.generate_secret_key()
    s.context.generate_keys(sk, rotations=[1]).save(tmp_path / "keys.hemera")
    convert(tmp_path / "keys.hemera", "keys.seal", "seal", *with_parms)
    written = {path.name for path in tmp_path.glob("keys.seal*")}
    assert written == {"keys.seal.public_key", "keys.seal.relinearization", "keys.seal.galois"}

    # What can not be.
    assert main(["convert", str(files.path("ct_b")), str(tmp_path / "x"), "--to", "hemera"]) == 1
    assert "--with" in capsys.readouterr().err
    assert main(["convert", str(own), str(tmp_path / "x"), "--to", "hemera"]) == 1
    assert "already" in capsys.readouterr().err
