"""Figures of matplotlib. Nothing else needs it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hemera.errors import FileError, ParameterError
from hemera_apps._extras import how_to_install

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def add_load(parser: argparse.ArgumentParser) -> None:
    """--load, of a benchmark that draws: a file that its --json wrote."""
    parser.add_argument(
        "--load", type=Path, metavar="FILE", help="measure nothing: draw the results of FILE (with --plot)"
    )


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches. Its parts are laid out when it is saved.

    Raises:
        ParameterError: if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ParameterError(f"figures need matplotlib: {how_to_install('plots')}") from None
    return Figure(figsize=(width, height), layout="constrained")


def use_logarithms(axes: Axes) -> None:
    """Make the vertical axis logarithmic, with numbers at 1, 2 and 5 of each decade."""
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure to a file; its ending names the format. The same figure gives the same SVG file.

    Raises:
        ParameterError: if matplotlib does not know the format.
        FileError: if the file can not be written.
    """
    import matplotlib

    file = Path(path)
    try:
        with matplotlib.rc_context({"svg.hashsalt": "hemera", "svg.fonttype": "none"}):
            figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)
    except OSError as error:
        raise FileError(f"can not write {file}: {error.strerror or error}") from error
    except ValueError as error:
        raise ParameterError(f"can not draw {file}: {error}") from error
