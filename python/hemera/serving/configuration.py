"""The configuration of a server's process: a file of TOML, over it the environment, over both the command."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hemera import _options
from hemera._extras import how_to_install
from hemera.errors import ParameterError
from hemera.inputs.arguments import described, did_you_mean
from hemera.inputs.source import read_bytes
from hemera.serving.settings import Settings, setting

PREFIX = "HEMERA_SERVE_"
"""The beginning of variables of the environment: HEMERA_SERVE_BATCH is `batch`, ..._CONFIG the file."""
_FOLLOWING = {
    "loaded_key_bytes": "loaded_of_device",
    "waiting_bytes": "waiting_of_all",
    "client_waiting_bytes": "waiting_of_client",
    "client_store_bytes": "store_of_client",
}
"""Fields whose value follows from the machine or from others, where it is not set."""


@dataclass(frozen=True)
class Configuration(Settings):
    """All that a server's process is told: its limits, and where it listens and logs.

    Raises:
        ParameterError: for values that do not fit, alone or together.
    """

    home: Path | None = setting(None, "folder of the server: models, indexes, clients, and clients' keys")
    host: str = setting("127.0.0.1", "address to listen at", "--host")
    port: int = setting(8000, "port; 0: any that is free", "--port")
    tls_certificate: Path | None = setting(
        None,
        "serve https with this PEM file of a certificate and those that it rests on",
        "--tls-certificate",
    )
    tls_key: Path | None = setting(None, "the certificate's key", "--tls-key")
    tls_key_password: str | None = setting(None, "password of the key's file", secret=True)
    log_file: Path | None = setting(
        None, "file of the log, for its owner alone; made anew where it was moved away. Unset: standard error"
    )
    telemetry: str | None = setting(
        None,
        "spans of requests go to this OpenTelemetry collector, as http://localhost:4318/v1/traces; needs the "
        "extra telemetry",
    )
    ray: str | None = setting(
        None,
        "compute on replicas, by Ray: HOST:PORT of a cluster's head, auto for the one of this machine, local "
        "or without an address on this machine alone. HOME lies where all hosts can read it",
        "--ray",
        metavar="ADDRESS",
        nargs="?",
        const="local",
    )
    replicas: int | None = setting(
        None,
        "processes that compute, with a device each; unset: one for each GPU, or each node",
        "--replicas",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.port > 65535:
            raise ParameterError(f"port must be 65535 at most, not {self.port}")
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ParameterError("TLS needs both files: tls_certificate and tls_key")
        if self.telemetry is not None and not self.telemetry.startswith(("http://", "https://")):
            raise ParameterError(
                f"telemetry is an address, as http://localhost:4318/v1/traces, not {self.telemetry!r}"
            )
        if self.replicas and self.ray is None:
            raise ParameterError("replicas needs ray: without Ray, device names a server's devices")
        if self.ray is not None and any(each in self.device for each in ",*"):
            raise ParameterError(
                f"ray gives each replica one device, and device is {self.device!r}; leave it out, or name "
                "one, and say by replicas how many there are"
            )

    @property
    def settings(self) -> Settings:
        """The limits alone, which replicas have as well."""
        return Settings(**{each.name: getattr(self, each.name) for each in dataclasses.fields(Settings)})

    def text(self) -> str:
        """The file of this configuration. It has no secrets."""
        lines = ["# A server's configuration: hemera serve --config FILE"]
        for each in dataclasses.fields(self):
            value = getattr(self, each.name)
            lines += ["", f"# {each.metadata['text']}"]
            if each.metadata.get("secret"):
                lines.append(f"# {each.name} is {'unset' if value is None else 'set, and not printed'}")
            elif value is not None:
                lines.append(f"{each.name} = {written(each.name, value)}")
            elif each.name in _FOLLOWING:
                follows = getattr(self, _FOLLOWING[each.name])
                lines.append(f"# {each.name} = {written(each.name, follows)}")
            else:
                lines.append(f"# {each.name} is unset")
        return "\n".join(lines) + "\n"


def configure(
    options: Mapping[str, Any], *, file: Path | None = None, environment: Mapping[str, str] = os.environ
) -> Configuration:
    """The configuration that the command, the environment and a file give together.

    Args:
        options: of the command, by the fields' names. They take precedence.
        file: of TOML; None: the one that HEMERA_SERVE_CONFIG names, if there is one.
        environment: its variables HEMERA_SERVE_..., in front of the file. Empty ones are as if not there.

    Raises:
        ParameterError: for a name that is none of the fields', with the nearest one that is; for a value of
            another kind.
        FileError: where the file can not be read.
    """
    told = {name: value for name, value in environment.items() if name.startswith(PREFIX) and value}
    named = told.pop(f"{PREFIX}CONFIG", None)
    path = file or (None if named is None else Path(named))
    fields = {each.name: each for each in dataclasses.fields(Configuration)}
    given: dict[str, Any] = {}
    sources: list[tuple[str, Callable[[str], str], Mapping[str, Any]]] = [
        (str(path), lambda name: name, {} if path is None else _toml(path)),
        ("the environment", lambda name: f"{PREFIX}{name.upper()}", told),
        ("the command", lambda name: name, options),
    ]
    for where, shown, values in sources:
        known = {shown(name): each for name, each in fields.items()}
        for name, value in values.items():
            if name not in known:
                option = f"--{name.lower().removeprefix(PREFIX.lower()).replace('_', '-')}"
                near = [own for own, each in known.items() if each.metadata["option"] == option]
                meant = f". Did you mean {near[0]!r}?" if near else did_you_mean(name, known)
                raise ParameterError(
                    f"{where}: there is no setting {name!r}{meant} (`hemera serve --print-config` has all)"
                )
            given[known[name].name] = _read(known[name], value, f"{where}: {name}")
    return Configuration(**given)


def _toml(path: Path) -> dict[str, Any]:
    try:
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib
    except ImportError as error:
        raise ParameterError(f"{error.name} is not installed: {how_to_install('serving')}") from None
    try:
        found: dict[str, Any] = tomllib.loads(read_bytes(path).decode())
        return found
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path} is no file of TOML: {error}") from None


def _read(field: dataclasses.Field[Any], value: Any, place: str) -> Any:
    """The value of a field from TOML, or from text."""
    kind = str(field.type).removesuffix(" | None")
    is_size = "bytes" in field.name
    try:
        if kind == "Sequence[str]":
            several = value.split(",") if isinstance(value, str) else value
            if isinstance(several, list) and all(isinstance(each, str) for each in several):
                return tuple(each.strip() for each in several if each.strip())
        elif kind in ("str", "Path"):
            if isinstance(value, (str, Path)):
                return str(value) if kind == "str" else Path(value)
        elif isinstance(value, str):
            return _options.size(value) if is_size else float(value) if kind == "float" else int(value)
        elif type(value) is int or (kind == "float" and type(value) is float):
            return value
    except (ValueError, argparse.ArgumentTypeError):
        pass
    numbers = "a size like 512MiB" if is_size else "a number" if kind == "float" else "an integer"
    wanted = {"Sequence[str]": "a list of texts", "str": "a text", "Path": "a path"}.get(kind, numbers)
    got = repr(value) if isinstance(value, (str, int, float)) else described(value)
    raise ParameterError(f"{place} is {wanted}, not {got}")


def written(name: str, value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, (str, Path)):
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(written('', each) for each in value)}]"
    if "bytes" in name and isinstance(value, int):
        for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
            if value % (1 << power) == 0:
                return f'"{value >> power}{unit}"'
    return str(value)
