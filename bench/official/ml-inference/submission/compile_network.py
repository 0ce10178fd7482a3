"""Compiles the network, in three layouts, into the folder `build`. The packages are the server's; clients
have their public interfaces, which have no weights."""

from __future__ import annotations

import json
from pathlib import Path

import workload
from network import PIXELS, Network

import hemera as hm

_BITS = 10
"""Of precision: for what weights in the layout "many" are rounded to; the others have noise alone."""


def main(folder: Path = workload.BUILD) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    network = Network()
    pixels = hm.ArraySpec((PIXELS,), range=(0, 1))
    options = {"calibrate": network.calibration, "precision_bits": _BITS}
    plans = {
        "one": hm.compile(network, pixels, **options),
        "few": hm.compile(network, pixels, samples=4, **options),
        "many": hm.compile(network, pixels, samples=4096, layout="ciphertexts", **options),
    }
    for name, plan in plans.items():
        plan.save(folder / f"{name}.hemera-model")
        (folder / f"{name}.json").write_text(json.dumps(plan.package.describe()))


if __name__ == "__main__":
    main()
