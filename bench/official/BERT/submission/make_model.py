"""Makes the folder of the model, once, before the harness runs: `make_model.py random`, or `make_model.py
transformers` with the weights that the harness names, which need a network and were not tried here."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
from workload import MODEL

from hemera_apps.transformer.clear import Shape
from hemera_apps.transformer.network.config import NetworkConfig
from hemera_apps.transformer.network.model import Network, random_state

_NAME = "google-bert/bert-base-cased-finetuned-mrpc"
_CALIBRATION = 16
"""Other pairs of sentences, for the ranges of values."""


def random_pairs(count: int, tokens: int, random: np.random.Generator) -> list[tuple[str, str]]:
    """Pairs of random words, of a quarter of the tokens or more."""
    pairs = []
    for _ in range(count):
        length = int(random.integers(max(2, tokens // 4 - 3), tokens - 2))
        words = [f"w{number}" for number in random.integers(0, 10_000, length)]
        pairs.append((" ".join(words[: length // 2]), " ".join(words[length // 2 :])))
    return pairs


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> None:
    """One in a line, with a number, as the harness does."""
    lines = [
        json.dumps({"target_idx": number, "sentence1": first, "sentence2": second})
        for number, (first, second) in enumerate(pairs)
    ]
    path.write_text("".join(f"{line}\n" for line in lines))


def write_random(folder: Path, config: NetworkConfig, *, seed: int, pairs: int) -> None:
    """Random weights of a network's shapes, and random sentences."""
    folder.mkdir(parents=True, exist_ok=True)
    config.save(folder / "config.json")
    Network.save_state(random_state(config, seed), folder)
    found = random_pairs(pairs, config.shape.tokens, np.random.default_rng(seed))
    write_pairs(folder / "calibration.jsonl", found)


def write_transformers(folder: Path) -> None:
    """The harness' weights and tokenizer, and sentences of the training set."""
    from datasets import load_dataset
    from transformers import AutoTokenizer, BertForSequenceClassification

    folder.mkdir(parents=True, exist_ok=True)
    model = BertForSequenceClassification.from_pretrained(_NAME)
    sizes = model.config
    shape = Shape(128, sizes.hidden_size, sizes.num_attention_heads, sizes.intermediate_size)
    NetworkConfig(shape, sizes.num_hidden_layers, sizes.num_labels, sizes.vocab_size).save(
        folder / "config.json"
    )
    Network.save_state({name: each.numpy() for name, each in model.state_dict().items()}, folder)
    AutoTokenizer.from_pretrained(_NAME).save_pretrained(folder / "tokenizer")
    rows = load_dataset("nyu-mll/glue", "mrpc")["train"].select(range(_CALIBRATION))
    write_pairs(folder / "calibration.jsonl", [(row["sentence1"], row["sentence2"]) for row in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", choices=["random", "transformers"])
    options = parser.parse_args()
    shutil.rmtree(MODEL, ignore_errors=True)
    if options.weights == "random":
        write_random(MODEL, NetworkConfig(), seed=1, pairs=_CALIBRATION)
    else:
        write_transformers(MODEL)


if __name__ == "__main__":
    main()
