"""Files of served indexes: restarts, damage, changes while a server runs, commands."""

import json

import httpx
import numpy as np
import pytest

import hemera as hm
from hemera import search
from hemera.client.problems import ServerError
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.serving.settings import Settings

from ...refusals import raises
from ..conftest import Process, serving, wait_until
from ..server_requests import code
from .index_cases import DIMS, KEYS, ROWS, VECTORS, best, client_of, found, queries


def test_a_restart_keeps_keys(home, tmp_path):
    token = home.clients.add("alice")
    x = queries(2)
    for uploads in (1, 0):
        with serving(home) as server, client_of(server, token, folder=tmp_path / "mine") as client:
            assert found(client.index("rows").query(x, k=2)) == best(x, 2)
            assert server.metric("hemera_key_uploads_total", status="201") == uploads
    (secret,) = (tmp_path / "mine").glob("secret-*")
    assert secret.stat().st_mode & 0o077 == 0
    with serving(home) as server, client_of(server, token, folder=tmp_path / "mine") as client:
        index = client.index("rows")
        index.query(x)
        server.service.remove_keys(server.service.clients.of_token(token) or "", "rows")
        assert found(index.query(x, k=2)) == best(x, 2)  # sent again
        index.remove_keys()
        with server.http(token) as http:
            assert code(http.get(KEYS)) == (404, "no_keys")
        index.upload_keys()
        with server.http(token) as http:
            assert http.get(KEYS).json()["bytes"] == len(index._client.keys)
        # Another client of this token, without the folder.
        with client_of(server, token) as other:
            assert found(other.index("rows").query(x, k=1)) == best(x, 1)
        assert found(index.query(x, k=2)) == best(x, 2)
        home.remove_client("alice")
        raises(ServerError, "token", index.query, x)
        assert index._client._waiting == {}
        server.service.sweep()
        assert len(server.service.caches[0]) == 0


def test_damaged_files_and_clashing_names(home, tmp_path, files, package):
    package.save(tmp_path / "scores.hemera-model")
    home.add_model(tmp_path / "scores.hemera-model")
    home.index_file("scores").write_bytes((files / "rows.index").read_bytes())
    home.index_file("broken").write_bytes((files / "rows.index").read_bytes()[:-1])
    empty = search.Index(VECTORS, "dot")
    empty.remove(np.arange(ROWS))
    empty.save(tmp_path / "empty.index")
    home.add_index(tmp_path / "empty.index")
    home.index_file("a b").write_bytes(b"")
    with serving(home) as server:
        assert set(server.service.damaged) == {"a b", "broken", "empty", "scores"}
        told = httpx.get(server.url + "/health", trust_env=False).json()
        assert (told["models"], told["indexes"]) == (["scores"], ["rows"])
        with client_of(server, home.clients.add("alice"), security=None) as client:
            assert found(client.index("rows").query(queries(1), k=1)) == best(queries(1), 1)
            assert client.predict("scores", np.ones((1, 8))).shape == (1, 3)
    home.remove_index("broken")
    raises(MismatchError, "no index 'broken'", home.remove_index, "broken")


def test_changes_while_the_server_runs(home, tmp_path, files, caplog):
    """Rows that are added and removed come by a new file, and take the keys and clients that there are."""
    x = queries(2)
    with serving(home, sweep_seconds=1000) as server, client_of(server, home.clients.add("alice")) as client:
        service = server.service
        index = client.index("rows")
        assert found(index.query(x, k=1)) == best(x, 1)
        assert index.prepare(2) == 2
        service.sweep_indexes()  # nothing has changed
        assert server.metric("hemera_prepared_queries") == 2
        own = search.Index.load(home.index_file("rows"))
        assert isinstance(own, search.Index)
        own.add(np.full((1, DIMS), 127, np.int8), ids=[9999])
        own.remove([0, 1])
        own.save(tmp_path / "rows.index")
        home.add_index(tmp_path / "rows.index")
        old = service.indexes["rows"]
        assert found(index.query(x, k=1)) == best(x, 1)  # by the old file
        session = service.caches[0].peek(*service.caches[0].places[0], service.store.sets()[0].generation)
        service.sweep_indexes()
        assert server.metric("hemera_prepared_queries") == 0
        # Whoever puts a session of the old one again, as an upload at this time does, serves nobody with it.
        assert session is not None
        service.caches[0].put(
            service.store.sets()[0].client, "rows", service.store.sets()[0].generation, session
        )
        wide = np.append(VECTORS, np.full((1, DIMS), 127, np.int8), axis=0).astype(np.int64)
        scores, ids = index.query(x, k=None)
        assert sorted(ids[0].tolist()) == [*range(2, ROWS), 9999]
        assert scores.tolist() == (x @ wide[np.minimum(ids[0], ROWS)].T).tolist()
        assert server.metric("hemera_key_uploads_total", status="201") == 1
        assert index.describe()["rows"] == ROWS - 1
        assert service.indexes["rows"] is not old
        # A damaged file leaves the index; it is told once.
        home.index_file("rows").write_bytes(b"rubbish")
        caplog.clear()
        for _ in range(2):
            service.sweep_indexes()
        assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == ["damaged"]
        assert "rows" in service.damaged
        assert index.query(x, k=1)[0].shape == (2, 1)
        # Other settings: clients of the old ones are told.
        search.Index(VECTORS, "l2", exact=True).save(tmp_path / "rows.index")
        home.add_index(tmp_path / "rows.index")
        home.index_file("second").write_bytes((files / "rows.index").read_bytes())
        service.sweep_indexes()
        assert service.damaged == {}
        raises(MismatchError, "other settings", index.query, x)
        assert found(client.index("second").query(x, k=2)) == best(x, 2)
        home.remove_index("second")
        service.sweep_indexes()
        raises(ServerError, "no index 'second'", client.index("second").query, x)
        assert [each["name"] for each in client.indexes()] == ["rows"]
        assert len(service.caches[0]) == 0
    with serving(home, sweep_seconds=0.05) as server:
        home.remove_index("rows")
        wait_until(lambda: server.service.indexes == {})


