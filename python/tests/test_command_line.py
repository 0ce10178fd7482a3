"""The command `hemera`: output, JSON, files and errors."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera import _machine
from hemera._options import joined
from hemera.cli import COMMANDS, installed_commands, main, make_parser


def run_json(capsys: Any, *arguments: str) -> Any:
    assert main([*arguments, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def test_info(capsys: Any) -> None:
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    assert hm.__version__ in text
    assert "threads" in text
    found = run_json(capsys, "info")
    assert found["hemera"] == hm.__version__
    assert found["devices"] == hm.devices()
    assert found["processors"] >= 1


def _helps(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """The description of a parser and of all below it, by their commands. Their whole help can be shown."""
    assert parser.format_help().startswith(f"usage: {parser.prog}")
    yield parser.prog, parser.description or ""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _helps(child)


def test_every_help_is_a_whole_sentence() -> None:
    commands = {**COMMANDS, **installed_commands()}
    helps = dict(_helps(make_parser(commands)))
    assert len(helps) > 25
    for name, command in commands.items():
        written = " ".join((command.__doc__ or "").split("\n\n")[0].split())
        assert helps[f"hemera {name}"] == written
    cut = [name for name, text in helps.items() if text and not text.endswith((".", "?", ")"))]
    assert not cut


@pytest.mark.parametrize(
    ("given", "nearest"),
    [
        (["inspekt", "file"], "inspect"),
        (["SERVE"], "serve"),
        (["params", "ckk"], "ckks"),
        (["inspect", "file", "--jsn", "-"], "--json"),
        (["serve", "home", "--max-quue", "3"], "--max-queue"),
        (["client", "predct"], "predict"),
    ],
)
def test_a_mistyped_word_is_answered_with_the_nearest(given: list[str], nearest: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        main(given)
    assert ended.value.code == 2
    assert capsys.readouterr().err.rstrip().endswith(f". Did you mean {nearest!r}?")


def test_a_word_that_is_near_to_none_is_answered_without_a_guess(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["qqqqq"])
    error = capsys.readouterr().err
    assert "invalid choice: 'qqqqq'" in error
    assert "Did you mean" not in error


def test_a_command_imports_no_other_command() -> None:
    script = (
        "import sys; from hemera.cli import main; main(['params', 'ckks']); "
        "assert 'hemera.commands.params' in sys.modules; "
        "assert not {'hemera.commands.serve', 'hemera.serving', 'hemera_apps'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_a_mistyped_name_of_the_package_is_answered_with_the_nearest() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import hemera; hemera.Contxt"], capture_output=True, text=True, check=False
    )
    assert told.stderr.rstrip().endswith("has no attribute 'Contxt'. Did you mean: 'Context'?")


def _commands_on_files() -> list[list[str]]:
    """Each command that reads files, with files that are not there."""
    return [
        ["inspect", "absent"],
        ["convert", "absent", "out", "--to", "hemera"],
        ["export", "absent.json", "out"],
        ["export", "absent.py:model", "out"],
        ["run", "absent", "absent", "absent", "absent"],
        ["client", "keys", "--folder", "folder", "absent", "out"],
        ["client", "encrypt", "--folder", "folder", "absent", "absent", "out"],
        ["client", "decrypt", "--folder", "folder", "absent", "absent"],
        ["serve", "home", "--add-model", "absent"],
        ["serve", "home", "--add-index", "absent"],
        ["params", "ckks", "--depth", "1", "--json", "absent/out"],
        ["params", "ckks", "--depth", "1", "--save", "absent/out"],
        ["train-logistic", "--table", "absent.csv", "--label", "x"],
        ["score-trees", "--data", "absent.csv"],
    ]


@pytest.mark.parametrize("given", _commands_on_files(), ids=" ".join)
def test_absent_files_are_one_line_on_standard_error(
    given: list[str], capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(given) == 1
    *before, error = capsys.readouterr().err.splitlines()
    assert before in ([], ["training in the clear"])  # the stage that score-trees was at
    assert error.startswith("hemera: ")
    assert "absent" in error


def test_files_of_a_run_that_are_absent_are_named(capsys: Any, tmp_path: Path) -> None:
    plan = hm.compile(lambda x: x + 1, hm.ArraySpec((8,), range=(0, 1)))
    model, keys = tmp_path / "model", tmp_path / "keys"
    plan.package.save(model)
    assert main(["run", str(model), str(keys), "request", "out"]) == 1
    assert capsys.readouterr().err == f"hemera: cannot use {keys}: No such file or directory\n"


def test_doctor_finds_nothing_broken_here(capsys: Any) -> None:
    found = run_json(capsys, "doctor")
    assert found["well"]
    states = {each["check"]: each["state"] for each in found["findings"]}
    assert states["hemera"] == states["memory"] == states["device cpu"] == "ok"
    assert {"GPUs", "extra serving", "hemera-apps"} <= set(states)
    assert main(["doctor"]) == 0
    assert "device cpu: x * x is within" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fault", "check", "words"),
    [
        ("version", "hemera-apps", "install the hemera-apps of the same version"),
        ("wrong product", "device cpu", "x * x is within"),
        ("environment", "environment", "HEMERA_ISA='scalar'"),
        ("absent extra", "extra torch", "pip install"),
    ],
)
def test_doctor_reports_what_is_not_well(
    fault: str, check: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    known = _machine.packages()
    if fault == "version":
        monkeypatch.setattr(_machine, "packages", lambda: {**known, "hemera-apps": "0.0.1"})
    elif fault == "wrong product":
        monkeypatch.setattr(hm.Ciphertext, "__mul__", lambda x, y: x + y)
    elif fault == "absent extra":
        monkeypatch.setattr(_machine, "packages", lambda: {**known, "torch": None})
    else:
        monkeypatch.setenv("HEMERA_ISA", "scalar")
    status = main(["doctor", "--json", "-"])
    found = json.loads(capsys.readouterr().out)
    (finding,) = (each for each in found["findings"] if each["check"] == check and words in each["text"])
    broken = fault in ("version", "wrong product")
    assert finding["state"] == ("broken" if broken else "note")
    assert status == int(broken) == int(not found["well"])


def test_show_versions_names_each_package(capsys: Any) -> None:
    hm.show_versions()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["hemera"] == importlib.metadata.version("hemera")
    assert lines["numpy"] == np.__version__
    assert lines["python"] == platform.python_version()
    assert {"processor", "backend", "gpus", "torch", "ray", "scikit-learn"} <= set(lines)
    assert str(Path.home()) not in "".join(lines.values())


def test_params_prints_why_and_weights(capsys: Any) -> None:
    assert main(["params", "ckks", "--depth", "4", "--slots", "4096", "--rotations", "1,2,-4"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "security" in text
    assert "at 128-bit security" in text
    assert "3 rotation keys" in text


@pytest.mark.parametrize("scheme", ["ckks", "bfv", "bgv"])
def test_params_as_json_and_file(scheme: str, capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "parameters.hemera"
    found = run_json(capsys, "params", scheme, "--depth", "2", "--rotations", "1,3", "--save", str(path))
    params = hm.load_parameters(path)
    assert found["scheme"] == params.scheme == scheme
    assert found["fingerprint"] == params.fingerprint
    assert found["degree"] == params.degree
    assert found["security_bits"] >= 128
    assert found["rotations"] == [1, 3]
    assert found["rotations_by_powers_of_two"] == hm.rotations_needed(params, [1, 3])
    # The reported sizes are those of real objects, up to headers.
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    real = {
        "public key": ctx.generate_keys(sk, relinearization=False),
        "relinearization key": ctx.generate_keys(sk, public_key=False),
        "2 rotation keys": ctx.generate_keys(sk, public_key=False, relinearization=False, rotations=[1, 3]),
        "ciphertext, by the secret key": ctx.encrypt([1], sk),
        "ciphertext, by the public key": ctx.bind(ctx.generate_keys(sk)).encrypt([1]),
    }
    for name, value in real.items():
        assert found["bytes"][name]["file"] == pytest.approx(len(bytes(value)), rel=0.02)
        assert found["bytes"][name]["memory"] == value.memory_bytes


def test_params_refuses_weak_ones_unless_told(capsys: Any) -> None:
    assert main(["params", "ckks", "--depth", "100", "--scale-bits", "50"]) == 1
    error = capsys.readouterr().err
    assert "secure" in error
    assert "more digits" in error
    assert "bootstrap" not in error
    assert main(["params", "ckks", "--depth", "10", "--security", "none"]) == 0
    text = capsys.readouterr().out
    assert "below 128" in text
    assert "none" in text


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
def test_params_counts_in_the_singular(scheme: str, capsys: Any) -> None:
    depth = "0" if scheme == "ckks" else "1"
    assert main(["params", scheme, "--depth", depth]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "1 digit" in text or "1 prime," in text
    assert not re.search(r"\b1 (primes|levels|digits)|\b0 levels", text)
    params = hm.bgv.Parameters.for_circuit(0)
    assert "1 level," in repr(params)
    assert "in 1 prime, 1 level\n" in params.describe()


def test_params_of_ckks_take_ranges_and_shares(capsys: Any) -> None:
    assert main(["params", "ckks", "--largest", "1e6"]) == 0
    assert "21 bits before the point, and two to spare: 64 bits" in " ".join(capsys.readouterr().out.split())
    assert main(["params", "ckks", "--range-bits", "10"]) == 0
    assert "10 bits before the point: 50 bits" in " ".join(capsys.readouterr().out.split())
    assert main(["params", "ckks", "--sharing-bits", "40", "--shares", "9", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["scale"] >= 2.0**67
    assert any("others see" in reason for reason in found["why"])


def test_lists_may_begin_with_a_minus(capsys: Any) -> None:
    one = ["params", "ckks", "--json", "-", "--rotations"]
    assert run_json(capsys, *one[:2], "--rotations", "-1,2") == run_json(capsys, *one[:2], "--rotations=-1,2")
    assert run_json(capsys, *one[:2], "--rotations", "-1,2")["rotations"] == [-1, 2]
    # A program's own arguments stay as they are.
    for arguments in (["bench", "--", "-1,2"], ["--a=1", "-1,2"], ["-1,2"], ["--a", "-x,2"], ["--a", "-1"]):
        assert joined(arguments) == arguments
    assert joined(["--a", "-.5,1", "--b"]) == ["--a=-.5,1", "--b"]


@pytest.mark.fact_of_the_cpu("a table of the CPU's times")
def test_plan_of_a_bootstrap(capsys: Any, calibrated: Any) -> None:
    arguments = ["plan", "bootstrap", "test-40", "--slots", "64"]
    calibrated(hm.Context(hm.ckks.Parameters.for_bootstrapping("test-40"), "cpu", threads=1))
    assert main([*arguments, "--time", "--device", "cpu", "--threads", "1"]) == 0
    text = capsys.readouterr().out
    assert "bootstrap of 64 complex slots" in text
    assert "13 levels left" in text
    assert "rotations by 16, 32, 48, 64, 128, 192, 256, 512, 768:" in " ".join(text.split())
    assert "ms on cpu" in text
    found = run_json(capsys, *arguments, "--batch", "2")
    boot = hm.circuits.Bootstrap(hm.ckks.Parameters.for_bootstrapping("test-40"), 64)
    assert found["bytes"]["keys"] == boot.key_bytes
    assert found["memory_bytes"] == boot.memory_bytes(2)
    assert len(found["keys"]) == len(boot.needed_keys)
    assert "seconds" not in found
    few = run_json(capsys, *arguments, "--key-memory", f"{boot.key_bytes - 1}")
    assert few["bytes"]["keys"] < boot.key_bytes


def test_plan_of_functions_and_matrices(capsys: Any) -> None:
    found = run_json(capsys, "plan", "function", "sigmoid", "--interval=-8,8", "--bits", "16")
    assert found["depth"] == hm.circuits.sigmoid((-8, 8), bits=16).depth
    assert [key["kind"] for key in found["keys"]] == ["relinearization"]
    assert run_json(capsys, "plan", "function", "sigmoid", "--interval", "-8,8", "--bits", "16") == found
    assert run_json(capsys, "plan", "function", "gelu", "--degree", "7")["depth"] == 3
    assert run_json(capsys, "plan", "function", "sign", "--gap", "0.1", "--bits", "8")["depth"] > 4
    assert run_json(capsys, "plan", "function", "maximum", "--bits", "6", "--depth", "15")["level"] == 15
    assert main(["plan", "function", "exp"]) == 0
    assert "relinearizations" in capsys.readouterr().out
    dense = run_json(capsys, "plan", "matrix", "64", "32")
    few = run_json(capsys, "plan", "matrix", "64", "32", "--fewest-keys")
    assert len(few["keys"]) < len(dense["keys"])
    assert dense["operations"]["plain_products"] == 64


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["plan", "bootstrap", "n16"], "n16-40"),
        (["plan", "bootstrap", "test-40", "--key-memory", "1MiB"], "at least"),
        (["plan", "bootstrap", "test-40", "--device", "cpu", "--memory-limit", "64MiB"], "left"),
        (["plan", "function", "log"], "logarithm"),
        (["plan", "function", "sign", "--degree", "3"], "--degree is no option of sign"),
        (["params", "bfv", "--scale-bits", "40"], "--scale-bits is no option of BFV"),
        (["params", "bgv", "--shares", "2"], "--shares is no option of BGV"),
        (["params", "ckks", "--sharing-bits", "65"], "sharing_bits"),
        (["params", "ckks", "--plain-bits", "20"], "--plain-bits is no option of CKKS"),
        (["inspect", "nowhere.hemera"], "nowhere.hemera"),
        (["info", "--json", "/nowhere/info.json"], "/nowhere/info.json"),
    ],
)
def test_errors_are_said_in_a_line(arguments: list[str], text: str, capsys: Any) -> None:
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.strip().splitlines()[-1].startswith("hemera: ")
    assert text in error


@pytest.mark.parametrize("arguments", [[], ["fly"], ["params"], ["params", "ckks", "--slots", "0"]])
def test_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_inspect(party: Any, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "x.hemera"
    party.ev.encrypt(party.values(3, 16)).save(path)
    assert main(["inspect", str(path)]) == 0
    text = capsys.readouterr().out
    assert "ciphertext" in text
    assert "(3,)" in text
    assert party.ctx.params.fingerprint in text
    found = run_json(capsys, "inspect", str(path))
    assert found["kind"] == "ciphertext"
    assert found["bytes"] == path.stat().st_size
    path.write_bytes(path.read_bytes()[:-3])
    assert main(["inspect", str(path)]) == 1


@pytest.mark.parametrize("generator", [5, 3])
def test_inspect_names_rotation_steps(party: Any, generator: int, tmp_path: Path, capsys: Any) -> None:
    params = party.ctx.params
    own = {"scale": params.scale} if party.scheme == "ckks" else {"plain_modulus": params.plain_modulus}
    params = type(params)(
        degree=params.degree,
        primes=params.primes[-1],
        special_primes=params.special_primes,
        galois_generator=generator,
        security=None,
        **own,
    )
    ctx = hm.Context(params, "cpu")
    middle = params.degree // 4  # to the left or the right: named to the left
    own = {"conjugation": True} if party.scheme == "ckks" else {"swap_rows": True}
    keys = ctx.generate_keys(ctx.generate_secret_key(), rotations=[1, -2, 4, 100, middle], **own)
    keys.save(tmp_path / "keys.hemera")
    found = run_json(capsys, "inspect", str(tmp_path / "keys.hemera"))["fields"]
    steps, _, by = found["rotation steps"].partition(" (")
    assert by == f"by the generator {generator})"
    named = dict(zip(found["Galois elements"].split(", "), steps.split(", "), strict=True))
    expected = {str(ctx._native.galois_element(step)): str(step) for step in (1, -2, 4, 100, middle)}
    expected[str(2 * params.degree - 1)] = "conjugation" if party.scheme == "ckks" else "swap of rows"
    assert named == expected
    without = ctx.generate_keys(ctx.generate_secret_key())
    assert "rotation steps" not in hm.inspect(bytes(without)).fields


def test_installed_command() -> None:
    """As a program of its own: the version, and the help of every command."""
    program = [sys.executable, "-m", "hemera"]
    shown = subprocess.run([*program, "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout == f"hemera {hm.__version__}\n"
    shown = subprocess.run([*program, "--help"], capture_output=True, text=True, check=True)
    for command in ("info", "params", "inspect", "serve"):
        assert f"\n    {command} " in shown.stdout
