"""Three clients of Flower that train: the averages are NumPy's, and the server sees no client's arrays."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ..refusals import raises

pytest.importorskip(
    "flwr", reason="Flower is not installed: tools/setup frameworks makes an environment with it"
)

from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.serverapp.strategy import FedAvg

from hemera import _core
from hemera.multiparty.flower import KEY, FederatedAverage

from .flower_parties import (
    NAMES,
    ROWS,
    STEP,
    TERMS,
    LocalGrid,
    arrays_of,
    average,
    begin,
    client_app,
    trained,
)


def start(folder: Path, grid: LocalGrid, model: dict[str, Any], wait: float = 20, **terms: Any) -> Any:
    """One round from a model."""
    strategy = FederatedAverage(TERMS | terms, folder / "server", wait=wait)
    first = ArrayRecord({name: Array(array) for name, array in model.items()})
    return strategy.start(grid, first, num_rounds=1)


def right_of(model: dict[str, Any], *sites: int) -> dict[str, Any]:
    return average({site: trained(model, site) for site in sites or range(3)})


def near(found: dict[str, Any], right: dict[str, Any]) -> bool:
    """Whether averages differ by what clients round alone, half a step each, and by float32's rounding."""
    return all(np.abs(found[name] - right[name]).max() <= STEP * 0.501 for name in right)


def step_of(message: Message) -> Any:
    return message.content.config_records.get(KEY, {}).get("step")


