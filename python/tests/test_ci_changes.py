"""Which steps .ci/run takes: those whose code differs from the commit that .ci/passed names."""

import os
import subprocess
from pathlib import Path

import pytest

from .repositories import commit, git

CHANGES = (Path(__file__).resolve().parents[2] / ".ci" / "changes").read_text()
SOURCE = 'int a() { return 1; }  // one\nauto where = "http://a.b/c";\n'
LISTS = "hemera_folder(arith\n  TOGETHER a)\nhemera_folder(io REPLACED b TOGETHER)\nset(x 1)\n"
RUN = "one() {\n  true\n}\ntwo() {\n  true\n}\n"


@pytest.fixture
def repository(tmp_path):
    """A repository whose first commit has passed."""
    own = {".ci/changes": CHANGES, ".ci/run": RUN, "src/a.cpp": SOURCE, "src/CMakeLists.txt": LISTS}
    commit(tmp_path, {**own, "python/b.py": "b = 1  # one\n# two\n"})
    commit(tmp_path, {".ci/passed": git(tmp_path, "rev-parse", "HEAD")})
    return tmp_path


def taken(folder, question="changed src", **environment):
    """Whether the step is."""
    script = f"set -uo pipefail; source .ci/changes; passed=$(passed_commit); {question} && echo taken; true"
    own = {"HEMERA_CI_ALL": "", **environment}
    run = subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True, env=os.environ | own
    )
    assert (run.returncode, run.stderr) == (0, "")
    return {"taken\n": True, "": False}[run.stdout]


OF_SOURCES = {"changed src", "changed_with one src", "changed_with two src"}


@pytest.mark.parametrize(
    ("file", "text", "steps"),
    [
        ("src/a.cpp", "// first\n\n" + SOURCE.replace("// one", "// two"), set()),
        ("src/a.cpp", SOURCE.replace("return 1", "return 2"), OF_SOURCES),
        ("src/a.cpp", SOURCE.replace("b/c", "b/d"), OF_SOURCES),
        ("src/a.cpp", "", OF_SOURCES),
        ("src/b.cpp", "int b();\n", OF_SOURCES),
        ("src/table.bin", "\0\1", OF_SOURCES),
        ("src/CMakeLists.txt", LISTS.replace("TOGETHER a", "TOGETHER a d"), set()),
        ("src/CMakeLists.txt", LISTS.replace("REPLACED b", "REPLACED d"), OF_SOURCES),
        ("src/CMakeLists.txt", LISTS.replace("set(x 1)", "set(x 2)"), OF_SOURCES),
        ("python/b.py", "b = 1  # one\n# three\n", set()),
        ("python/b.py", "b = 2\n", {"changed python"}),
        (".ci/run", RUN.replace("true", "false", 1), {"changed_with one src"}),
    ],
)
def test_a_step_is_taken_where_its_code_differs(repository, file, text, steps):
    questions = OF_SOURCES | {"changed python"}
    assert not any(taken(repository, question) for question in questions)
    (repository / file).write_text(text)
    git(repository, "add", "--all")
    assert {question for question in questions if taken(repository, question)} == steps
    commit(repository)
    assert {question for question in questions if taken(repository, question)} == steps


@pytest.mark.parametrize("record", ["", "0" * 40, "main~7", "later", "asked for"])
def test_all_steps_are_taken_without_a_commit_that_passed_before(repository, record):
    if record == "later":
        before = git(repository, "rev-parse", "HEAD").strip()
        commit(repository, {"python/c.py": "c = 1\n"})
        record = git(repository, "rev-parse", "HEAD")
        git(repository, "reset", "--quiet", "--hard", before)
    if record != "asked for":
        (repository / ".ci" / "passed").write_text(record)
    for question in ("changed src", "changed_with one src"):
        assert taken(repository, question, HEMERA_CI_ALL="1" if record == "asked for" else "")


def test_two_equal_failures_are_no_equal_texts(repository):
    commit(repository, {"src/a.cpp": "", ".ci/changes": CHANGES.replace("-e '/^$/d'", "-e ':'")})
    script = "source .ci/changes; passed=$(passed_commit); changed src"
    assert subprocess.run(["bash", "-c", script], cwd=repository, capture_output=True).returncode == 0
