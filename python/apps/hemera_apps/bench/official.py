"""The workloads of HomomorphicEncryption.org's suite: each stage of our entries as a process of its own."""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.table import Table

import hemera
from hemera import _machine, _options
from hemera.errors import Error, FileError
from hemera_apps.bench.official_bert import Bert
from hemera_apps.bench.official_images import Images
from hemera_apps.bench.official_transciphering import Transciphering
from hemera_apps.bench.official_workloads import Digits, Products, Search, Workload
from hemera_apps.bench.report import Report, Row

_ENTRIES = Path(__file__).parents[4] / "bench" / "official"
_WORKLOADS: dict[str, type[Workload]] = {
    "products": Products,
    "digits": Digits,
    "images": Images,
    "search": Search,
    "bert": Bert,
    "transciphering": Transciphering,
}
"""The workloads, by their names on the command line."""
_SIZES = ("single", "toy", "small", "medium", "large")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    _options.add_only(parser, _WORKLOADS, default=["products", "digits"])
    parser.add_argument(
        "--sizes",
        nargs="+",
        choices=_SIZES,
        default=["single", "small"],
        help="which instances, of those that a workload has (default: single small)",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=[method for kind in _WORKLOADS.values() for method in kind.methods if method],
        default=["levelled", "fetch", "maximum"],
        help="ways of computing, of workloads that have several (default: levelled fetch maximum)",
    )
    parser.add_argument(
        "--mnist", type=Path, metavar="FOLDER", help="MNIST's two files of test images, with or without .gz"
    )
    parser.add_argument(
        "--cifar", type=Path, metavar="FOLDER", help="CIFAR-10's binary version: the folder of test_batch.bin"
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=5,
        help="computations after the first one, for their median (default: 5)",
    )
    _options.add_seed(parser, "the data", default=1)
    parser.add_argument(
        "--entries", type=Path, default=_ENTRIES, metavar="FOLDER", help="bench/official of Hemera's sources"
    )
    parser.add_argument(
        "--folder", metavar="FOLDER", help="where files may lie meanwhile (default: the system's)"
    )
    _options.add_machine(parser)
    _options.add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run the stages, check the results, and write what is asked for."""
    report = Report(options)
    _compile(Path(hemera.__file__).parent)
    for name in options.only:
        workload = _made(name, options)
        for row in _rows_of(workload, options):
            report.add(row)
    report.console.print(_table(report.rows))
    report.write({"gpus": _machine.gpus()})
    return 0


def _made(name: str, options: argparse.Namespace) -> Workload:
    """The workload, with its data where these are given."""
    if name == "digits":
        return Digits(options.mnist)
    return Images(options.cifar) if name == "images" else _WORKLOADS[name]()


def _rows_of(workload: Workload, options: argparse.Namespace) -> Iterator[Row]:
    """A row for each size and way of computing that is asked for."""
    entry = options.entries / workload.folder
    if not entry.is_dir():
        raise FileError(
            f"there is no entry for {workload.name} in {options.entries}: give --entries, the folder "
            "bench/official of Hemera's sources"
        )
    methods = [each for each in workload.methods if not each or each in options.methods]
    for size in (each for each in options.sizes if each in workload.sizes):
        for method in methods:
            with tempfile.TemporaryDirectory(prefix="hemera-official-", dir=options.folder) as folder:
                root = Path(folder)
                shutil.copytree(
                    entry, root / "submission", ignore=shutil.ignore_patterns("__pycache__", "build")
                )
                _compile(root / "submission")
                yield _row(workload, size, method, root, options)


def _compile(folder: Path) -> None:
    """Write the bytecode of a folder's modules, which an installation and the entries' scripts write as well:
    without it each start of a stage compiles them. Nothing happens where the folder can not be written."""
    compileall.compile_dir(folder, quiet=2)


def _row(workload: Workload, size: str, method: str, root: Path, options: argparse.Namespace) -> Row:
    """Seconds, bytes and memory of an instance, whose results are checked."""
    workload.make_data(root, size, np.random.default_rng(options.seed))
    environment = os.environ | {
        "HEMERA_DEVICE": options.device,
        "HEMERA_METHOD": method,
        "HEMERA_REPEATS": str(options.repeats),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    if options.threads is not None:
        environment["OMP_NUM_THREADS"] = str(options.threads)
    seconds, memory = {}, {}
    for stage, arguments in workload.stages(size):
        extra = ["--count_only"] if method == "count" else []
        program = str(root / "submission" / f"{stage}.py")
        seconds[stage], memory[stage] = _spent(
            [sys.executable, program, *arguments, *extra], root, environment
        )
    checked = workload.check(root, size)
    reference = workload.reference_seconds
    steps = json.loads(workload.steps(root, size).read_text(encoding="utf-8"))
    return {
        "workload": workload.name,
        "size": size,
        "count": workload.sizes[size],
        **({"method": method} if method else {}),
        "device": options.device,
        "compute_seconds": steps["Encrypted computation"],
        "compute_again_seconds": steps.get("Repeated computation"),
        "reference_seconds": reference.get(f"{size} {method}", reference.get(size)),
        **checked,
        **{f"{name}_bytes": _bytes_in(path) for name, path in workload.sent(root, size).items()},
        "server_memory_bytes": memory["server_encrypted_compute"],
        "client_memory_bytes": max(each for stage, each in memory.items() if stage.startswith("client")),
        "server_steps": steps,
        "stage_seconds": seconds,
    }


_LAUNCH = """
import os, sys, time
begin = time.perf_counter()
status, usage = os.wait4(os.spawnv(os.P_NOWAIT, sys.argv[2], sys.argv[2:]), 0)[1:]
with open(sys.argv[1], "w") as file:
    file.write(f"{time.perf_counter() - begin} {usage.ru_maxrss * 1024}")
code = os.waitstatus_to_exitcode(status)
sys.exit(f"ended by signal {-code}" if code < 0 else code and 1)
"""
"""A small process between: a child's most memory begins with that of its parent. It writes the child's
seconds, from its start to its end, and the bytes of its most memory."""


def _spent(command: list[str], root: Path, environment: dict[str, str]) -> tuple[float, int]:
    """A stage's seconds, and the most memory that its process had, in bytes.

    Raises:
        Error: if it fails.
    """
    spent = root / "spent.txt"
    launch = [sys.executable, "-S", "-c", _LAUNCH, str(spent), *command]
    with tempfile.TemporaryFile() as printed:
        done = subprocess.run(launch, cwd=root, env=environment, stdout=printed, stderr=printed, check=False)
        if done.returncode != 0:
            printed.seek(0)
            last = printed.read().decode(errors="replace").strip().splitlines()[-1:]
            raise Error(f"{Path(command[1]).name} failed: {' '.join(last) or 'without a word'}")
    seconds, memory = spent.read_text(encoding="utf-8").split()
    return round(float(seconds), 3), int(memory)


def _bytes_in(folder: Path) -> int:
    """The bytes of all files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _table(rows: list[Row]) -> Table:
    """The rows in short: seconds of the server's computation, of the first one and of a later one, and of the
    suite's own implementation."""
    table = Table("workload", "size", "first", "later", "suite's", "sent", "memory", box=None, pad_edge=False)
    for row in rows:
        seconds = [row["compute_seconds"], row["compute_again_seconds"], row["reference_seconds"]]
        table.add_row(
            " ".join([row["workload"], row.get("method", "")]).strip(),
            row["size"],
            *("" if each is None else f"{each:.3g} s" for each in seconds),
            _options.size_text(row["input_bytes"] + row["result_bytes"]),
            _options.size_text(row["server_memory_bytes"]),
        )
    return table
