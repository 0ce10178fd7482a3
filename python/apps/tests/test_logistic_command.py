"""`hemera train-logistic`."""

import json
import math
import re

import numpy as np
import pytest

from hemera.cli import main
from hemera.errors import ParameterError
from hemera_apps import logistic_regression as logistic
from hemera_apps._extras import how_to_install

pytest.importorskip("sklearn")
QUICK = ["--device", "cpu", "--preset", "test-40", "--field", "levels=4", "--batch", "16"]


def test_small_run_with_json_and_plot(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    file, figure = tmp_path / "run.json", tmp_path / "losses.svg"
    command = ["train-logistic", "--small", "--device", "cpu", "--json", str(file), "--plot", str(figure)]
    assert main(command) == 0
    shown = capsys.readouterr()
    for words in (
        *("sklearn", "NOT SECURE", "levels: 4 an iteration, which begin at 15, 11, 7; 9 bootstraps"),
        *("with a bootstrap", "1024 samples x 25 features"),
        *("sigmoid: degree 3 on -8 to 8, least-squares, within 0.114", "memory: keys", "accuracy", "AUC"),
        "largest",
    ):
        assert words in shown.out
    assert "training" in shown.err
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["difference"] < 1e-4
    assert [mark["iteration"] for mark in found["marks"]] == [16, 30]
    for mark in found["marks"]:
        assert mark["encrypted"]["accuracy"] == pytest.approx(mark["clear"]["accuracy"], abs=0.005)
        assert mark["encrypted"]["auc"] == pytest.approx(mark["clear"]["auc"], abs=1e-3)
        assert 0.68 < mark["encrypted"]["accuracy"] < 0.85
    assert found["scikit_learn"][0]["accuracy"] > 0.7
    losses = [losses[0] for losses in found["losses"]["encrypted"]]
    assert len(losses) == 30
    assert losses[-1] < losses[0] < 0.6932
    assert (found["plan"]["bootstrap_every"], found["plan"]["bootstraps"]) == (3, 9)
    seconds = found["seconds"]
    assert 0 < seconds["iteration"] < seconds["iteration_on_average"] < seconds["iteration_with_bootstrap"]
    assert len(seconds["iteration_by_level"]) == 3
    assert found["memory"]["keys"] == found["plan"]["bytes"]["keys"] < found["memory"]["device"]
    assert logistic.Settings(**found["settings"]).rates[0] > 0
    assert len(found["weights"][0]) == 32
    drawn = figure.read_text(encoding="utf-8")
    assert drawn.startswith("<?xml")
    for text in ("mean logistic loss of a sample", "iteration (a mini-batch each)", "end of an epoch"):
        assert f">{text}</text>" in drawn
    # The encrypted and the clear losses have a colour each.
    assert "stroke: #ff7f0e" in drawn
    assert "fill: #1f77b4" in drawn


def test_plan_alone(capsys):
    assert main(["train-logistic", "--plan", "--rows", "6000", "--json", "-"]) == 0
    shown = capsys.readouterr()
    plan = json.loads(shown.out)["plan"]
    # One ciphertext of 1,024 samples, of the preset n16-40.
    assert (plan["degree"], plan["rows"], plan["width"], plan["ciphertexts"]) == (65536, 1024, 32, 1)
    assert (plan["security"], plan["depth"], plan["bootstrap_every"]) == (">=128", 4, 3)
    assert "an iteration takes 4 levels" in shown.err
    # Two ciphertexts of 512 samples, and a bootstrap by roots of unity, whose secrets are asked for.
    blocks = ["--ephemeral-secret", "blocks"]
    assert main(["train-logistic", "--plan", "--rows", "6000", "--json", "-", *blocks]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert (plan["degree"], plan["rows"], plan["width"]) == (32768, 512, 32)
    assert (plan["ciphertexts"], plan["bootstrap"]["levels_left"]) == (2, 8)
    assert (plan["security"], (plan["depth"], plan["levels"])) == (">=128", (4, [9, 5]))
    for clash in (["--small"], ["--preset", "n16-40"], ["--field", "levels=5"]):
        assert main(["train-logistic", "--plan", *clash, *blocks]) != 0
        assert "--ephemeral-secret blocks chooses" in capsys.readouterr().err
    # Fields are of another preset.
    few = ["--bootstrap-every", "3", "--field", "levels=12"]
    assert main(["train-logistic", "--plan", "--rows", "6000", "--json", "-", *few]) == 0
    other = json.loads(capsys.readouterr().out)["plan"]
    assert (other["degree"], other["rows"], other["bootstrap_every"]) == (65536, 1024, 3)


def test_the_set_of_the_paper(capsys):
    assert main(["train-logistic", "--preset", "paper", "--plan", "--rows", "6000", "--json", "-"]) == 0
    shown = capsys.readouterr()
    plan = json.loads(shown.out)["plan"]
    assert (plan["degree"], plan["security"], plan["bootstrap_every"]) == (65536, "below 128", 3)
    assert plan["log_modulus"] > 1747
    assert "security below 128" in shown.err
    params = logistic.make_parameters("paper")
    assert (len(params.primes), round(math.log2(params.scale))) == (27, 59)  # L = 26
    assert 1_480 < math.log2(math.prod(params.primes[-1])) < 1_534  # its sine takes fewer bits here
    # Others insist on 128 bits, and so does this one with the option.
    with pytest.raises(ParameterError, match="secure at degree 65536"):
        logistic.make_parameters("paper", security=128)
    # The same levels and digits in a small ring.
    own = ["--small", "--preset", "paper", "--device", "cpu", "--rows", "300", "--iterations", "5"]
    assert main(["train-logistic", *own, "--json", "-"]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert (found["plan"]["degree"], found["plan"]["levels"]) == (4096, plan["levels"])
    assert (found["plan"]["bootstraps"], found["difference"] < 1e-5) == (1, True)
    assert "NOT SECURE" in shown.err


def test_own_table_and_folds(tmp_path, capsys):
    pandas = pytest.importorskip("pandas")
    table = logistic.loan_applications(300, 1)
    frame = pandas.DataFrame(table.features[:, :6], columns=list("abcdef"))
    frame["home"] = ["owns" if flag else "rents" for flag in table.features[:, 14]]
    frame["approved"] = ["yes" if label else "no" for label in table.labels]
    file, told = tmp_path / "loans.csv", tmp_path / "run.json"
    frame.to_csv(file, index=False)
    own = ["--table", str(file), "--label", "approved"]
    length = ["--folds", "2", "--epochs", "1", "--method", "gradient"]
    assert main(["train-logistic", *QUICK, *own, *length, "--json", str(told)]) == 0
    found = json.loads(told.read_text(encoding="utf-8"))
    assert (found["settings"]["models"], found["settings"]["features"]) == (2, 8)
    assert found["settings"]["iterations"] == found["batches"] == 8  # 120 samples of a fold, 16 at once
    assert ([mark["model"] for mark in found["marks"]], len(found["scikit_learn"])) == ([0, 1], 2)
    assert found["difference"] < 1e-4
    assert "model" in capsys.readouterr().out


def test_a_model_for_each_class(tmp_path, capsys):
    pandas = pytest.importorskip("pandas")
    datasets = pytest.importorskip("sklearn.datasets")
    data = datasets.load_wine()
    frame = pandas.DataFrame(data.data, columns=data.feature_names)
    frame["kind"] = [f"barolo {kind}" for kind in data.target]
    file, told = tmp_path / "wine.csv", tmp_path / "run.json"
    frame.to_csv(file, index=False)
    own = ["--table", str(file), "--label", "kind", "--each-class", "--epochs", "1"]
    assert main(["train-logistic", *QUICK, *own, "--json", str(told)]) == 0
    found = json.loads(told.read_text(encoding="utf-8"))
    assert found["table"] == "wine.csv: barolo 0"
    assert (found["settings"]["models"], found["plan"]["state_slots"]) == (3, 64)
    assert [mark["model"] for mark in found["marks"]] == [0, 1, 2]
    assert found["difference"] < 1e-4
    assert found["class_accuracy"]["encrypted"] == found["class_accuracy"]["clear"] > 0.9
    assert found["class_accuracy"]["scikit_learn"] > 0.9
    # Classes of wine differ, so no two models are alike, and each knows its own.
    assert all(mark["encrypted"]["auc"] > 0.9 for mark in found["marks"])
    assert "by the largest logit of 3 classes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--table", "x.csv"], "--label"),
        (["--label", "x"], "--table"),
        (["--table", "nowhere.csv", "--label", "x"], "nowhere.csv"),
        (["--preset", "n16"], "n16-40"),
        (["--small", "--bootstrap-every", "4"], "bootstrap every 3 iterations or fewer"),
        (["--small", "--folds", "65"], "at most 64 models"),
        (["--small", "--degree", "2"], "odd degree"),
        (["--rows", "3"], "10 or more"),
        (["--rows", "50", "--data", "breast-cancer"], "made-up loans"),
        (["--seed", "-1"], "--seed"),
        (["--each-class"], "--label"),
        (["--each-class", "--table", "x.csv", "--label", "x", "--folds", "2"], "no --folds"),
    ],
)
def test_mistakes_are_told(arguments, words, capsys):
    assert main(["train-logistic", *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith("hemera: ")
    assert words in error


def test_training_that_leaves_the_interval_fails(capsys):
    options = [
        *("--rows", "300", "--iterations", "4", "--rates", "40", "--interval", "2", "--weight-bound"),
        "0.5",
    ]
    assert main(["train-logistic", *QUICK, *options]) == 1
    assert "weight" in capsys.readouterr().err


def test_settings_for_a_table_are_chosen_or_named(tmp_path, capsys):
    """Classes so far apart that the default sigmoid diverges. Without options for it, settings that work are
    taken; with one, there is an error before any key is made, with settings that work."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(600, 4))
    labels = 5 * rows @ [2.6, -5, 1.5, 0] + random.logistic(size=600) > 0
    table, told = tmp_path / "table.csv", tmp_path / "run.json"
    lines = [",".join(f"{x:.4f}" for x in row) + f",{int(y)}" for row, y in zip(rows, labels, strict=True)]
    table.write_text("\n".join(["a,b,c,d,kind", *lines]) + "\n")
    command = ["train-logistic", "--small", "--device", "cpu", "--table", str(table), "--label", "kind"]
    assert main([*command, "--weight-bound", "4"]) == 1
    shown = capsys.readouterr()
    assert "making keys" not in shown.err
    assert "diverges, beyond weight_bound = 4 (--weight-bound)" in shown.err
    found = re.search(r"(--degree .* --weight-bound \d+) keep it", shown.err)
    assert found
    assert main([*command, "--json", str(told)]) == 0
    assert f"For this table: {found[1]}" in " ".join(capsys.readouterr().out.split())
    run = json.loads(told.read_text())
    assert run["difference"] < 1e-4
    assert run["largest_logit"] < run["settings"]["interval"]
    assert run["marks"][-1]["encrypted"]["accuracy"] > run["scikit_learn"][0]["accuracy"] - 0.02


def test_what_is_not_installed_is_told_before_the_training(monkeypatch, capsys):
    pytest.importorskip("pandas")

    def missing(module, group):
        raise ParameterError(f"this needs {module}: {how_to_install(group)}")

    def trains(*_, **__):
        raise AssertionError("it began")

    monkeypatch.setattr("hemera_apps.logistic_regression.run.extra", missing)
    monkeypatch.setattr("hemera_apps.logistic_regression.run.Client", trains)
    assert main(["train-logistic", "--small", "--device", "cpu"]) == 1
    assert "pip install './python/apps[applications]'" in capsys.readouterr().err
