"""Orion on Hemera (docs/orion.md): its programs run with one changed import,

    import hemera.compat.orion as orion

`Backend` answers the calls that Orion's schemes make to Lattigo. Everything else is Orion's own package,
which must be installed.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any

from hemera.compat.orion.backend import Backend, Configuration

__all__ = ["Backend", "Configuration", "init_scheme", "make_scheme"]

_OF_SCHEME = ("delete_scheme", "encode", "decode", "encrypt", "decrypt", "fit", "compile")
"""Orion's functions that are methods of its scheme."""


def make_scheme(*, device: str = "auto", security: int | None = 128) -> Any:
    """An object of Orion's class `Scheme` that computes with Hemera.

    Args:
        device: "cpu", "cuda", ..., or "auto" for the best device there is.
        security: the least bits of security (128, 192, 256); None: any, as in Orion.

    Raises:
        ImportError: if Orion is not installed.
    """
    scheme = _orion("orion.core.orion").Scheme()
    scheme.setup_backend = functools.partial(_untraced, device=device, security=security)
    return scheme


def init_scheme(config: str | Mapping[str, Any], *, device: str = "auto", security: int | None = 128) -> Any:
    """Orion's `init_scheme`: makes the keys of a configuration. The module's other functions then belong to
    this scheme.

    Args:
        config: a file's name or a dictionary, as Orion takes it. `H` of `ckks_params` is ignored: secrets
            are uniform ternary.
        device: see `make_scheme`.
        security: see `make_scheme`.

    Returns:
        Orion's scheme.

    Raises:
        ImportError: if Orion is not installed.
        ParameterError: if there are no such parameters.
        SecurityError: if they are weaker than `security`.
    """
    scheme = _shared()
    scheme.setup_backend = functools.partial(_untraced, device=device, security=security)
    return scheme.init_scheme(config)


@functools.cache
def _shared() -> Any:
    """The scheme of the module's functions. Orion has one such, too."""
    return make_scheme()


def _untraced(configuration: Configuration, **options: Any) -> Backend:
    """A backend whose calls PyTorch does not trace. Orion's `compile` lets PyTorch compile the modules that
    have no `compile` of their own, such as `orion.nn.Quad`."""
    disable = importlib.import_module("torch.compiler").disable
    backend = Backend.of(configuration, **options)
    for name in dir(Backend):
        # What Python deletes when it ends is deleted without PyTorch.
        if name[0].isupper() and not name.startswith("Delete"):
            setattr(backend, name, disable(getattr(backend, name)))
    return backend


def _orion(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            "hemera.compat.orion computes for Orion, whose package is missing: pip install orion-fhe"
        ) from error


def __getattr__(name: str) -> Any:
    """Orion's other names."""
    if name.startswith("__") and name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "scheme":
        return _shared()
    if name in _OF_SCHEME:
        return getattr(_shared(), name)
    return getattr(_orion("orion"), name)