def test_a_simulation_of_flower_gives_numpys_averages(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Flower's simulation needs Ray")
    program = Path(__file__).with_name("flower_simulation.py")
    command = [sys.executable, "-W", "ignore", program, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    models = [dict(np.load(tmp_path / f"model-{turn}.npz")) for turn in range(3)]
    assert all(near(found, right_of(model)) for model, found in itertools.pairwise(models))


def asked(grid: LocalGrid, node: int, record: dict[str, Any]) -> dict[str, Any]:
    """What a client replies to a server that asks for something."""
    message = Message(RecordDict({KEY: ConfigRecord(record)}), dst_node_id=node, message_type="train")
    (reply,) = grid.send_and_receive([message])
    return {"error": reply.error.reason} if reply.has_error() else dict(reply.content.config_records[KEY])


def test_averages_are_those_of_numpy_round_by_round_and_the_server_sees_none_of_them(tmp_path: Path) -> None:
    grid, model = LocalGrid(client_app(tmp_path)), arrays_of(begin())
    for _ in range(2):  # the second one is a server that starts again
        right = right_of(model)
        result = start(tmp_path, grid, model)
        model = arrays_of(result.arrays)
        assert near(model, right)
        assert [each.dtype for each in model.values()] == [np.float64, np.float32, np.int64]
        assert model["count"] == [7]  # of no client
    assert result.evaluate_metrics_clientapp[1]["right"] > 0.85
    assert result.train_metrics_clientapp[1]["rows"] == pytest.approx(np.dot(ROWS, ROWS) / sum(ROWS))
    assert len(grid.sees) > 12
    assert not [message for message in grid.sees if message.content.array_records]


def test_a_client_that_vanishes_before_its_message_is_left_out(tmp_path: Path) -> None:
    grid, model = LocalGrid(client_app(tmp_path)), arrays_of(begin())
    grid.lose = lambda node, message: node == 101 and step_of(message) == "upload"
    found = arrays_of(start(tmp_path, grid, model).arrays)
    assert near(found, right_of(model, 0, 2))
    assert not near(found, right_of(model))


@pytest.mark.parametrize("silent", [100, 101, 102])
def test_any_two_members_open(tmp_path: Path, silent: int) -> None:
    grid, model = LocalGrid(client_app(tmp_path)), arrays_of(begin())
    grid.lose = lambda node, message: node == silent and step_of(message) == "answer"
    assert near(arrays_of(start(tmp_path, grid, model).arrays), right_of(model))


def test_the_model_stays_as_it_was_where_too_few_answer(tmp_path: Path) -> None:
    grid, model = LocalGrid(client_app(tmp_path)), arrays_of(begin())
    for step in ("upload", "answer"):
        grid.lose = lambda node, message, step=step: node != 100 and step_of(message) == step
        assert len(start(tmp_path, grid, model).arrays) == 0
    grid.lose = lambda *_: False
    assert near(arrays_of(start(tmp_path, grid, model).arrays), right_of(model))


def test_a_server_that_is_no_federations_gets_no_arrays(tmp_path: Path) -> None:
    grid = LocalGrid(client_app(tmp_path))
    FedAvg(fraction_evaluate=0.0).start(grid, begin(), num_rounds=1)
    assert [message.has_error() for message in grid.sees] == [True] * 3
    assert "what is trained stays here" in grid.sees[0].error.reason


def test_a_server_with_other_terms_is_refused(tmp_path: Path) -> None:
    """A committee of its own, or one member who opens alone."""
    grid = LocalGrid(client_app(tmp_path))
    for number, other in enumerate(({"threshold": 1}, {"committee": ["x", "y", "z"]}, {"clip": 1.0})):
        raises(TimeoutError, "", start, tmp_path / f"{number}", grid, arrays_of(begin()), 0.05, **other)
        assert all("MismatchError" in message.error.reason for message in grid.sees)
    assert not list(tmp_path.glob("carried/*/*"))


def test_what_a_server_may_ask_twice_and_what_it_may_not(tmp_path: Path) -> None:
    grid = LocalGrid(client_app(tmp_path))
    start(tmp_path, grid, arrays_of(begin()))
    terms = (tmp_path / "server" / "federation.json").read_bytes()
    listed = (tmp_path / "server" / "round-0" / "list-0").read_bytes()
    sent = (tmp_path / "server" / "round-0" / "upload-0-site-2").read_bytes()
    ask = {"federation.json": terms, "list": listed}
    assert asked(grid, 101, ask | {"step": "upload"})["message"] == sent
    # Another list of the round, without site-3: what it would tell is site-3's values.
    strategy = FederatedAverage(TERMS, tmp_path / "server")
    strategy.configure_train(1, begin(), ConfigRecord(), grid)
    entries = _core.FederationList.read(strategy._description, listed).entries
    other = _core.FederationList(strategy._description, 0, 1, entries[:2]).data
    answer = asked(grid, 100, ask | {"step": "answer", "list": other, "pieces": [0, 1]})
    assert "two lists" in answer["error"]
    # One client alone; a list with another nonce than the client's.
    alone = _core.FederationList(strategy._description, 1, 0, entries[:1]).data
    false = _core.FederationList(strategy._description, 1, 0, [entries[0], ("site-2", 50, bytes(32))]).data
    assert asked(grid, 100, ask | {"step": "answer", "list": alone, "pieces": [0, 1]}) == {"name": NAMES[0]}
    assert asked(grid, 101, ask | {"step": "upload", "list": false}) == {"name": NAMES[1]}


@pytest.mark.parametrize("naive", [True, False])
def test_one_announcement_in_lists_of_two_rounds(tmp_path: Path, naive: bool) -> None:
    """All three in round 0, then the same values of two of them in round 1: the difference is site-3's."""
    grid, model = LocalGrid(client_app(tmp_path)), arrays_of(begin())
    found = arrays_of(start(tmp_path, grid, model).arrays)
    strategy = FederatedAverage(TERMS, tmp_path / "server")
    strategy.configure_train(1, begin(), ConfigRecord(), grid)
    description, terms = strategy._description, (tmp_path / "server" / "federation.json").read_bytes()
    first = _core.FederationList.read(description, (tmp_path / "server" / "round-0" / "list-0").read_bytes())
    second = _core.FederationList(description, 1, 0, first.entries[:2])
    ask = {"federation.json": terms, "list": second.data}
    answers = []
    for node in (100, 101):
        if naive:  # a client that forgets which round its values are for
            del grid.contexts[node].state[KEY]["round"]
        answers.append(asked(grid, node, ask | {"step": "upload"}))
    assert ["message" in answer for answer in answers] == [naive, naive]
    if naive:
        total = _core.UploadSum(description, second)
        for answer in answers:
            total.add(answer["message"])
        pieces = ask | {"step": "answer", "pieces": [0, 1, 2]}
        shares = asked(grid, 100, pieces) | asked(grid, 101, pieces)
        opened = total.open([value for name, value in shares.items() if name != "name"])
        all_three = np.rint(found["weights"][:, 0] * sum(ROWS) / STEP)
        site_3 = np.rint(trained(model, 2)["weights"][:, 0] / STEP)
        assert np.array_equal(all_three - opened[1:], ROWS[2] * site_3)


def test_a_server_writes_no_other_files_of_a_client(tmp_path: Path) -> None:
    grid = LocalGrid(client_app(tmp_path))
    start(tmp_path, grid, arrays_of(begin()))
    names = ["../piece-0", "ready/../../dealt-0", "/tmp/x", "round-0/list-0", "contributors/a/b", "x"]
    before = {path: path.read_bytes() for path in (tmp_path / "site-1.party").rglob("*") if path.is_file()}
    terms = (tmp_path / "server" / "federation.json").read_bytes()
    asked(grid, 100, {"step": "keys", "federation.json": terms} | dict.fromkeys(names, b"else"))
    after = {path: path.read_bytes() for path in (tmp_path / "site-1.party").rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize("sealed", [False, True])
def test_nothing_secret_is_in_what_the_server_sees(tmp_path: Path, sealed: bool) -> None:
    grid, model = LocalGrid(client_app(tmp_path, sealed)), arrays_of(begin())
    assert near(arrays_of(start(tmp_path, grid, model).arrays), right_of(model))
    assert (tmp_path / "server" / "sealed").exists() == sealed
    secret = [path.read_bytes() for path in tmp_path.glob("*.party/*-?") if path.name[0] in "pd"]
    assert len(secret) == 6 + 9
    seen = b"".join(message.deflate() + repr(message.content).encode() for message in grid.sees)
    seen += b"".join(
        bytes(value)
        for message in grid.sees
        for record in message.content.config_records.values()
        for value in record.values()
        if isinstance(value, bytes)
    )
    assert len(seen) > 10000
    assert not [each for each in secret if each in seen or each.hex().encode() in seen]
