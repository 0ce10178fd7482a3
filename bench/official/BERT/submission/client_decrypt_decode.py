"""Stage 8: decrypts the logits."""

import json

import workload

import hemera as hm

work = workload.Workload.parse()
ctx = hm.Context(work.circuit.params, "cpu")
secret_key = ctx.load(work.secret / "secret_key.bin")
with work.logits.open("w") as file:
    for number, row in enumerate(workload.read_lines(work.words)):
        logits = work.circuit.logits(ctx.load(work.result(number) / "logits.bin"), secret_key)
        file.write(json.dumps({"target_idx": row["target_idx"], "logits": logits.tolist()}) + "\n")