def test_a_client_asks_for_an_index_of_other_settings_anew(home, tmp_path):
    """One call fails where an index was replaced; the next `index` is for the new one."""
    wide = VECTORS[:, :10].astype(np.int64)
    near = search.Index(VECTORS[:40, :8] / 128, "dot", answers=search.Threshold())
    with serving(home) as server, client_of(server, home.clients.add("alice"), security=None) as client:
        x = queries(2)
        index = client.index("rows")
        assert found(index.query(x, k=2)) == best(x, 2)
        # Whatever does not fit is no reason to make a client anew while the settings are the same.
        for wrong in (x[:, :5], x[0, :3]):
            raises(MismatchError, "has 16 numbers", index.query, wrong)
            assert client.index("rows") is index
        assert found(index.query(x, k=2)) == best(x, 2)
        assert server.metric("hemera_key_uploads_total", status="201") == 1
        # Other distances: the server refuses. Other numbers of dims: the client.
        for made, query, judge in (
            (search.Index(VECTORS, "l2", exact=True), x, VECTORS.astype(np.int64)),
            (search.Index(wide.astype(np.int8), "l2", exact=True), x[:, :10], wide),
        ):
            made.save(tmp_path / "rows.index")
            home.add_index(tmp_path / "rows.index")
            server.service.sweep_indexes()
            raises(MismatchError, "", client.index("rows").query, query)
            scores, ids = client.index("rows").query(query, k=3)
            distances = ((judge[None] - query[:, None]) ** 2).sum(axis=2)
            assert scores.tolist() == np.sort(distances, axis=1)[:, :3].tolist()
            assert np.take_along_axis(distances, ids, axis=1).tolist() == scores.tolist()
        # Another kind, whose clients are others.
        near.save(tmp_path / "rows.index")
        home.add_index(tmp_path / "rows.index")
        server.service.sweep_indexes()
        raises(FormatError, "threshold query", client.index("rows").query, x[:, :10])
        assert client.index("rows").settings == near.settings


def test_commands(tmp_path, files, capsys):
    from hemera.cli import main

    home = tmp_path / "home"

    def said(*words):
        status = main(["serve", str(home), *words])
        return status, capsys.readouterr().out

    assert said("--add-index", str(files / "rows.index")) == (0, "rows\n")
    token = said("--add-client", "alice")[1].strip()
    assert main(["models", str(home)]) == 0
    assert capsys.readouterr().out.startswith("index   rows  ")
    with Process(home, "--max-prepared", "1MiB") as process:
        (ready,) = [line for line in process.lines if line["event"] == "ready"]
        assert (ready["models"], ready["indexes"]) == ([], ["rows"])
        with hm.Client(process.url, token=token, folder=tmp_path / "mine") as client:
            assert found(client.index("rows").query(queries(2), k=2)) == best(queries(2), 2)
        (tmp_path / "token").write_text(token)
        np.savetxt(tmp_path / "queries.csv", queries(2), fmt="%d", delimiter=",")
        words = ["--token-file", str(tmp_path / "token"), "--json", str(tmp_path / "found.json")]
        assert main(["client", "indexes", process.url, *words]) == 0
        assert json.loads((tmp_path / "found.json").read_text())["indexes"][0]["name"] == "rows"
        table = str(tmp_path / "queries.csv")
        mine = ["--folder", str(tmp_path / "mine")]
        assert main(["client", "search", process.url, "rows", table, "-k", "3", *mine, *words]) == 0
        told = json.loads((tmp_path / "found.json").read_text())
        assert (told["scores"], told["ids"]) == best(queries(2), 3)
        process.kill()
    with Process(home) as process:
        with hm.Client(process.url, token=token, folder=tmp_path / "mine") as client:
            assert found(client.index("rows").query(queries(2), k=2)) == best(queries(2), 2)
        assert process.stop() == 0
    asked = [line for line in process.lines if line.get("path") == "/v1/indexes/{index}/query"]
    assert [(line["index"], line["client"].partition(".")[0], line["status"]) for line in asked] == [
        ("rows", "alice", 200)
    ]
    assert not any(
        line.get("path", "").endswith("keys") and line["method"] == "PUT" for line in process.lines
    )
    assert token not in json.dumps(process.lines)
    assert said("--remove-index", "rows")[0] == 0
    assert main(["serve", str(home)]) != 0
    assert "no model or index to serve" in capsys.readouterr().err


def test_replicas_of_ray_have_no_indexes(home):
    """Said before Ray is asked for anything."""
    from hemera.ray.service import on_cluster

    with pytest.raises(ParameterError, match="has the index 'rows': serve indexes without --ray"):
        on_cluster(home, Settings(device="cpu"), address="local", replicas=1)
