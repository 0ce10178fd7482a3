"""Files of every release load for ever, and hold what they held: tests/vectors/releases.

`values.json` beside the files has their values as NumPy, Python's integers and scikit-learn computed them
before the release. Files of the first version are those of tests/vectors/format-v1 to v4: of its development,
encryptions of zero. Those of later versions are what earlier ones can not express. tests/io/golden_test.cpp
compares all that these hold.
"""

import hashlib
import json
import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from packaging.version import Version

import hemera as hm
import write_released_files
from hemera import serving
from hemera.errors import SecurityWarning
from hemera.package import container
from hemera.package.encodings import Encoding
from hemera.package.finishing import Step
from hemera.package.specs import READINGS
from hemera.program.operations import OPERATIONS

from .serving.estimator_cases import encrypted

REPOSITORY = Path(__file__).resolve().parents[2]
VECTORS = REPOSITORY / "tests" / "vectors"
RELEASES = sorted((path.name for path in (VECTORS / "releases").iterdir() if path.is_dir()), key=Version)
NEWEST = VECTORS / "releases" / RELEASES[-1]
SINCE = {
    "exact bootstrap",
    "integers",
    "joined",
    "matrix of rows",
    "products of pairs",
    "reordered",
    "rotations",
    "sums of products",
}
"""Operations of models that came after the newest release; its successor has them."""
READINGS_SINCE = {"integer", "truth"}
NO_LONGER = {"rows"}
"""Encodings that are read, and no longer written: 0.2.0 has files of them."""
SCHEMES = ("ckks", "bfv", "bgv")
TOLERANCE = 2.0**-12

FOLDERS = [VECTORS / "releases" / release / scheme for release in RELEASES for scheme in SCHEMES]
OBJECTS = [path for folder in FOLDERS for path in sorted(folder.glob("*.hemera"))]
MODELS = [
    path
    for release in RELEASES
    for path in sorted((VECTORS / "releases" / release / "models").glob("*.hemera-model"))
]
INTEGERS = [VECTORS / "integers", *sorted((VECTORS / "releases").glob("*/integers"))]
EARLIER = sorted(folder for version in VECTORS.glob("format-v*") for folder in version.iterdir())
# Versions of the format that came after a release: the next one has files of them.
FORMATS_AFTER = {"0.2.0": {5, 6, 7, 8}}
KINDS_AFTER = {"0.2.0": {"needed keys"}}

pytestmark = [
    pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning"),
    pytest.mark.filterwarnings("ignore::hemera.errors.NoiseWarning"),
]


def name_of(path):
    return str(path.relative_to(VECTORS))


@cache
def values_of(folder):
    """What is stored beside the files of a folder."""
    return json.loads((folder / "values.json").read_text())


