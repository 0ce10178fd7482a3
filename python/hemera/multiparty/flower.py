"""Flower on a federation: a strategy of its ServerApp and a mod of its ClientApps (docs/multiparty.md).

Flower's messages carry what other parties write into a shared folder. The server closes lists, stores
messages and opens sums: it is nobody whom the parties trust.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg

from hemera import _core
from hemera.errors import MismatchError, NoiseError, ParameterError
from hemera.inputs.fields import damaged
from hemera.multiparty.identity import signed_by
from hemera.multiparty.keys import Contribution, Keys
from hemera.multiparty.party import Party
from hemera.multiparty.rounds import Round, require_weight
from hemera.multiparty.shared import write
from hemera.multiparty.terms import Terms
from hemera.multiparty.waiting import wait_for

__all__ = ["FederatedAverage", "FederatedMod"]

KEY = "hemera"
"""The record of Flower's messages that is a federation's."""
PUBLIC = re.compile(r"federation\.json|(contributors|pieces|ready|sealed)/[A-Za-z0-9_-]+")
"""The files that all parties have, but those of rounds."""
log = logging.getLogger("flwr")


def _public_files(folder: Path) -> dict[str, bytes]:
    names = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    return {name: (folder / name).read_bytes() for name in names if PUBLIC.fullmatch(name)}


def _take(folder: Path, record: Mapping[str, Any]) -> None:
    """Write the public files of a message."""
    for name, data in record.items():
        if PUBLIC.fullmatch(name) and isinstance(data, bytes):
            write(folder / name, data)


def _arrays(record: ArrayRecord) -> dict[str, Any]:
    """The floating-point arrays: those that are averaged."""
    found = {name: array.numpy() for name, array in record.items()}
    return {name: array for name, array in found.items() if array.dtype.kind == "f"}


class FederatedMod:
    """A mod that makes a ClientApp one party of a federation.

    What its train functions return leaves the client as an announcement with a weight, then as a message that
    only the sum of all opens. Metrics go to the server as they are. Messages to train that are not of
    `FederatedAverage` are refused; those to evaluate and to query are none of its business.

    - `terms`: those of `Federation.join` but `like`, the same for all parties and for the server. They are
      the client's own: a server with others is refused.
    - `me`: the party's own folder, of the context of a node.
    - `secrets` or `identities`: as for `Federation.join`. With identities keys travel in Flower's messages.
    - `weighted_by_key`: the metric that is the weight, a whole number.

    What a round needs until its message is sent lies in the context's state, which Flower keeps in memory.
    """

    def __init__(
        self,
        terms: Mapping[str, Any],
        me: Callable[[Context], str | os.PathLike[str]],
        *,
        secrets: str | os.PathLike[str] | None = None,
        identities: str | os.PathLike[str] | None = None,
        weighted_by_key: str = "num-examples",
    ) -> None:
        self._terms, self._me, self._weighted_by_key = dict(terms), me, weighted_by_key
        self._secrets = None if secrets is None else Path(secrets)
        self._identities = None if identities is None else Path(identities)

    def __call__(
        self, message: Message, context: Context, call_next: Callable[[Message, Context], Message]
    ) -> Message:
        """Answer a message to train, or let others pass."""
        if not message.metadata.message_type.startswith(MessageType.TRAIN):
            return call_next(message, context)
        asked = message.content.config_records.get(KEY)
        if asked is None:
            raise MismatchError(
                "a message to train has no record of a federation: what is trained stays here"
            )
        party = Party(Path(self._me(context)), self._secrets)
        folder = party.folder / "shared"
        _take(folder, asked)
        terms = self._agreed(folder)
        description = terms.agree(folder)
        shared = signed_by(party, self._identities, description.id)
        keys = Keys(folder, party, terms, description, True, shared)
        if asked["step"] == "train":
            del message.content[KEY]
            reply = call_next(message, context)
            if reply.has_content():
                self._hold_back(reply.content, context, terms)
                reply.content[KEY] = self._announced(context, party.name)
            return reply
        keys.prepare()
        answer: dict[str, Any] = {"name": party.name}
        if asked["step"] == "keys":
            answer |= {name: data for name, data in _public_files(folder).items() if data != asked.get(name)}
        else:
            listed = _core.FederationList.read(description, asked["list"])
            if asked["step"] == "upload":
                answer |= self._upload(context, keys, listed)
            elif len(listed.entries) >= terms.least:
                pieces = [piece for piece in asked["pieces"] if piece in keys.held]
                answer |= {f"share-{piece}": keys.share(listed, piece) for piece in pieces}
        return Message(content=RecordDict({KEY: ConfigRecord(answer)}), reply_to=message)

    def _agreed(self, folder: Path) -> Terms:
        """The client's terms for arrays of the names, shapes and types that the server has."""
        file = folder / "federation.json"
        with damaged("the server's description of a federation"):
            entries = json.loads(file.read_bytes() if file.exists() else b"")["like"]
            like = {name: np.broadcast_to(np.zeros((), kind), shape) for name, shape, kind in entries}
        return Terms.of(like, **self._terms)

    def _hold_back(self, content: RecordDict, context: Context, terms: Terms) -> None:
        """Take trained arrays out of a reply, and keep them as whole numbers with a fresh nonce."""
        records, metrics = list(content.array_records), list(content.metric_records.values())
        if len(records) != 1 or len(metrics) != 1:
            raise ParameterError("a reply of training has one record of arrays and one of metrics")
        weight = require_weight(metrics[0].get(self._weighted_by_key), terms.weight)
        quantized = terms.layout.quantized(_arrays(content.array_records[records[0]]))
        del content[records[0]]
        if quantized.clipped:
            log.warning("%d of %d values were clipped", quantized.clipped, len(quantized.values))
        own = Contribution(quantized.values, weight)
        context.state[f"{KEY}.values"] = ArrayRecord({"values": Array(quantized.values)})
        context.state[KEY] = ConfigRecord({"weight": weight, "nonce": own.nonce})

    @staticmethod
    def _announced(context: Context, name: str) -> ConfigRecord:
        own = context.state.config_records[KEY]
        return ConfigRecord({"name": name, "weight": own["weight"], "nonce": own["nonce"]})

    @staticmethod
    def _upload(context: Context, keys: Keys, listed: _core.FederationList) -> dict[str, bytes]:
        """The message for a list; it is kept, since there is one alone."""
        kept = context.state.config_records.get(KEY)
        if kept is None:
            return {}
        # In lists of two rounds the same values would show by differences what others sent.
        if kept.setdefault("round", listed.round) != listed.round:
            return {}
        values = context.state.array_records[f"{KEY}.values"]["values"].numpy()
        sent = f"message-{listed.digest.hex()}"
        own = Contribution(values, kept["weight"], kept["nonce"])
        if sent in kept:
            own.messages[listed.digest] = kept[sent]
        message = keys.message(listed, own)
        if message is None:
            return {}
        kept[sent] = message
        return {"message": message}


