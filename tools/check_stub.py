"""Checks the type stub of hemera._core against the compiled module: python tools/check_stub.py.

Runs mypy's stubtest and leaves out what it reports of every nanobind module: it does not take nanobind's own
types of functions and classes for functions and classes. Missing and superfluous names are what remains.
Exit status: 0 the stub fits, 1 it does not.
"""

from __future__ import annotations

import re
import subprocess
import sys

KNOWN = re.compile(
    r" is not a function$"
    r"| is inconsistent, stub is a staticmethod but runtime is not$"
    r"| is inconsistent, metaclass differs$"
    r"|isn't marked with @disjoint_base in the stub$"
    r"|\.__init__ is inconsistent, stub does not have \*args parameter"
    r"|\.__nb_enum__ is not present in stub$"
)


def differences(report: str) -> list[str]:
    """The lines of stubtest's concise report that tell of a real difference."""
    lines = (line.strip() for line in report.splitlines())
    return [line for line in lines if line and not KNOWN.search(line)]


def main() -> int:
    command = [sys.executable, "-m", "mypy.stubtest", "--concise", "hemera._core"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    report = run.stdout + run.stderr
    found = differences(report)
    if run.returncode != 0 and not report.strip():
        found = ["stubtest found no module or stub hemera._core: is the package installed here?"]
    for line in found:
        print(line)
    print(f"check_stub: {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
