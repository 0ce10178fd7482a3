"""The files of examples/server: what reads each of them, where it is installed, takes it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from ruamel.yaml import YAML

from hemera.cli import COMMANDS, make_parser
from hemera.serving.configuration import Configuration, configure
from hemera.serving.home import Home

from .conftest import BOUND, Process, client_of, require_scores, serving, wait_until

ROOT = Path(__file__).parents[3]
FILES = ROOT / "examples" / "server"
PAGE = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
LIMITS = Configuration()


def values(unit: str, name: str) -> list[str]:
    return re.findall(rf"^{name}=-?(.*)$", unit, re.MULTILINE)


def test_the_page_goes_through_each_file() -> None:
    names = {path.name for path in FILES.iterdir()}
    assert set(re.findall(r"\]\(\.\./examples/server/([A-Za-z.]+)\)", PAGE)) == names
    assert len(names) >= 4


def test_the_unit_of_systemd(tmp_path: Path) -> None:
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
def proxy(folder: Path, port: int, tls: tuple[str, str]) -> Iterator[str]:
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

    def answers() -> bool:
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


def test_the_file_of_nginx(home: Home, tls: tuple[str, str], tmp_path: Path) -> None:
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


def test_the_container(tmp_path: Path) -> None:
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


def test_the_probes_of_kubernetes(home: Home) -> None:
    (pod,) = [
        each["spec"]["template"]["spec"] for each in YAML(typ="safe").load_all(FILES / "kubernetes.yaml")
    ]
    (container,) = pod["containers"]
    told = {each["name"]: each["value"] for each in container["env"]}
    found = configure({}, environment=told)
    ready: dict[str, Any] = container["readinessProbe"]
    assert found.drain_seconds > 2 * ready["periodSeconds"] * ready["failureThreshold"]
    assert pod["terminationGracePeriodSeconds"] > found.drain_seconds + found.shutdown_seconds
    paths = {container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
    assert paths == {"/live", "/ready"}
    with serving(home) as server:
        assert {httpx.get(server.url + path).status_code for path in paths} == {200}
        server.service.drains = True
        assert httpx.get(server.url + ready["httpGet"]["path"]).status_code == 503
        assert httpx.get(server.url + container["livenessProbe"]["httpGet"]["path"]).status_code == 200
