"""Limits of a server, and its configuration: a file, over it the environment, over both the command."""

import dataclasses
import math
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from hemera import _machine, errors
from hemera.serving.configuration import Configuration, configure
from hemera.serving.settings import GIB, MIB, Settings

from ..refusals import raises
from .conftest import BOUND, Process, client_of, expected

NUMBERS = [
    each.name
    for each in dataclasses.fields(Settings)
    if str(each.type).removesuffix(" | None") in ("int", "float")
]


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        ({}, 256 * MIB),  # a quarter of a 16th of 16 GiB
        ({"request_bytes": 1}, 256 * MIB),
        ({"waiting_bytes": 1000, "request_bytes": 100}, 250),
        ({"waiting_bytes": 1000, "request_bytes": 250}, 250),
        ({"waiting_bytes": 1000, "request_bytes": 251}, 251),
        ({"waiting_bytes": 1000, "request_bytes": 1000}, 1000),
        ({"waiting_bytes": 1000, "request_bytes": 900, "client_waiting_bytes": 7}, 7),
        ({"client_store_bytes": 7}, 256 * MIB),
    ],
)
def test_a_clients_share_has_room_for_its_largest_body(limits, share, monkeypatch):
    monkeypatch.setattr("hemera._machine.memory_bytes", lambda: 16 * GIB)
    assert Settings(**limits).waiting_of_client == share


@pytest.mark.parametrize(
    ("limits", "share"),
    [({}, 16 << 30), ({"store_bytes": 1003}, 250), ({"store_bytes": 9, "client_store_bytes": 8}, 8)],
)
def test_a_clients_share_of_the_store(limits, share):
    assert Settings(**limits).store_of_client == share


@pytest.mark.parametrize("name", NUMBERS)
def test_each_limit_is_above_nothing(name):
    assert len(NUMBERS) == 30
    for wrong in (0, -1, math.nan):
        if name in ("graphs", "drain_seconds") and wrong == 0:
            assert getattr(Settings(**{name: 0}), name) == 0
            continue
        raises(errors.ParameterError, f"{name} must be .*not {wrong}", Settings, **{name: wrong})
    value = 1 << 40 if name == "waiting_bytes" else 1
    assert getattr(Settings(**{name: value}), name) == value


@pytest.mark.parametrize("name", [name for name in NUMBERS if name.endswith("_seconds")])
def test_no_time_is_endless(name):
    assert getattr(Settings(**{name: 999_999_999}), name) == 999_999_999
    raises(errors.ParameterError, f"{name} must be below 1e", Settings, **{name: 1e9})


@pytest.mark.parametrize(
    ("memory", "device", "keys", "waiting"),
    [
        (1 * GIB, "cpu", 256 * MIB, 256 * MIB),
        (2 * GIB, "cpu", 512 * MIB, 256 * MIB),
        (9 * GIB, "cpu", 4 * GIB, 576 * MIB),
        (9 * GIB, "cpu,cpu", 2 * GIB, 576 * MIB),
        (257 * GIB, "auto", 128 * GIB, 16448 * MIB),
    ],
)
def test_memory_follows_from_the_machine(memory, device, keys, waiting, monkeypatch):
    monkeypatch.setattr("hemera._machine.memory_bytes", lambda: memory)
    monkeypatch.setattr("hemera._core.find_cuda_devices", lambda: SimpleNamespace(devices=[]))
    settings = Settings(device=device)
    assert (settings.loaded_of_device, settings.waiting_of_all) == (keys, waiting)
    assert Settings(device=device, loaded_key_bytes=7).loaded_of_device == 7


def test_a_gpu_has_its_own_memory(monkeypatch):
    monkeypatch.setattr("hemera._machine.memory_bytes", lambda: 9 * GIB)
    found = [
        SimpleNamespace(memory_bytes=each * GIB, problem=why)
        for each, why in ((3, "old"), (25, ""), (81, ""))
    ]
    monkeypatch.setattr("hemera._core.find_cuda_devices", lambda: SimpleNamespace(devices=found))
    assert [Settings(device=each).loaded_of_device // GIB for each in ("auto", "cuda:1", "cpu")] == [
        12,
        12,
        4,
    ]


def test_the_largest_body_fits_what_waits():
    assert Settings(request_bytes=1000, waiting_bytes=1000).request_bytes == 1000
    with pytest.raises(errors.ParameterError, match=r"no request of 1001 bytes .* may have 1000 together"):
        Settings(request_bytes=1001, waiting_bytes=1000)
    assert math.isinf(Settings().requests_per_second)


@pytest.mark.parametrize(
    ("device", "names"), [("cpu", ["cpu"]), ("cpu, cpu", ["cpu", "cpu"]), ("auto", ["auto"])]
)
def test_devices_by_names(device, names):
    settings = Settings(device=device, threads=2, storage="packed", keys="host")
    assert [each.options.device for each in settings.places] == names
    for each in settings.places:
        assert (each.options.threads, each.options.storage, each.options.keys) == (2, "packed", "host")
    with pytest.raises(errors.ParameterError, match="alone"):
        _ = Settings(device="cpu,cuda:*").places


tomllib = pytest.importorskip("tomllib")


