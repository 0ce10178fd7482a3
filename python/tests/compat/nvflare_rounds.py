"""Rounds of NVFlare with its filters of homomorphic encryption on Hemera, and NumPy's averages beside them.

A program of its own: it prints the largest difference of each round, and whether the server saw ciphertexts.
NVFlare's own classes train, filter, serialize, sum and keep the model; its network is left out.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
from nvflare.apis.fl_constant import FLContextKey, ReservedKey
from nvflare.apis.fl_context import FLContext, FLContextManager
from nvflare.apis.shareable import Shareable
from nvflare.app_common.abstract.model import ModelLearnableKey, make_model_learnable
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.decomposers import common_decomposers
from nvflare.fuel.sec.security_content_service import SecurityContentService
from nvflare.fuel.utils import fobs

import hemera.compat.nvflare as he

CLIENTS = {"site-1": 200, "site-2": 50, "site-3": 120}
ROUNDS = 2
Model = dict[str, Any]


def data_of(name: str) -> tuple[Any, Any]:
    """Rows and labels of a client, by one rule with noise."""
    drawn = np.random.default_rng(int(name[-1]))
    rows = drawn.normal(size=(CLIENTS[name], 40))
    labels = rows[:, 0] - rows[:, 1] + drawn.normal(size=len(rows)) / 4 > 0.2
    return rows, labels.astype(np.float64)


def trained(model: Model, name: str) -> Model:
    """The model after steps of a logistic regression's gradients."""
    rows, labels = data_of(name)
    weights, bias = np.array(model["weights"]).reshape(40), np.array(model["bias"]).reshape(1)
    for _ in range(20):
        errors = 1 / (1 + np.exp(-(rows @ weights + bias))) - labels
        weights, bias = weights - rows.T @ errors / len(rows), bias - errors.mean(keepdims=True)
    return {"weights": weights, "bias": bias}


def sent(shareable: Shareable) -> Shareable:
    """What arrives of a message."""
    arrived: Shareable = fobs.loads(fobs.dumps(shareable))
    return arrived


def context_of(name: str) -> FLContext:
    """NVFlare's context of a job for a component; contexts lie unsigned in one folder."""
    manager = FLContextManager(identity_name=name, job_id="job")
    context = manager.new_context()
    context.set_prop(FLContextKey.SECURE_MODE, False, private=True, sticky=True)
    peer = FLContext()
    peer.put(ReservedKey.IDENTITY_NAME, name, private=False, sticky=False)
    context.set_peer_context(peer)
    return context


def provisioned(folder: Path) -> None:
    """Contexts as NVFlare's provisioning writes them."""
    builder = he.HEBuilder()
    builder.initialize(None, None)
    (folder / "client_context.tenseal").write_bytes(builder.get_serialized_context(is_client=True))
    (folder / "server_context.tenseal").write_bytes(builder.get_serialized_context())
    SecurityContentService.initialize(content_folder=str(folder))


def rounds(folder: Path) -> None:
    provisioned(folder)
    common_decomposers.register()
    server = context_of("server")
    generator = he.HEModelShareableGenerator()
    aggregator = he.HEInTimeAccumulateWeightedAggregator(expected_data_kind=DataKind.WEIGHT_DIFF)
    parts = [generator, aggregator]
    clients = {name: (he.HEModelDecryptor(), he.HEModelEncryptor(), context_of(name)) for name in CLIENTS}
    for part in parts:
        part.handle_event("_start_run", server)
    for decryptor, encryptor, context in clients.values():
        decryptor.handle_event("_start_run", context)
        encryptor.handle_event("_start_run", context)

    plain: Model = {"weights": np.zeros(40), "bias": np.zeros(1)}
    model = make_model_learnable(dict(plain), {})
    for turn in range(ROUNDS):
        server.set_prop(AppConstants.CURRENT_ROUND, turn, private=True, sticky=True)
        given = sent(generator.learnable_to_shareable(model, server))
        seen = []
        for name, (decryptor, encryptor, context) in clients.items():
            shareable = decryptor.process(sent(given), context)
            before = from_shareable(shareable).data
            before = {key: np.array(value, dtype=np.float64).ravel() for key, value in before.items()}
            change = {key: value - before[key] for key, value in trained(before, name).items()}
            update = DXO(DataKind.WEIGHT_DIFF, data=change).to_shareable()
            dxo = from_shareable(update)
            dxo.set_meta_prop(MetaKey.NUM_STEPS_CURRENT_ROUND, CLIENTS[name])
            message = sent(encryptor.process(dxo.to_shareable(), context))
            seen += [type(each).__module__ for each in from_shareable(message).data.values()]
            message.add_cookie(AppConstants.CONTRIBUTION_ROUND, turn)
            message.set_peer_props({ReservedKey.IDENTITY_NAME: name})
            assert aggregator.accept(message, server)
        server.set_prop(AppConstants.GLOBAL_MODEL, model, private=True, sticky=True)
        total = aggregator.aggregate(server)
        dxo = from_shareable(total)
        dxo.set_meta_prop(MetaKey.PROCESSED_ALGORITHM, "CKKS")
        model = generator.shareable_to_learnable(dxo.to_shareable(), server)
        all_of = {name: trained(plain, name) for name in CLIENTS}
        plain = {
            key: sum(CLIENTS[name] * all_of[name][key] for name in CLIENTS) / sum(CLIENTS.values())
            for key in plain
        }
        decryptor, _, context = clients["site-1"]
        shown = make_model_learnable(
            dict(model[ModelLearnableKey.WEIGHTS]), dict(model[ModelLearnableKey.META])
        )
        found = from_shareable(
            decryptor.process(sent(generator.learnable_to_shareable(shown, server)), context)
        )
        error = max(np.abs(np.array(found.data[key]) - plain[key]).max() for key in plain)
        rows, labels = data_of("site-1")
        right = ((rows @ np.array(found.data["weights"]) + found.data["bias"] > 0) == labels).mean()
        print(turn, f"{error:.3g}", set(seen) == {"hemera.compat.tenseal.vectors"}, right > 0.9)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    with contextlib.redirect_stderr(io.StringIO()):
        rounds(Path(sys.argv[1]))
