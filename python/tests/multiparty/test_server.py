"""A server that keeps the folder of a federation: what its clients can not do there, and it not with them."""

import http.server
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from hemera import errors
from hemera.multiparty import Federation, shared
from hemera.multiparty.party import Party
from hemera.serving.home import Home

from ..beside import answering
from ..refusals import raises
from ..serving.conftest import Process, serving

TERMS = json.dumps({"committee": ["a", "b"]}).encode()
SHARE = 64 << 10


class Clients:
    """Clients a, b and x of a server with the federation fl, by plain HTTP."""

    def __init__(self, home, running, tokens):
        self.root, self.running = home.federation("fl"), running
        self._http = {name: running.http(token) for name, token in tokens.items()}

    def put(self, who, place, data=b"x", **headers):
        http = self._http[who]
        return http.put(f"/v1/federations/fl/files/{place}", content=data, headers=headers).status_code

    def get(self, who, path):
        return self._http[who].get(f"/v1/federations/fl/files{path}")


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


@pytest.fixture
def tokens(home):
    return {name: home.clients.add(name) for name in "abx"}


@pytest.fixture
def clients(home, tokens):
    with serving(home, federations=["fl"], client_store_bytes=SHARE, client_uploads=8) as running:
        yield Clients(home, running, tokens)


def test_names_lead_nowhere_else(home, clients):
    evil = "../../clients/x.json"
    (clients.root / "round-0").mkdir(parents=True)
    assert (clients.root / evil).resolve() == (home.root / "clients" / "x.json").resolve()  # by plain joining
    before = (home.root / "clients" / "x.json").read_bytes()
    for place in (evil, "round-0/../../x", "/etc/x", "ready/a/b", "ready/..", "ready/.a", "round-00/result"):
        plain = place.replace("/", "%2F").replace(".", "%2E")  # httpx resolves points
        for quoted in (plain, plain + "%00", plain + "%0A"):
            assert clients.put("a", quoted) in (404, 403, 405, 422), quoted
            assert clients.get("a", "/" + quoted).status_code in (404, 405), quoted
    for folder in ("..", "/", "round-0/..", "clients", "%2E%2E"):
        assert clients.get("a", f"?folder={folder}").status_code == 404
    assert (home.root / "clients" / "x.json").read_bytes() == before
    assert not [path for path in clients.root.rglob("*") if path.is_file()]


def test_a_client_writes_what_has_its_name_and_members_lists(clients):
    assert clients.put("x", "round-0/list-0") == 403  # there are no terms yet
    assert clients.put("x", "federation.json", b"[" * 60_000, **{"If-None-Match": "*"}) == 201
    assert clients.put("a", "round-0/list-0") == 403  # and these name nobody
    (clients.root / "federation.json").write_bytes(TERMS)
    for place in ("round-0/announced-{}", "round-0/upload-0-{}", "round-0/share-0-2-{}", "ready/{}"):
        assert clients.put("x", place.format("x")) == 201
        assert clients.put("x", place.format("a")) == 403
    assert clients.put("x", "sealed/piece-0-from-a-to-x") == 403
    assert clients.put("a", "sealed/piece-0-from-a-to-x") == 201
    for place in ("round-0/list-0", "round-0/result"):
        assert clients.put("x", place) == 403
        assert clients.put("a", place) == 201
    assert clients.get("x", "?folder=ready").json()["files"].keys() == {"x"}
    assert clients.get("x", "/ready/x").content == b"x"
    assert clients.get("x", "/ready/a").status_code == 404
    stranger = httpx.Client(base_url=clients.running.url, trust_env=False)
    assert stranger.get("/v1/federations/fl/files").status_code == 401


def test_of_several_writers_of_a_list_one_is_first(clients, tokens, tmp_path):
    """A coordinator that looks, and then writes, gives out two lists of one round (attack M)."""
    seen = [(tmp_path / "list").exists() for _ in "ab"]  # both look
    for name, there in zip("ab", seen, strict=True):
        if not there:
            (tmp_path / "list").write_text(name)
    assert (tmp_path / "list").read_text() == "b"  # a has gone on with its own
    assert clients.put("a", "federation.json", TERMS, **{"If-None-Match": "*"}) == 201

    def put(number):
        return clients.put("a", "round-0/list-0", b"%d" % number * 9, **{"If-None-Match": "*"})

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(put, range(6)))
    assert sorted(found) == [201, 409, 409, 409, 409, 409]
    assert clients.get("b", "/round-0/list-0").content == b"%d" % found.index(201) * 9
    folder = shared.shared_folder(f"{clients.running.url}/v1/federations/fl", tokens["a"])
    raises(FileExistsError, "", shared.write, folder / "round-0" / "list-0", b"another", replace=False)


