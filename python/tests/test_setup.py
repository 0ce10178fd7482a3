"""tools/setup and its locked requirements: what is installed for which purpose, and nothing else."""

import functools
import importlib.util
import json
import os
import platform
import pty
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

REPOSITORY = Path(__file__).resolve().parents[2]
PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
LOCKS = sorted((REPOSITORY / "requirements").glob("*.txt"))
GROUPS = {
    "demo": ("build", "run", "python/apps:demo"),
    "test": ("build", "run", "serving", "dev", "python/apps:demo"),
    "bench": ("python/apps:bench",),
    "site": ("site",),
    "ray": ["run", "ray"],
    "wheels": ["build"],
    "run": ["run"],
    "serving": ["run", "serving"],
}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def locked(name, python):
    """The version of each package that a lock names for a Python on Linux."""
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": "linux",
        "platform_python_implementation": "CPython",
    }
    found = {}
    for line in (REPOSITORY / "requirements" / f"{name}.txt").read_text().splitlines():
        if line[:1] in ("#", " "):
            continue
        requirement = Requirement(line.rstrip(" \\"))
        if requirement.marker is None or requirement.marker.evaluate(environment):
            ((operator, version),) = [(each.operator, each.version) for each in requirement.specifier]
            assert operator == "=="
            assert requirement.name not in found
            found[requirement.name] = Version(version)
    return found


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_every_version_has_hashes(path):
    entries = re.split(r"\n(?=[^ ])", path.read_text().strip())[1:]
    assert entries
    for entry in entries:
        lines = [line.strip(" \\") for line in entry.splitlines()]
        assert re.match(r"[A-Za-z0-9._-]+==[^ ]+( ; .*)?$", lines[0])
        assert len(lines) > 1
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line) for line in lines[1:])


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", GROUPS)
def test_locks_hold_what_the_project_asks_for(name, python):
    """If this fails after a change of pyproject.toml: run tools/lock."""
    requirements_of = load(REPOSITORY / "tools" / "requirements.py").requirements_of
    found = locked(name, python)
    for group in GROUPS[name]:
        for text in requirements_of(REPOSITORY, group):
            requirement = Requirement(text)
            if requirement.marker and not requirement.marker.evaluate({"python_version": python}):
                continue
            assert found[requirement.name] in requirement.specifier
    # One environment holds them all.
    assert all(locked("test", python).get(package, version) == version for package, version in found.items())


PYTHON = """#!/bin/sh
echo "$*" >>"$SETUP_LOG"
case "$*" in *"-r requirements/$SETUP_FAILS.txt"*) exit 1 ;; esac
"""


