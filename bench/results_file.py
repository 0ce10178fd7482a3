"""Files of bench/results: rows, and the machine that they were measured on."""

from __future__ import annotations

from typing import Any

from hemera import _machine, _options


def write_results(path: str, backend: str, rows: list[dict[str, Any]]) -> None:
    """Write a JSON file."""
    machine = {**_machine.describe(), "backend": backend}
    _options.write_json(path, {"machine": machine, "rows": rows})
