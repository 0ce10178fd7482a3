"""Writes or compares tests/corpus: what programs are, need and cost.

    python tools/corpus.py                    run the tests that have records, and write tests/corpus
    python tools/corpus.py --check            run them, and compare
    python tools/corpus.py --check -k WORDS   those whose names have the words of pytest's -k
    python tools/corpus.py --check --records FOLDER    compare what a run of the tests has recorded there

Records are made by tools/corpus_records.py, a line of tests/corpus each. A comparison lists each program that
became cheaper or dearer, has other parameters, bits or results, is new or gone. Who changes one commits the
new files, and says why. Exit status: 0 equal, 1 differences, 2 nothing to compare or failed tests.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import corpus_records

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests" / "corpus"

Record = dict[str, Any]
Records = dict[str, Record]

HALF_A_BIT = 0.5
"""Expected bits may differ by this."""
MOST_BITS = 10
"""To which results are compared: fits of estimators differ in their last digits by processor."""


def file_of(key: str) -> str:
    """The file of tests/corpus that has a record."""
    path = Path(key.partition("::")[0])
    folder = path.parent.name if path.parent.name != "tests" else path.stem.removeprefix("test_")
    return "official.json" if folder.startswith("official") else f"{folder}.json"


def read_run(folder: Path) -> Records:
    """All records of a run, of whose processes each has a file."""
    lines = [
        line for path in folder.glob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return dict(json.loads(line) for line in lines)


def read_corpus(folder: Path) -> Records:
    """All records of a corpus."""
    found: Records = {}
    for path in sorted(folder.glob("*.json")):
        found.update(json.loads(path.read_text(encoding="utf-8")))
    return found


def written(records: Records, folder: Path) -> None:
    """Write the files of a corpus, a line for each record, and remove those that have none."""
    files: dict[str, list[str]] = {}
    for key in sorted(records):
        line = f"{json.dumps(key)}: {json.dumps(records[key])}"
        files.setdefault(file_of(key), []).append(line)
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.json"):
        if path.name not in files:
            path.unlink()
    for name, lines in files.items():
        (folder / name).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _costs(record: Record) -> dict[str, int]:
    """Everything of a record that is a cost."""
    costs = {kind: int(count) for kind, count in record.get("operations", {}).items()}
    if "levels" in record:
        level, result = record["levels"]
        costs["depth"] = level - result
    return {**costs, **{name: record[name] for name in ("keys", "key_bytes") if name in record}}


def _cost_changes(before: Record, now: Record) -> Iterator[str]:
    old, new = _costs(before), _costs(now)
    changed = {
        name: (old.get(name, 0), new.get(name, 0))
        for name in [*old, *(name for name in new if name not in old)]
        if old.get(name, 0) != new.get(name, 0)
    }
    if changed:
        verdicts = {"dearer" if b > a else "cheaper" for a, b in changed.values()}
        verdict = verdicts.pop() if len(verdicts) == 1 else "cheaper and dearer"
        yield f"{verdict}: " + ", ".join(f"{name} {a} -> {b}" for name, (a, b) in changed.items())


def _result_changes(before: Record, now: Record) -> Iterator[str]:
    old, new = before.get("results", {}), now.get("results", {})
    if old.keys() != new.keys():
        yield f"other results: {', '.join(old) or 'none'} -> {', '.join(new) or 'none'}"
        return
    bits = min(MOST_BITS, (before.get("bits") or MOST_BITS) - 2)
    for name, values in old.items():
        room = 2.0**-bits * max(abs(each) for each in values)
        if len(values) != len(new[name]) or any(
            not abs(a - b) <= room for a, b in zip(values, new[name], strict=True)
        ):
            yield f"other results: {name} {values} -> {new[name]}"


def changes(before: Record, now: Record) -> list[str]:
    """What differs between two records of one program."""
    found = []
    if before["params"] != now["params"]:
        found.append(f"other parameters: {before['params']} -> {now['params']}")
    elif before.get("levels") != now.get("levels"):
        found.append(f"other levels: {before.get('levels')} -> {now.get('levels')}")
    found += _cost_changes(before, now)
    old, new = before.get("bits"), now.get("bits")
    if (old is None) != (new is None) or (old is not None and abs(old - new) > HALF_A_BIT):
        found.append(f"{'fewer' if (new or 0) < (old or 0) else 'more'} bits: {old} -> {new}")
    return [*found, *_result_changes(before, now)]


def compared(corpus: Mapping[str, Record], run: Mapping[str, Record], *, whole: bool = True) -> list[str]:
    """A line for each difference between the corpus and a run; `whole`: of all tests, none of which was
    skipped for a library that is not there."""
    lines = [f"new   {key}" for key in sorted(run.keys() - corpus.keys())]
    if whole:
        lines += [f"gone  {key}" for key in sorted(corpus.keys() - run.keys())]
    for key in sorted(corpus.keys() & run.keys()):
        lines += [f"{key}\n      {text}" for text in changes(corpus[key], run[key])]
    return lines


def recorded(folder: Path, words: str | None) -> int:
    """Runs the tests, which record in the folder. The exit status of pytest."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "corpus_records", "--no-header"]
    command += ["--numprocesses", str(min(4, os.cpu_count() or 2)), "--dist", "worksteal"]
    paths = os.pathsep.join(filter(None, (str(ROOT / "tools"), os.environ.get("PYTHONPATH"))))
    told = {"HEMERA_CORPUS": str(folder), "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    return subprocess.run(
        [*command, *(["-k", words] if words else []), *corpus_records.ROOMS],
        cwd=ROOT,
        env={**os.environ, **told},
        check=False,
    ).returncode


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with tests/corpus")
    parser.add_argument(
        "--records",
        type=Path,
        metavar="FOLDER",
        help="of a run that there was, in which tests may have been skipped",
    )
    parser.add_argument("-k", dest="words", help="the tests whose names have these words")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.records or Path(temporary)
        if asked.records is None and recorded(folder, asked.words) != 0:
            print("corpus: tests failed, so there is nothing to compare", file=sys.stderr)
            return 2
        run = read_run(folder)
    if not run:
        print(f"corpus: no records in {folder}", file=sys.stderr)
        return 2
    corpus = read_corpus(CORPUS)
    lines = compared(corpus, run, whole=asked.words is None and asked.records is None)
    for line in lines:
        print(line)
    if not asked.check:
        written({**(corpus if asked.words else {}), **run}, CORPUS)
    print(f"corpus: {len(run)} programs of {len(corpus)}, {len(lines)} differences")
    if lines and asked.check:
        print("Way out: make corpus, and commit tests/corpus with the reason of each difference")
    return 1 if lines and asked.check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
