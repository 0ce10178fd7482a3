"""Stage 7: the logits of each input."""

import json
import os
import statistics
import time

import workload

import hemera as hm
from hemera_apps.transformer.network.calibration import Calibration
from hemera_apps.transformer.network.model import Network

began = time.perf_counter()
work = workload.Workload.parse()
circuit = work.circuit
ctx = hm.Context(circuit.params, work.device)
weights = Network(work.config, workload.weights("weights"))
kept = ctx.device != "cpu" and os.environ.get("HEMERA_WEIGHTS") != "raw"
network = circuit.network(weights, Calibration.load(work.calibration), kept=kept)
network.prepare(ctx)
ev = ctx.bind(ctx.load(work.keys / "keys.bin"))
ctx.synchronize()
reading = time.perf_counter() - began
computing, again = 0.0, []


def compute(x: hm.Ciphertext, real: int) -> tuple[hm.Ciphertext, float]:
    """The logits, and the seconds until the device has them."""
    begin = time.perf_counter()
    found = network(x, real)
    ctx.synchronize()
    return found, time.perf_counter() - begin


for number in range(len(list((work.io / "ciphertexts_upload").iterdir()))):
    x = ev.load(work.uploaded(number) / "features.bin")
    real = json.loads((work.uploaded(number) / "tokens.json").read_text())
    ctx.synchronize()
    found, seconds = compute(x, real)
    print(f"         [submission] Input {number + 1}: {seconds:.3f} s")
    computing += seconds
    if number == 0:
        again = [compute(x, real)[1] for _ in range(int(os.environ.get("HEMERA_REPEATS", "0")))]
    work.result(number).mkdir(parents=True, exist_ok=True)
    found.save(work.result(number) / "logits.bin")
steps = {
    "Reading": round(reading, 4),
    "Encrypted computation": round(computing, 4),
    "Total": round(time.perf_counter() - began, 4),
}
if again:  # of the first input, as in a server that runs for longer than one
    steps["Repeated computation"] = round(statistics.median(again), 4)
(work.io / "server_reported_steps.json").write_text(json.dumps(steps))
