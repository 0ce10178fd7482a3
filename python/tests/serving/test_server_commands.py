"""Commands of a server and of its operators."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from ruamel.yaml import YAML

from hemera.cli import COMMANDS, main, make_parser
from hemera.serving.configuration import Configuration, configure
from hemera.serving.home import Home

from .conftest import BOUND, Process, client_of, expected, require_scores, serving, wait_until

ROWS = np.random.default_rng(2).uniform(-1, 1, (5, 8))


@pytest.fixture
def model(tmp_path, package):
    path = tmp_path / "scores.hemera-model"
    package.save(path)
    return path


ANY = ("--any-security",)
"""The tests' parameters are small."""


def run(*words):
    return main([str(word) for word in words])


def test_by_files(tmp_path, model, capsys):
    described, mine = tmp_path / "model.json", tmp_path / "mine"
    keys, request, answer = (tmp_path / name for name in ("keys.hemera", "request.hemera", "answer.hemera"))
    rows = tmp_path / "rows.csv"
    np.savetxt(rows, ROWS, delimiter=",", header=",".join(f"x{at}" for at in range(8)), comments="")
    assert run("run", model, "--describe", described) == 0
    assert run("client", "keys", described, keys, "--folder", mine, *ANY) == 0
    assert run("client", "encrypt", described, rows, request, "--folder", mine, *ANY) == 0
    assert run("run", model, keys, request, answer, "--device", "cpu", "--threads", 1) == 0
    capsys.readouterr()
    assert run("client", "decrypt", described, answer, "--folder", mine, *ANY) == 0
    np.testing.assert_allclose(json.loads(capsys.readouterr().out)["results"], expected(ROWS), atol=1e-6)
    # The server's side takes no secret key, and says what else is wrong.
    (secret,) = mine.glob("secret-*")
    for wrong in ([model, secret, request, answer], [model, keys, secret, answer]):
        assert run("run", *wrong, "--device", "cpu") == 1
        assert "secret key" in capsys.readouterr().err
    assert run("run", model, keys) == 1
    assert "are needed" in capsys.readouterr().err
    assert run("client", "keys", model, keys, "--folder", mine) == 1
    assert "no description" in capsys.readouterr().err


def test_over_http(home, tmp_path, capsys, monkeypatch):
    assert run("serve", home.root, "--add-client", "alice") == 0
    token = tmp_path / "token"
    token.write_text(capsys.readouterr().out)
    rows = tmp_path / "rows.npy"
    np.save(rows, ROWS)
    with serving(home) as server:
        own = ["--token-file", token]
        assert run("client", "models", server.url, *own) == 0
        assert json.loads(capsys.readouterr().out)["models"][0]["name"] == "scores"
        assert run("client", "describe", server.url, "scores", *own, "--json", tmp_path / "m.json") == 0
        assert json.loads((tmp_path / "m.json").read_text())["name"] == "scores"
        results = tmp_path / "results.npy"
        assert run("client", "predict", server.url, "scores", rows, results, *own, *ANY) == 0
        np.testing.assert_allclose(np.load(results), expected(ROWS), atol=1e-6)
        assert "sending keys\npredicting\n" in capsys.readouterr().err
        monkeypatch.setenv("HEMERA_TOKEN", token.read_text().strip())
        assert run("client", "predict", server.url, "scores", rows, *ANY) == 0
        found = json.loads(capsys.readouterr().out)
        np.testing.assert_allclose(found["results"], expected(ROWS), atol=1e-6)
        assert run("client", "predict", server.url, "other", rows) == 1
        assert "no model 'other'" in capsys.readouterr().err


