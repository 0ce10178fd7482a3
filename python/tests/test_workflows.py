"""The workflows of .github, which run elsewhere: well-formed, with programs and jobs that there are."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

REPOSITORY = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
PROGRAM = re.compile(r"(?<![\w./-])((?:tools|\.ci|python|examples)/[\w./-]+)")
UNTESTED = {"manylinux-aarch64", "musllinux-x86-64", "macos-arm64"}

pytestmark = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def read(path: Path) -> dict[str, Any]:
    """A workflow; a key that stands twice is an error."""
    with path.open() as file:
        found = YAML(typ="safe", pure=True).load(file)
    assert isinstance(found, dict)
    return found


def steps_of(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


def artifacts(path: Path, action: str) -> list[dict[str, Any]]:
    """What the steps of an action are given: "upload-artifact" or "download-artifact"."""
    return [step["with"] for step in steps_of(read(path)) if action in step.get("uses", "")]


def texts(data: Any) -> list[str]:
    """Every text in the data."""
    if isinstance(data, dict):
        return [text for each in data.values() for text in texts(each)]
    if isinstance(data, list):
        return [text for each in data for text in texts(each)]
    return [data] if isinstance(data, str) else []


def test_workflows_are_those_of_the_pages(path: Path) -> None:
    assert [each.stem for each in WORKFLOWS] == ["ci", "release", "wheels"]
    workflow = read(path)
    assert workflow.keys() == {"name", "on", "permissions", "jobs"}
    assert workflow["jobs"]
    for job in workflow["jobs"].values():
        # A job calls another workflow, or has steps on a machine.
        assert ("uses" in job) != ("steps" in job)
        assert ("runs-on" in job) == ("steps" in job)


def test_programs_exist(path: Path) -> None:
    commands = [step["run"] for step in steps_of(read(path)) if "run" in step]
    assert commands
    for command in commands:
        for name in PROGRAM.findall(command):
            assert (REPOSITORY / name).is_file(), name
            called = re.search(rf"\b(bash|python3) {re.escape(name)}", command)
            assert called is not None or os.access(REPOSITORY / name, os.X_OK), name


def test_steps_run_the_tools(path: Path) -> None:
    """What CI, wheels and releases do here is what they do there."""
    commands = "\n".join(step.get("run", "") for step in steps_of(read(path)))
    expected = {
        "ci": [".ci/run"],
        "wheels": ["tools/setup-wheels", "tools/build-wheels dist", "tools/test-wheels dist"],
        "release": ["tools/release.py check --tag", "tools/release.py notes"],
    }
    assert all(each in commands for each in expected[path.stem])


def test_other_workflows_and_jobs_exist(path: Path) -> None:
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


def test_fields_of_matrices_exist(path: Path) -> None:
    for job in read(path)["jobs"].values():
        used = {name for text in texts(job) for name in re.findall(r"\$\{\{ matrix\.(\w+) \}\}", text)}
        entries = job.get("strategy", {}).get("matrix", {}).get("include", [])
        assert bool(used) == bool(entries)
        for entry in entries:
            assert entry.keys() == used


def test_untested_platforms_are_said_to_be(path: Path) -> None:
    text, workflow = path.read_text(), read(path)
    found = set()
    for job in workflow["jobs"].values():
        for entry in job.get("strategy", {}).get("matrix", {}).get("include", []):
            if entry["untested"]:
                found.add(entry["platform"])
                assert re.search(rf"# Untested\.[^\n]*\n +- platform: {entry['platform']}\n", text)
        if job.get("continue-on-error") is True:
            found.add(job["name"])
            assert re.search(rf"# Untested\.\n +name: {job['name']}\n", text)
    assert found == (UNTESTED if path.stem == "wheels" else set())


def test_artifacts_are_uploaded_once_and_published(path: Path) -> None:
    uploads = artifacts(path, "upload-artifact")
    assert len({each["name"] for each in uploads}) == len(uploads)
    if path.stem == "release":
        (download,) = artifacts(path, "download-artifact")
        assert download["pattern"] == "wheels-*"
        wheels = artifacts(path.with_name("wheels.yml"), "upload-artifact")
        assert all(each["name"].startswith("wheels-") for each in wheels)


def test_one_job_may_write_and_no_index_is_named(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    writing = [name for name, job in workflow["jobs"].items() if "permissions" in job]
    assert writing == (["publish"] if path.stem == "release" else [])
    assert not re.search(r"twine|index-url|gh-action", path.read_text())
    assert not any("secrets." in text for text in texts(workflow))
