"""The command `hemera`: output, JSON, files and errors."""

import argparse
import importlib.metadata
import json
import platform
import re
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera import _machine
from hemera._options import joined
from hemera.cli import COMMANDS, installed_commands, main, make_parser

from .beside import printed


def run_json(capsys, words, *more):
    assert main([*words.split(), *more, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


TOLD = {
    "info": [hm.__version__, "threads"],
    "params ckks --depth 4 --slots 4096 --rotations 1,2,-4": ["at 128-bit security", "3 rotation keys"],
    "params ckks --largest 1e6": ["21 bits before the point, and two to spare: 64 bits"],
    "params ckks --range-bits 10": ["10 bits before the point: 50 bits"],
    "params ckks --depth 10 --security none": ["below 128", "none"],
    "params ckks --depth 0": ["1 level", "1 digit"],
    "params bfv --depth 1": ["1 prime, 2 digits"],
    "doctor": ["device cpu: x * x is within"],
    "plan function exp": ["relinearizations"],
}


@pytest.mark.parametrize("words", TOLD)
def test_what_is_told(words, capsys):
    assert main(words.split()) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert [word for word in TOLD[words] if word not in text] == []
    assert not re.search(r"\b1 (primes|levels|digits)|\b0 levels", text)


MISTAKES = {
    # files that are not there, of each command that reads files
    **dict.fromkeys(
        [
            *("inspect absent", "convert absent out --to hemera", "run absent absent absent absent"),
            *("export absent.json out", "export absent.py:model out", "score-trees --data absent.csv"),
            "client keys --folder folder absent out",
            "client encrypt --folder folder absent absent out",
            "client decrypt --folder folder absent absent",
            *("serve home --add-model absent", "serve home --add-index absent"),
            *("params ckks --depth 1 --json absent/out", "params ckks --depth 1 --save absent/out"),
            *("train-logistic --table absent.csv --label x", "info --json /absent/info.json"),
        ],
        "absent",
    ),
    "plan bootstrap n16": "n16-40",
    "plan bootstrap test-40 --key-memory 1MiB": "at least",
    "plan bootstrap test-40 --device cpu --memory-limit 64MiB": "left",
    "plan function log": "logarithm",
    "plan function sign --degree 3": "--degree is no option of sign",
    "params bfv --scale-bits 40": "--scale-bits is no option of BFV",
    "params bgv --shares 2": "--shares is no option of BGV",
    "params ckks --sharing-bits 65": "sharing_bits",
    "params ckks --plain-bits 20": "--plain-bits is no option of CKKS",
    "params ckks --depth 100 --scale-bits 50": "more digits",
}


@pytest.mark.parametrize("words", MISTAKES)
def test_errors_are_a_line_on_standard_error(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 1
    *before, error = capsys.readouterr().err.splitlines()
    assert before in ([], ["training in the clear"])  # the stage that score-trees was at
    assert error.startswith("hemera: ")
    assert MISTAKES[words] in error
    assert "bootstrap" in words or "bootstrap" not in error


@pytest.mark.parametrize("words", ["", "fly", "params", "params ckks --slots 0"])
def test_wrong_usage(words):
    with pytest.raises(SystemExit) as caught:
        main(words.split())
    assert caught.value.code == 2


def test_info(capsys):
    found = run_json(capsys, "info")
    assert (found["hemera"], found["devices"]) == (hm.__version__, hm.devices())
    assert found["processors"] >= 1


def _helps(parser):
    """The description of a parser and of all below it, by their commands. Their whole help can be shown."""
    assert parser.format_help().startswith(f"usage: {parser.prog}")
    yield parser.prog, parser.description or ""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _helps(child)


def test_every_help_is_a_whole_sentence():
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
def test_a_mistyped_word_is_answered_with_the_nearest(given, nearest, capsys):
    with pytest.raises(SystemExit) as ended:
        main(given)
    assert ended.value.code == 2
    assert capsys.readouterr().err.rstrip().endswith(f". Did you mean {nearest!r}?")


def test_a_command_imports_no_other_command():
    script = (
        "import sys; from hemera.cli import main; main(['params', 'ckks']); "
        "assert 'hemera.commands.params' in sys.modules; "
        "assert not {'hemera.commands.serve', 'hemera.serving', 'hemera_apps'} & set(sys.modules)"
    )
    printed(script)


def test_doctor_finds_nothing_broken_here(capsys):
    found = run_json(capsys, "doctor")
    assert found["well"]
    states = {each["check"]: each["state"] for each in found["findings"]}
    assert states["hemera"] == states["memory"] == states["device cpu"] == "ok"
    assert {"GPUs", "extra serving", "hemera-apps"} <= set(states)


@pytest.mark.parametrize(
    ("fault", "check", "words"),
    [
        ("version", "hemera-apps", "install the hemera-apps of the same version"),
        ("wrong product", "device cpu", "x * x is within"),
        ("environment", "environment", "HEMERA_ISA='scalar'"),
        ("absent extra", "extra torch", "pip install"),
    ],
)
def test_doctor_reports_what_is_not_well(fault, check, words, monkeypatch, capsys):
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


def test_show_versions_names_each_package(capsys):
    hm.show_versions()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["hemera"] == importlib.metadata.version("hemera")
    assert (lines["numpy"], lines["python"]) == (np.__version__, platform.python_version())
    assert {"processor", "backend", "gpus", "torch", "ray", "scikit-learn"} <= set(lines)
    assert str(Path.home()) not in "".join(lines.values())


@pytest.mark.parametrize("scheme", ["ckks", "bfv", "bgv"])
def test_params_as_json_and_file(scheme, capsys, tmp_path):
    path = tmp_path / "parameters.hemera"
    found = run_json(capsys, f"params {scheme} --depth 2 --rotations 1,3 --save", str(path))
    params = hm.load_parameters(path)
    facts = {"scheme": scheme, "fingerprint": params.fingerprint, "degree": params.degree}
    assert {name: found[name] for name in facts} == facts
    assert (found["security_bits"] >= 128, found["rotations"]) == (True, [1, 3])
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


def test_lists_may_begin_with_a_minus(capsys):
    found, again = (run_json(capsys, f"params ckks --rotations{each}-1,2") for each in " =")
    assert (found, found["rotations"]) == (again, [-1, 2])
    shared = run_json(capsys, "params ckks --sharing-bits 40 --shares 9")
    assert shared["scale"] >= 2.0**67
    assert any("others see" in reason for reason in shared["why"])
    # A program's own arguments stay as they are.
    for arguments in (["bench", "--", "-1,2"], ["--a=1", "-1,2"], ["-1,2"], ["--a", "-x,2"], ["--a", "-1"]):
        assert joined(arguments) == arguments
    assert joined(["--a", "-.5,1", "--b"]) == ["--a=-.5,1", "--b"]


@pytest.mark.fact_of_the_cpu("a table of the CPU's times")
def test_plan_of_a_bootstrap(capsys, calibrated):
    words = "plan bootstrap test-40 --slots 64"
    calibrated(hm.Context(hm.ckks.Parameters.for_bootstrapping("test-40"), "cpu", threads=1))
    assert main([*words.split(), "--time", "--device", "cpu", "--threads", "1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    steps = "rotations by 16, 32, 48, 64, 128, 192, 256, 512, 768:"
    for part in ("bootstrap of 64 complex slots", "13 levels left", steps, "ms on cpu"):
        assert part in text
    found = run_json(capsys, f"{words} --batch 2")
    boot = hm.circuits.Bootstrap(hm.ckks.Parameters.for_bootstrapping("test-40"), 64)
    assert (found["bytes"]["keys"], found["memory_bytes"]) == (boot.key_bytes, boot.memory_bytes(2))
    assert len(found["keys"]) == len(boot.needed_keys)
    assert "seconds" not in found
    few = run_json(capsys, f"{words} --key-memory {boot.key_bytes - 1}")
    assert few["bytes"]["keys"] < boot.key_bytes


def test_plan_of_functions_and_matrices(capsys):
    def plan(words):
        return run_json(capsys, f"plan {words}")

    found = plan("function sigmoid --interval=-8,8 --bits 16")
    assert found["depth"] == hm.circuits.sigmoid((-8, 8), bits=16).depth
    assert [key["kind"] for key in found["keys"]] == ["relinearization"]
    assert plan("function gelu --degree 7")["depth"] == 3
    assert plan("function sign --gap 0.1 --bits 8")["depth"] > 4
    assert plan("function maximum --bits 6 --depth 15")["level"] == 15
    dense, few = plan("matrix 64 32"), plan("matrix 64 32 --fewest-keys")
    assert len(few["keys"]) < len(dense["keys"])
    assert dense["operations"]["plain_products"] == 64


def test_inspect(party, tmp_path, capsys):
    path = tmp_path / "x.hemera"
    party.ev.encrypt(party.values(3, 16)).save(path)
    assert main(["inspect", str(path)]) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("ciphertext", "(3,)", party.ctx.params.fingerprint))
    found = run_json(capsys, "inspect", str(path))
    assert (found["kind"], found["bytes"]) == ("ciphertext", path.stat().st_size)
    path.write_bytes(path.read_bytes()[:-3])
    assert main(["inspect", str(path)]) == 1


@pytest.mark.parametrize("generator", [5, 3])
def test_inspect_names_rotation_steps(party, generator, tmp_path, capsys):
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