def test_without_the_extra(tmp_path):
    """What is not installed is asked for by name; the rest of the command line goes on."""
    program = f"""
import sys
for name in ("fastapi", "uvicorn", "httpx", "prometheus_client", "python_multipart"):
    sys.modules[name] = None
from hemera.cli import main
assert main(["serve", {str(tmp_path / "home")!r}]) == 1
assert main(["client", "models", "http://127.0.0.1:1"]) == 1
assert main(["info"]) == 0
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=BOUND,
        env={**os.environ, "HEMERA_TOKEN": "x"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("pip install '.[serving]'") == 2


def test_the_folder_of_a_server(tmp_path, model, capsys):
    home = tmp_path / "home"
    assert run("serve", home) == 1
    assert "--add-model" in capsys.readouterr().err
    assert run("serve", home, "--add-model", model) == 0
    assert run("serve", home, "--add-client", "alice") == 0
    token = capsys.readouterr().out.split()[-1]
    assert token.startswith("alice.")
    assert run("models", home) == 0
    assert run("clients", home, "list") == 0
    listed = capsys.readouterr().out
    assert "model   scores" in listed
    assert "client  alice" in listed
    assert token not in listed
    assert run("serve", home, "--remove-client", "alice") == 0
    assert run("serve", home, "--remove-client", "alice") == 1
    assert run("serve", home, "--remove-model", "scores") == 0
    assert run("serve", home, "--remove-model", "../scores") == 1
    assert run("serve", home, "--add-model", home / "nothing") == 1
    damaged = tmp_path / "damaged"
    damaged.write_bytes(model.read_bytes()[:-1])
    assert run("serve", home, "--add-model", damaged) == 1
    assert "hemera: " in capsys.readouterr().err
    (home / "models" / "other.hemera-model").write_bytes(model.read_bytes())
    assert run("serve", home) == 1
    assert "holds the model 'scores'" in capsys.readouterr().err
    (home / "models" / "other.hemera-model").write_bytes(b"rubbish")
    assert run("serve", home) == 1
    assert "other.hemera-model" in capsys.readouterr().err
    assert run("serve", home, "--remove-model", "other") == 0
    for wrong in (["--port", "70000"], ["--tls-key", "x"]):
        run("serve", home, "--add-model", model)
        assert run("serve", home, *wrong) == 1
    assert run("serve", home, "--max-store", "many") == 1


PROGRAM = """
import sys

import numpy as np

import hemera as hm

plan = hm.compile(
    lambda x: x @ np.arange(8.0).reshape(4, 2), hm.ArraySpec((4,), range=(-1, 1)), security=None, name="sums"
)
sys.exit(plan.serve(sys.argv[1], port=0, device="cpu", batch=2))
"""


def test_compiled_programs_serve_themselves(tmp_path):
    """Beside the models that the folder has, with its clients, until it is stopped."""
    home = Home(tmp_path / "home")
    token = home.clients.add("alice")
    with Process(home.root, program=PROGRAM) as process:
        with client_of(process.url, token) as client:
            x = np.array([0.5, -1.0, 0.25, 1.0])
            found = client.predict("sums", x)
            np.testing.assert_allclose(found, x @ np.arange(8.0).reshape(4, 2), atol=1e-4)
        assert process.stop() == 0
    models, damaged = home.models()
    assert list(models) == ["sums"]
    assert not damaged


ROOT = Path(__file__).parents[3]
FILES = ROOT / "examples" / "server"
PAGE = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
LIMITS = Configuration()


def values(unit, name):
    return re.findall(rf"^{name}=-?(.*)$", unit, re.MULTILINE)


def test_the_page_goes_through_each_file():
    names = {path.name for path in FILES.iterdir()}
    assert set(re.findall(r"\]\(\.\./examples/server/([A-Za-z.]+)\)", PAGE)) == names
    assert len(names) >= 4


def test_the_unit_of_systemd(tmp_path):
    unit = (FILES / "hemera.service").read_text()
    (command,) = values(unit, "ExecStart")
    program, *words = shlex.split(command)
    options = make_parser(COMMANDS).parse_args(words)
    assert (program, str(options.home)) == ("/opt/hemera/bin/hemera", "/var/lib/hemera")
    assert str(options.config) in unit
    assert int(*values(unit, "TimeoutStopSec")) > LIMITS.shutdown_seconds + 11
    assert int(*values(unit, "LimitNOFILE")) > LIMITS.connections + 128
    assert values(unit, "ExecReload") == ["/bin/kill -HUP $MAINPID"]
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze, which checks the unit itself, is not installed")
    copy = tmp_path / "hemera.service"
    copy.write_text(unit.replace(program, sys.executable))
    checked = ["systemd-analyze", "verify", "--man=no", str(copy)]
    done = subprocess.run(checked, capture_output=True, text=True, check=False, timeout=BOUND)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    copy.write_text(unit.replace("Restart=on-failure", "Restart=sometimes"))
    done = subprocess.run(checked, capture_output=True, text=True, check=False, timeout=BOUND)
    assert "sometimes" in done.stderr  # so it reads what is there


@contextmanager
def proxy(folder, port, tls):
    """nginx with the file, in front of a server at a port: its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = free.getsockname()[1]
    text = (FILES / "nginx.conf").read_text()
    for before, after in (
        ("127.0.0.1:8000", f"127.0.0.1:{port}"),
        ("listen 443", f"listen 127.0.0.1:{own}"),
        ("/etc/hemera/chain.pem", tls[0]),
        ("/etc/hemera/key.pem", tls[1]),
    ):
        assert before in text
        text = text.replace(before, after)
    paths = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; {paths}\n{text}\n}}\n"
    )
    nginx = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert nginx is not None
    process = subprocess.Popen(
        [nginx, "-p", str(folder), "-c", str(folder / "nginx.conf")], stderr=subprocess.PIPE
    )

    def answers():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", own)) == 0

    try:
        wait_until(answers)
        yield f"https://127.0.0.1:{own}/he"
    finally:
        process.send_signal(signal.SIGQUIT)
        process.wait(BOUND)
        if process.stderr is not None:
            process.stderr.close()


