"""The workflows of .github, which run elsewhere: well-formed, with programs and jobs that there are."""

import os
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

REPOSITORY = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
PROGRAM = re.compile(r"(?<![\w./-])((?:tools|\.ci|python|examples)/[\w./-]+)")

pytestmark = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def read(path):
    """A workflow; a key that stands twice is an error."""
    with path.open() as file:
        found = YAML(typ="safe", pure=True).load(file)
    assert isinstance(found, dict)
    return found


def steps_of(workflow):
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


def texts(data):
    """Every text in the data."""
    if isinstance(data, dict):
        return [text for each in data.values() for text in texts(each)]
    if isinstance(data, list):
        return [text for each in data for text in texts(each)]
    return [data] if isinstance(data, str) else []


def test_programs_exist(path):
    commands = [step["run"] for step in steps_of(read(path)) if "run" in step]
    assert commands
    for command in commands:
        for name in PROGRAM.findall(command):
            assert (REPOSITORY / name).is_file(), name
            called = re.search(rf"\b(bash|python3) {re.escape(name)}", command)
            assert called is not None or os.access(REPOSITORY / name, os.X_OK), name


def test_other_workflows_and_jobs_exist(path):
    jobs = read(path)["jobs"]
    for job in jobs.values():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= jobs.keys()
        if "uses" in job:
            called = REPOSITORY / job["uses"]
            assert called in WORKFLOWS
            assert "workflow_call" in read(called)["on"]
    for step in steps_of(read(path)):
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"])


def test_fields_of_matrices_exist(path):
    for job in read(path)["jobs"].values():
        used = {name for text in texts(job) for name in re.findall(r"\$\{\{ matrix\.(\w+) \}\}", text)}
        entries = job.get("strategy", {}).get("matrix", {}).get("include", [])
        assert bool(used) == bool(entries)
        for entry in entries:
            assert entry.keys() == used


def test_one_job_may_write_and_no_index_is_named(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    writing = [name for name, job in workflow["jobs"].items() if "permissions" in job]
    assert writing == (["publish"] if path.stem == "release" else [])
    assert not re.search(r"twine|index-url|gh-action", path.read_text())
    assert not any("secrets." in text for text in texts(workflow))
    images = re.findall(r"image: (\S+)", path.read_text())
    assert all(re.fullmatch(r"\S+@sha256:[0-9a-f]{64}|\$\{\{ \S+ \}\}", each) for each in images)