class FederatedAverage(FedAvg):  # type: ignore[misc]
    """Flower's FedAvg whose server sees no client's arrays.

    - `terms`: as for `FederatedMod`; `folder`: where the server keeps messages, and goes on after a restart.
    - `wait`: seconds for the replies of one step, and for keys that are carried by hand.
    - `options`: those of FedAvg. A round whose clients are fewer than the terms' least, or of which too few
      members answer, leaves the model as it was.

    Arrays that are not of floating-point numbers stay those of the first model.
    """

    def __init__(
        self, terms: Mapping[str, Any], folder: str | os.PathLike[str], *, wait: float = 600.0, **options: Any
    ) -> None:
        super().__init__(**options)
        self._options, self._folder, self._wait = dict(terms), Path(folder), wait
        self._names: dict[int, str] = {}  # of nodes whose keys are ready
        self._grid: Grid | None = None
        self._arrays = ArrayRecord()

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """FedAvg's messages, once all clients have their keys."""
        self._grid, self._arrays = grid, arrays
        self._terms = Terms.of(_arrays(arrays), **self._options)
        self._description = self._terms.agree(self._folder)
        messages = list(super().configure_train(server_round, arrays, config, grid))
        wait_for(
            lambda: self._keys_are_ready(set(grid.get_node_ids())), self._wait, lambda: "clients lack keys"
        )
        for message in messages:
            message.content[KEY] = self._record("train")
        return messages

    def _record(self, step: str, **more: Any) -> ConfigRecord:
        description = (self._folder / "federation.json").read_bytes()
        return ConfigRecord({"step": step, "federation.json": description} | more)

    def _ask(self, asked: Mapping[int, ConfigRecord]) -> dict[int, ConfigRecord]:
        """The records that nodes reply with; those that do not reply are not there."""
        assert self._grid is not None
        messages = [
            Message(RecordDict({KEY: record}), dst_node_id=node, message_type=MessageType.TRAIN)
            for node, record in asked.items()
        ]
        found = {}
        for reply in self._grid.send_and_receive(messages, timeout=self._wait):
            if reply.has_error():
                log.warning("node %s: %s", reply.metadata.src_node_id, reply.error.reason)
            elif KEY in reply.content.config_records:
                found[reply.metadata.src_node_id] = reply.content.config_records[KEY]
        return found

    def _keys_are_ready(self, nodes: set[int]) -> bool:
        """Carry what parties say of their keys; whether each node, and each member, is ready."""
        if nodes <= set(self._names):
            return True
        record = self._record("keys", **_public_files(self._folder))
        replies = self._ask(dict.fromkeys(nodes, record))
        for answer in replies.values():
            _take(self._folder, answer)
        ready = {path.name for path in (self._folder / "ready").glob("*")}
        named = {node: str(answer.get("name")) for node, answer in replies.items()}
        self._names = {node: name for node, name in named.items() if name in ready}
        return nodes <= set(self._names) and set(self._terms.committee) <= ready

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The average that members open, and FedAvg's of the metrics."""
        valid, _ = self._check_and_log_replies(list(replies), is_train=True, validate=False)
        contents = {reply.metadata.src_node_id: reply.content for reply in valid}
        contents = {node: each for node, each in contents.items() if self._is_announced(node, each)}
        taken = [int(path.name[6:]) for path in self._folder.glob("round-*")]
        files = Round(self._folder, self._description, 1 + max(taken, default=-1))
        listed = self._listed(files, {node: each.config_records[KEY] for node, each in contents.items()})
        try:
            sums = None if listed is None else self._opened(files, listed)
        except NoiseError as error:
            log.warning("%s", error)
            sums = None
        if listed is None or sums is None:
            log.warning("round %d has no average: the model stays as it was", server_round)
            return None, None
        means = self._terms.layout.average(sums, listed.weight_sum)
        arrays = {name: Array(means[name]) if name in means else old for name, old in self._arrays.items()}
        there = {name for name, _, _ in listed.entries}
        summed = [each for node, each in contents.items() if self._names[node] in there]
        return ArrayRecord(arrays), self.train_metrics_aggr_fn(summed, self.weighted_by_key)

    def _is_announced(self, node: int, content: RecordDict) -> bool:
        """Whether a reply has what a list needs of a party with keys."""
        record = content.config_records.get(KEY, {})
        weight, nonce = record.get("weight"), record.get("nonce")
        is_whole = isinstance(nonce, bytes) and len(nonce) == 32 and type(weight) is int
        return node in self._names and is_whole and 1 <= weight <= self._terms.weight

    def _listed(self, files: Round, announced: Mapping[int, ConfigRecord]) -> _core.FederationList | None:
        """A list of which all messages are there; another attempt without those who did not send theirs."""
        entries = {self._names[node]: (each["weight"], each["nonce"]) for node, each in announced.items()}
        nodes = {self._names[node]: node for node in announced}
        attempt = 0
        while len(entries) >= self._terms.least:
            files.close(attempt, [(name, *entries[name]) for name in sorted(entries)[: self._terms.clients]])
            listed = files.lists()[attempt]
            record = self._record("upload", list=listed.data)
            replies = self._ask({nodes[name]: record for name, _, _ in listed.entries})
            for node, answer in replies.items():
                if "message" in answer:
                    write(files.upload_path(listed, self._names[node]), answer["message"])
            missing = files.missing(listed)
            if not missing:
                return listed
            entries = {name: each for name, each in entries.items() if name not in missing}
            attempt += 1
        return None

    def _opened(self, files: Round, listed: _core.FederationList) -> Any:
        """The sums, from the first members who answer; None if too few do."""
        access, committee = self._terms.access(), self._terms.committee
        nodes = {committee.index(name): node for node, name in self._names.items() if name in committee}
        due = set(range(access.pieces))
        while due:
            asked: dict[int, list[int]] = {}
            for piece in due:
                holders = [member for member in access.holders(piece) if member in nodes]
                if not holders:
                    return None
                asked.setdefault(holders[0], []).append(piece)
            replies = self._ask(
                {nodes[m]: self._record("answer", list=listed.data, pieces=asked[m]) for m in asked}
            )
            for member, pieces in asked.items():
                answer = replies.get(nodes[member], {})
                for piece in pieces:
                    path = files.share_path(listed, piece, committee[member])
                    write(path, bytes(answer.get(f"share-{piece}", b"")))
                    if next(files.shares(listed, piece), None) is None:
                        nodes.pop(member, None)  # is not asked again
                    else:
                        due.discard(piece)
        return files.opened(listed, access.pieces)
