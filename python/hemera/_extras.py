"""The packages of extra requirements, for messages with the command that installs them."""

from __future__ import annotations

EXTRAS = {
    "flower": ("flwr",),
    "models": ("scikit-learn",),
    "nvflare": ("nvflare",),
    "onnx": ("onnx",),
    "torch": ("onnx", "onnxscript", "torch"),
    "ray": (
        *("fastapi", "httptools", "httpx", "prometheus-client", "python-multipart", "ray[data]", "uvicorn"),
    ),
    "sealing": ("cryptography",),
    "serving": ("fastapi", "httptools", "httpx", "prometheus-client", "python-multipart", "uvicorn"),
    "telemetry": (
        "opentelemetry-exporter-otlp-proto-http",
        "opentelemetry-instrumentation-asgi",
        "opentelemetry-sdk",
    ),
}
"""The same as in pyproject.toml."""


def how_to_install(extra: str, *packages: str, project: str = ".") -> str:
    """The commands that install the packages of an extra, or the named ones of them.

    The text names the packages one by one: the index has no package `hemera`, and one that somebody else puts
    there would not be this one.

    Args:
        extra: a name of `EXTRAS`.
        packages: packages of the extra; none: all.
        project: the folder, in the clone, of the project with this extra.
    """
    names = " ".join(packages or EXTRAS[extra])
    return f"pip install {names} (in a clone of Hemera: pip install '{project}[{extra}]')"
