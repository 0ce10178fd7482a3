"""Recording and files: what Python code is taken, and hostile bytes."""

import copy
import hashlib
import io
import json
import os

import numpy as np
import pytest

import hemera as hm
from hemera import serving

from ..beside import printed
from ..hostile_damage import changed_at, places
from ..refusals import raises
from .package_bytes import joined, parts

WEIGHTS = np.linspace(-1, 1, 8)


def make():
    return serving.export(
        lambda x: hm.circuits.sigmoid((-8, 8), bits=8)(x * WEIGHTS).rotate(1) + WEIGHTS,
        inputs=8,
        name="scores",
        description="of tests",
        security=None,
        outputs={"output": (4, "argmax")},
    )


PACKAGE = make()
DATA = bytes(PACKAGE)


# --- Files. ---


def test_round_trip(tmp_path):
    path = tmp_path / "scores.hemera-model"
    PACKAGE.save(path)
    with path.open("rb") as stream:
        loaded = [
            serving.Package.load(source) for source in (DATA, path, str(path), stream, io.BytesIO(DATA))
        ]
    rows = np.random.default_rng(1).uniform(-1, 1, (5, 8))
    for each in loaded:
        assert bytes(each) == DATA
        assert each.digest == hashlib.sha256(DATA).hexdigest() == each.describe()["digest"]
        assert (each.name, each.description, each.scheme) == ("scores", "of tests", "ckks")
        assert each.params == PACKAGE.params
        np.testing.assert_array_equal(each.evaluate_clear(rows), PACKAGE.evaluate_clear(rows))
    # Files are the same bytes each time, and made again from what they hold.
    assert bytes(make()) == DATA
    assert bytes(serving.Package(loaded[0].interface, loaded[0].program)) == DATA
    assert json.loads(json.dumps(PACKAGE.describe())) == PACKAGE.describe()
    raises(hm.errors.FileError, "", serving.Package.load, tmp_path / "missing")
    raises(hm.errors.FileError, "", PACKAGE.save, tmp_path / "missing" / "model")
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_the_description_has_no_weights():
    weights = np.array([0.123456789, 0.987654321])
    package = serving.export(lambda x: x * weights + 0.314159, inputs=2, name="secret", security=None)
    text = json.dumps(package.describe())
    assert "0.1234" not in text
    assert "0.3141" not in text
    assert "0.3141" in json.dumps(parts(bytes(package))[0])


def test_damage():
    random = np.random.default_rng(3)
    for _ in range(200):
        data = bytearray(DATA)
        data[random.integers(len(data))] ^= 1 << int(random.integers(8))
        raises(hm.errors.FormatError, "", serving.Package.load, bytes(data))


def test_limit():
    raises(hm.errors.FormatError, "more than 100 bytes", serving.Package.load, io.BytesIO(DATA), limit=100)


HOSTILE = {
    "version": lambda h: h.update(version=3),
    "no version": lambda h: h.pop("version"),
    "no arrays": lambda h: h.update(arrays=[]),
    "object arrays": lambda h: h["arrays"].__setitem__(0, ["|O", [8]]),
    "negative extent": lambda h: h["arrays"].__setitem__(0, ["<f8", [-8]]),
    "huge array": lambda h: h["arrays"].__setitem__(0, ["<f8", [1 << 29, 1 << 29]]),
    "extents that are no integers": lambda h: h["arrays"].__setitem__(0, ["<f8", [True, 8]]),
    "no axes": lambda h: h["arrays"].__setitem__(0, ["<f8", []]),
    "order": lambda h: h.update(order=[99]),
    "other parts": lambda h: h["content"].update(code="import os"),
    "no program": lambda h: h["content"].pop("program"),
    "no parameters": lambda h: h["content"]["interface"].update(parameters="AAAA"),
    "no inputs": lambda h: h["content"]["interface"].update(inputs=[]),
    "long name": lambda h: h["content"]["interface"].update(name="a" * 100_000),
    "rotations": lambda h: h["content"]["interface"]["keys"].update(rotations=[[1 << 80, 0]]),
    "levels": lambda h: h["content"]["interface"]["keys"].update(rotations=[[1, 99]]),
    "encoding": lambda h: h["content"]["interface"].update(encoding={"kind": "pickle"}),
    "reading": lambda h: h["content"]["interface"]["outputs"][0].update(read="eval"),
    "width": lambda h: h["content"]["interface"]["inputs"][0].update(width=9),
    "axes": lambda h: h["content"]["interface"]["inputs"][0].update(shape=[1] * 50),
    "axes of the program": lambda h: h["content"]["program"]["inputs"][0].update(shape=[1] * 50),
    "shape": lambda h: h["content"]["interface"]["inputs"][0].update(shape=[2]),
    "operation": lambda h: h["content"]["program"]["nodes"][0].update(operation="exec"),
    "field": lambda h: h["content"]["program"]["nodes"][0].update(other=1),
    "operand": lambda h: h["content"]["program"]["nodes"][0].update(operands=[7]),
    "operand of a later node": lambda h: h["content"]["program"]["nodes"][0].update(operands=[2]),
    "no operand": lambda h: h["content"]["program"]["nodes"][0].update(operands=[]),
    "array": lambda h: h["content"]["program"]["nodes"][0].update(values={"array": 9}),
    "number for an array": lambda h: h["content"]["program"]["nodes"][0].update(values="text"),
    "function": lambda h: h["content"]["program"]["nodes"][1].update(of="system"),
    "numbers": lambda h: h["content"]["program"]["nodes"][1].update(numbers={"low": -8}),
    "bits": lambda h: h["content"]["program"]["nodes"][1]["numbers"].update(bits=400),
    "steps": lambda h: h["content"]["program"]["nodes"][2].update(steps=1 << 40),
    "outputs": lambda h: h["content"]["program"].update(outputs=[]),
    "output": lambda h: h["content"]["program"].update(outputs=[-1]),
    "scheme": lambda h: h["content"]["program"].update(scheme="bfv"),
    "slots": lambda h: h["content"]["program"]["inputs"][0].update(slots=1 << 40),
    "depth": lambda h: h["content"]["interface"].update(depth="deep"),
}


