"""The entry for the official BERT workload: its stages on a small network, compared with NumPy."""

import json
import shutil
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from hemera.errors import NoiseError
from hemera_apps.bench.official_bert import Bert
from hemera_apps.transformer.clear import Shape
from hemera_apps.transformer.network.config import NetworkConfig
from hemera_apps.transformer.network.model import Network, random_state

ENTRY = Path(__file__).parents[3] / "bench" / "official" / "BERT" / "submission"


def test_stages_and_wrong_results(tmp_path, run_stage, capfd, refuse):
    shutil.copytree(ENTRY, tmp_path / "submission")
    workload = Bert()
    workload.make_data(tmp_path, "toy", np.random.default_rng(3))
    data = tmp_path / "datasets" / "single" / "intermediate" / "test_input.txt"
    # Two inputs, not in the order of their numbers; the second is a few words.
    first = json.loads(data.read_text(encoding="utf-8")) | {"target_idx": 9}
    second = {"target_idx": 4, "sentence1": "w1 w2", "sentence2": "w3"}
    data.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    for stage, arguments in workload.stages("toy"):
        run_stage(tmp_path / "submission", stage, *arguments)
    assert "polynomials leave" in capfd.readouterr().out
    found = workload.check(tmp_path, "toy")
    assert found["bits"] > 14
    assert found["as_in_the_clear"] == 2
    for name, path in workload.sent(tmp_path, "toy").items():
        assert path.is_dir(), name
        assert not list(path.rglob("*secret*"))
    steps = json.loads(workload.steps(tmp_path, "toy").read_text(encoding="utf-8"))
    assert 0 < steps["Encrypted computation"] < steps["Total"]
    io = tmp_path / "io" / "single"
    assert json.loads((io / "ciphertexts_upload" / "1" / "tokens.json").read_text()) == 6
    rows = [json.loads(line) for line in (io / "intermediate" / "logits.jsonl").read_text().splitlines()]
    labels = io / "encrypted_model_predictions.txt"
    assert labels.read_text() == "".join(f"{int(np.argmax(row['logits']))}\n" for row in (rows[1], rows[0]))
    # Wrong ones end it.
    right = labels.read_text()
    labels.write_text("".join(f"{1 - int(label)}\n" for label in right.split()))
    with pytest.raises(NoiseError, match="labels are not those of the network in the clear"):
        workload.check(tmp_path, "toy")
    labels.write_text(right)
    (io / "intermediate" / "logits.jsonl").write_text(json.dumps(rows[0]) + "\n")
    refuse((lambda: workload.check(tmp_path, "toy"), NoiseError, "logits of 1 inputs came, of 2"))
    rows[1]["logits"][0] += 1e-3
    (io / "intermediate" / "logits.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    refuse((lambda: workload.check(tmp_path, "toy"), NoiseError, "logits agree with the clear ones in"))


@pytest.fixture
def entry(modules_of):
    """The entry's modules."""
    with modules_of(ENTRY):
        yield


@pytest.mark.usefixtures("entry")
def test_words_of_a_pair(tmp_path):
    import sentences

    found = sentences.to_words(tmp_path, 10, 50, "a b", "c a d")
    assert found["real"] == 8
    words = found["words"]
    assert (words[0], words[3], words[7:], len(words)) == (1, 2, [2, 0, 0], 10)
    assert words[1] == words[5]  # the same word
    assert all(3 <= words[place] < 50 for place in (1, 2, 4, 5, 6))
    assert found["types"] == [0] * 4 + [1] * 4 + [0] * 2
    long = sentences.to_words(tmp_path, 10, 50, "a b c d e f g h", "i j")
    assert (long["real"], long["types"]) == (10, [0] * 7 + [1] * 3)


@pytest.mark.usefixtures("entry")
def test_weights_of_transformers(tmp_path, monkeypatch):
    """Stand-ins of its packages, which are not installed, show what is read of them, and what is written."""
    import make_model
    import sentences

    config = NetworkConfig(Shape(128, 16, 2, 32), blocks=2, vocabulary=30)
    state = random_state(config, 1)
    asked = []

    class Tensor(np.ndarray):
        def numpy(self):
            return np.asarray(self)

    def tokenizer(first, second, **options):
        assert second == "x"
        assert options == {"max_length": 128, "padding": "max_length", "truncation": True}
        mask = [1] * len(first) + [0] * (128 - len(first))
        return {"input_ids": [7] * 128, "token_type_ids": [0] * 128, "attention_mask": mask}

    tokenizer.save_pretrained = lambda folder: folder.mkdir()
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "num_hidden_layers": 2}
    network = types.SimpleNamespace(
        config=types.SimpleNamespace(**sizes, num_labels=2, vocab_size=30),
        state_dict=lambda: {name: each.view(Tensor) for name, each in state.items()},
    )

    class Rows(list):
        def select(self, places):
            return [self[place] for place in places]

    def kept(found):
        return types.SimpleNamespace(from_pretrained=lambda name: asked.append(name) or found)

    rows = Rows({"sentence1": f"{n}", "sentence2": "b"} for n in range(99))
    transformers = {"AutoTokenizer": kept(tokenizer), "BertForSequenceClassification": kept(network)}
    datasets = {"load_dataset": lambda *names: {("nyu-mll/glue", "mrpc"): {"train": rows}}[names]}
    for name, members in (("transformers", transformers), ("datasets", datasets)):
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(**members))
    make_model.write_transformers(tmp_path / "model")
    assert asked == ["google-bert/bert-base-cased-finetuned-mrpc"] * 2
    assert NetworkConfig.load(tmp_path / "model" / "config.json") == config
    with np.load(tmp_path / "model" / "weights.npz") as stored:
        found = Network(config, dict(stored)).head.pooler
    np.testing.assert_array_equal(found, state["bert.pooler.dense.weight"])
    lines = (tmp_path / "model" / "calibration.jsonl").read_text().splitlines()
    assert len(lines) == 16
    assert sentences.to_words(tmp_path / "model", 128, 30, "abcde", "x")["real"] == 5