@cache
def party_of(folder):
    """The context and the secret key of a folder's files."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        ctx = hm.Context(hm.load_parameters(folder / "parameters.hemera"), "cpu", threads=1)
    return ctx, ctx.load(folder / "secret-key.hemera")


def as_arrays(data):
    """The values of JSON as arrays; complex ones are {"real", "imaginary"}."""
    if isinstance(data, dict):
        if data.keys() == {"real", "imaginary"}:
            return np.array(data["real"]) + 1j * np.array(data["imaginary"])
        return {name: as_arrays(each) for name, each in data.items()}
    return np.array(data)


def require_equal(found, expected, tolerance=TOLERANCE):
    """Integers and text exactly, other numbers within the tolerance."""
    assert found.shape == expected.shape
    assert found.dtype.kind == expected.dtype.kind
    if expected.dtype.kind in "fc":
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    else:
        np.testing.assert_array_equal(found, expected)


# --- Messages and keys. ---


@pytest.mark.parametrize("path", OBJECTS, ids=name_of)
def test_objects_hold_what_they_held(path):
    stored = values_of(path.parent)[path.name]
    described = hm.inspect(path)
    assert (described.kind, described.version) == (stored["kind"], stored["version"])
    ctx, sk = party_of(path.parent)
    loaded = hm.load_parameters(path) if described.kind == "parameters" else ctx.load(path)
    if "compressed" in path.name:
        assert any(section.compressed for section in described.sections)
        assert bytes(ctx.load(bytes(loaded))) == bytes(loaded)
    else:
        # What is loaded has one encoding.
        assert bytes(loaded) == path.read_bytes()
    assert ("values" in stored) == isinstance(loaded, (hm.Plaintext, hm.Ciphertext))
    if isinstance(loaded, hm.Plaintext):
        require_equal(ctx.decode(loaded), as_arrays(stored["values"]))
    elif isinstance(loaded, hm.Ciphertext):
        require_equal(ctx.decrypt(loaded, sk), as_arrays(stored["values"]))


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_every_object_has_its_entry(folder):
    assert {path.name for path in folder.glob("*.hemera")} == values_of(folder).keys()


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_keys_do_what_they_did(folder):
    ctx, sk = party_of(folder)
    ev = ctx.bind(ctx.load(folder / "evaluation-keys.hemera"))
    x, expected = ev.load(folder / "ciphertext.hemera"), values_of(folder)["ciphertext.hemera"]["values"]
    values = np.array(expected)

    def require(y, wanted, key=sk):
        require_equal(ctx.decrypt(y, key), wanted)

    require(x * x, values * values)
    if ctx.params.scheme == "ckks":
        require(x.rotate(1), np.roll(values, -1))
        require(x.conjugate(), values)
    else:
        rows = np.zeros(ctx.params.max_slots, np.int64)
        rows[: len(values)] = values
        require(ev.encrypt(rows).rotate(1), np.roll(rows.reshape(2, -1), -1, axis=1).ravel())
        require(ev.encrypt(rows).swap_rows(), np.roll(rows, len(rows) // 2))
    encrypting = ctx.bind(ctx.load(folder / "encryption-key.hemera"))
    require(encrypting.encrypt(values), values)
    other = ctx.load(folder / "other-secret-key.hemera")
    switching = ctx.load(folder / "switching-key.hemera")
    require(ev.reencrypt(x, switching), values, other)


@pytest.mark.parametrize("folder", EARLIER, ids=name_of)
def test_files_of_the_first_version(folder):
    files = sorted(folder.glob("*.hemera"))
    digests = (folder / "digests.txt").read_text().split()
    assert [path.name for path in files] == sorted(digests[::2])
    for path in files:
        if path.name == "parameters.hemera":
            assert bytes(hm.load_parameters(path)) == path.read_bytes()
            continue
        if path.name == "needed-keys.hemera":  # of test_needed_keys.py
            assert hashlib.sha256(path.read_bytes()).hexdigest() == digests[digests.index(path.name) + 1]
            continue
        ctx, sk = party_of(folder)
        loaded = ctx.load(path)
        if path.name in (
            "evaluation-keys.hemera",
            "plaintext.hemera",
            "secret-key.hemera",
            "switching-key.hemera",
        ):
            assert bytes(loaded) == path.read_bytes()
        if isinstance(loaded, hm.Ciphertext):
            values = ctx.decrypt(loaded, sk)
            assert values.size
            np.testing.assert_allclose(values, 0, rtol=0, atol=2.0**-20)
        # The public keys of the other folders have the primes of the lowest level alone.
        if folder.parent.name == "format-v1" and isinstance(loaded, hm.Keys) and loaded.has_public_key:
            ones = np.ones(16, float if ctx.params.scheme == "ckks" else int)
            require_equal(ctx.decrypt(ctx.bind(loaded).encrypt(ones), sk), ones)


# --- Packaged models. ---


@pytest.mark.parametrize("path", MODELS, ids=name_of)
def test_models_answer_as_they_did(path):
    stored = values_of(path.parent)[path.name]
    package = serving.Package.load(path)
    # Arrays are compressed, and the bytes of this depend on zlib's version.
    assert serving.Package.load(package.to_bytes()).to_bytes() == package.to_bytes()
    rows = [np.array(each) for each in stored["rows"]]
    given = rows if len(package.inputs) > 1 and len(rows) == len(package.inputs) else np.array(stored["rows"])
    expected = as_arrays(stored["results"])
    for run in (package.evaluate_clear, lambda rows: encrypted(package, rows)):
        found = run(given)
        assert isinstance(found, dict) == isinstance(expected, dict)
        pairs = [(found, expected)]
        if isinstance(expected, dict):
            assert found.keys() == expected.keys()
            pairs = [(found[name], expected[name]) for name in expected]
        for result, wanted in pairs:
            result = np.asarray(result)
            if result.dtype.kind == "f" and wanted.dtype.kind == "i":
                wanted = wanted.astype(float)
            size = max(1.0, np.abs(wanted).max()) if wanted.dtype.kind == "f" else 1.0
            require_equal(np.real_if_close(result), wanted, size * 2.0 ** -stored["bits"])


def of_ckks(file, x):
    """The matrix is the file's only array, before its SHA-256."""
    matrix = np.frombuffer(file[-32 - 8 * 64 : -32]).reshape(8, 8)
    inner = (x * x) @ matrix + 0.5 * np.roll(x, 1, axis=-1) + np.roll(x, -4, axis=-1)
    return 1 / (1 + np.exp(-inner)) + x