def printed(*words, **environment):
    """The command's answer to --print-config."""
    return subprocess.run(
        [sys.executable, "-m", "hemera", "serve", "--print-config", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=BOUND,
        env={"PATH": "/usr/bin", "PYTHONPATH": ":".join(sys.path), **environment},
    )


def test_flags_over_the_environment_over_the_file(tmp_path):
    file = tmp_path / "serve.toml"
    file.write_text(
        'batch = 3\nconnections = 5\nport = 7\nstore_bytes = "3GiB"\norigins = ["https://a.example"]\n'
    )
    told = printed("--config", str(file), "--port", "9", HEMERA_SERVE_PORT="8", HEMERA_SERVE_CONNECTIONS="6")
    found = tomllib.loads(told.stdout)
    assert (found["batch"], found["connections"], found["port"]) == (3, 6, 9)
    assert found["store_bytes"] == "3GiB"
    assert found["origins"] == ["https://a.example"]
    by_name = printed(
        HEMERA_SERVE_CONFIG=str(file), HEMERA_SERVE_ORIGINS="https://b.example, https://c.example"
    )
    assert tomllib.loads(by_name.stdout)["origins"] == ["https://b.example", "https://c.example"]
    assert tomllib.loads(by_name.stdout)["batch"] == 3


def test_what_is_printed_can_be_given_back_and_has_no_secrets(tmp_path):
    file = tmp_path / "serve.toml"
    words = ["--tls-certificate", 'a "b" \\é.pem', "--tls-key", "k", "--max-loaded-keys", "1000", "home"]
    first = printed(*words, HEMERA_SERVE_TLS_KEY_PASSWORD="hunter2", HEMERA_SERVE_SWEEP_SECONDS="0.25")
    assert "tls_key_password is set" in first.stdout
    assert "hunter2" not in first.stdout + first.stderr
    file.write_text(first.stdout)
    assert printed("--config", str(file), HEMERA_SERVE_TLS_KEY_PASSWORD="hunter2").stdout == first.stdout
    assert configure({}, file=file, environment={}).tls_certificate == Path('a "b" \\é.pem')
    # Each field is there, and what is unset has the value that follows.
    names = [each.name for each in dataclasses.fields(Configuration)]
    assert all(f"\n{name} = " in first.stdout or f"\n# {name} " in first.stdout for name in names)
    # A part of this machine's memory: in the largest unit of which it is a multiple.
    [(number, unit)] = re.findall(r'^# client_waiting_bytes = "?(\d+)([KMG]?)', first.stdout, re.MULTILINE)
    assert int(number) << 10 * " KMG".index(unit or " ") == Configuration().waiting_of_client


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("bacth = 3", "no setting 'bacth'. Did you mean 'batch'?"),
        ("max_graphs = 3", "no setting 'max_graphs'. Did you mean 'graphs'?"),
        ("[limits]\nbatch = 3", "no setting 'limits'"),
        ("batch = true", "batch is an integer, not True"),
        ("batch = 1.5", "batch is an integer, not 1.5"),
        ('batch = "many"', "batch is an integer, not 'many'"),
        ("store_bytes = '8GB'", "store_bytes is a size like 512MiB, not '8GB'"),
        ("request_seconds = 'long'", "request_seconds is a number, not 'long'"),
        ("request_seconds = inf", "request_seconds must be below 1e"),
        ("host = 3", "host is a text, not 3"),
        ("home = [1]", "home is a path, not list"),
        ("origins = [1]", "origins is a list of texts"),
        ("batch = ", "is no file of TOML"),
        ("tls_key = 'x'", "TLS needs both files"),
        ("replicas = 2", "replicas needs ray"),
        ("batch = 0", "batch must be above 0"),
    ],
)
def test_what_is_wrong_is_named(text, told, tmp_path):
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(errors.ParameterError) as found:
        configure({}, file=file, environment={})
    assert told in str(found.value)


def test_variables_with_wrong_names_are_refused(tmp_path):
    with pytest.raises(errors.ParameterError, match=r"BATHC'\. Did you mean 'HEMERA_SERVE_BATCH"):
        configure({}, environment={"HEMERA_SERVE_BATHC": "3", "HEMERA_TOKEN": "x"})
    assert configure({}, environment={"HEMERA_SERVE_BATCH": ""}).batch == Configuration().batch
    raises(errors.FileError, "none", configure, {}, file=tmp_path / "none.toml", environment={})


@pytest.mark.parametrize(
    ("groups", "files", "memory"),
    [
        ("0::/a/b\n", {"memory.max": "max", "a/memory.max": "5000", "a/b/memory.max": "7000"}, 5000),
        ("0::/\n", {"memory.max": "6000"}, 6000),
        ("4:memory:/c\n0::/\n", {"memory/c/memory.limit_in_bytes": "4000"}, 4000),
        ("3:cpu,memory:/c/d\n", {"memory/c/memory.limit_in_bytes": "3000"}, 3000),
        ("3:cpu:/c\n", {"memory/c/memory.limit_in_bytes": "3000"}, None),
    ],
)
def test_memory_is_that_of_the_control_group(groups, files, memory, tmp_path, monkeypatch):
    machine = _machine.memory_bytes()
    own = tmp_path / "self"
    own.write_text(groups)
    for name, text in files.items():
        (tmp_path / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "groups" / name).write_text(text)
    found = _machine._limits_of_groups(tmp_path / "groups", own)
    monkeypatch.setattr(_machine, "_limits_of_groups", lambda: found)
    assert _machine.memory_bytes() == (memory or max(machine, _machine.memory_bytes()))


def test_a_server_of_a_file_alone(home, tmp_path):
    """Also limits that no option has; the file names the folder."""
    token = home.clients.add("alice")
    file = tmp_path / "serve.toml"
    told = {"home": str(home.root), "port": 0, "device": "cpu", "batch": 2, "sweep_seconds": 0.5}
    file.write_text("".join(f"{name} = {value!r}\n" for name, value in told.items()))
    with Process(None, "--config", str(file)) as process:
        with client_of(process.url, token) as client:
            assert client.describe("scores")["limits"]["evaluations"] == 2
            assert abs(client.predict("scores", [[0.5] * 8]) - expected([[0.5] * 8])).max() < 1e-6
        assert process.stop() == 0
