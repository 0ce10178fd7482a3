"""The figure of `hemera bench multiply`."""

from __future__ import annotations

from typing import Any

from hemera.errors import ParameterError
from hemera_apps._figures import new_figure, save_figure

Row = dict[str, Any]
_COLORS = {
    "hemera ntt": "tab:blue",
    "hemera dgt": "tab:green",
    "hemera kronecker_ss": "tab:red",
    "seal": "black",
    "hemera": "tab:green",
    "gmp": "tab:orange",
    "flint": "tab:purple",
}
_LABELS = {
    "hemera ntt": "Hemera, NTT",
    "hemera dgt": "Hemera, DGT",
    "hemera kronecker_ss": "Hemera, Kronecker + Schönhage-Strassen",
    "seal": "SEAL",
    "hemera": "Hemera, Schönhage-Strassen over the DGT",
    "gmp": "GMP",
    "flint": "FLINT",
}


def draw(rows: list[Row], path: str) -> None:
    """Latency over the degree for each scheme, and of integer products over their size.

    Raises:
        ParameterError: if matplotlib is not installed, does not know the format, or there are no rows.
        FileError: if the file can not be written.
    """
    panels = [scheme for scheme in ("bfv", "bgv", "ckks") if any(row.get("scheme") == scheme for row in rows)]
    if any(row["part"] == "integers" for row in rows):
        panels.append("integers")
    if not panels:
        raise ParameterError("there is nothing to draw: measure ciphertexts or integers")
    figure = new_figure(4.2 * len(panels), 5.6)
    axes = figure.subplots(1, len(panels), squeeze=False)
    threads = sorted({row["threads"] for row in rows})
    for axis, panel in zip(axes[0], panels, strict=True):
        by = "bits" if panel == "integers" else "n"
        own = [row for row in rows if panel in (row["part"], row.get("scheme"))]
        for engine, color in _COLORS.items():
            for count in threads:
                points = sorted(
                    (r[by], r["ms"]) for r in own if r["engine"] == engine and r["threads"] == count
                )
                # SEAL, GMP and FLINT have one thread whatever Hemera has.
                if not points or (count > 1 and not engine.startswith("hemera")):
                    continue
                label = _LABELS[engine] + (f", {count} threads" if count > 1 else "")
                style = "-o" if count == 1 else "--^"
                axis.plot(*zip(*points, strict=True), style, color=color, label=label, markersize=4)
        axis.set_xscale("log", base=10 if panel == "integers" else 2)
        axis.set_yscale("log")
        axis.set_xlabel("bits of each factor" if panel == "integers" else "ring degree N")
        axis.set_ylabel("milliseconds a product")
        axis.set_title("integer product" if panel == "integers" else f"{panel.upper()}: ciphertext product")
        axis.grid(True, which="major", alpha=0.3)
        axis.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=1, frameon=False)
    save_figure(figure, path)
