"""Compiles the network, in two layouts, into the folder `build`. The packages are the server's; clients
have their public interfaces, which have no weights."""

from __future__ import annotations

import json
from pathlib import Path

import workload
from network import PIXELS, Network

import hemera as hm

_BITS, _BITS_OF_MANY = 10, 6
"""Bits of precision. With 6, weights have 8 bits, and no layer is rescaled (Hemera's docs/compile.md)."""


def main(folder: Path = workload.BUILD) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    network = Network()
    pixels = hm.ArraySpec((PIXELS,), range=(0, 1))
    plans = {
        "one": hm.compile(network, pixels, calibrate=network.calibration, precision_bits=_BITS),
        "many": hm.compile(
            network,
            pixels,
            samples=2048,
            layout="ciphertexts",
            calibrate=network.calibration,
            precision_bits=_BITS_OF_MANY,
        ),
    }
    for name, plan in plans.items():
        plan.save(folder / f"{name}.hemera-model")
        (folder / f"{name}.json").write_text(json.dumps(plan.package.describe()))
    (folder / "pixels.json").write_text(json.dumps(network.kept.tolist()))


if __name__ == "__main__":
    main()