def test_the_file_of_nginx(home, tls, tmp_path):
    if shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None:
        pytest.skip("nginx is not installed")
    token = home.clients.add("alice")
    with Process(home.root) as process, proxy(tmp_path, int(process.url.rpartition(":")[2]), tls) as url:
        with client_of(url, token, certificates=tls[0], patience=20) as client:
            require_scores(client)
        with httpx.Client(verify=False, timeout=BOUND, headers={"Authorization": f"Bearer {token}"}) as http:
            # Redirects and the document's server stay behind the prefix, with its scheme.
            moved = http.get(f"{url}/v1/models/", follow_redirects=True)
            assert (moved.status_code, str(moved.url)) == (200, f"{url}/v1/models")
            document = http.get(f"{url}/openapi.json")
            assert document.url.join(document.json()["servers"][0]["url"]) == httpx.URL(f"{url}/")
            # More than nginx takes by itself, refused by the server's own word.
            large = http.put(f"{url}/v1/models/scores/keys", content=bytes(2 << 20))
            assert large.json()["error"]["code"] in ("format", "too_large")
            for path in ("live", "ready", "health", "metrics"):
                assert http.get(f"{url}/{path}").status_code == 200
            assert process.stop() == 0
            assert http.get(f"{url}/ready").status_code == 502


def test_the_container(tmp_path):
    """Two stages; the second installs locked packages and a wheel, and runs without rights."""
    text = re.sub(r"\\\n", " ", (FILES / "Containerfile").read_text())
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    known = "FROM RUN WORKDIR COPY USER VOLUME EXPOSE ENV STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD"
    assert {word for word, _ in lines} <= set(known.split())
    stages = [at for at, (word, _) in enumerate(lines) if word == "FROM"]
    assert len(stages) == 2
    assert all("@sha256:" in rest or re.search(r":\d", rest) for word, rest in lines if word == "FROM")
    last = dict(lines[stages[1] :])
    assert last["USER"].isdecimal()
    assert int(last["USER"]) > 0
    assert json.loads(last["ENTRYPOINT"]) == ["hemera", "serve"]
    assert "--require-hashes" in last["RUN"]
    for word, rest in lines:
        if word == "COPY" and not rest.startswith("--from"):
            assert (ROOT / rest.split()[0]).exists()
    project = (ROOT / "pyproject.toml").read_text()
    extras = re.findall(r"^(?:serving|telemetry) = \[(.*?)^\]", project, re.MULTILINE | re.DOTALL)
    lock = (ROOT / "requirements" / "serving.txt").read_text()
    assert len(extras) == 2
    assert set(re.findall('"([a-z-]+)', "".join(extras))) <= set(
        re.findall("^([a-z-]+)==", lock, re.MULTILINE)
    )
    told = dict(each.split("=", 1) for each in shlex.split(last["ENV"]))
    assert configure({}, environment=told).home == Path(last["VOLUME"])
    if (linter := shutil.which("hadolint")) is not None:
        subprocess.run([linter, str(FILES / "Containerfile")], check=True, cwd=tmp_path, timeout=BOUND)


def test_the_probes_of_kubernetes(home):
    (pod,) = [
        each["spec"]["template"]["spec"] for each in YAML(typ="safe").load_all(FILES / "kubernetes.yaml")
    ]
    (container,) = pod["containers"]
    told = {each["name"]: each["value"] for each in container["env"]}
    found = configure({}, environment=told)
    ready = container["readinessProbe"]
    assert found.drain_seconds > 2 * ready["periodSeconds"] * ready["failureThreshold"]
    assert pod["terminationGracePeriodSeconds"] > found.drain_seconds + found.shutdown_seconds
    paths = {container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
    assert paths == {"/live", "/ready"}
    with serving(home) as server:
        assert {httpx.get(server.url + path).status_code for path in paths} == {200}
        server.service.drains = True
        assert httpx.get(server.url + ready["httpGet"]["path"]).status_code == 503
        assert httpx.get(server.url + container["livenessProbe"]["httpGet"]["path"]).status_code == 200
