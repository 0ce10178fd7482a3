"""A simulation of many replicas and tenants: placement, eviction and the number of replicas of a tenant."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from platform import python_version
from typing import Any

from hemera import _options
from hemera_apps._figures import new_figure, save_figure, use_logarithms
from hemera_apps.bench.cluster import DEFAULT, EVICTIONS, PLACEMENTS, Setup, simulate
from hemera_apps.bench.report import Report

LOADS = (1700.0, 5000.0, 8500.0)
"""Requests a second of the 100 hosts: a tenth, three tenths and half of the rate that batches of 16 allow."""
_SECONDS = {1700.0: 60.0, 5000.0: 40.0, 8500.0: 30.0}
_SMALL = {"16 GPUs": (2, 10.0), "24 GPUs": (3, 40.0), "32 GPUs": (4, 80.0)}
"""Hosts with room for half, three quarters and all of the tenants' keys, and requests a second."""
_PAIRED = "#a6cee3 #1f78b4 #b2df8a #33a02c #fb9a99 #e31a1c #fdbf6f #ff7f00 #cab2d6 #6a3d9a #ffff99 #b15928"
"""Colours of the lines (ColorBrewer's Paired)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    _options.add_seed(parser, "arrivals, tenants and sizes", default=1)
    parser.add_argument("--tiny", action="store_true", help="two hosts for a second, to see that it runs")
    _options.add_plot(parser, "the 99th percentiles of placements")
    _options.add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Simulate, and write what is asked for."""
    report = Report(options)
    rows = report.rows

    def note(kind: str, name: str, place: str, setup: Setup, rule: str) -> None:
        if options.tiny:
            setup = replace(setup, hosts=2, rate=max(setup.rate / 50, 20.0), seconds=1.0)
        found = simulate(setup, PLACEMENTS[place], rule, options.seed)
        row = {"kind": kind, "name": name, "placement": place, "eviction": rule, "rate": setup.rate}
        rows.append({**row, **{key: _rounded(value) for key, value in asdict(found).items()}})
        report.say(
            f"{kind}, {name}, {setup.rate:g}/s: median {found.p50:.2f} s, 99 % {found.p99:.2f} s, "
            f"{found.loads_per_second:.1f} loads/s"
        )

    for rate in LOADS:
        for place in PLACEMENTS:
            note("placement", place, place, Setup(rate=rate, seconds=_SECONDS[rate]), "lru")
    for name, (hosts, rate) in _SMALL.items():
        for rule in EVICTIONS:
            setup = Setup(hosts=hosts, rate=rate, seconds=1500.0)
            note(f"eviction, {name}", rule, DEFAULT, setup, rule)
    if options.plot_file:
        _plot(options.plot_file, rows)
    if options.json is not None:
        made = {"seed": options.seed, "setup": asdict(Setup()), "python": python_version()}
        _options.write_json(options.json, {"made": made, "rows": rows})
    return 0


def _rounded(value: float) -> float:
    return value if isinstance(value, int) else float(f"{value:.4g}")


def _plot(path: str, rows: Sequence[dict[str, Any]]) -> None:
    """The 99th percentiles by the load; dashed where requests were refused."""
    figure = new_figure(8, 4.5)  # says what to install
    axes = figure.add_subplot()
    axes.set_prop_cycle(color=_PAIRED.split()[: len(PLACEMENTS)])
    for name in PLACEMENTS:
        own = [row for row in rows if row["kind"] == "placement" and row["name"] == name]
        axes.plot(
            [row["rate"] for row in own],
            [row["p99"] for row in own],
            label=name,
            marker="o",
            linestyle="--" if any(row["refused"] for row in own) else "-",
            linewidth=3 if name == DEFAULT else 1.5,
        )
    use_logarithms(axes)
    axes.set_xlabel("requests a second, 800 GPUs")
    axes.set_ylabel("99th percentile of answers, s")
    axes.legend(fontsize="small", bbox_to_anchor=(1, 1))
    save_figure(figure, path)
