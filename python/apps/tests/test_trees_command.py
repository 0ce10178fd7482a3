"""`hemera score-trees` on small tables."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hemera.cli import main
from hemera_apps.trees import paper, sides, tables, training

MODELS = Path(__file__).parents[2] / "tests" / "trees" / "tree_models"
STABLE = {
    *("workload", "parameters", "samples", "exact", "scale", "largest_error", "accuracy_float"),
    *("accuracy_encrypted", "agreement", "model", "operations", "operations_per_sample", "seconds"),
    *("milliseconds_per_sample", "bytes", "degree", "log_modulus", "security", "security_bits"),
    *("fingerprint", "device"),
}


def call(path, *arguments):
    assert main(["score-trees", "--device", "cpu", "--rounds", "1", "--json", str(path), *arguments]) == 0
    return json.loads(path.read_text())


def test_breast_cancer(tmp_path, capsys):
    pytest.importorskip("sklearn")
    plot = tmp_path / "plot.svg"
    pytest.importorskip("matplotlib")
    found = call(
        tmp_path / "a.json",
        *("--data", "breast-cancer", "--trainer", "scikit-learn", "--trees", "12", "--plot", str(plot)),
    )
    (run,) = found["runs"]
    assert (set(run), found["data"]) == (STABLE, "breast-cancer")
    assert found["machine"]["processor"]
    assert run["exact"] is True
    assert run["samples"] == 284
    assert run["accuracy_float"] > 0.85
    assert abs(run["accuracy_encrypted"] - run["accuracy_float"]) <= 1 / 284
    assert run["security_bits"] >= 128
    assert run["bytes"]["request"] > 10 * run["bytes"]["response"] > 1000
    assert run["model"] == {"scores": 1, "trees": 12, "depth": 2, "features": 30, "planes": 3}
    shown = capsys.readouterr()
    assert "all, exactly" in shown.out
    assert "relinearizations" in shown.out
    assert "training in the clear" in shown.err
    drawn = plot.read_text()
    for text in ("stage", "seconds, logarithmic", "operation", "ciphertexts that it makes, a sample"):
        assert f">{text}</text>" in drawn
    assert drawn.count(">packed, auto</text>") == 2  # a legend in each part
    assert drawn.count(">0.1</text>") + drawn.count(">0.05</text>") >= 1


def test_genome_by_both_circuits(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "GENES", 64)
    found = call(
        tmp_path / "a.json",
        *("--trainer", "random", "--trees", "80", "--samples", "3", "--parameters", "8192-214"),
        *("--workload", "packed", "--workload", "paper"),
    )
    packed, paper_run = found["runs"]
    assert (packed["workload"], paper_run["workload"]) == ("packed", "paper")
    assert packed["exact"] is True
    assert paper_run["exact"] is True
    assert paper_run["operations_per_sample"] == paper.PER_SAMPLE
    assert packed["operations"]["multiplications"] == 1
    assert packed["accuracy_encrypted"] == paper_run["accuracy_encrypted"]
    assert paper_run["model"]["scores"] == 11


def test_a_model_of_xgboost_and_a_table_of_ones_own(tmp_path):
    """The model's scores decide as the library's do, on a CSV file with names for classes."""
    pytest.importorskip("pandas")
    contents = json.loads((MODELS / "xgboost-wine-2.json").read_text())
    model, table = tmp_path / "model.json", tmp_path / "wine.csv"
    model.write_text(json.dumps(contents["model"]))
    decided = np.array(contents["margins"]).argmax(axis=1)
    lines = [",".join(f"f{at}" for at in range(13)) + ",kind"]
    for row, kind in zip(contents["rows"], decided, strict=True):
        lines.append(",".join(map(repr, row)) + f",kind {'abc'[kind]}")
    table.write_text("\n".join(lines) + "\n")
    (run,) = call(tmp_path / "a.json", "--data", str(table), "--model", str(model))["runs"]
    assert run["exact"] is True
    assert run["accuracy_float"] == run["accuracy_encrypted"] == 1.0
    assert run["samples"] == 20


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_with_words_and_the_class_in_any_column(tmp_path, ending):
    pandas = pytest.importorskip("pandas")
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="an optional extra")
    random = np.random.default_rng(5)
    sizes, places = random.normal(size=200), random.choice(["north", "south"], 200)
    grades = np.where(sizes > 0.5, 10, np.where(places == "north", 2, 3))
    frame = pandas.DataFrame({"grade": grades, "size": sizes, "place": places})
    path = tmp_path / f"table.{ending}"
    _ = frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)
    found = tables.load(str(path), 0, "grade")
    assert found.name == "table"
    assert found.train.shape == found.held_out.shape == (100, 3)
    together = np.concatenate([found.train, found.held_out])
    classes = np.concatenate([found.train_labels, found.labels])
    # Classes in the order of their numbers, and words as 0 and 1 for each.
    np.testing.assert_array_equal(classes == 2, together[:, 0] > 0.5)
    np.testing.assert_array_equal(classes == 0, (together[:, 0] <= 0.5) & (together[:, 1] == 1))
    np.testing.assert_array_equal(together[:, 1], 1 - together[:, 2])
    pytest.importorskip("sklearn")
    own = ["--data", str(path), "--label", "grade", "--trainer", "scikit-learn", "--trees", "8"]
    (run,) = call(tmp_path / "a.json", *own)["runs"]
    assert run["exact"] is True
    assert run["accuracy_encrypted"] > 0.8
    assert run["model"]["scores"] == 3


@pytest.mark.parametrize("trainer", ["xgboost", "scikit-learn"])
def test_a_table_with_missing_values(trainer, tmp_path):
    """Missing values decide the class, and the encrypted scores follow them."""
    pytest.importorskip("pandas")
    pytest.importorskip("sklearn" if trainer == "scikit-learn" else trainer)
    random = np.random.default_rng(2)
    kinds = random.integers(0, 2, 160)
    sizes = np.where((random.random(160) < 0.9) == (kinds == 1), np.nan, random.normal(size=160))
    path = tmp_path / "table.csv"
    rows = [f"{'' if np.isnan(x) else x},{random.random()},{k}" for x, k in zip(sizes, kinds, strict=True)]
    path.write_text("\n".join(["size,noise,kind", *rows]) + "\n")
    (run,) = call(tmp_path / "a.json", "--data", str(path), "--trainer", trainer, "--trees", "20")["runs"]
    assert run["exact"] is True
    assert run["accuracy_encrypted"] == run["accuracy_float"] > 0.75
    assert run["model"]["trees"] == 20


@pytest.mark.parametrize("trainer", ["xgboost", "lightgbm"])
@pytest.mark.parametrize(("trees", "depth", "seed"), [(3, 2, 0), (128, 4, 7)])
def test_trainers_are_asked_for_what_options_say(trainer, trees, depth, seed, monkeypatch):
    monkeypatch.setattr(training, "_require", lambda _: None)
    monkeypatch.setattr(training, "_trained_apart", lambda *given: given)
    rows, labels = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    library, *same, settings = training.train(trainer, rows, labels, trees=trees, depth=depth, seed=seed)
    assert (library, same[0] is rows, same[1] is labels) == (trainer, True, True)
    common = {"n_estimators": trees, "max_depth": depth, "learning_rate": 0.2, "random_state": seed}
    assert settings == {"common": common, "leaves": 2**depth}


def test_default_trainer_of_a_fresh_machine(tmp_path, monkeypatch):
    """scikit-learn alone, whose leaves of many classes reach thousands: what `make demo` leaves."""
    pytest.importorskip("sklearn")
    monkeypatch.setattr(training, "_found", lambda _: False)
    (run,) = call(tmp_path / "a.json", "--data", "genome", "--trees", "60", "--samples", "60")["runs"]
    assert run["exact"] is True
    assert run["agreement"] == 1
    assert run["scale"] >= 1 << 8
    assert run["security_bits"] >= 128


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            "xgboost ended without a model: signal SIGSEGV",
        ),
        ("raise SystemError('too many threads')", "too many threads; take another version"),
        ("import sys; sys.exit(3)", "exit status 3"),
    ],
)
def test_a_library_that_dies_ends_its_own_process(code, words, monkeypatch, capsys):
    pytest.importorskip("sklearn")
    monkeypatch.setattr(training, "_found", lambda _: True)
    monkeypatch.setattr(training, "_FIT", code)
    assert main(["score-trees", "--device", "cpu", "--data", "breast-cancer", "--trainer", "xgboost"]) == 1
    error = capsys.readouterr().err
    assert words in error
    assert "--trainer scikit-learn" in error


def test_libraries_are_not_loaded_where_hemera_is():
    pytest.importorskip("xgboost")
    rows, labels = np.arange(40.0).reshape(20, 2), np.arange(20) // 10
    code = (
        "import sys, numpy as np\nfrom hemera_apps.trees import training\n"
        "rows, labels = np.arange(40.0).reshape(20, 2), np.arange(20) // 10\n"
        "model = training.train('xgboost', rows, labels, trees=3, depth=1, seed=0)\n"
        "assert model.trees == 3 and 'xgboost' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    boosted = pytest.importorskip("xgboost").XGBClassifier(
        n_estimators=3, max_depth=1, learning_rate=0.2, random_state=0
    )
    wanted = boosted.fit(rows, labels).predict(rows, output_margin=True)
    model = training.train("xgboost", rows, labels, trees=3, depth=1, seed=0)
    np.testing.assert_allclose(model.scores(rows)[:, 0], wanted, rtol=1e-6)


def test_libraries_that_are_not_there(monkeypatch, capsys):
    pytest.importorskip("sklearn")
    monkeypatch.setattr(training, "_found", lambda _: False)
    for name in ("xgboost", "lightgbm"):
        assert main(["score-trees", "--data", "breast-cancer", "--trainer", name]) == 1
        assert (
            f"pip install {name} (in a clone of Hemera: pip install './python/apps[trees]')"
            in capsys.readouterr().err
        )


def test_the_published_table(tmp_path):
    (run,) = call(tmp_path / "a.json", "--data", "idash-2020")["runs"]
    assert run["exact"] is True
    assert run["samples"] == 99
    assert run["accuracy_encrypted"] == pytest.approx(81 / 99)
    assert (run["model"]["trees"], run["largest_error"]) == (128, 0)


def test_a_wrong_score_fails_the_command(monkeypatch, capsys):
    honest = sides.Sides.scores

    def dishonest(self, response, samples):
        return honest(self, response, samples) + 1

    monkeypatch.setattr(sides.Sides, "scores", dishonest)
    arguments = ["--data", "breast-cancer", "--trainer", "random", "--trees", "2", "--samples", "2"]
    pytest.importorskip("sklearn")
    assert main(["score-trees", "--device", "cpu", "--rounds", "1", *arguments]) == 1
    shown = capsys.readouterr()
    assert "NOT EXACT" in shown.out
    assert "differs from the clear integer score" in shown.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,x\n", "has 1 rows; four are the least"),
        ("a\nx\ny\nx\ny\n", "no column other than 'a'"),
        ("a,b,a,k\n1,2,3,x\n4,5,6,y\n7,8,9,x\n1,2,3,y\n", "2 columns named 'a'; give each"),
        ("a,k\n1,x\n2,x\n3,x\n4,x\n", "column 'k' of .*table.csv has one class alone, 'x'"),
        ("a,k\n1,x\n2,x\n3,y\n4,x\n", "rows to train on are all of one class.*--label"),
        ("a,b\n1,x\n2,\n3,x\n4,y\n", "column 'b' of .* lacks 1 of 4 values"),
        ("w,k\n,x\none,y\none,x\none,y\n", "column 'w' of .* lacks 1 of 4 values"),
        (
            "w,n,k\n" + "".join(f"name {at},{at},{at % 2}\n" for at in range(8)),
            "column 'w' of .* has 8 different texts in 8 rows.*leave the column out",
        ),
        ("a,k\ninf,x\n2,y\n3,x\n4,y\n", "infinite"),
        ("a,b\n1,2,3\n4,5,6\n7,8,9\n1,2,3\n", "no table of comma-separated values"),
    ],
)
def test_tables_that_are_refused(text, words, tmp_path, capsys):
    pytest.importorskip("pandas")
    path = tmp_path / "table.csv"
    path.write_text(text)
    assert main(["score-trees", "--data", str(path), "--trainer", "scikit-learn"]) == 1
    assert re.search(words, capsys.readouterr().err)


def test_wrong_usage(tmp_path, capsys):
    pytest.importorskip("sklearn")
    cases = [
        (["--data", str(tmp_path / "absent.csv")], "can not read"),
        (["--seed", "-1"], "--seed must be from 0"),
        (["--data", "digits", "--trainer", "random", "--samples", "9999"], "898 are held out"),
        (["--data", "digits", "--trainer", "random", "--workload", "paper"], "features 0, 1 and 2"),
        (
            ["--data", "digits", "--trainer", "random", "--depth", "7", "--trees", "1"],
            "depth 7.*at most 6.*--depth",
        ),
        (["--data", "digits", "--depth", "7"], "depth 7.*at most 6.*--depth"),
        (["--data", "idash-2020", "--trainer", "random"], "comes with its model"),
        (["--data", "idash-2020", "--model", "a.json"], "comes with its model"),
        (["--data", "digits", "--model", str(tmp_path / "absent.json")], "can not read"),
        (["--data", "digits", "--label", "kind"], "a label is for a table of yours"),
    ]
    for arguments, words in cases:
        assert main(["score-trees", "--device", "cpu", *arguments]) == 1, arguments
        assert re.search(words, capsys.readouterr().err)
    contents = json.loads((MODELS / "xgboost-wine-2.json").read_text())
    path = tmp_path / "model.json"
    path.write_text(json.dumps(contents["model"]))
    assert main(["score-trees", "--device", "cpu", "--data", "digits", "--model", str(path)]) == 1
    assert "13 features, and digits has 64" in capsys.readouterr().err
