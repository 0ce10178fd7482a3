"""Compiles the network into the folder `build`: `compile_network.py [one] [few]`, both if none is named.

The packages are the server's; clients have their public interfaces, which have no weights.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import workload
from network import Network

import hemera as hm

_BITS = 10
"""Bits of precision."""
_MARGIN = 0.5
"""The share by which values in between may be larger than those of the images of the training set."""
_TIMES = "nvidia-h100-80gb-hbm3"
"""The table of times by which bootstraps are placed, unless HEMERA_TIMES names another."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layouts", nargs="*", default=list(workload.SAMPLES))
    parser.add_argument("--toy", action="store_true", help="on a small ring: NOT SECURE")
    arguments = parser.parse_args()
    settings: dict[str, Any] = {}
    if arguments.toy:
        settings = {"params": hm.ckks.Parameters.for_bootstrapping("test-40", levels=14, degree=2048)}
    workload.BUILD.mkdir(parents=True, exist_ok=True)
    network = Network()
    for name in arguments.layouts:
        plan = hm.compile(
            network,
            hm.ArraySpec(network.shape, range=(0, 1)),
            calibrate=network.calibration,
            precision_bits=_BITS,
            margin=_MARGIN,
            samples=workload.SAMPLES[name],
            layout="slots",
            device=os.environ.get("HEMERA_TIMES", _TIMES),
            name="cifar10",
            **settings,
        )
        plan.save(workload.BUILD / f"{name}.hemera-model")
        (workload.BUILD / f"{name}.json").write_text(json.dumps(plan.package.describe()))


if __name__ == "__main__":
    main()
