"""The options of commands reach what they name, and have the defaults that their help tells."""

import argparse
import re
from dataclasses import fields, replace
from types import SimpleNamespace

import pytest

from hemera.cli import COMMANDS, installed_commands, main, make_parser
from hemera.commands import serve
from hemera.serving.settings import Settings

GIB = 1 << 30
LIMITS = [
    ("--max-request", "3", "request_bytes", 3),
    ("--max-keys", "5KiB", "key_bytes", 5 << 10),
    ("--max-store", "7MiB", "store_bytes", 7 << 20),
    ("--max-client-store", "1TiB", "client_store_bytes", 1 << 40),
    ("--max-loaded-keys", "2GiB", "loaded_key_bytes", 2 * GIB),
    ("--max-prepared", "11 MiB", "prepared_bytes", 11 << 20),
    ("--max-index", "13", "index_bytes", 13),
    ("--max-waiting", "3GiB", "waiting_bytes", 3 * GIB),
    ("--max-client-waiting", "19", "client_waiting_bytes", 19),
    ("--max-queue", "1", "waiting_requests", 1),
    ("--max-batch", "2", "batch", 2),
    ("--max-uploads", "3", "uploads", 3),
    ("--max-client-uploads", "4", "client_uploads", 4),
    ("--max-connections", "5", "connections", 5),
    ("--max-address-connections", "6", "address_connections", 6),
    ("--max-graphs", "0", "graphs", 0),
    ("--rate-requests", "0.5", "requests_per_second", 0.5),
    ("--rate-bytes", "1KiB", "bytes_per_second", 1024),
    ("--burst-seconds", "999999999", "burst_seconds", 999999999),
    ("--request-seconds", "0.001", "request_seconds", 0.001),
    ("--body-seconds", "2", "body_seconds", 2),
    ("--header-seconds", "3", "header_seconds", 3),
    ("--shutdown-seconds", "4", "shutdown_seconds", 4),
    ("--device", "cpu:*", "device", "cpu:*"),
    ("--threads", "2", "threads", 2),
    ("--storage", "packed", "storage", "packed"),
    ("--key-place", "host", "keys", "host"),
    ("--federation", "fl", "federations", ("fl",)),
    ("--page", "package", "page", "package"),
]


@pytest.fixture
def served(monkeypatch, tmp_path):
    """The configuration that `hemera serve` with these words gives to the server."""
    given = []

    def note(configuration, **_):
        given.append(configuration)
        return 0

    def run(*words):
        monkeypatch.setattr(serve, "serve_home", note)
        assert main(["serve", str(tmp_path / "home"), *words]) == 0
        return given[-1]

    return run


@pytest.mark.filterwarnings("ignore:--.* goes:DeprecationWarning")
def test_a_server_s_options_are_its_settings(served):
    usual = served()
    for option, word, field, value in LIMITS:
        assert served(option, word) == replace(usual, **{field: value})
        assert getattr(usual, field) != value
    words = [word for option, value, *_ in LIMITS for word in (option, value)]
    assert served(*words) == replace(usual, **{field: value for *_, field, value in LIMITS})
    of_limits = {each.metadata["option"] for each in fields(Settings)} - {None}
    assert of_limits - {"--origin"} == {option for option, *_ in LIMITS}


def test_options_that_go_name_their_successors(served):
    going = [each for each in fields(Settings) if each.metadata.get("former")]
    for each in going:
        value = next(word for option, word, *_ in LIMITS if option == each.metadata["option"])
        with pytest.warns(DeprecationWarning, match=f"set {each.name} in .*HEMERA_SERVE_{each.name.upper()}"):
            served(each.metadata["option"], value)
    assert len(going) > 15


@pytest.mark.filterwarnings("ignore:--.* goes:DeprecationWarning")
@pytest.mark.parametrize(
    "words",
    [
        *(["--max-store", text] for text in ("0", "-1", "8GB", "GiB", "1 K", "")),
        *(["--rate-requests", text] for text in ("0", "-1", "nan", "x")),
        *(["--max-queue", text] for text in ("0", "1.5", "x")),
        ["--burst-seconds", "0"],
        ["--burst-seconds", "1e9"],
        ["--storage", "small"],
        ["--key-place", "disk"],
        ["--ray", "local", "--replicas", "0"],
    ],
    ids=" ".join,
)
def test_options_of_a_server_that_are_refused(words, tmp_path, capsys):
    assert main(["serve", str(tmp_path / "home"), *words]) == 1
    by_option = {option: field for option, _, field, _ in LIMITS}
    assert by_option.get(words[-2], "replicas") in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "given"),
    [([], ("auto", None, 120)), (["--device", "cpu", "--threads", "2", "--seconds", "7"], ("cpu", 2, 7))],
)
def test_calibrate_measures_as_it_is_asked(words, given, monkeypatch, capsys, tmp_path):
    saved = []

    def measure(device, *, threads, seconds, report):
        report("a line")
        asked.append((device, threads, seconds))
        return SimpleNamespace(rows=[1, 2], device="a device", save=lambda path: saved.append(path) or path)

    asked = []
    monkeypatch.setattr("hemera.objects.calibration.calibrate", measure)
    assert main(["calibrate", *words, "--output", str(tmp_path / "table")]) == 0
    assert (asked, saved) == ([given], [tmp_path / "table"])
    assert capsys.readouterr().out == f"a line\n2 times of a device, kept in {tmp_path / 'table'}\n"


def test_clients_take_parameters_of_128_bits_unless_told():
    parser = make_parser(COMMANDS)
    for action in (["keys", "d", "k"], ["encrypt", "d", "r", "q"], ["decrypt", "d", "a"]):
        words = ["client", *action, "--folder", "f"]
        assert parser.parse_args(words).security == 128
        assert parser.parse_args([*words, "--any-security"]).security is None
    assert parser.parse_args(["client", "predict", "u", "m", "r"]).security == 128


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--replicas", "2"], "replicas needs ray"),
        (["--ray", "auto", "--device", "cpu,cpu"], "gives each replica one device, and device is 'cpu,cpu'"),
        (["--ray", "auto", "--device", "cuda:*"], "device is 'cuda:*'"),
    ],
)
def test_replicas_have_a_device_each(words, told, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(serve, "serve_home", lambda *_, **__: 0)
    assert main(["serve", str(tmp_path / "home"), *words]) == 1
    assert told in capsys.readouterr().err


def options_of(parser):
    """The options of a command and of all below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from options_of(child)
        else:
            yield parser.prog, action


def test_defaults_are_those_that_help_tells():
    told = 0
    for command, action in options_of(make_parser({**COMMANDS, **installed_commands()})):
        found = re.search(r'\(default:? "?([^()";:\s]+)"?\)', action.help or "")
        default = action.default
        if found is None or default is None or found[1] in ("any", "all", "both", "2^20"):
            continue
        value = (action.type or str)(found[1])
        assert default == (tuple(value) if isinstance(default, tuple) else value), (command, action.dest)
        told += 1
    assert told > 50
