"""The modules of commands: files are those of NumPy, searches ask what is asked, told numbers are right."""

import argparse
import dataclasses
import json
import re
import stat
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import hemera as hm
from hemera import _machine, _options
from hemera.circuits.needs import size_text
from hemera.cli import COMMANDS, main, make_parser
from hemera.commands import client, convert
from hemera.commands.tables import read_table, write_table
from hemera.errors import FormatError, MismatchError
from hemera.package.package import Package
from hemera.program.keys import KeyList

from .refusals import refuse

GIB = 1 << 30
TABLES = {
    "a vector": np.array([1.5, -2, 1 / 3]),
    "a row for each": np.arange(6.0).reshape(3, 2) / 7,
    "more axes": np.arange(12).reshape(3, 2, 2),
    "one number": np.array(2.5),
    "integers": np.array([[1, 2**62], [-3, 4]]),
    "truths": np.array([True, False]),
    "text": np.array(["a,b", 'c"', "ä"]),
    "objects": np.array(["x", None], object),
    "no rows": np.zeros((0, 3)),
}


@pytest.mark.parametrize("name", TABLES)
def test_results_are_a_line_for_each_row(name, tmp_path):
    results = TABLES[name]
    write_table(tmp_path / "x.npy", results)
    write_table(tmp_path / "x.csv", results)
    stored = results.astype(str) if results.dtype.kind == "O" else results
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), stored)
    lines = (tmp_path / "x.csv").read_text(encoding="utf-8").splitlines()
    rows = stored.reshape(len(stored) if stored.ndim else 1, -1) if stored.size else []
    if stored.dtype.kind == "U":
        assert lines == ['"a,b"', '"c"""', "ä"] if name == "text" else ["x", "None"]
    else:
        assert [[float(value) for value in line.split(",")] for line in lines] == [
            [float(value) for value in row] for row in rows
        ]
    if name == "integers":
        assert lines == ["1,4611686018427387904", "-3,4"]
        assert read_table(tmp_path / "x.csv").tolist() == results.tolist()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("a,b\n1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("a\n1\n", [[1]]),
        ("1\n", [[1]]),
        ("1.5,2\n", [[1.5, 2]]),
        ("1e300,nan\n", [[1e300, np.nan]]),
        ("a,\n0.5,1\n", [[0.5, 1]]),
        ("", "no rows"),
        ("a,b\n", "no rows"),
        ("1,,3\n4,5,6\n", "could not convert"),  # and no row is taken for a heading
        ("1,2,\n", "could not convert"),
        ("a,2\n3,4\n", "could not convert"),
        ("1,2\n3\n", "number of columns"),
        ("1,2\nx,4\n", "could not convert"),
    ],
)
def test_tables_of_a_user(text, rows, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if isinstance(rows, str):
            refuse((lambda: read_table(tmp_path / "x.csv"), FormatError, rows))
            return
        found = read_table(tmp_path / "x.csv")
    np.testing.assert_array_equal(found, rows)
    assert (found.dtype == np.int64) == (np.array(rows).dtype == np.int64)


@pytest.mark.parametrize(
    "heading", ["age,b b,c", '\ufeff"age", "b b","c"', "# age,b b,c", "c,age,b b", "0,0,0"]
)
def test_headings_are_columns_as_of_frames(heading, tmp_path):
    (tmp_path / "x.csv").write_text(f"{heading}\n1,2,3\n4,5,7\n", encoding="utf-8")
    rows, names = read_table(tmp_path / "x.csv"), ["age", "b b", "c"]
    model = LinearRegression().fit(pd.DataFrame(np.eye(3), columns=names), [1, 20, 300])
    plan = hm.compile(model, calibrate=np.arange(9.0).reshape(3, 3), security=None)
    if heading[0] != "c":
        wanted = model.predict(pd.DataFrame(np.array(rows), columns=names))
        np.testing.assert_allclose(plan.evaluate_clear(rows), wanted, rtol=1e-6)
        return
    with pytest.raises(ValueError, match="same order"):
        model.predict(pd.DataFrame(rows, columns=rows.columns))
    for called in (plan.evaluate_clear, lambda x: hm.compile(model, calibrate=x)):
        with pytest.raises(MismatchError, match="column 0 is 'c', and the model's is 'age'"):
            called(rows)


def test_arrays_of_a_user(tmp_path):
    for values in (np.arange(3), np.ones((2, 2)), np.array([1j]), np.array([2**63], np.uint64)):
        np.save(tmp_path / "x.npy", values)
        found = read_table(tmp_path / "x.npy")
        np.testing.assert_array_equal(found, values)
        assert (found.dtype, found.shape) == (values.dtype, values.shape)
    for wrong in (np.array(["a"]), np.array([None]), np.array(["2026-01-01"], "datetime64[D]")):
        np.save(tmp_path / "x.npy", wrong, allow_pickle=True)
        refuse((lambda: read_table(tmp_path / "x.npy"), FormatError, "no table of numbers"))


class Indexes:
    """A client of an index, which answers with what it was asked."""

    def __init__(self, has_scores):
        self.has_scores = has_scores

    def index(self, name, *, secret_key):
        assert (name, secret_key) == ("rows", "key")

        def query(x, k, *, threshold):
            ids = np.arange(len(x))[:, None]
            if self.has_scores:
                return ids + 0.5, ids
            asked = np.array([np.shape(x), k, threshold], object)
            return [SimpleNamespace(ids=asked, doubtful=at) for at in ids]

        return SimpleNamespace(query=query)


@pytest.mark.parametrize("queries", [np.ones(4), np.ones((1, 4)), np.ones((3, 4))], ids=["1-D", "1", "3"])
def test_a_search_tells_scores_or_matches(queries, tmp_path):
    """One query may be a vector."""
    np.save(tmp_path / "q.npy", queries)
    count = len(np.atleast_2d(queries))

    def found(has_scores, threshold):
        options = {"index": "rows", "queries": tmp_path / "q.npy", "k": 7, "secret_key": "key"}
        asked = argparse.Namespace(**options, threshold=threshold)
        return client._found(Indexes(has_scores), asked)

    numbers = [[at] for at in range(count)]
    assert found(True, None) == {"ids": numbers, "scores": [[at + 0.5] for (at,) in numbers]}
    for threshold in (None, 0.5):
        asked = found(False, threshold)
        assert asked == {"ids": [[(count, 4), 7, threshold]] * count, "doubtful": numbers}


def test_inspect_tells_a_model_s_bytes(tmp_path, capsys):
    weights = np.arange(32.0).reshape(8, 4)
    package = hm.compile(lambda x: (x @ weights) ** 2, hm.ArraySpec((8,), range=(0, 1))).package
    package.save(tmp_path / "model")
    assert main(["inspect", str(tmp_path / "model")]) == 0
    lines = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines() if "  " in line)
    told = {name: text.strip() for name, text in lines.items()}
    cost = package.cost()
    sizes = [size_text(each) for each in (cost.key_bytes, cost.plaintext_bytes, cost.workspace_bytes)]
    assert told["memory"] == "keys of {}, plaintexts of {}, workspace of {} a request".format(*sizes)
    assert (len(set(sizes)), told["bytes"]) == (3, str((tmp_path / "model").stat().st_size))
    assert told["keys"].endswith(f"of {size_text(package.describe()['key_bytes_at_most'])} at most")
    assert main(["inspect", str(tmp_path / "model"), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["cost"] == json.loads(json.dumps(cost.as_dict()))


def test_inspect_tells_each_key_of_a_model(tmp_path, monkeypatch, capsys):
    plan = hm.compile(lambda x: x + 1, hm.ArraySpec((8,), range=(0, 1)))
    plan.package.save(tmp_path / "model")
    keys = KeyList(3, {4: 2, -1: 5}, 0, ({"slots": 64}, {"passes": 1}, {"passes": 2}), (), ((16, 7),))
    interface = dataclasses.replace(plan.package.interface, keys=keys)
    monkeypatch.setattr(Package, "interface", property(lambda _: interface))
    assert main(["inspect", str(tmp_path / "model")]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    told = [line.partition("  ")[2].strip() for line in lines if re.match(r"\d+  ", line)]
    assert told == [
        "relinearization up to level 3",
        "rotation -1 up to level 5",
        "rotation 4 up to level 2",
        "conjugation up to level 0",
        "bootstrap of 64 slots",
        "exact bootstrap of 1 pass",
        "exact bootstrap of 2 passes",
        "products of pairs of 16 x 16 at level 7",
    ]
    assert any(re.match(r"keys +8, of ", line) for line in lines)


@pytest.mark.parametrize(("memory", "state"), [(4 * GIB - 1, "note"), (4 * GIB, "ok"), (4 * GIB + 1, "ok")])
def test_doctor_tells_memory_and_surroundings(memory, state, monkeypatch, capsys):
    monkeypatch.setattr(_machine, "memory_bytes", lambda: memory)
    monkeypatch.setattr(_machine, "gpus", lambda: ["one", "another, not usable: why"])
    for name in ("HEMERA_TOKEN", "HEMERA_SERVE_TLS_KEY_PASSWORD"):
        monkeypatch.setenv(name, "a-secret")
    for name, value in {"HEMERA_OWN": "shown", "OTHER_HEMERA_": "else"}.items():
        monkeypatch.setenv(name, value)
    assert main(["doctor", "--json", "-"]) == 1  # a GPU is not usable
    text = capsys.readouterr().out
    findings = json.loads(text)["findings"]
    (found,) = (each for each in findings if each["check"] == "memory")
    assert (found["state"], "want 4.00 GiB or more" in found["text"]) == (state, state == "note")
    assert [each["state"] for each in findings if each["check"] == "GPUs"] == ["ok", "broken"]
    told = [each["text"] for each in findings if each["check"] == "environment"]
    assert "HEMERA_OWN='shown' changes what Hemera does" in told
    assert not any(word in text for word in ("a-secret", "HEMERA_TOKEN", "HEMERA_SERVE", "OTHER_HEMERA_"))


def told_of(capsys, *arguments):
    assert main([*arguments, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("security", ["128", "192", "256"])
def test_params_have_the_security_that_is_asked_for(security, capsys):
    found = told_of(capsys, "params", "ckks", "--depth", "3", "--security", security)
    assert found["security_bits"] >= int(security)
    limit = hm.parameters.max_log_modulus(found["degree"], int(security))
    below = hm.parameters.max_log_modulus(found["degree"] // 2, int(security))
    assert limit is not None
    assert below is not None
    assert below < found["log_modulus"] <= limit
    assert f"N = {found['degree']} allows {limit} bits at {security}-bit security" in " ".join(found["why"])
    half = found["degree"] // 2
    rotations = f"0,{half},{-half},5,{half + 5},-1"  # whole turns need no keys
    found = told_of(
        capsys, "params", "ckks", "--depth", "3", "--security", security, "--rotations", rotations
    )
    assert found["rotations"] == [-1, 5, half + 5]
    assert "3 rotation keys" in found["bytes"]


@pytest.mark.parametrize(("bits", "told"), [(49, "below 2^50"), (50, "below 2^50"), (51, "up to 51 bits")])
def test_params_tell_which_primes_run_fastest(bits, told):
    params = hm.bfv.Parameters.from_bits(
        degree=2048, plain_modulus=65537, prime_bits=[bits], special_bits=[30], security=None
    )
    assert params.primes[-1][0].bit_length() == bits
    parser = make_parser(COMMANDS)
    options = parser.parse_args(["params", "bfv", "--security", "none"])
    assert told in COMMANDS["params"].explain(params, options)[-1]


@pytest.mark.parametrize("interval", ["-8,1", "-1,8", "8,-1", "2,8"])
@pytest.mark.parametrize("name", ["sign", "compare", "maximum"])
def test_plans_of_steps_reach_both_ends(name, interval, capsys):
    gap = {} if name == "maximum" else {"gap": 0.25}
    words = [] if name == "maximum" else ["--gap", "0.25"]
    made = {
        largest: getattr(hm.circuits, name)(bits=6, largest=largest, **gap).plan(
            hm.ckks.Parameters.for_circuit(20, scale_bits=40, slots=1)
        )
        for largest in (8.0, 1.0)
    }
    arguments = ["plan", "function", name, f"--interval={interval}", "--bits", "6", "--depth", "20", *words]
    assert main([*arguments, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected, other = (json.loads(json.dumps(each.as_dict())) for each in made.values())
    assert {field: found[field] for field in expected} == expected != other


@pytest.mark.parametrize(
    ("text", "count"),
    [("1", 1), ("1.9", 1), ("3KiB", 3072), ("0.5MiB", 1 << 19), ("1.5GiB", 3 << 29), ("1e3", 1000)]
    + [(text, None) for text in ("0", "0.9", "-1", "4GB", "KiB", "inf", "nan", "", "0.0001KiB")],
)
def test_sizes_of_plans(text, count):
    if count is None:
        refuse((lambda: _options.size(text), argparse.ArgumentTypeError, "not a size"))
    else:
        assert _options.size(text) == count


@pytest.mark.parametrize("before", [0, 5, 50])
def test_converted_files_hold_nothing_of_former_ones(before, tmp_path):
    old = tmp_path / "x.galois"
    old.write_bytes(b"o" * before)
    old.chmod(0o640)
    convert.write(str(tmp_path / "x"), {".galois": b"galois", ".public_key": b"public"}, 0o600)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {
        "x.galois": b"galois",
        "x.public_key": b"public",
    }
    assert stat.S_IMODE((tmp_path / "x.public_key").stat().st_mode) == 0o600
    assert stat.S_IMODE(old.stat().st_mode) == 0o640  # of a file that was there
    with pytest.raises(hm.errors.FileError, match=r"nowhere/x\.key: No such file"):
        convert.write(str(tmp_path / "nowhere" / "x"), {".key": b""}, 0o600)


@pytest.mark.parametrize(
    ("text", "scale"), [("2^40", 2.0**40), ("2^-3", 0.125), ("1e6", 1e6), ("2^2^3", None), ("x", None)]
)
def test_scales_of_converted_files(text, scale):
    if scale is None:
        refuse((lambda: convert.scale(text), argparse.ArgumentTypeError, "not a scale"))
    else:
        assert convert.scale(text) == scale
