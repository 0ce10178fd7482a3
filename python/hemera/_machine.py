"""This machine and this build, for reports."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hemera import _core
from hemera._extras import EXTRAS


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


def memory_bytes() -> int:
    """The memory that this process may take: the machine's, or the least of its control groups where that is
    less."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _limits_of_groups():
        with contextlib.suppress(OSError, ValueError):  # no such group, or "max"
            limits.append(int(file.read_text()))
    return min(limits)


def _limits_of_groups(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> list[Path]:
    """The files with the limits of this process' control group and those around it, of both versions."""
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = own.read_text(encoding="utf-8").splitlines()
    found = [root / "memory.max"]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        folder, name = (root / "memory", "memory.limit_in_bytes") if controllers else (root, "memory.max")
        if not controllers or "memory" in controllers.split(","):
            group = folder / path.lstrip("/")
            found += [each / name for each in (group, *group.parents) if each.is_relative_to(folder)]
    return found


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


def packages() -> dict[str, str | None]:
    """The versions of the packages that Hemera works with, by name; None for those that are not installed."""
    extras = {re.split(r"\W*\[", name)[0] for names in EXTRAS.values() for name in names}
    found: dict[str, str | None] = {}
    for name in ["numpy", "rich", "hemera-apps", "hemera-cuda", *sorted(extras)]:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def show_versions() -> None:
    """Print what a report of a fault needs: the versions of Hemera, of Python and of the packages that Hemera
    works with, the machine, and the GPUs or the reason for having none. Names no file, user or host.

    Examples:
        >>> hm.show_versions()  # doctest: +SKIP
    """
    found = gpus()
    facts = {
        **describe(),
        "gpus": "; ".join(found) if isinstance(found, list) else found,
        **{name: known or "not installed" for name, known in packages().items()},
    }
    width = max(map(len, facts))
    sys.stdout.write("".join(f"{name:<{width}}  {value}\n" for name, value in facts.items()))
