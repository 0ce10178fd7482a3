"""A server of the models and indexes in a folder, for the command and for compiled programs.

Its packages are imported when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hemera._extras import how_to_install
from hemera.errors import ParameterError

if TYPE_CHECKING:
    from hemera.package.package import Package
    from hemera.serving.configuration import Configuration
    from hemera.serving.home import Home
    from hemera.serving.service import Service
    from hemera.serving.settings import Settings


def open_home(path: str | os.PathLike[str] | None) -> Home:
    """The folder of a server: models, indexes, clients, and clients' keys.

    ParameterError without a path, or without the packages of the extra "serving"; FormatError for a folder of
    a newer release."""
    if path is None:
        raise ParameterError(
            "a server needs its folder: hemera serve HOME, or `home` in the file of --config"
        )
    try:
        import hemera.serving.server  # noqa: F401  whether it can be
        from hemera.serving.home import Home
    except ImportError as error:
        raise ParameterError(f"{error.name} is not installed: {how_to_install('serving')}") from None
    home = Home(Path(path))
    home.require_known()
    return home


def serve_home(
    configuration: Configuration,
    *,
    make: Callable[[Home, Settings], Service] | None = None,
    listening: Callable[[str], object] | None = None,
) -> int:
    """Serve the models and indexes of a folder until SIGINT or SIGTERM.

    Args:
        configuration: with the folder.
        make: makes the service; None: `Service`, which computes in this process.
        listening: called with the server's address, a URL, when it listens.

    Returns:
        The exit status.

    Raises:
        ParameterError: where there is no model, index or federation, or not what telemetry needs.
        FileError: where another server has the folder.
        DeviceError: when the address can not be listened at.
    """
    from hemera.serving.server import serve
    from hemera.serving.service import Service

    home = open_home(configuration.home)
    if not (home.root.is_dir() or configuration.federations):
        raise ParameterError(
            f"there is no folder {home.root}: `hemera serve HOME --add-model FILE` makes one"
        )
    spans = None
    if configuration.telemetry is not None:
        from hemera.serving.telemetry import spans_to

        spans = spans_to(configuration.telemetry)
    with home.locked():
        service = (make or Service)(home, configuration.settings)
        if not (service.models or service.indexes or service.federations):
            reasons = "".join(f"; {name}: {why}" for name, why in service.damaged.items())
            raise ParameterError(
                f"{home.root} has no model or index to serve: `hemera serve HOME --add-model FILE`, "
                f"--add-index{reasons}"
            )
        return serve(service, configuration, spans=spans, listening=listening)


def serve(package: Package, home: str | os.PathLike[str], *, host: str, port: int, **settings: Any) -> int:
    """Add a packaged model to the folder of a server, and serve all models there: what the `serve` of plans
    does. Raises as `open_home`, `Home.add_model` and `serve_home`."""
    from hemera.serving.configuration import Configuration

    folder = open_home(home)
    folder.add_model(package)
    return serve_home(Configuration(home=folder.root, host=host, port=port, **settings))
