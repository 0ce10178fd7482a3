"""A page for browsers, beside the models that it asks."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from hemera.errors import FileError

_HEADERS = {
    # Scripts, the worker and what they ask are this server's alone; WebAssembly may be compiled.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
        "style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_TYPES = {".mjs": "text/javascript", ".wasm": "application/wasm"}


class Page(StaticFiles):
    """The files of a folder, with `index.html` at its address, for anyone: they hold no secret.

    Args:
        folder: as the npm package `hemera-client` is unpacked.

    Raises:
        FileError: for a folder without `index.html`.
    """

    def __init__(self, folder: str) -> None:
        if not (Path(folder) / "index.html").is_file():
            raise FileError(f"there is no index.html in {folder}: unpack the npm package hemera-client there")
        super().__init__(directory=folder, html=True)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file, with headers that let scripts of this server alone run."""
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        own = _TYPES.get(Path(path).suffix)  # whatever the system's table says
        if own is not None and response.status_code == 200:
            response.headers["Content-Type"] = own
        return response
