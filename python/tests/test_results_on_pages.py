"""Numbers that stand in pages are those of the committed results, to the digits that the page has."""

import itertools
import json
import re
import subprocess
from pathlib import Path

import pytest

import write_results
from hemera.cli import main

from .refusals import refuse

ROOT = Path(__file__).parents[2]


def rows_of(name):
    found = json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    return found if isinstance(found, list) else found["rows"]


def table(page, head):
    """The cells of the rows of the page's table whose head begins with these words."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    lines = text[text.index(f"\n| {head}") :].strip().partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def agrees(shown, value):
    """Whether a number of a page is the value, rounded to the page's digits."""
    number = shown.replace(",", "")
    if "e" in number:
        return f"{value:.0e}" == number
    unit = 10.0 ** -len(number.partition(".")[2])
    return abs(float(number) - value) <= 0.5 * unit * (1 + 1e-9)


def test_performance_compared_with_seal():
    rows = rows_of("against-seal-avx512-1-thread")
    shown = table("performance.md", "N = 2^14 | Hemera, us | SEAL, us")
    assert len(shown) == 4
    for title, *numbers in shown:
        scheme, _, operation = title.partition(" ")
        wanted = {
            "scheme": scheme.lower(),
            "operation": operation.replace(" + ", "_"),
            "n": 2**14,
            "variant": "like SEAL",
        }
        (row,) = [each for each in rows if wanted.items() <= each.items()]
        values = [row[key] for key in ("hemera_us", "seal_us", "ratio")]
        assert all(map(agrees, numbers, values)), (title, numbers, values)


def test_performance_of_a_gpu():
    """The fastest arithmetic, called one by one."""
    rows = rows_of("gpu-h200")
    checked = 0
    for title, *numbers, _ in table("performance.md", " | multiply + relinearize"):
        found = re.fullmatch(r"(\w+), N = 2\^(\d+), (\d+) primes of (\d+) bits", title)
        if found is None:
            continue
        scheme, exponent, limbs, bits = found[1].lower(), *map(int, found.groups()[1:])
        wanted = {"scheme": scheme, "n": 2**exponent, "limbs": limbs, "log_q": float(limbs * bits)}
        wanted |= {"batch": 1, "mode": "eager"}
        for shown, operation in zip(numbers, ("multiply_relinearize", "rotate"), strict=True):
            times = [
                each["microseconds"]
                for each in rows
                if ({**wanted, "operation": operation}).items() <= each.items()
            ]
            assert agrees(shown, min(times)), (title, operation, shown, times)
            checked += 1
    assert checked == 8


def test_recipes():
    rows = {row["recipe"]: row for row in rows_of("recipes-cpu-2-threads")}
    shown = table("recipes.md", "recipe | lines of code")
    assert len(shown) == len(rows)
    for title, *numbers in shown:
        name = title[1 : title.index("]")]
        row = rows[name]
        values = [*row["lines"], *row["milliseconds"], row["faster"], *row["errors"]]
        assert all(map(agrees, numbers, values)), (name, numbers, values)


def test_scaling():
    rows = rows_of("scaling")
    shown = table("scaling.md", "placement | requests a second")
    placed = [row for row in rows if row["kind"] == "placement"]
    assert len(shown) == len(placed)
    for (name, rate, *numbers), row in zip(shown, placed, strict=True):
        assert (name, rate) == (row["name"], f"{row['rate']:,.0f}")
        refused = 100 * row["refused"] / (row["refused"] + row["requests"])
        shares = (100 * row["computing"], 100 * row["loading"], row["mean_batch"], row["replicas_of_first"])
        values = (row["p50"], row["p99"], refused, row["loads_per_second"], *shares)
        assert all(agrees(number, value) for number, value in zip(numbers, values, strict=True)), name
    shown = table("scaling.md", "memory for keys | requests a second")
    for (where, rate, rule, *numbers), row in zip(shown, rows[len(placed) :], strict=True):
        assert row["kind"].endswith(where.rpartition(", ")[2])
        assert (float(rate), rule) == (row["rate"], row["eviction"])
        values = (row["p50"], row["p99"], row["loads_per_second"], 100 * row["loading"])
        assert all(agrees(number, value) for number, value in zip(numbers, values, strict=True)), where


