"""tools/corpus.py: each kind of difference between two records, and differences that are none."""

import json

import pytest

import corpus

RECORD = {
    "params": "ckks N=1024",
    "levels": [3, 1],
    "keys": 2,
    "key_bytes": 100,
    "operations": {"products": 1, "mod_ups": 4},
    "bits": 20.0,
    "results": {"output": [2.0, 1.0, -2.0]},
}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, []),
        ({"params": "ckks N=2048"}, ["other parameters: ckks N=1024 -> ckks N=2048"]),
        ({"levels": [4, 2]}, ["other levels: [3, 1] -> [4, 2]"]),
        ({"operations": {"products": 1, "mod_ups": 3}}, ["cheaper: mod_ups 4 -> 3"]),
        ({"operations": {"products": 1}}, ["cheaper: mod_ups 4 -> 0"]),
        ({"operations": {"products": 1, "mod_ups": 4, "rescales": 1}}, ["dearer: rescales 0 -> 1"]),
        ({"keys": 1, "key_bytes": 101}, ["cheaper and dearer: keys 2 -> 1, key_bytes 100 -> 101"]),
        ({"bits": 20.5}, []),
        ({"bits": 20.6}, ["more bits: 20.0 -> 20.6"]),
        ({"bits": 19.4}, ["fewer bits: 20.0 -> 19.4"]),
        ({"bits": None}, ["fewer bits: 20.0 -> None"]),
        ({"results": {"output": [2.0, 1.0 + 2**-9, -2.0]}}, []),
        ({"results": {"output": [2.0, 1.003, -2.0]}}, ["other results: output"]),
        ({"results": {"output": [2.0, float("nan"), -2.0]}}, ["other results: output"]),
        ({"results": {"output": [2.0, 1.0]}}, ["other results: output"]),
        ({"results": {"mean": [2.0, 1.0, -2.0]}}, ["other results: output -> mean"]),
    ],
)
def test_differences(changed, told):
    found = corpus.changes(RECORD, {**RECORD, **changed})
    assert len(found) == len(told)
    assert all(text.startswith(start) for text, start in zip(found, told, strict=True))


def test_programs_that_are_new_or_gone():
    assert corpus.compared({"a": RECORD, "b": RECORD}, {"b": RECORD, "c": RECORD}) == ["new   c", "gone  a"]
    assert corpus.compared({"a": RECORD}, {}, whole=False) == []


def test_files_have_a_line_for_each_program(tmp_path):
    (tmp_path / "old.json").write_text("{}")
    records = {
        "python/tests/compiler/test_pairs.py::test_b 1 compiled": RECORD,
        "python/tests/compiler/test_compile.py::test_a[x] 1 compiled": RECORD,
        "python/tests/test_cost.py::test_c 1 cost": RECORD,
        "python/apps/tests/test_official_digits.py::test_d 1 ran": RECORD,
    }
    corpus.written(records, tmp_path)
    assert corpus.read_corpus(tmp_path) == records
    files = {path.name: path.read_text().splitlines() for path in tmp_path.glob("*.json")}
    assert {name: len(lines) for name, lines in files.items()} == {
        "compiler.json": 4,
        "cost.json": 3,
        "official.json": 3,
    }
    assert files["compiler.json"][1].startswith('"python/tests/compiler/test_compile.py')


@pytest.mark.parametrize("bits", [False, True])
def test_a_run_is_compared_with_the_corpus(tmp_path, monkeypatch, capsys, bits):
    """And a run without records is no agreement."""
    key = "python/tests/test_cost.py::test_c 1 cost"
    monkeypatch.setattr(corpus, "CORPUS", tmp_path / "corpus")
    run = tmp_path / "run"
    run.mkdir()
    assert corpus.main(["--check", "--records", str(run)]) == 2
    (run / "1.jsonl").write_text(json.dumps([key, RECORD]) + "\n")
    assert corpus.main(["--check", "--records", str(run)]) == 1
    assert corpus.main(["--records", str(run)]) == 0
    assert corpus.main(["--check", "--records", str(run)]) == 0
    assert "1 programs of 1, 0 differences" in capsys.readouterr().out
    skipped = {key: RECORD, "python/tests/test_cost.py::test_of_a_library_that_is_not_there 1 cost": RECORD}
    corpus.written(skipped, tmp_path / "corpus")
    assert corpus.main(["--check", "--records", str(run)]) == 0
    assert "1 programs of 2, 0 differences" in capsys.readouterr().out
    other = {**RECORD, **({"bits": 9.0} if bits else {"keys": 3})}
    (run / "1.jsonl").write_text(json.dumps([key, other]) + "\n")
    assert corpus.main(["--check", "--records", str(run)]) == 1
    assert ("fewer bits" if bits else "dearer: keys 2 -> 3") in capsys.readouterr().out
