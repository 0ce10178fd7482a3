"""The registry of client libraries: what is registered is all that the other rooms know of a library."""

import ast
import dataclasses
import re
from pathlib import Path

import pytest

import hemera as hm
from hemera import interop
from hemera.cli import main
from hemera.client.problems import Refused
from hemera.interop import openfhe, seal
from hemera.serving.uploads import library_of

from ..refusals import raises

ROOT = Path(__file__).parents[3]
HEMERA = ROOT / "python" / "hemera"
VECTORS = ROOT / "tests" / "vectors"
SEAL = VECTORS / "seal" / "bfv"
NAMES = {
    each.casefold()
    for library in interop.libraries()
    for each in (library.name, *library.formats, library.context_kind)
}


def modules(package):
    """All modules of a package outside the room of the libraries."""
    paths = [path for path in package.rglob("*.py") if "interop" not in path.relative_to(package).parts]
    assert len(paths) > 50
    return ((path, ast.parse(path.read_text(encoding="utf-8"))) for path in paths)


@pytest.mark.parametrize(
    ("package", "kinds"),
    [
        (HEMERA, (ast.Compare, ast.MatchValue, ast.Dict)),
        # Benchmarks name the libraries that they measure, but compare with none.
        (ROOT / "python" / "apps" / "hemera_apps", (ast.Compare, ast.MatchValue)),
    ],
    ids=["hemera", "hemera_apps"],
)
def test_no_other_room_compares_with_names(package, kinds):
    found = []
    for path, tree in modules(package):
        for node in ast.walk(tree):
            for each in ast.walk(node) if isinstance(node, kinds) else ():
                if isinstance(each, ast.Constant) and str(each.value).casefold() in NAMES:
                    found.append(f"{path}:{each.lineno}: {each.value!r}")
    assert not found


def test_no_other_room_imports_a_library():
    rooms = {library.session.__module__ for library in interop.libraries()}
    assert rooms == {"hemera.interop.openfhe", "hemera.interop.seal"}
    names = {room.rpartition(".")[2] for room in rooms}
    found = [
        f"{path}:{node.lineno}"
        for path, tree in modules(HEMERA)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
        if alias.name in rooms
        or (isinstance(node, ast.ImportFrom) and node.module in rooms)
        or (isinstance(node, ast.ImportFrom) and node.module == "hemera.interop" and alias.name in names)
    ]
    assert not found


def test_names_differ():
    libraries = interop.libraries()
    assert len({library.name for library in libraries}) == len(libraries)
    formats = [name for library in libraries for name in library.formats]
    assert len(set(formats)) == len(formats)
    assert "hemera" not in formats


def test_what_is_not_registered():
    with pytest.raises(hm.errors.MismatchError, match=r"no client library 'HElib'; it knows SEAL or OpenFHE"):
        interop.library_of_name("HElib")


@pytest.mark.parametrize("library", interop.libraries(), ids=lambda library: library.name)
def test_each_recognises_its_own_files_alone(library):
    own = {"SEAL": SEAL / "parms.zstd.seal", "OpenFHE": VECTORS / "openfhe" / "bfv" / "cryptocontext.bin"}
    for name, path in own.items():
        described = library.describe(path.read_bytes(), None)
        assert (described is not None) == (name == library.name)
        if described is not None:
            assert described[0] == library.context_kind


@pytest.fixture
def third(monkeypatch):
    """A library in the place of SEAL, of another name with other formats."""
    library = dataclasses.replace(
        seal.LIBRARY,
        name="Third",
        formats={"third": {"compression": "none"}},
        context_kind="encryption parameters",
    )
    monkeypatch.setattr(seal, "LIBRARY", library)
    interop.libraries.cache_clear()
    yield library
    monkeypatch.undo()
    interop.libraries.cache_clear()


def test_another_library_needs_no_more_than_its_registration(third, tmp_path, capsys):
    assert interop.libraries() == (third, openfhe.LIBRARY)
    parms = SEAL / "parms.zstd.seal"
    described = hm.inspect(parms)
    assert described.library == "Third"
    # The command converts to its format, and names it where it explains itself.
    own = tmp_path / "params.hemera"
    assert main(["convert", str(parms), str(own), "--to", "hemera"]) == 0
    back = tmp_path / "parms.third"
    assert main(["convert", str(own), str(back), "--to", "third", "--with", str(parms)]) == 0
    assert hm.inspect(back).library == "Third"
    raises(SystemExit, "", main, ["convert", str(own), str(back), "--to", "seal", "--with", str(parms)])
    assert re.search(r"invalid choice: '?seal", capsys.readouterr().err)
    raises(SystemExit, "", main, ["inspect", "--help"])
    assert "Third or OpenFHE" in " ".join(capsys.readouterr().out.split())
    # A server knows its files.
    files = {"context": parms, "relinearization": SEAL / "relin_keys.seeded.seal"}
    assert library_of(files) == "Third"


def test_parameters_of_hemera_are_no_context_of_a_client(tmp_path):
    params = hm.bfv.Parameters.for_circuit(depth=1, slots=2, plain_bits=20)
    params.save(tmp_path / "context")
    files = {"context": tmp_path / "context", "relinearization": SEAL / "relin_keys.seeded.seal"}
    raises(Refused, "'context' is no file of SEAL or OpenFHE", library_of, files)
