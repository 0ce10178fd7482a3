"""`hemera doctor HOME`: what is damaged in a server's folder is found, and named with the way out."""

import json
import os
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from hemera.cli import main
from hemera.commands import doctor
from hemera.serving.home import Home

from .conftest import BOUND, ROWS, Process, client_of, require_scores, serving


def findings(home, capsys, status):
    """The findings on a folder that `hemera doctor` reports, by check."""
    capsys.readouterr()
    assert main(["doctor", str(home), "--json", "-"]) == status
    told = json.loads(capsys.readouterr().out)["findings"]
    return {each["check"]: (each["state"], each["text"]) for each in told}


@pytest.fixture(scope="module")
def with_keys(package, keys, tmp_path_factory):
    """A folder with keys of a client, of which each test has a copy."""
    home = Home(tmp_path_factory.mktemp("used") / "home")
    home.add_model(package)
    token = home.clients.add("alice")
    with serving(home) as server, server.http(token) as http:
        assert http.put("/v1/models/scores/keys", content=keys).status_code == 201
    return home.root


@pytest.fixture
def used(with_keys, tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "CHECKS", ())  # of the machine
    shutil.copytree(with_keys, tmp_path / "home")
    return Home(tmp_path / "home")


def _flip(path):
    """Change a byte in the middle."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def keys_of(home):
    (found,) = home.keys.glob("*/scores/*/keys")
    return found


def test_a_folder_that_is_well(used, capsys):
    assert findings(used.root, capsys, 0)["server"] == ("note", "none has run on it yet")
    with used.locked():
        assert findings(used.root, capsys, 0)["server"][0] == "note"
    found = findings(used.root, capsys, 0)
    assert {state for state, _ in found.values()} <= {"ok", "note"}
    assert found["model scores"][1].startswith("whole, digest ")
    assert found["keys"] == ("ok", f"1 sets, {keys_of(used).stat().st_size} bytes, as they were sent")
    assert found["server"] == ("ok", "none runs on it")


@pytest.mark.parametrize(
    ("damage", "check", "state", "way_out"),
    [
        (lambda home: _flip(home.model_file("scores")), "model scores", "broken", "--remove-model scores"),
        (lambda home: _flip(keys_of(home)), "keys of alice", "broken", "sends its keys again"),
        (lambda home: os.truncate(keys_of(home), 100), "keys of alice", "broken", "sends its keys again"),
        (lambda home: keys_of(home).unlink(), "keys of alice", "broken", "sends its keys again"),
        (lambda home: (home.root / "clients/alice.json").write_text("{"), "client alice", "broken", "backup"),
        (lambda home: (home.root / "clients/alice.json").unlink(), "keys of alice", "note", "nobody uses"),
        (lambda home: (home.root / "models").chmod(0o750), "permissions", "broken", "chmod -R go="),
        (lambda home: os.chown(home.model_file("scores"), 12345, -1), "owners", "broken", "chown"),
        (lambda home: (home.root / "indexes").mkdir(mode=0o700), "disk", "ok", "MiB free"),
        (lambda home: _index(home, "i", b"rubbish"), "index i", "broken", "Add it again"),
        (lambda home: _index(home, "scores", b"x"), "index scores", "broken", "a model has this name"),
        (lambda home: _alias(home, '{"other@2": 1}'), "name scores", "broken", "not there"),
        (lambda home: _alias(home, "[]"), "name scores", "broken", "hemera models HOME scores"),
        (lambda home: _waiting(home), "uploads", "note", "1 are under way or wait to go on, 3 bytes"),
        (lambda home: shutil.rmtree(home.root), "folder", "broken", "--add-model"),
    ],
)
def test_what_is_not_well(damage, check, state, way_out, used, capsys):
    if check == "owners" and os.geteuid() != 0:
        pytest.skip("only root gives files to others")
    damage(used)
    found = findings(used.root, capsys, int(state == "broken"))
    (told,) = [value for name, value in found.items() if name.startswith(check)]
    assert told[0] == state
    assert way_out in told[1]


def _index(home, name, data):
    home.index_file(name).parent.mkdir(mode=0o700, exist_ok=True)
    home.index_file(name).touch(mode=0o600)
    home.index_file(name).write_bytes(data)


def _alias(home, text):
    (home.root / "aliases").mkdir(mode=0o700)
    (home.root / "aliases/scores.json").touch(mode=0o600)
    (home.root / "aliases/scores.json").write_text(text)


def _waiting(home):
    folder = home.incoming / "alice.0+1+scores"
    folder.mkdir(mode=0o700)
    (folder / "keys").touch(mode=0o600)
    (folder / "keys").write_bytes(b"abc")


def test_a_full_disk_is_a_note(used, capsys, monkeypatch):
    full = SimpleNamespace(free=99 << 20, total=1000 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    state, text = findings(used.root, capsys, 0)["disk"]
    assert (state, text[:21]) == ("note", "99 MiB free of 1000: ")


def tar(*words):
    """As an operator would. 1: a file changed while it was read, which is what this is about."""
    done = subprocess.run(["tar", *map(str, words)], check=False, capture_output=True, timeout=BOUND)
    assert done.returncode in (0, 1), done.stderr


def test_a_backup_of_a_running_server_is_whole(home, tmp_path, capsys, monkeypatch):
    """A copy by tar, while a client's keys change, answers elsewhere with a set that was sent."""
    monkeypatch.setattr(doctor, "CHECKS", ())
    token = home.clients.add("alice")
    with Process(home.root) as process:
        for number in range(2):
            with client_of(process.url, token) as client:  # without a folder: new keys each time
                client.predict("scores", ROWS)
            tar("-C", home.root.parent, "-cf", tmp_path / f"{number}.tar", "home")
        assert process.stop() == 0
    for number in range(2):
        place = tmp_path / f"restored-{number}"
        place.mkdir()
        tar("-C", place, "-xpf", tmp_path / f"{number}.tar")
        found = findings(place / "home", capsys, 0)
        assert found["keys"][1].startswith("1 sets")
        with serving(Home(place / "home")) as server:
            assert server.metric("hemera_stored_key_sets") == 1
            with client_of(server.url, token) as client:
                require_scores(client)
