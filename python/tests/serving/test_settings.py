"""Limits of a server: which are taken, and what follows from others."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

import pytest

from hemera import errors
from hemera.serving.settings import GIB, MIB, Settings

from ..refusals import raises

NUMBERS = [
    each.name
    for each in dataclasses.fields(Settings)
    if str(each.type).removesuffix(" | None") in ("int", "float")
]


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        ({}, 256 * MIB),  # a quarter of a 16th of 16 GiB
        ({"request_bytes": 1}, 256 * MIB),
        ({"waiting_bytes": 1000, "request_bytes": 100}, 250),
        ({"waiting_bytes": 1000, "request_bytes": 250}, 250),
        ({"waiting_bytes": 1000, "request_bytes": 251}, 251),
        ({"waiting_bytes": 1000, "request_bytes": 1000}, 1000),
        ({"waiting_bytes": 1000, "request_bytes": 900, "client_waiting_bytes": 7}, 7),
        ({"client_store_bytes": 7}, 256 * MIB),
    ],
)
def test_a_clients_share_has_room_for_its_largest_body(
    limits: dict[str, int], share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hemera._machine.memory_bytes", lambda: 16 * GIB)
    assert Settings(**limits).waiting_of_client == share


@pytest.mark.parametrize(
    ("limits", "share"),
    [({}, 16 << 30), ({"store_bytes": 1003}, 250), ({"store_bytes": 9, "client_store_bytes": 8}, 8)],
)
def test_a_clients_share_of_the_store(limits: dict[str, int], share: int) -> None:
    assert Settings(**limits).store_of_client == share


@pytest.mark.parametrize("name", NUMBERS)
def test_each_limit_is_above_nothing(name: str) -> None:
    assert len(NUMBERS) == 30
    for wrong in (0, -1, math.nan):
        if name in ("graphs", "drain_seconds") and wrong == 0:
            assert getattr(Settings(**{name: 0}), name) == 0
            continue
        raises(errors.ParameterError, f"{name} must be .*not {wrong}", Settings, **{name: wrong})
    value = 1 << 40 if name == "waiting_bytes" else 1
    assert getattr(Settings(**{name: value}), name) == value


@pytest.mark.parametrize("name", [name for name in NUMBERS if name.endswith("_seconds")])
def test_no_time_is_endless(name: str) -> None:
    assert getattr(Settings(**{name: 999_999_999}), name) == 999_999_999
    raises(errors.ParameterError, f"{name} must be below 1e", Settings, **{name: 1e9})


@pytest.mark.parametrize(
    ("memory", "device", "keys", "waiting"),
    [
        (1 * GIB, "cpu", 256 * MIB, 256 * MIB),
        (2 * GIB, "cpu", 512 * MIB, 256 * MIB),
        (9 * GIB, "cpu", 4 * GIB, 576 * MIB),
        (9 * GIB, "cpu,cpu", 2 * GIB, 576 * MIB),
        (257 * GIB, "auto", 128 * GIB, 16448 * MIB),
    ],
)
def test_memory_follows_from_the_machine(
    memory: int, device: str, keys: int, waiting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hemera._machine.memory_bytes", lambda: memory)
    monkeypatch.setattr("hemera._core.find_cuda_devices", lambda: SimpleNamespace(devices=[]))
    settings = Settings(device=device)
    assert (settings.loaded_of_device, settings.waiting_of_all) == (keys, waiting)
    assert Settings(device=device, loaded_key_bytes=7).loaded_of_device == 7


def test_a_gpu_has_its_own_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hemera._machine.memory_bytes", lambda: 9 * GIB)
    found = [
        SimpleNamespace(memory_bytes=each * GIB, problem=why)
        for each, why in ((3, "old"), (25, ""), (81, ""))
    ]
    monkeypatch.setattr("hemera._core.find_cuda_devices", lambda: SimpleNamespace(devices=found))
    assert [Settings(device=each).loaded_of_device // GIB for each in ("auto", "cuda:1", "cpu")] == [
        12,
        12,
        4,
    ]


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
