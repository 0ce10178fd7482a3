"""This machine and this build, for reports."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from hemera import _core


def processor_name() -> str:
    """The processor's name in the system's words."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _git(*arguments: str) -> str:
    """The output of git in the package's folder; "" if git fails."""
    try:
        result = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def commit() -> str | None:
    """The commit of the package's checkout of Hemera ("-dirty" with changes); None outside of one."""
    top = _git("rev-parse", "--show-toplevel")
    # A virtual environment may lie in a checkout of something else.
    if not top or not (Path(top) / "python" / "hemera" / Path(__file__).name).exists():
        return None
    return _git("describe", "--always", "--dirty", "--abbrev=12", "--exclude=*") or None


def gpus() -> list[str] | str:
    """A line for each GPU that the driver shows, or the reason for there being none."""
    found = _core.find_cuda_devices()
    if not found.devices:
        return f"none: {found.problem}"
    return [
        f"cuda:{gpu.index} {gpu.name}, {gpu.memory_bytes / 2**30:.0f} GiB, compute capability "
        f"{gpu.compute_capability}, driver for CUDA {found.driver}"
        + (f" (not usable: {gpu.problem})" if gpu.problem else "")
        for gpu in found.devices
    ]


def describe(threads: int | None = None) -> dict[str, str | int | None]:
    """The machine and the build, for files of results."""
    return {
        "hemera": version("hemera"),
        "commit": commit(),
        "processor": processor_name(),
        "architecture": platform.machine(),
        "processors": _core.available_processors(),
        "backend": _core.describe_cpu(threads or 0),
        "system": platform.platform(),
        "python": platform.python_version(),
    }
