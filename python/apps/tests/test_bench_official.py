"""`hemera bench official`: rows of the suite's workloads, and that wrong results end it."""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from hemera.cli import main
from hemera.errors import Error, FileError, NoiseError
from hemera_apps.bench import official
from hemera_apps.bench.official_workloads import Digits, Products, Search

ENTRIES = Path(__file__).parents[3] / "bench" / "official"


def test_rows(tmp_path):
    file = tmp_path / "rows.json"
    options = [
        *("--only", "products", "--sizes", "small", "--repeats", "1", "--device", "cpu", "--threads", "1")
    ]
    assert main(["bench", "official", *options, "--entries", str(ENTRIES), "--json", str(file)]) == 0
    (row,) = json.loads(file.read_text(encoding="utf-8"))["rows"]
    facts = {
        name: row[name] for name in ("workload", "size", "method", "device", "right", "reference_seconds")
    }
    assert facts == {
        "workload": "Zn-multiplication",
        "size": "small",
        "method": "levelled",
        "device": "cpu",
        "right": 1000,
        "reference_seconds": 1077.0,
    }
    assert list(row["stage_seconds"]) == [stage for stage, _ in Products().stages("small")]
    assert 0 < row["compute_seconds"] < row["stage_seconds"]["server_encrypted_compute"]
    assert row["compute_again_seconds"] > 0
    # Two operands modulo three primes, half of each ciphertext a seed; products have three components.
    assert row["input_bytes"] == pytest.approx(2 * 3 * 4096 * 106 / 8, rel=0.02)
    assert row["result_bytes"] == pytest.approx(3 * 3 * 4096 * 61 / 8, rel=0.02)
    assert row["server_memory_bytes"] > 1 << 24


def test_wrong_products(tmp_path):
    data, out = tmp_path / "datasets" / "single", tmp_path / "io" / "single" / "cleartext_output"
    data.mkdir(parents=True)
    out.mkdir(parents=True)
    lhs, rhs = 2**64 - 3, 2**63 + 5
    (data / "lhs.txt").write_text(f"{lhs}\n" * 2)
    (data / "rhs.txt").write_text(f"{rhs}\n" * 2)
    (out / "out.txt").write_text(f"{lhs * rhs % 2**64}\n" * 2)
    assert Products().check(tmp_path, "single") == {"right": 2}
    (out / "out.txt").write_text(f"{lhs * rhs % 2**64}\n{lhs * rhs % 2**64 ^ 1}\n")
    with pytest.raises(NoiseError, match="1 products are wrong, as 18446744073709551613"):
        Products().check(tmp_path, "single")
    for count in (1, 3):
        (out / "out.txt").write_text(f"{lhs * rhs % 2**64}\n" * count)
        with pytest.raises(NoiseError, match=f"{count} products came, and 2 were asked for"):
            Products().check(tmp_path, "single")


@pytest.fixture
def digits(tmp_path):
    """The arrays of the entry's network, where the workload looks for them, and its scores in the clear."""
    (tmp_path / "submission").mkdir()
    for name in ("network.py", "weights.npz"):
        source = ENTRIES / "ml-inference" / "submission" / name
        (tmp_path / "submission" / name).write_bytes(source.read_bytes())
    with np.load(tmp_path / "submission" / "weights.npz") as file:
        found = dict(file)
    first, second = (found[name].astype(float) for name in ("first", "second"))
    return found, lambda x: (x @ first + found["first_bias"]) ** 2 @ second + found["second_bias"]


def test_wrong_digits(digits, tmp_path):
    workload = Digits()
    workload.make_data(tmp_path, "small", np.random.default_rng(1))
    images = np.round(digits[0]["calibration"][:100] / 255, 6)
    scores = digits[1](images)
    right = scores.argmax(1)
    found = tmp_path / "io" / "small" / "encrypted_model_predictions.txt"
    found.parent.mkdir(parents=True)
    np.savetxt(found, right, fmt="%u")
    assert workload.check(tmp_path, "small") == {"as_in_the_clear": 100}
    np.savetxt(found, np.where(np.arange(100) == 7, (right + 1) % 10, right), fmt="%u")
    with pytest.raises(NoiseError, match="1 labels are not those of the network in the clear"):
        workload.check(tmp_path, "small")
    # In a batch, images between two digits may get either.
    best = np.sort(scores, axis=1)
    near = int(np.argmin(best[:, -1] - best[:, -2]))
    second_best = scores.argsort(axis=1)[:, -2]
    np.savetxt(found, np.where(np.arange(100) == near, second_best, right), fmt="%u")
    assert best[near, -1] - best[near, -2] < 2
    assert workload.check(tmp_path, "small") == {"as_in_the_clear": 99}
    with pytest.raises(FileError, match=r"can not read .*t10k-images-idx3-ubyte, or .*\.gz"):
        Digits(tmp_path).make_data(tmp_path / "other", "small", np.random.default_rng(1))


