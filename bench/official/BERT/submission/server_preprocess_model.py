"""Stage 3: the ranges of the network's values, from other sentences than those of the test."""

import numpy as np
import sentences
import workload

from hemera_apps.transformer.network.calibration import Calibration
from hemera_apps.transformer.network.model import Embeddings, Network

work = workload.Workload.parse()
weights = workload.MODEL / "weights.npz"
if not work.calibration.exists() or work.calibration.stat().st_mtime < weights.stat().st_mtime:
    config = work.config
    pairs = [
        sentences.to_words(
            workload.MODEL, config.shape.tokens, config.vocabulary, row["sentence1"], row["sentence2"]
        )
        for row in workload.read_lines(workload.MODEL / "calibration.jsonl")
    ]
    embeddings = Embeddings(config, workload.weights("embeddings"))
    x = embeddings([each["words"] for each in pairs], [each["types"] for each in pairs])
    network = Network(config, workload.weights("weights"))
    calibration = Calibration.of(network, x, np.array([each["real"] for each in pairs]))
    work.calibration.parent.mkdir(parents=True, exist_ok=True)
    calibration.save(work.calibration)
    print(f"         [submission] polynomials leave {calibration.bits} bits of the logits")
