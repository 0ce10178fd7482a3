"""Stage 6: the features of words, encrypted; and their number, in the clear."""

import json

import workload

import hemera as hm
from hemera_apps.transformer.network.model import Embeddings

work = workload.Workload.parse()
circuit = work.circuit
ctx = hm.Context(circuit.params, "cpu")
secret_key = ctx.load(work.secret / "secret_key.bin")
embeddings = Embeddings(work.config, workload.weights("embeddings"))
for number, row in enumerate(workload.read_lines(work.words)):
    folder = work.uploaded(number)
    folder.mkdir(parents=True, exist_ok=True)
    x = embeddings([row["words"]], [row["types"]])
    circuit.encrypt(x, ctx, secret_key).save(folder / "features.bin")
    (folder / "tokens.json").write_text(json.dumps(row["real"]))