def test_a_party_has_its_share_of_the_disk_and_no_more(home, clients, tokens):
    clients.root.mkdir(parents=True)
    for number in range(64):  # a folder takes it all
        (clients.root / f"{number}").write_bytes(bytes(SHARE))
        (clients.root / f"{number}").unlink()
    assert clients.get("x", "").json()["party_bytes"] == SHARE
    assert clients.put("x", "round-0/upload-0-x", bytes(SHARE + 1)) == 413
    assert clients.put("x", "round-0/upload-0-x", bytes(SHARE)) == 201
    assert clients.put("x", "ready/x", b"") == 507
    assert clients.put("a", "ready/a", b"") == 201
    shutil.rmtree(clients.root / "round-0")
    clients.running.service.sweep()
    places = [f"round-{turn}/announced-x" for turn in range(17)]  # names take room as well
    assert [clients.put("x", place, b"") for place in places] == [201] * 16 + [507]
    with serving(home, federations=["fl"], client_store_bytes=SHARE) as running:  # a start counts anew
        again = Clients(home, running, tokens)
        assert again.put("x", "ready/x", b"") == 507
        assert again.put("a", "ready/a", b"y") == 201
    assert not list(home.incoming.iterdir())


def test_names_of_a_server_that_lies_are_left_out(tmp_path):
    party = Party(tmp_path / "own" / "a.party", None)
    evil = "../../../evil"
    party.hand_over(evil, "dealt", 0, bytes(32), bytes(32))  # who takes every name writes wherever it says
    assert list(tmp_path.glob("evil/*"))

    class Lies(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({"files": {evil: "1", "..": "1", ".x": "1", "b": 1, "c": "1"}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_): ...

    with answering(http.server.HTTPServer(("127.0.0.1", 0), Lies)) as url:
        files = shared.RemoteFiles(f"{url}/v1/federations/fl", "a.0")
        assert files.list("contributors") == {"c": "1"}


PARTY = """
import sys, warnings
import numpy as np
warnings.simplefilter("ignore")
from hemera.multiparty import Federation
url, name, token, folder = sys.argv[1:]
fed = Federation.join(url, f"{folder}/{name}.party", like=np.zeros(100), committee=["a", "b"], clients=4,
                      rounds=4, least=3, secrets=f"{folder}/carried", token=token)
for turn in range(2):
    fed.push(turn, np.full(100, (ord(name) % 7 + turn) / 16), wait=100)
    np.save(f"{folder}/{name}-{turn}", fed.average(turn, wait=100))
"""


def test_three_processes_over_a_server_that_is_killed_meanwhile(home, tokens, tmp_path):
    def start(name, url):
        words = [f"{url}/v1/federations/fl", name, tokens[name], str(tmp_path)]
        return subprocess.Popen([sys.executable, "-c", PARTY, *words])

    with Process(home.root, "--federation", "fl") as server:
        first = start("a", server.url)
        while not (home.federation("fl") / "federation.json").exists():
            assert first.poll() is None
        port = server.url.rpartition(":")[2]
        server.kill()
    with Process(home.root, "--federation", "fl", "--port", port) as server:
        parties = [first, start("b", server.url), start("x", server.url)]
        assert [each.wait(200) for each in parties] == [0, 0, 0]
    for turn in range(2):
        right = np.mean([(ord(name) % 7 + turn) / 16 for name in "abx"])
        for name in "abx":
            found = np.load(tmp_path / f"{name}-{turn}.npy")
            assert np.abs(found - right).max() < 2**-15


def test_a_token_is_of_a_server(tmp_path):
    with pytest.raises(errors.ParameterError, match="a token is of a server"):
        Federation.join(tmp_path / "fl", tmp_path / "a.party", like=np.zeros(3), token="a.0")
