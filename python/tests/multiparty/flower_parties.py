"""Clients of Flower that train a logistic regression, and a grid that calls them in this process."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

from hemera.multiparty.flower import FederatedMod

NAMES = ["site-1", "site-2", "site-3"]
ROWS = [200, 50, 120]
FEATURES = 40
TERMS: dict[str, Any] = {
    "committee": NAMES,
    "threshold": 2,
    "clients": 3,
    "clip": 8.0,
    "weight": 1000,
    "rounds": 20,
}
STEP = TERMS["clip"] / (2**15 - 1)


def data_of(site: int) -> tuple[Any, Any]:
    """Rows and labels of a client, by one rule with noise."""
    drawn = np.random.default_rng(site)
    rows = drawn.normal(size=(ROWS[site], FEATURES))
    return rows, (rows[:, 0] - rows[:, 1] + drawn.normal(size=len(rows)) / 4 > 0.2).astype(np.float64)


def begin() -> ArrayRecord:
    """The first model; its counter is no floating-point number."""
    arrays = {"weights": np.zeros((FEATURES, 1)), "bias": np.zeros(1, np.float32), "count": np.array([7])}
    return ArrayRecord({name: Array(array) for name, array in arrays.items()})


def trained(model: dict[str, Any], site: int) -> dict[str, Any]:
    """The model after steps of a logistic regression's gradients."""
    rows, labels = data_of(site)
    weights, bias = model["weights"][:, 0], model["bias"]
    for _ in range(20):
        errors = 1 / (1 + np.exp(-(rows @ weights + bias))) - labels
        weights = weights - rows.T @ errors / len(rows)
        bias = (bias - errors.mean(keepdims=True)).astype(np.float32)
    return {"weights": weights[:, None], "bias": bias, "count": model["count"] + 1}


def average(models: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """NumPy's mean, weighted by rows."""
    total = sum(ROWS[site] for site in models)
    return {
        name: sum(ROWS[site] * model[name].astype(np.float64) for site, model in models.items()) / total
        for name in ("weights", "bias")
    }


def arrays_of(record: ArrayRecord) -> dict[str, Any]:
    return {name: array.numpy() for name, array in record.items()}


def client_app(folder: Path, sealed: bool = False, **terms: Any) -> ClientApp:
    """The app of all clients. Their own folders, and the secrets that they hand over, lie in one folder."""

    def me(context: Context) -> Path:
        return folder / f"{NAMES[int(context.node_config['partition-id'])]}.party"

    own = {"identities": folder / "known"} if sealed else {"secrets": folder / "carried"}
    app = ClientApp(mods=[FederatedMod(TERMS | terms, me, **own)])

    @app.train()
    def train(message: Message, context: Context) -> Message:
        (model,) = message.content.array_records.values()
        site = int(context.node_config["partition-id"])
        arrays = ArrayRecord({name: Array(each) for name, each in trained(arrays_of(model), site).items()})
        metrics = MetricRecord({"num-examples": ROWS[site], "rows": float(ROWS[site])})
        return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

    @app.evaluate()
    def evaluate(message: Message, context: Context) -> Message:
        (model,) = (arrays_of(each) for each in message.content.array_records.values())
        rows, labels = data_of(int(context.node_config["partition-id"]))
        right = ((rows @ model["weights"][:, 0] + model["bias"] > 0) == labels).mean()
        metrics = MetricRecord({"num-examples": len(rows), "right": float(right)})
        return Message(RecordDict({"metrics": metrics}), reply_to=message)

    return app


class LocalGrid(Grid):  # type: ignore[misc]
    """Calls a client app for each node, as Flower's processes do: an exception is an error's reply.

    - `sees`: all that came to the server. `lose`: whether a reply is lost, of the node and the message.
    """

    def __init__(self, app: ClientApp, nodes: int = 3) -> None:
        self.app, self.sees = app, list[Message]()
        TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
        self.lose: Callable[[int, Message], bool] = lambda _node, _message: False
        self.contexts = {
            100 + each: Context(1, 100 + each, {"partition-id": each}, RecordDict(), {})
            for each in range(nodes)
        }

    def get_node_ids(self) -> Iterable[int]:
        return list(self.contexts)

    def send_and_receive(
        self,
        messages: Iterable[Message],
        *,
        timeout: float | None = None,  # noqa: ARG002
    ) -> Iterable[Message]:
        found = []
        for message in messages:
            node = message.metadata.dst_node_id
            arrived = copy.deepcopy(message)
            try:
                reply = self.app(arrived, self.contexts[node])
            except Exception as error:
                reply = Message(Error(code=0, reason=f"{type(error).__name__}: {error}"), reply_to=arrived)
            if not self.lose(node, message):
                found.append(reply)
        self.sees += found
        return found

    def set_run(self, run: Any) -> None: ...
    def run(self) -> Any: ...
    def create_message(self, *args: Any, **options: Any) -> Any: ...
    def push_messages(self, messages: Any) -> Any: ...
    def pull_messages(self, message_ids: Any) -> Any: ...