def test_the_test_of_hostile_content_writes_files_that_load():
    header, arrays = parts(DATA)
    assert serving.Package.load(joined(header, arrays)).name == "scores"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_content(name):
    header, arrays = parts(DATA)
    HOSTILE[name](header)
    raises(hm.errors.FormatError, "", serving.Package.load, joined(header, arrays))


CUTS = [0, 1, 15, 16, 23, 24, 100, len(DATA) // 2, len(DATA) - 33, len(DATA) - 1]
HEADERS = [
    b"",
    b"[]",
    b"null",
    b"{",
    b"[" * 100_000,
    b'{"version": 1, "arrays": NaN}',
    b"\xff\xfe",
    b'{"version":1}',
]
NO_FILES = [
    DATA + b"\0",
    *(DATA[:cut] for cut in CUTS),
    *(DATA[:16] + length.to_bytes(8, "little") + DATA[24:] for length in (0, 1 << 62, len(DATA))),
    *(joined(text, b"") for text in HEADERS),
]


@pytest.mark.parametrize("at", range(len(NO_FILES)))
def test_bytes_that_are_no_file(at):
    """Cut off, too long, of another length of the header, or with a header of other JSON."""
    raises(hm.errors.FormatError, "", serving.Package.load, NO_FILES[at])


VALUES = [None, True, 0, -1, 1 << 70, 1.5, "x", [], {}, [[]], [1] * 50, {"array": 0}, {"array": 9}, [None]]


def test_any_change_of_a_header_loads_or_is_a_format_error():
    simple = serving.export(
        lambda x: x.polyval([1, 2.5]) @ np.eye(4) + serving.dot([x], [np.arange(4)]),
        inputs=serving.InputSpec("x", 4, low=-1),
        name="simple",
        security=None,
    )
    header, arrays = parts(bytes(simple))
    random = np.random.default_rng(8)
    refused = 0
    for path in places(header):
        value = VALUES[random.integers(len(VALUES))]
        changed = changed_at(header, path, value if random.random() < 0.8 else ...)
        try:
            serving.Package.load(joined(changed, arrays)).describe()
        except hm.errors.FormatError:
            refused += 1
    assert refused > 50


def test_arrays_of_another_size():
    header, arrays = parts(DATA)
    raises(hm.errors.FormatError, "cut off in array 0", serving.Package.load, joined(header, arrays[:-8]))
    with pytest.raises(hm.errors.FormatError, match="8 bytes after its arrays"):
        serving.Package.load(joined(header, arrays + bytes(8)))


def test_few_functions_by_name():
    def circuit(x):
        return [hm.circuits.exp((-1, 1 + k / 64), bits=3)(x) for k in range(33)]

    with pytest.raises(hm.errors.ParameterError, match="at most 32 different functions"):
        serving.export(circuit, inputs=4, name="many", security=None)


def test_an_interface_of_rubbish():
    for data in (
        {},
        {"keys": 1},
        PACKAGE.describe() | {"inputs": 3},
        PACKAGE.describe() | {"parameters": "?"},
    ):
        raises(hm.errors.FormatError, "", serving.Interface.from_dict, data)


# --- Recording. ---


def test_python_code_that_depends_on_data():
    def branches(x):
        return x if x[0] else -x

    refused = {
        "if": lambda x: x if x else -x,
        "comparison": lambda x: x * (x > 0),
        "equality": lambda x: x if x == 1 else -x,
        "float": lambda x: x * float(x),
        "int": lambda x: x.rotate(int(x)),
        "index": lambda x: [1, 2][x],
        "min": lambda x: min(x, 1),
        "NumPy function": lambda x: np.exp(x),
        "array": lambda x: np.asarray(x),
        "length": lambda x: x * len(x),
        "batch": branches,
    }
    for name, function in refused.items():
        with pytest.raises(TypeError) as caught:
            serving.export(function, inputs=4, name=name, security=None)
        assert any(word in str(caught.value) for word in ("encrypted", "ciphertext", "np.exp takes")), name
    raises(TypeError, r"hm\.circuits\.exp", serving.export, np.exp, inputs=4, name="exp")


EXACT = hm.bfv.Parameters.for_circuit(1, slots=1024, security=None)
FLAT = hm.ckks.Parameters.for_circuit(depth=1, slots=4, security=None)


@pytest.mark.parametrize(
    ("function", "error", "told", "options"),
    [
        (lambda _: 1.0, TypeError, "returns float", {}),
        (lambda _: [], TypeError, "returns nothing", {}),
        (lambda x: 1 + x / x, TypeError, "divided by plain numbers", {}),
        (lambda x: x @ np.ones((2, 4, 4)), TypeError, "plain matrix", {}),
        (lambda x: x @ np.ones((4, 100)), hm.errors.MismatchError, r"InputSpec\(\.\.\., slots=\)", {}),
        (lambda x: x * np.full(4, 0.5), TypeError, "computes with integers", {"params": EXACT}),
        (lambda x: x @ np.eye(4), hm.errors.ParameterError, "no operation 'matmul'", {"params": EXACT}),
        (lambda x: x**4, hm.errors.LevelError, "bootstrap before it", {"params": FLAT}),
        (lambda x: x + 1, hm.errors.ParameterError, "there is no other", {"outputs": {"other": 1}}),
    ],
)
def test_other_returns_and_operands(function, error, told, options):
    raises(error, told, serving.export, function, inputs=4, name="a", **options)


def test_values_of_another_program():
    kept = []
    serving.export(lambda x: kept.append(x) or x + 1, inputs=4, name="a", security=None)
    raises(TypeError, "another program", serving.export, lambda x: x + kept[0], inputs=4, name="a")


def test_values_that_the_model_is_not_for():
    spec = serving.InputSpec("x", 4, low=-1, high=1)
    interface = serving.export(lambda x: x + 1, inputs=spec, name="a", security=None).interface
    raises(hm.errors.ParameterError, "from -1 to 1", interface.encode, np.full(4, 2.0))
    raises(hm.errors.MismatchError, r"shape \(\.\.\., 4\)", interface.encode, np.zeros(5))
    raises(hm.errors.MismatchError, "1 outputs", interface.decode, [])


def test_serving_is_imported_when_it_is_used():
    code = (
        "import sys, hemera as hm; assert 'hemera.serving' not in sys.modules; "
        "assert hm.serving.export and 'fastapi' not in sys.modules"
    )
    printed(code)


def test_any_change_of_bytes_loads_or_is_an_error(with_changed_bytes):
    """With a checksum that is right, so that what is behind it is reached: HEMERA_MODEL_MUTANTS of them."""
    plan = hm.compile(
        lambda x: (np.tanh(x @ np.linspace(-1, 1, 12).reshape(4, 3)) + 0.5).sum(),
        hm.ArraySpec((4,), range=(-1, 1)),
        params=hm.ckks.Parameters.for_circuit(8, degree=1024, slots=16, security=None),
        precision_bits=8,
    )
    body = plan.package.to_bytes()[:-32]
    rng = np.random.default_rng(int(os.environ.get("HEMERA_MODEL_SEED", "1")))
    count = int(os.environ.get("HEMERA_MODEL_MUTANTS", "300"))
    refused = 0
    for _ in range(count):
        mutant = with_changed_bytes(body, rng)
        try:
            hm.serving.Package.load(bytes(mutant) + hashlib.sha256(mutant).digest())
        except hm.Error:
            refused += 1
    assert 0 < refused < count


def test_descriptions_of_older_packages_and_long_names():
    """What came later is as if it had not been there; texts have their length."""
    told = copy.deepcopy(PACKAGE.describe())
    for name in ("column", "labels", "watched", "low", "high", "reach"):
        told["outputs"][0].pop(name, None)
    assert serving.Interface.from_dict(told).outputs == PACKAGE.outputs
    told["description"] = "a" * 10_000
    assert serving.Interface.from_dict(told).description == told["description"]
    for place, text in (
        (told, told["description"] + "a"),
        (told["inputs"][0], 5),
        (told["outputs"][0], None),
    ):
        kept = dict(place)
        place.update({"description" if place is told else "name": text})
        raises(hm.errors.FormatError, "short texts", serving.Interface.from_dict, told)
        place.update(kept)