def of_bfv(_, x, y):
    turned = np.roll(x.reshape(-1, 2, 512), 3, axis=-1).reshape(x.shape)
    swapped = y.reshape(-1, 2, 512)[:, ::-1].reshape(y.shape)
    return (x * y + turned).sum(-1, keepdims=True) - 3 * swapped


def of_bootstrap(_, x):
    return np.roll(x**3, -1, axis=-1)


@pytest.mark.parametrize(("program", "bits"), [(of_ckks, 7), (of_bfv, 0), (of_bootstrap, 16)])
def test_models_of_the_first_version(program, bits):
    file = (VECTORS / "models" / f"{program.__name__.removeprefix('of_')}.hemera-model").read_bytes()
    length = int.from_bytes(file[16:24], "little")
    assert json.loads(file[24 : 24 + length])["version"] == 1
    package = serving.Package.load(file)
    random = np.random.default_rng(21)
    exact = package.scheme == "bfv"
    shape = (2, package.inputs[0].width)
    rows = [random.integers(-2, 3, shape) if exact else random.uniform(0, 1, shape) for _ in package.inputs]
    given = rows if len(rows) > 1 else rows[0]
    expected = program(file, *rows)
    if exact:
        assert np.abs(expected).max() < package.params.plain_modulus / 2
    for found in (package.evaluate_clear(given), encrypted(package, given)):
        require_equal(np.asarray(found), expected, 2.0**-bits)


@pytest.mark.parametrize("release", RELEASES)
def test_every_model_has_its_entry(release):
    folder = VECTORS / "releases" / release / "models"
    assert {path.name for path in folder.glob("*.hemera-model")} == values_of(folder).keys()


# --- The newest release has a file of everything. ---


def kinds_of_the_format():
    """The kinds that the reader of C++ knows, with their numbers in files."""
    header = (REPOSITORY / "include" / "hemera" / "io" / "container.hpp").read_text()
    (body,) = re.findall(r"enum class Kind : std::uint16_t \{(.*?)\}", header, re.DOTALL)
    return {name.replace("_", " "): int(number) for name, number in re.findall(r"(\w+) = (\d+)", body)}


def newest_format():
    header = (REPOSITORY / "include" / "hemera" / "io" / "container.hpp").read_text()
    names = dict(re.findall(r"inline constexpr std::uint16_t (\w+_format) = (\w+);", header))
    return int(names[names["newest_format"]])


