"""The folder of a server: what is in it, whatever else lies there."""

import multiprocessing

import numpy as np
import pytest

from hemera import errors, search
from hemera.cli import main
from hemera.serving import export
from hemera.serving.home import Home

from ..refusals import raises

ROWS = np.random.default_rng(1).integers(-100, 100, (40, 8)).astype(np.int8)


def index_file(folder, name):
    path = folder / f"{name}.index"
    search.Index(ROWS, "dot", exact=True).save(path)
    return path


def model(name, factor=2.0):
    return export(lambda x: x * factor, inputs=4, name=name, security=None)


def test_models_and_indexes_share_their_names(tmp_path):
    home = Home(tmp_path / "home")
    assert home.add_index(index_file(tmp_path, "rows")) == "rows"
    home.add_model(model("scores"))
    raises(errors.ParameterError, "there is an index 'rows' already", home.add_model, model("rows"))
    with pytest.raises(errors.ParameterError, match="there is a model 'scores' already"):
        home.add_index(index_file(tmp_path, "scores"))
    # In place of one of its own kind.
    second = model("scores", 3.0)
    assert home.add_model(second) == "scores"
    data = index_file(tmp_path, "rows").read_bytes()
    assert home.add_index(index_file(tmp_path, "rows")) == "rows"
    assert home.index_file("rows").read_bytes() == data
    models, damaged = home.models()
    assert ({name: each.digest for name, each in models.items()}, damaged) == ({"scores": second.digest}, {})
    # Names that were given beside the methods: an index gives way to a model.
    home.index_file("scores").write_bytes(data)
    home.index_file("a b").write_bytes(data)
    found, clashing = home.indexes()
    assert found == {"rows": home.index_file("rows")}
    assert list(clashing) == ["a b", "scores"]
    assert "a model has this name" in clashing["scores"]
    assert "can not be part of an address" in clashing["a b"]
    assert str(home.index_file("scores")) in clashing["scores"]
    home.remove_model("scores")
    assert sorted(home.indexes()[0]) == ["rows", "scores"]
    home.remove_index("rows")
    home.remove_index("scores")
    assert home.indexes() == ({}, {"a b": clashing["a b"]})


@pytest.mark.parametrize("name", ["none", "scores.hemera-model"])
def test_what_is_not_there_is_not_removed(tmp_path, name):
    home = Home(tmp_path / "home")
    home.add_model(model("scores"))
    for remove, what in (
        (home.remove_model, "model"),
        (home.remove_index, "index"),
        (home.remove_client, "client"),
    ):
        raises(errors.MismatchError, f"no {what} {name!r}", remove, name)
        raises(errors.ParameterError, "needs a name", remove, "../scores")
    assert list(home.models()[0]) == ["scores"]


def test_models_that_can_not_be_served_are_told(tmp_path):
    home = Home(tmp_path / "home")
    assert home.models() == ({}, {})
    home.add_model(model("scores"))
    data = home.model_file("scores").read_bytes()
    wrong = {"other": data, "short": data[:-1], "empty": b"", "b": bytes(model("a"))}
    for name, content in wrong.items():
        home.model_file(name).write_bytes(content)
    (home.root / "models" / "notes.txt").write_bytes(b"")
    models, damaged = home.models()
    assert list(models) == ["scores"]
    assert list(damaged) == ["b", "empty", "other", "short"]
    for name, why in damaged.items():
        assert why.startswith(f"{home.model_file(name)}: ")
    assert "holds the model 'scores'" in damaged["other"]
    assert "holds the model 'a'" in damaged["b"]
    raises(errors.FormatError, "", home.add_model, home.model_file("short"))
    raises(errors.FileError, "", home.add_model, tmp_path / "missing")
    raises(errors.ParameterError, "needs a name", home.add_model, model("a b"))
    raises(errors.FormatError, "", home.add_index, home.model_file("scores"))


def test_a_client_that_is_removed_takes_its_keys_along(tmp_path):
    home = Home(tmp_path / "home")
    owners = {}
    for name in ("team", "team.alice", "bob"):
        owner = home.clients.of_token(home.clients.add(name))
        assert owner is not None
        owners[name] = home.keys / owner / "scores" / "1"
        owners[name].mkdir(parents=True)
        (owners[name] / "keys").write_bytes(b"k")
    home.remove_client("team")
    assert {name: path.exists() for name, path in owners.items()} == {
        "team": False,
        "team.alice": True,
        "bob": True,
    }
    assert home.clients.names() == ["bob", "team.alice"]


def _locks(home, told):
    try:
        with home.locked():
            told.put("locked")
    except errors.FileError as error:
        told.put(str(error))


def test_one_server_has_the_folder(tmp_path):
    home = Home(tmp_path / "home")
    other = Home(tmp_path / "other")
    context = multiprocessing.get_context("fork")
    told = context.Queue()

    def ask(of):
        process = context.Process(target=_locks, args=(of, told))
        process.start()
        process.join(60)
        return str(told.get(timeout=60))

    with home.locked():
        assert ask(home) == f"another server runs on {home.root}"
        assert ask(other) == "locked"
    assert ask(home) == "locked"


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (None, None),  # of a release before folders had a number
        (b"1\n", None),
        (b"2\n", "has format 2, and this release knows 1 at most: start the newer one, or restore"),
        (b"", "is damaged"),
        (b"-1", "is damaged"),
        (b"1" * 5000, "is damaged"),
        ("\u00b2".encode(), "is damaged"),
    ],
)
def test_a_folder_of_a_newer_release_is_not_touched(tmp_path, kept, said, capsys):
    home = Home(tmp_path / "home")
    home.add_model(model("scores"))
    if kept is not None:
        (home.root / "format").write_bytes(kept)
    before = {path: path.read_bytes() for path in home.root.rglob("*") if path.is_file()}
    assert main(["models", str(home.root)]) == (0 if said is None else 1)
    assert main(["serve", str(home.root), "--add-client", "alice"]) == (0 if said is None else 1)
    if said is None:
        with home.locked():
            assert (home.root / "format").read_bytes() == b"1\n"
        return
    assert capsys.readouterr().err.count(said) == 2
    with pytest.raises(errors.FormatError, match=said), home.locked():
        pass
    assert before.items() <= {path: path.read_bytes() for path in before}.items()
    assert not (home.root / "clients").exists()