def run_setup(folder, purpose, fails="none"):
    """tools/setup with a Python that only notes its arguments: the status, pip's calls, the output."""
    (folder / "tools").mkdir(exist_ok=True)
    shutil.copy(REPOSITORY / "tools" / "setup", folder / "tools")
    shutil.copytree(REPOSITORY / "requirements", folder / "requirements", dirs_exist_ok=True)
    programs = {
        ".venv/bin/python": PYTHON,
        "bin/apt-get": "#!/bin/sh\nexit 1\n",
        "bin/sudo": "#!/bin/sh\nexit 1\n",
    }
    for name, text in programs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    log = folder / "log"
    log.write_text("")
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHON": sys.executable,
        "SETUP_LOG": str(log),
        "SETUP_FAILS": fails,
    }
    done = subprocess.run(
        [str(folder / "tools" / "setup"), purpose],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return (
        done.returncode,
        [line for line in log.read_text().splitlines() if " install " in line],
        done.stderr,
    )


def names(calls):
    return [call.rpartition("requirements/")[2].removesuffix(".txt") for call in calls]


def test_each_purpose_installs_its_packages_once(tmp_path):
    assert run_setup(tmp_path, "system")[:2] == (0, [])
    status, calls, text = run_setup(tmp_path, "demo")
    assert status == 0, text
    # The benchmark's packages are not for the demo.
    assert set(names(calls)) - {"cmake", "ninja"} == {"pip", "demo"}
    for call in calls:
        assert "--require-hashes --only-binary :all: --no-compile -r requirements/" in call
    assert run_setup(tmp_path, "demo")[:2] == (0, [])
    assert names(run_setup(tmp_path, "test")[1]) == ["test", "bench"]
    assert run_setup(tmp_path, "test")[:2] == (0, [])


def test_openfhe_headers_are_of_one_commit(tmp_path, monkeypatch):
    """Where a repository does not have it there are none, and the reason is told."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        pytest.skip("OpenFHE's wheels are for Linux on x86-64")
    for lock in (REPOSITORY / "requirements").glob("openfhe-*.txt"):
        folder = tmp_path / ".openfhe" / lock.stem.removeprefix("openfhe-")
        wheel = folder / "lib" / "python3.10" / "site-packages" / "openfhe"
        wheel.mkdir(parents=True)
        shutil.copy(lock, folder / "lock")
        pinned = re.search(r"openfhe==(\d+\.\d+\.\d+)", lock.read_text())
        assert pinned is not None
        (wheel / "build-config.txt").write_text(f"OPENFHE_TAG=v{pinned[1]}\n")
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", "--bare", str(other)], check=True)
    monkeypatch.setenv("HEMERA_CPYTHON_310", "/bin/true")
    monkeypatch.setenv("HEMERA_OPENFHE_SOURCES", str(other))
    status, calls, text = run_setup(tmp_path, "openfhe-headers")
    assert (status, calls) == (1, [])
    assert "Without OpenFHE's headers: their commit could not be had" in text
    assert not list(tmp_path.glob(".openfhe/*/include/commit"))
    # Nor are they taken next to libraries of another version.
    (tmp_path / ".openfhe/1.5/lib/python3.10/site-packages/openfhe/build-config.txt").write_text(
        "OPENFHE_TAG=v1.4.0\n"
    )
    status, _, text = run_setup(tmp_path, "openfhe-headers")
    assert status == 1
    assert "is not of v1.5" in text


def test_what_can_not_be_installed(tmp_path):
    status, _, text = run_setup(tmp_path, "demo", fails="demo")
    assert status == 1
    assert "requirements/demo.txt could not be installed" in text
    # It is tried again, and the benchmark's packages may be missing.
    status, calls, text = run_setup(tmp_path, "test", fails="bench")
    assert (status, names(calls)) == (0, ["test", "bench"])
    assert "Going on without the packages for 'bench'" in text
    # Nor is an environment of its own there without its packages.
    status, _, text = run_setup(tmp_path, "atheris")
    assert status == 1
    assert "Atheris could not be installed" in text


BUILD = """Running command pip install
  -- Configuring done
  [1/3] Building CXX object src/CMakeFiles/hemera.dir/rlwe/evaluator.cpp.o
  cc1plus: some warning [7/9]
  [2/3] Linking CXX static library src/libhemera.a
  [3/3] Generating _core.pyi
Successfully installed hemera
"""


def test_progress_is_one_line_on_a_terminal_and_lines_elsewhere():
    program = [str(REPOSITORY / "tools" / "progress")]
    plain = subprocess.run(program, input=BUILD, capture_output=True, text=True, check=True).stdout
    assert plain.splitlines() == [
        "  [1/3] Building CXX object src/CMakeFiles/hemera.dir/rlwe/evaluator.cpp.o",
        "  [2/3] Linking CXX static library src/libhemera.a",
        "  [3/3] Generating _core.pyi",
    ]
    ours, theirs = pty.openpty()
    done = subprocess.run(program, input=BUILD, stdout=theirs, text=True, check=True)
    os.close(theirs)
    with os.fdopen(ours, "rb") as terminal:
        shown = terminal.read1().decode()
    assert done.returncode == 0
    assert "\n" not in shown
    steps = [part for part in shown.split("\r\x1b[K") if part]
    assert steps == ["  1 of 3  rlwe/evaluator.cpp.o", "  2 of 3  src/libhemera.a", "  3 of 3  _core.pyi"]
    assert shown.endswith("\r\x1b[K")


def test_every_installation_by_a_script_has_hashes_or_no_index():
    scripts = [*(REPOSITORY / "tools").iterdir(), REPOSITORY / ".ci" / "run", REPOSITORY / "Makefile"]
    scripts += sorted((REPOSITORY / ".github" / "workflows").iterdir())
    found = 0
    for script in scripts:
        if not script.is_file():
            continue
        lines = script.read_text().replace("\\\n", " ").splitlines()
        for line in lines:
            command = r"\bpip([]@}\w/\"$-]|\[|--python \S+| (?=--python))* (install|wheel|download) -"
            if re.search(command, line) and "way out" not in line.lower():
                found += 1
                assert "--require-hashes" in line or "--no-index" in line or "--no-deps" in line, (
                    script,
                    line,
                )
    assert found >= 8


@pytest.mark.parametrize(
    "fault", ["none", "no notices", "no bill", "no version", "another licence", "no zlib"]
)
def test_a_wheel_without_its_notices_or_versions_is_found(fault, tmp_path):
    check = load(REPOSITORY / "tools" / "check_wheel.py")
    notices = (REPOSITORY / "THIRD-PARTY-NOTICES").read_text()
    licences = dict(re.findall(r"^=+\n(.*)\nhttps:.*\nSPDX-License-Identifier: (.*)$", notices, re.MULTILINE))
    components = [
        {"name": name, "version": "1.2", "licenses": [{"license": {"id": licences[heading]}}]}
        for name, heading in check.COMPILED_IN.items()
    ]
    if fault == "no version":
        components[0]["version"] = ""
    elif fault == "another licence":
        components[0]["licenses"] = [{"license": {"id": "MIT"}}]
    elif fault == "no zlib":
        del components[2]
    with zipfile.ZipFile(tmp_path / "wheel", "w") as wheel:
        wheel.writestr("hemera-0.dist-info/licenses/LICENSE", "")
        if fault != "no notices":
            wheel.writestr("hemera-0.dist-info/licenses/THIRD-PARTY-NOTICES", notices)
        if fault != "no bill":
            wheel.writestr("hemera-0.dist-info/sboms/hemera.cdx.json", json.dumps({"components": components}))
    with zipfile.ZipFile(tmp_path / "wheel") as wheel:
        assert bool(check.faults(wheel)) == (fault != "none")
