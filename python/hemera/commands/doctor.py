"""Is everything well? Checks the installation and the memory, each device by a computation, and the folder of
a server. The status is 1 if something is broken."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import numpy as np
from rich.console import Console

import hemera as hm
from hemera import _machine, _options
from hemera._extras import EXTRAS, how_to_install
from hemera.errors import Error
from hemera.serving.at_home import open_home

_SMALL_MEMORY = 4 << 30
"""Bytes below which the presets with bootstrapping find no room (docs/bootstrapping.md)."""

_FROM = {
    "hemera-apps": "the demo, applications and benchmarks (in a clone: pip install './python/apps[demo]')",
    "hemera-cuda": "the library for NVIDIA GPUs (docs/gpu.md)",
}


@dataclass(frozen=True)
class Finding:
    """The result of a check. `state`: ok; note: something that is not there or is unusual; broken."""

    check: str
    state: Literal["ok", "note", "broken"]
    text: str


def _installation() -> Iterator[Finding]:
    known = _machine.packages()
    own = version("hemera")
    yield Finding("hemera", "ok", f"{own}, NumPy {known['numpy']}")
    for name in _FROM:
        if known[name] is None:
            yield Finding(name, "note", f"not installed: {_FROM[name]}")
        elif known[name] != own:
            text = f"{known[name]} beside hemera {own}: install the {name} of the same version"
            yield Finding(name, "broken", text)
        else:
            yield Finding(name, "ok", own)
    for extra, names in EXTRAS.items():
        absent = [name for name in names if known[name.partition("[")[0]] is None]
        if absent:
            yield Finding(f"extra {extra}", "note", f"not installed: {how_to_install(extra, *absent)}")
        else:
            yield Finding(f"extra {extra}", "ok", ", ".join(names))
    # Neither secrets nor a server's settings, of which some are.
    others = ("HEMERA_TOKEN", "HEMERA_SERVE_")
    for name in sorted(each for each in os.environ if each.startswith("HEMERA_")):
        if name.startswith(others):
            continue
        yield Finding("environment", "note", f"{name}={os.environ[name]!r} changes what Hemera does")


def _memory() -> Iterator[Finding]:
    """The memory that this process may take: the machine's, or its control group's where that is less."""
    limit = _machine.memory_bytes()
    state: Literal["ok", "note"] = "ok" if limit >= _SMALL_MEMORY else "note"
    text = f"{_options.size_text(limit)} of memory"
    if state == "note":
        text += f": presets with bootstrapping want {_options.size_text(_SMALL_MEMORY)} or more"
    yield Finding("memory", state, text)


def _devices() -> Iterator[Finding]:
    found = _machine.gpus()
    if isinstance(found, str):
        yield Finding("GPUs", "note", found)
    else:
        for line in found:
            yield Finding("GPUs", "broken" if "not usable" in line else "ok", line)
    params = hm.ckks.Parameters.for_circuit(depth=1, slots=512)
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    keys = bytes(ctx.generate_keys(sk))
    values = np.linspace(-1, 1, 512)
    sent = bytes(ctx.encrypt(values, sk))
    expected = _squared(ctx, keys, sent)
    error = float(np.abs(ctx.decrypt(ctx.load(expected), sk) - values**2).max())
    right = error <= 2.0**-20
    yield Finding("device cpu", "ok" if right else "broken", f"x * x is within {error:.1e}")
    for device in hm.devices():
        if device == "cpu":
            continue
        try:
            equal = _squared(hm.Context(params, device), keys, sent) == expected
        except Error as failure:
            yield Finding(f"device {device}", "broken", str(failure))
            continue
        text = f"x * x has {'the bits' if equal else 'other bits than those'} of the processor's"
        yield Finding(f"device {device}", "ok" if equal else "broken", text)


def _squared(ctx: hm.Context, keys: bytes, sent: bytes) -> bytes:
    """The square of a ciphertext in a context, from bytes to bytes."""
    x = ctx.bind(ctx.load(keys)).load(sent)
    return bytes(x * x)


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (_installation, _memory, _devices)


def _home(path: Path) -> Iterator[Finding]:
    """The folder of a server."""
    home = open_home(path)
    from hemera.serving.home import check_home  # where the extra is installed

    for check, state, text in check_home(home):
        yield Finding(check, state, text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "home", metavar="HOME", type=Path, nargs="?", help="also check the folder of a server, all its files"
    )
    _options.add_json(parser, instead=True)


def run(options: argparse.Namespace) -> int:
    findings = [finding for check in CHECKS for finding in check()]
    if options.home is not None:
        findings += _home(options.home)
    broken = any(finding.state == "broken" for finding in findings)
    if options.json:
        _options.write_json(
            options.json, {"well": not broken, "findings": [asdict(each) for each in findings]}
        )
    else:
        console = Console(soft_wrap=True, highlight=False)
        for each in findings:
            style = {"ok": "green", "note": "yellow", "broken": "bold red"}[each.state]
            console.print(f"[{style}]{each.state:<6}[/]  {each.check}: ", end="")
            console.print(each.text, markup=False)
    return int(broken)