def test_exact_computing_on_two_threads():
    rows = rows_of("exact-cpu-2-threads")
    bootstraps = {row["preset"]: row for row in rows if row["measurement"] == "bootstrap"}
    shown = table("exact-bootstrapping.md", "BFV, t = 2^32 | N | processors, s")
    assert [preset for preset, *_ in shown] == list(bootstraps)
    for preset, _, processors, seconds, gigabytes in shown:
        row = bootstraps[preset]
        assert row["passes"] == 1
        assert agrees(processors, row["processor_milliseconds"] / 1000)
        assert agrees(seconds, row["milliseconds"] / 1000)
        assert agrees(gigabytes, row["process_peak_bytes"] / 1e9)
    integers = {(row["measurement"], row["values"]): row for row in rows if "dtype" in row}
    shown = table("integers.md", "uint64 | values | processors, s")
    assert len(shown) == len(integers) / 2
    for operation, values, processors, seconds in shown:
        columns = (cell.split(" / ") for cell in (values, processors, seconds))
        for count, processor, whole in zip(*columns, strict=True):
            row = integers[operation, int(count.replace(",", ""))]
            assert agrees(processor, row["processor_milliseconds"] / 1000)
            assert agrees(whole, row["milliseconds"] / 1000)


def test_results_beside_others_are_those_of_the_files():
    """docs/results.md is what tools/write_results.py makes of the committed files."""
    assert (ROOT / write_results.PAGE).read_text(encoding="utf-8") == write_results.page(ROOT)


def test_notebooks_of_tenseal():
    rows = rows_of("tenseal-notebooks-cpu")
    shown = table("tenseal.md", "notebook | runs | times faster")
    assert len(shown) == len(rows)
    for (title, runs, *numbers), row in zip(shown, rows, strict=True):
        assert row["notebook"].startswith(title.rpartition("/")[2])
        ours, cells = row["cells_that_run"][0], row["cells"]
        assert runs == (f"all {cells} cells" if ours == cells else f"{ours} of {cells} cells")
        assert all(map(agrees, numbers, (row["faster"], row["less_processor_time"])))


def test_commits_of_results_beside_others_are_in_the_history():
    """A commit of a branch that was put on another base is found by nobody; that on the main branch is."""

    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)

    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("no history here")
    commits = set(re.findall(r"commit `(\w+)`", (ROOT / write_results.PAGE).read_text(encoding="utf-8")))
    assert len(commits) > 10
    assert {each for each in commits if git("merge-base", "--is-ancestor", each, "HEAD").returncode} == set()


TABLES = json.loads((ROOT / write_results.TABLES).read_text(encoding="utf-8"))["tables"]


@pytest.mark.parametrize("published", TABLES, ids=lambda each: each["title"])
def test_commands_of_published_tables_exist(published, capsys):
    """With the options that they name; those of programs in C++ are not looked up."""
    program, *words = published["command"].partition("\n")[0].split()  # what follows is another library's
    options = {word for word in words if word.startswith("--")}
    if program == "gpu-pack/gpu-bench":
        assert options <= {"--output", "--bootstraps"}
        return
    if program.endswith("/hemera_cpu_bench"):
        sets = (ROOT / "bench" / "cpu" / "sets.cpp").read_text(encoding="utf-8")
        assert all(f'{{"{each}"' in sets for each in words[words.index("--sets") + 1].split(","))
        assert options <= {"--sets", "--threads", "--output"}
        return
    if program == "tools/gpu-papers":
        text = (ROOT / program).read_text(encoding="utf-8")
        assert all(f"\n{part}() {{\n" in text for part in words[1:])
        return
    if program == "python":
        assert all(f'"{option}"' in (ROOT / words[0]).read_text(encoding="utf-8") for option in options)
        return
    command = list(itertools.takewhile(lambda word: not word.startswith("--"), words))
    refuse((lambda: main([*command, "--help"]), SystemExit, None))
    shown = capsys.readouterr().out
    assert all(option in shown for option in options)


def test_rows_and_figures_of_published_tables():
    rows = [{"a": 1, "b": {"c": [2, 3]}}, {"a": 5}]
    assert write_results.row_of(rows, {"a": [4, 6]}) is rows[1]
    assert write_results.value_of(rows[0], "b.c.1") == 3
    refuse((lambda: write_results.row_of(rows, {"a": 2}), LookupError, "no row"))
    shown = [write_results.number(value) for value in (23184.7, 140.4, 9.276, 48.71, 0.2329, 9)]
    assert shown == ["23,185", "140", "9.28", "48.7", "0.233", "9"]


def test_the_official_benchmark():
    rows = rows_of("official-cpu")
    shown = table("measurements/official.md", "workload | count | first, s")
    assert len(shown) == len(rows)
    for (title, count, first, later, own, *_), row in zip(shown, rows, strict=True):
        assert title == ", ".join(filter(None, [row["workload"], row.get("method")]))
        assert count == f"{row['count']:,}"
        for cell, key in ((first, "compute"), (later, "compute_again"), (own, "reference")):
            value = row[f"{key}_seconds"]
            assert agrees(cell, value) if cell else value is None, (title, count, key)
