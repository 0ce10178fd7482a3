"""Memory of a server with more clients than keys in memory: python bench/tenants.py

Clients with keys of their own ask one after the other, in rounds, a server that may keep the keys of `--sets`
of them. Its resident memory, by /metrics, is compared with that before any keys and with the limit of loaded
keys, `loaded_key_bytes`."""

from __future__ import annotations

import argparse
import json
import tempfile
import urllib.request
from pathlib import Path

from hemera.client.client import Client
from hemera.serving.home import Home
from hemera_apps.bench.serve import Workload, workload
from results_file import write_results
from server_process import serving

MIB = 1 << 20


def metric(url: str, name: str) -> int:
    """A number of the server's /metrics."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as told:
        return next(
            int(float(line.split()[1]))
            for line in told.read().decode().splitlines()
            if line.startswith(f"{name} ")
        )


def ask(url: str, token: str, work: Workload) -> None:
    """One request of a client, which sends its keys if the server has none."""
    with Client(url, token=token, security=None) as client:
        client.predict(work.package.name, work.values)


def measure(options: argparse.Namespace) -> list[dict[str, object]]:
    """A row for each stage: resident memory, and its part beyond that without keys."""
    work = workload(options.model, options.small)
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        home.add_model(work.package)
        with serving(home, {"loaded_key_bytes": 1 << 40}) as url:
            ask(url, home.clients.add("first"), work)
            own = metric(url, "hemera_loaded_key_bytes")
        tokens = [home.clients.add(f"client{at}") for at in range(options.tenants)]
        limit = options.sets * own
        with serving(home, {"loaded_key_bytes": limit}) as url:
            without = metric(url, "process_resident_memory_bytes")

            def note(clients: int, round_: int) -> None:
                resident = metric(url, "process_resident_memory_bytes")
                rows.append(
                    {
                        "model": options.model,
                        "clients": clients,
                        "round": round_,
                        "sets": metric(url, "hemera_loaded_key_sets"),
                        "evictions": metric(url, "hemera_key_evictions_total"),
                        "limit_mib": round(limit / MIB, 1),
                        "loaded_mib": round(metric(url, "hemera_loaded_key_bytes") / MIB, 1),
                        "resident_mib": round(resident / MIB, 1),
                        "keys_by_limit": round((resident - without) / limit, 3),
                    }
                )
                print(json.dumps(rows[-1]))

            note(0, 0)
            for round_ in range(1, options.rounds + 1):
                for at, token in enumerate(tokens, 1):
                    ask(url, token, work)
                    if at in (1, options.sets, options.tenants):
                        note(at, round_)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="network")
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--sets", type=int, default=3, help="that fit into the limit")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--json", metavar="FILE", help="results that are written")
    options = parser.parse_args()
    rows = measure(options)
    if options.json:
        write_results(options.json, f"cpu, limit of {options.sets} sets", rows)


if __name__ == "__main__":
    main()
