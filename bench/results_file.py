"""Files of bench/results: rows, and the machine that they were measured on."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import hemera as hm


def write_results(path: str, backend: str, rows: list[dict[str, Any]]) -> None:
    """Write a JSON file."""
    facts = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    lines = (line.split(": ")[1] for line in facts.splitlines() if line.startswith("model name"))
    machine = {
        "hemera": hm.__version__,
        "processor": next(lines, "") or platform.machine(),
        "backend": backend,
        "system": platform.platform(),
        "python": platform.python_version(),
    }
    Path(path).write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
