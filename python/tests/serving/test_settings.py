"""Limits of a server: which are taken, and what follows from others."""

from __future__ import annotations

import dataclasses
import math

import pytest

from hemera import errors
from hemera.serving.settings import MIB, Settings

NUMBERS = [each.name for each in dataclasses.fields(Settings) if each.type in ("int", "float", "int | None")]


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        ({}, 256 * MIB),  # a quarter of 1 GiB
        ({"waiting_bytes": 1000, "request_bytes": 100}, 250),
        ({"waiting_bytes": 1000, "request_bytes": 250}, 250),
        ({"waiting_bytes": 1000, "request_bytes": 251}, 251),
        ({"waiting_bytes": 1000, "request_bytes": 1000}, 1000),
        ({"waiting_bytes": 1000, "request_bytes": 900, "client_waiting_bytes": 7}, 7),
        ({"client_store_bytes": 7}, 256 * MIB),
    ],
)
def test_a_clients_share_has_room_for_its_largest_body(limits: dict[str, int], share: int) -> None:
    assert Settings(**limits).waiting_of_client == share


@pytest.mark.parametrize(
    ("limits", "share"),
    [({}, 16 << 30), ({"store_bytes": 1003}, 250), ({"store_bytes": 9, "client_store_bytes": 8}, 8)],
)
def test_a_clients_share_of_the_store(limits: dict[str, int], share: int) -> None:
    assert Settings(**limits).store_of_client == share


@pytest.mark.parametrize("name", NUMBERS)
def test_each_limit_is_above_nothing(name: str) -> None:
    assert len(NUMBERS) == 26
    for wrong in (0, -1):
        if name == "graphs" and wrong == 0:
            assert Settings(graphs=0).graphs == 0
            continue
        with pytest.raises(errors.ParameterError, match=f"{name} must be .*not {wrong}"):
            Settings(**{name: wrong})
    value = 1 << 40 if name == "waiting_bytes" else 1
    assert getattr(Settings(**{name: value}), name) == value


def test_the_largest_body_fits_what_waits() -> None:
    assert Settings(request_bytes=1000, waiting_bytes=1000).request_bytes == 1000
    with pytest.raises(errors.ParameterError, match=r"no request of 1001 bytes .* may have 1000 together"):
        Settings(request_bytes=1001, waiting_bytes=1000)
    assert math.isinf(Settings().requests_per_second)


@pytest.mark.parametrize(
    ("device", "names"), [("cpu", ["cpu"]), ("cpu, cpu", ["cpu", "cpu"]), ("auto", ["auto"])]
)
def test_devices_by_names(device: str, names: list[str]) -> None:
    settings = Settings(device=device, threads=2, storage="packed", keys="host")
    assert [each.options.device for each in settings.places] == names
    for each in settings.places:
        assert (each.options.threads, each.options.storage, each.options.keys) == (2, "packed", "host")
    with pytest.raises(errors.ParameterError, match="alone"):
        _ = Settings(device="cpu,cuda:*").places