def test_digits_that_are_labelled_otherwise(digits, tmp_path):
    """MNIST's own files, made of the entry's images with labels that are wrong by one in some places."""
    kept, places = digits[0]["calibration"], digits[0]["kept"]
    right = np.resize(digits[1](kept / 255).argmax(1), 10_000)
    images = np.zeros((10_000, 784))
    images[:, places] = np.resize(kept, (10_000, len(places)))
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(bytes(16) + images.astype(np.uint8).tobytes())
    workload = Digits(tmp_path)
    chosen = np.random.default_rng(5).permutation(10_000)[:1000]
    for wrong, accepted in ((0, True), (500, True), (5000, False)):
        root = tmp_path / str(wrong)
        root.mkdir()
        (root / "submission").symlink_to(tmp_path / "submission")
        labels = np.where(np.arange(10_000) < wrong, (right + 1) % 10, right)
        (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(bytes(8) + labels.astype(np.uint8).tobytes())
        workload.make_data(root, "medium", np.random.default_rng(5))
        found = root / "io" / "medium" / "encrypted_model_predictions.txt"
        found.parent.mkdir(parents=True)
        np.savetxt(found, right[chosen], fmt="%u")
        count = int((chosen >= wrong).sum())
        if accepted:
            assert workload.check(root, "medium")["right"] == count
        else:
            with pytest.raises(
                NoiseError, match=f"{count} of 1000 digits are right, below the 90% asked for"
            ):
                workload.check(root, "medium")


@pytest.mark.parametrize("count_only", [False, True])
def test_wrong_matches(tmp_path, count_only, refuse):
    workload = Search()
    workload.make_data(tmp_path, "toy", np.random.default_rng(1))
    data, found = tmp_path / "datasets" / "toy", tmp_path / "io" / "toy" / "results.bin"
    rows = np.fromfile(data / "db.bin", np.float32).reshape(1000, 128)
    query = np.fromfile(data / "query.bin", np.float32)
    matches = (rows.astype(float) @ query > 0.8).nonzero()[0]
    assert 5 < len(matches) < 50
    payloads = np.fromfile(data / "payloads.bin", np.int16).reshape(1000, 7)[matches]
    right = np.array([len(matches)], np.int_) if count_only else np.array(sorted(payloads.tolist()), np.int16)
    found.parent.mkdir(parents=True)
    right.tofile(found)
    assert workload.check(tmp_path, "toy") == {"matches": len(matches)}
    right.flat[-1] += 1
    right.tofile(found)
    refuse((lambda: workload.check(tmp_path, "toy"), NoiseError, f"not those of the {len(matches)} matches"))


def test_no_entry_and_stages_by_themselves(tmp_path, refuse):
    parser = argparse.ArgumentParser()
    official.add_arguments(parser)
    parsed = parser.parse_args(["--only", "products", "--sizes", "single", "--entries", str(tmp_path)])
    refuse((lambda: official.run(parsed), FileError, r"no entry for Zn-multiplication in .*: give --entries"))
    assert official._spent([sys.executable, "-c", "bytearray(1 << 27)"], tmp_path, {})[1] > 1 << 27
    hoard = bytearray(b"1") * (1 << 28)  # this process' own memory does not count
    assert official._spent([sys.executable, "-c", ""], tmp_path, {})[1] < 1 << 27
    del hoard
    stage = tmp_path / "Zn-multiplication" / "submission" / "client_preprocess_input.py"
    stage.parent.mkdir(parents=True)
    stage.write_text("print('first'); raise SystemExit('no such thing')")
    refuse((lambda: official.run(parsed), Error, r"client_preprocess_input\.py failed: no such thing"))
    official._compile(stage.parent)  # stages find modules compiled, as installed ones are
    assert len(list((stage.parent / "__pycache__").glob("client_preprocess_input.*.pyc"))) == 1
