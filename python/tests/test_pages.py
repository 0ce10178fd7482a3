"""The programs of pages for beginners run, and print what stands beside them."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import hemera
from hemera.compat.tenseal.installed import NAMES

from .compiler.onnx_models import model, node

DOCS = Path(__file__).parents[2] / "docs"


def sections(page):
    """The programs of each section of a page that has some, as one text."""
    found = {}
    for part in re.split(r"^## ", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        programs = re.findall(r"^```python\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
        if programs:
            found[part.partition("\n")[0]] = "\n".join(programs)
    return found


START = sections("start.md")
OTHERS = sections("coming-from.md")
IMPORTS = "import numpy as np\nimport hemera as hm\n"
OF_ORION = sections("orion.md")
IMPORT_OF_TENSEAL = "import hemera.compat.tenseal as ts\n"


def numbers(text):
    return [float(each) for each in re.findall(r"-?\d+(?:\.\d*)?(?:e-?\d+)?", text)]


def test_the_pages_have_programs():
    assert len(START) == 3
    assert list(OTHERS) == [f"From {name}" for name in ("TenSEAL", "OpenFHE", "SEAL", "Concrete ML", "Orion")]


@pytest.mark.parametrize("title", START)
def test_start(title, capsys):
    exec(compile(IMPORTS + START[title], title, "exec"), {})
    text = capsys.readouterr().out
    if title.startswith("2."):
        first, last = text.splitlines()
        assert np.abs(np.subtract(*numbers(first))) < 1e-4
        assert last == "[ 10  40  90 160]"
    elif title.startswith("3."):
        np.testing.assert_allclose(numbers(text), 2, atol=1e-4)
    else:
        assert len(text.splitlines()) > 10
        np.testing.assert_allclose(numbers(text.splitlines()[-1]), [0, 0], atol=0.1)


@pytest.mark.parametrize("title", OTHERS)
def test_coming_from(title, capsys):
    """Lines that print a difference print small ones; others print the comment beside them."""
    program = OTHERS[title]
    exec(compile(IMPORTS + program, title, "exec"), {})
    shown = capsys.readouterr().out.splitlines()
    beside = [line.partition("  # ")[2] for line in program.splitlines() if line.startswith("print(")]
    # A report has several lines; it comes before the differences.
    for line, wanted in zip(shown[-len(beside) :], beside, strict=True):
        if wanted:
            assert line == wanted
        elif re.fullmatch(r"[0-9.e-]+", line):
            assert float(line) < 1e-2


def test_reference_has_every_error():
    """Errors of the compiled core, which the site does not read, with their docstrings."""
    rows = re.findall(
        r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", (DOCS / "reference" / "errors.md").read_text(), re.MULTILINE
    )
    kinds = [getattr(hemera.errors, name) for name in hemera.errors.__all__]
    expected = [
        (kind.__name__, ", ".join(f"`{base.__name__}`" for base in kind.__bases__), kind.__doc__)
        for kind in kinds
        if not issubclass(kind, Warning)
    ]
    assert rows == expected


@pytest.mark.parametrize("title", sections("tenseal.md"))
def test_tenseal(title, capsys, monkeypatch):
    """Each line prints about the numbers beside it, also in a process that has imported TenSEAL."""
    for name in ("tenseal", *(f"tenseal.{each}" for each in NAMES)):
        monkeypatch.setitem(sys.modules, name, None)
    program = IMPORT_OF_TENSEAL + sections("tenseal.md")[title]
    exec(compile(program, title, "exec"), {})
    beside = [line.partition("  # ")[2] for line in program.splitlines() if line.startswith("print(")]
    shown = capsys.readouterr().out.splitlines()
    for line, wanted in zip(shown, beside, strict=True):
        np.testing.assert_allclose(numbers(line), numbers(wanted), atol=1e-4)


@pytest.mark.parametrize("title", OF_ORION)
def test_orion(title, capsys):
    """Each line prints what stands beside it."""
    program = OF_ORION[title]
    if "import orion.nn" in program:
        pytest.importorskip("orion", reason="Orion is no requirement: pip install orion-fhe")
    exec(compile(program, title, "exec"), {})
    beside = [line.partition("  # ")[2] for line in program.splitlines() if line.startswith("print(")]
    assert capsys.readouterr().out.splitlines()[-len(beside) :] == beside


def test_python_functions_of_arrays(capsys):
    program = sections("python.md")["Functions of arrays"]
    exec(compile(program, "docs/python.md", "exec"), {})
    x = np.array([-1.5, 0.0, 0.5, 1.5])
    wanted = scipy.special.softmax((x + 1) * scipy.special.expit(x))
    plain, encrypted = (numbers(line) for line in capsys.readouterr().out.splitlines())
    np.testing.assert_allclose(plain, wanted, atol=1e-8)
    np.testing.assert_allclose(encrypted, wanted, atol=2**-12 + 1e-8)


def test_a_network(tmp_path, monkeypatch):
    rng = np.random.default_rng(8)
    weights, images = rng.normal(size=(12, 2)) / 4, rng.uniform(-1, 1, (20, 1, 3, 4))
    nodes = [node("Flatten", ["x"], ["a"]), node("MatMul", ["a", "w"], ["b"]), node("Tanh", ["b"], ["y"])]
    network = model(nodes, {"w": weights.astype(np.float32)}, shape=("n", 1, 3, 4))
    monkeypatch.chdir(tmp_path)
    Path("network.onnx").write_bytes(network.SerializeToString())
    np.save("images.npy", images)
    page = (DOCS / "compile-networks.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    printed = []
    exec(compile(program, "docs/compile-networks.md", "exec"), {"print": printed.append})
    np.testing.assert_allclose(printed[-1], np.tanh(images[0].ravel() @ weights), atol=2**-10)


CIRCUITS = re.findall(
    r"^```python\n(.*?)^```", (DOCS / "circuits.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)


def of_circuits(word):
    """The names of the program with a word, after it ran."""
    (program,) = (each for each in CIRCUITS if word in each)
    space = {}
    exec(compile(program, "docs/circuits.md", "exec"), space)
    return space


def decrypted(space, name):
    return space["ctx"].decrypt(space[name], space["sk"])


def test_circuits_has_programs():
    assert len(CIRCUITS) == 9


def test_circuits_of_matrices():
    found = of_circuits("print(transform.report())")
    assert np.allclose(decrypted(found, "y"), found["matrix"] @ found["values"], atol=1e-6)
    found = of_circuits("scipy.sparse")
    x = np.linspace(-1, 1, 1024)
    wanted = np.roll(x, -1) / 2 + found["weights"] * np.roll(x, 1)
    assert np.allclose(found["shift"].evaluate_clear(x), wanted)
    assert np.allclose(found["t"].evaluate_clear(x[:800])[:1000], found["matrix"] @ x[:800])
    found = of_circuits("hm.circuits.TransformGrid")
    assert np.allclose(decrypted(found, "y"), found["weights"] + 0.5, atol=1e-6)
    assert np.allclose(decrypted(found, "z"), found["shortcut"], atol=1e-6)
    assert np.allclose(decrypted(found, "sum_of_both"), found["weights"] + 0.5, atol=1e-6)
    found = of_circuits("hm.circuits.InnerSum")
    wanted = np.linspace(-1, 1, 4096).reshape(-1, 16).sum(axis=1)
    assert np.allclose(decrypted(found, "y")[::16], wanted, atol=1e-5)
    found = of_circuits("hm.circuits.MatrixProduct")
    assert np.allclose(decrypted(found, "y")[:16], found["matrix"] @ found["vector"], atol=1e-4)
    assert np.allclose(decrypted(found, "c")[:256].reshape(16, 16), found["a"] @ found["b"], atol=1e-4)


def test_circuits_of_functions(capsys):
    found = of_circuits("print(sigmoid.plan(params).report())")
    x = np.linspace(-8, 8, 4096)
    assert np.allclose(decrypted(found, "y"), 1 / (1 + np.exp(-x)), atol=2**-15)
    assert np.allclose(decrypted(found, "z"), 0.5 + x / 4 - x**3 / 50, atol=1e-4)
    capsys.readouterr()
    found = of_circuits("gate = hm.circuits.function")
    depth, error = numbers(capsys.readouterr().out)
    assert (depth, round(np.log2(error), 1)) == (13, -10.1)
    x, y = found["x"], found["y"]
    assert np.abs(found["z"] - (np.maximum(x - y, 0) * y + 0.5)).max() <= found["gate"].error
    found = of_circuits("hm.circuits.softmax")
    wanted = np.exp(found["logits"]) / np.exp(found["logits"]).sum(axis=1, keepdims=True)
    assert np.allclose(decrypted(found, "y"), wanted, atol=2**-10)
    found = of_circuits("clip=100")
    assert found["params"].levels > found["sigmoid"].depth
