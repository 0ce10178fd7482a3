"""Tables of measured times of a device's operations."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Hashable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hemera import _core
from hemera._process import cached_property
from hemera.errors import DeviceError, FormatError
from hemera.inputs.fields import MALFORMED, SAYS_MORE

SHIPPED = Path(__file__).parent / "devices"
"""The tables that come with the package."""

Row = tuple[str, int, int, float, float]
"""Operation, degree, bits of the largest modulus, work and seconds of one call."""


def cache_folder() -> Path:
    """The folder of this machine's tables: $XDG_CACHE_HOME/hemera, or ~/.cache/hemera."""
    own = os.environ.get("XDG_CACHE_HOME")
    return (Path(own) if own else Path.home() / ".cache") / "hemera"


def device_name(description: str) -> str:
    """The name of a device's table, from `Context.description`: "cpu-avx512-16" for 16 threads, or the GPU's,
    like "nvidia-h200"."""
    if cpu := re.match(r"cpu \((\w+), (\d+) thread", description):
        return f"cpu-{cpu[1]}-{cpu[2]}"
    inside = re.search(r"\(([^,)]*)", description)
    return re.sub(r"[^a-z0-9]+", "-", (inside[1] if inside else description).lower()).strip("-")


def known_devices() -> list[str]:
    """The names that `DeviceTimes.find` has tables for: shipped ones, and those of `hemera calibrate`."""
    return sorted({path.stem for folder in (cache_folder(), SHIPPED) for path in folder.glob("*.json")})


@dataclass(frozen=True)
class DeviceTimes:
    """The times of one device.

    `waiting`: the seconds that a call takes longer when it is timed by itself than in a captured graph; 0 for
    CPUs.
    `least`: the seconds of the shortest calls among others, when a program makes them one by one.
    `made`: the version, the date and the machine of the measurement.
    """

    device: str
    rows: list[Row]
    waiting: float = 0.0
    least: float = 0.0
    made: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def _all_rows(self) -> list[Row]:
        """The measured rows, and those of a model for operations that are younger than the table."""
        if not self.rows:
            return self.rows
        # When a table is asked, not for `import hemera`.
        from hemera.times import exponential_model, matrix_model

        measured = {row[0] for row in self.rows}
        models = {
            matrix_model.OPERATION: matrix_model.matrix_rows,
            exponential_model.OPERATION: exponential_model.exponential_rows,
        }
        return self.rows + [
            row
            for operation, rows_of in models.items()
            if operation not in measured
            for row in rows_of(self.device, self.waiting)
        ]

    @cached_property
    def prices(self) -> dict[Hashable, float]:
        """Seconds of circuits that were counted before, by what decides them: whoever counts one keeps it."""
        return {}

    @cached_property
    def _eager(self) -> _core.UnitTimes:
        return _core.UnitTimes(self._all_rows, self.waiting, self.least)

    @cached_property
    def _captured(self) -> _core.UnitTimes:
        return _core.UnitTimes(self._all_rows, self.waiting)

    def seconds(self, counted: _core.Cost, *, graph: bool = False) -> float:
        """The seconds of the counted calls, one after the other, or in a captured graph."""
        return (self._captured if graph else self._eager).seconds(counted)

    def save(self, path: Path | None = None) -> Path:
        """Write the table to `path`; None: into the cache folder."""
        target = path or cache_folder() / f"{self.device}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            json.dumps(asdict(self), indent=None, separators=(",", ":")) + "\n", encoding="utf-8"
        )
        return target

    @classmethod
    def load(cls, path: Path) -> DeviceTimes:
        """Read a table.

        Raises:
            FormatError: if the file is no table of times.
        """
        try:
            return _of_text(path.read_text(encoding="utf-8"))
        except SAYS_MORE:
            raise
        except (OSError, *MALFORMED) as error:
            raise FormatError(
                f"{path} is no table of times: {error}; make one with `hemera calibrate`"
            ) from error

    @classmethod
    def find(cls, name: str) -> DeviceTimes:
        """The table of that name: from the cache folder, or else the shipped one. A CPU without a table gets
        that of the same instruction set with the nearest number of threads, from half as many to twice.

        Raises:
            DeviceError: if there is no table; the message names the known ones.
        """
        folders = (cache_folder(), SHIPPED)
        for folder in folders:
            if (folder / f"{name}.json").is_file():
                return cls.load(folder / f"{name}.json")
        if cpu := re.fullmatch(r"(cpu-\w+)-(\d+)", name):
            wanted = int(cpu[2])
            others = [path for folder in folders for path in folder.glob(f"{cpu[1]}-*.json")]
            near = [path for path in others if wanted <= 2 * _threads(path.stem) <= 4 * wanted]
            if near:
                return cls.load(min(near, key=lambda path: abs(_threads(path.stem) - wanted)))
        raise DeviceError(
            f"there is no table of times for the device {name!r}, only for "
            f"{', '.join(known_devices()) or 'none'}; run `hemera calibrate` on that machine"
        )


@functools.lru_cache(maxsize=8)
def _of_text(text: str) -> DeviceTimes:
    """The table that a file's text has: searches ask for one again and again."""
    found = json.loads(text)
    rows = [
        (str(name), int(degree), int(bits), float(work), float(seconds))
        for name, degree, bits, work, seconds in found["rows"]
    ]
    table = DeviceTimes(
        device=str(found["device"]),
        rows=rows,
        waiting=float(found["waiting"]),
        least=float(found.get("least", 0.0)),
        made=dict(found["made"]),
    )
    _ = table._eager
    return table


def _threads(stem: str) -> int:
    last = stem.rsplit("-", 1)[-1]
    return int(last) if last.isdigit() else 0
