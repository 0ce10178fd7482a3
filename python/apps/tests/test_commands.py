"""The commands that hemera-apps adds to `hemera`, and `hemera` without it."""

import json
import subprocess
import sys
from importlib.metadata import entry_points, requires, version
from pathlib import Path
from types import ModuleType

import pytest

import hemera as hm
from hemera import cli
from hemera.cli import main
from hemera_apps.bench import operations
from hemera_apps.commands import COMMANDS

ROOT = Path(__file__).parents[3]


def run_json(capsys, *arguments):
    assert main([*arguments, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def test_entry_points_are_the_commands():
    found = {point.name: point.load() for point in entry_points(group=cli.GROUP)}
    assert (found, tuple(COMMANDS)) == (COMMANDS, cli.OF_THE_APPLICATIONS)
    assert not set(COMMANDS) & set(cli.COMMANDS)
    assert list(cli.installed_commands()) == list(COMMANDS)


def test_the_versions_are_one():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "python" / "apps" / "pyproject.toml").read_text())["project"]
    assert project["version"] == version("hemera-apps") == hm.__version__
    assert f"hemera=={hm.__version__}" in project["dependencies"]
    assert f"hemera=={hm.__version__}" in (requires("hemera-apps") or [])


def test_help_names_every_command(capsys):
    for program in ("hemera", "hemera_apps"):
        arguments = [sys.executable, "-m", program, "--help"]
        shown = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
        for command in (*cli.COMMANDS, *COMMANDS):
            assert f"\n    {command}" in shown
        assert "hemera-apps" not in shown
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"hemera {hm.__version__}\n"


@pytest.fixture
def alone(monkeypatch):
    """The command line without commands of other packages."""
    monkeypatch.setattr(cli, "entry_points", lambda **_: ())


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("command", cli.OF_THE_APPLICATIONS)
def test_without_the_package_a_line_says_how_to_get_it(command, capsys):
    assert main([command, "--json", "-"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"hemera: {command} is a command of the package hemera-apps")
    assert "pip install './python/apps[demo]'" in line


@pytest.mark.usefixtures("alone")
def test_without_the_package_the_others_run(capsys, refuse):
    assert main(["info"]) == 0
    capsys.readouterr()
    refuse((lambda: main(["--help"]), SystemExit, None))
    text = " ".join(capsys.readouterr().out.split())
    assert "demo, train-logistic, score-trees, bench: in the package hemera-apps" in text


def test_hemera_imports_nothing_of_the_package():
    program = (
        "import sys\n"
        "sys.modules['hemera_apps'] = None\n"
        "import hemera.serving, hemera.trees, hemera.interop, hemera.serving.server\n"
        "from hemera.cli import main\n"
        "assert main(['info']) == 0\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_a_command_of_its_own_loads_no_other(monkeypatch, capsys):
    def broken(**_):
        raise AssertionError("loaded")

    monkeypatch.setattr(cli, "entry_points", broken)
    assert main(["info"]) == 0
    assert hm.__version__ in capsys.readouterr().out


def test_commands_of_any_package(capsys):
    module = ModuleType("other", "Says a word.")
    module.add_arguments = lambda parser: parser.add_argument("word")
    module.run = lambda options: print(options.word) or 0
    assert main(["say", "so"], commands={"say": module}) == 0
    assert capsys.readouterr().out == "so\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["demo", "--rows", "100000"], "held out"),
        (["demo", "--device", "cuda:77", "--rows", "1"], "cuda:77"),
        (["demo", "--seed", "-1"], "--seed"),
        (["bench", "--degrees", "512"], "512"),
    ],
)
def test_errors_are_said_in_a_line(arguments, text, capsys):
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.strip().splitlines()[-1].startswith("hemera: ")
    assert text in error


def test_wrong_usage():
    with pytest.raises(SystemExit) as caught:
        main(["bench", "--operation", "fly"])
    assert caught.value.code == 2


def test_bench(capsys):
    found = run_json(capsys, "bench", "--scheme", "bgv", "--degrees", "4096", "--seconds", "0.001")
    assert found["machine"]["hemera"] == hm.__version__
    assert [row["operation"] for row in found["rows"]] == list(operations.OPERATIONS)
    for row in found["rows"]:
        assert (row["scheme"], row["n"], row["batch"]) == ("bgv", 4096, 1)
        assert 0 < row["least_us"] <= row["median_us"]
        assert row["repetitions"] >= 3
    words = "bench operations --scheme bgv --degrees 4096 --operation add --batch 2"
    one = run_json(capsys, *words.split())
    assert [(row["operation"], row["batch"]) for row in one["rows"]] == [("add", 2)]


def test_bench_at_degrees_that_hold_little(capsys, refuse):
    """4096 holds a product of BFV with a smaller plaintext modulus; what is refused drops no other row."""
    add = ["--operation", "add", "--seconds", "0.001"]
    found = run_json(capsys, "bench", "--degrees", "1024,4096", *add)
    assert {(row["scheme"], row["n"]) for row in found["rows"]} >= {("bfv", 4096), ("bgv", 4096)}
    assert all(row["n"] == 4096 and row["log_modulus"] < 109 for row in found["rows"])
    refuse((lambda: run_json(capsys, "bench", "--degrees", "1024", *add), AssertionError, None))
    assert capsys.readouterr().err.count("no secure parameters with a product at degree 1024") == 6
