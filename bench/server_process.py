"""A server in a process of its own, whose log is read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hemera.serving.home import Home


@contextmanager
def serving(
    home: Home, settings: Mapping[str, object], noted: Callable[[dict[str, Any]], object] = lambda _: None
) -> Iterator[str]:
    """The address of a server, on a CPU unless settings name a device; `noted` gets each line of its log from
    "ready" on."""
    words = ["-W", "ignore", "-m", "hemera", "serve", str(home.root), "--port", "0"]
    own = {
        f"HEMERA_SERVE_{name.upper()}": str(value) for name, value in {"device": "cpu", **settings}.items()
    }
    with subprocess.Popen(
        [sys.executable, *words], stderr=subprocess.PIPE, text=True, env={**os.environ, **own}
    ) as server:
        assert server.stderr is not None
        lines = map(json.loads, server.stderr)
        port = next(each["port"] for each in lines if each["event"] == "listening")
        next(each for each in lines if each["event"] == "ready")

        def read() -> None:
            for each in lines:
                noted(each)

        reading = threading.Thread(target=read)
        reading.start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            reading.join()
