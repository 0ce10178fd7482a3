"""Flower's own simulation of three clients in processes of Ray, for two rounds.

A program of its own, with a folder as its argument: it writes the models there, the first one included.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from flower_parties import TERMS, arrays_of, begin, client_app
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.simulation import run_simulation

from hemera.multiparty.flower import FederatedAverage

FOLDER = Path(sys.argv[1])
server_app = ServerApp()


@server_app.main()
def main(grid: Grid, context: Context) -> None:
    """Keeps the model of each round."""
    del context

    def keep(turn: int, arrays: ArrayRecord) -> None:
        np.savez(FOLDER / f"model-{turn}.npz", **arrays_of(arrays))

    strategy = FederatedAverage(
        TERMS, FOLDER / "server", wait=120, min_train_nodes=3, min_evaluate_nodes=3, min_available_nodes=3
    )
    strategy.start(grid, begin(), num_rounds=2, evaluate_fn=keep)


if __name__ == "__main__":
    backend = {"init_args": {"num_cpus": 2, "include_dashboard": False}, "client_resources": {"num_cpus": 1}}
    run_simulation(server_app, client_app(FOLDER), num_supernodes=3, backend_config=backend)