def of_newest(scheme):
    return list(values_of(NEWEST / scheme).values())


def test_this_version_has_its_files():
    """If this fails: tools/write_released_files.py VERSION, before the release."""
    assert RELEASES[-1] == hm.__version__


@pytest.mark.parametrize("scheme", SCHEMES)
def test_newest_release_has_every_kind(scheme):
    # Python writes public keys among evaluation keys; files of theirs alone are C++'s, in format-v*.
    kinds = kinds_of_the_format().keys() - {"public key"} - KINDS_AFTER.get(RELEASES[-1], set())
    assert {each["kind"] for each in of_newest(scheme)} == kinds
    for folder in EARLIER:
        if folder.parent.name in ("format-v1", "format-v2", "format-v3", "format-v4"):
            assert hm.inspect(folder / "public-key.hemera").kind == "public key"


def test_newest_release_has_every_version_of_the_format():
    found = {each["version"] for scheme in SCHEMES for each in of_newest(scheme)}
    versions = set(range(1, newest_format() + 1))
    assert found == versions - FORMATS_AFTER.get(RELEASES[-1], set())
    folders = {int(folder.parent.name.removeprefix("format-v")) for folder in EARLIER}
    assert folders == versions


def packages():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        return [serving.Package.load(path) for path in MODELS if path.parent.parent == NEWEST]


def kinds_in(data):
    """Every "kind" in data of JSON."""
    if isinstance(data, dict):
        own = {data["kind"]} if isinstance(data.get("kind"), str) else set()
        return own.union(*(kinds_in(each) for each in data.values()))
    return set().union(*(kinds_in(each) for each in data)) if isinstance(data, list) else set()


def subclasses(of):
    return {each for own in of.__subclasses__() for each in (own, *subclasses(own))}


def test_newest_release_has_every_part_of_models():
    found = packages()
    operations = {name for each in found for name in each.program.operations}
    assert operations | SINCE == OPERATIONS.keys()
    assert not operations & SINCE
    assert {output.read for each in found for output in each.outputs} == READINGS.keys() - READINGS_SINCE
    assert {each.scheme for each in found} == set(SCHEMES)
    kinds = set().union(*(kinds_in(json.loads(json.dumps(each.describe()))) for each in found))
    assert kinds | NO_LONGER | SINCE >= {each.kind for of in (Encoding, Step) for each in subclasses(of)}
    assert {each.interface.sharing is None for each in found} == {True, False}
    assert any(each.interface.keys.bootstraps for each in found)
    for path in (NEWEST / "models").glob("*.hemera-model"):
        assert f'"version":{container.VERSION},'.encode() in path.read_bytes()[:60]


# --- The writer. ---


def test_released_files_are_not_written_again(tmp_path, capsys):
    folder = tmp_path / hm.__version__
    folder.mkdir()
    assert write_released_files.main([hm.__version__, "--releases", str(tmp_path)]) == 1
    assert "stay as they are" in capsys.readouterr().err
    assert write_released_files.main(["9.9.9", "--releases", str(tmp_path)]) == 1
    assert f"this is Hemera {hm.__version__}, not 9.9.9" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [folder]
    assert not list(folder.iterdir())


@pytest.mark.parametrize("folder", INTEGERS, ids=name_of)
def test_encrypted_integers_hold_what_they_held(folder):
    params = hm.load_parameters(folder / "parameters.hemera")
    secret = hm.Context(params, "cpu", threads=1).load(folder / "secret-key.hemera")
    ints = hm.integers.Context(16, secret_key=secret)
    for name, stored in values_of(folder).items():
        data = (folder / name).read_bytes()
        x = ints.load(data)
        found, expected = ints.decrypt(x), np.array(stored["values"], stored["type"])
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
        assert bytes(x) == data
        told = hm.inspect(data)
        assert (told.kind, told.version) == (f"encrypted {name.removesuffix('.hemera')}", 1)
        assert told.fields["shape"] == str(expected.shape)
