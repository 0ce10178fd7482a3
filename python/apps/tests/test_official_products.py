"""The entry for the official products of 64-bit integers: its stages, beside Python's integers."""

import importlib
import json
import random
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hemera_apps.bench import harness

ENTRY = Path(__file__).parents[3] / "bench" / "official" / "Zn-multiplication" / "submission"
WORD = 1 << 64
EDGES = [0, 1, 2, WORD - 1, WORD - 2, 1 << 63, (1 << 63) - 1, (1 << 32) - 1, 1 << 32, (1 << 32) + 1]
PAIRS = [(a, b) for a in EDGES for b in EDGES]


def numbers_of(path):
    return [int(line) for line in path.read_text().split()]


def compute(run, root, pairs, entry=ENTRY):
    """The products that the stages find, called as the harness does."""
    data = root / "datasets" / "small"
    data.mkdir(parents=True)
    for name, side in (("lhs", 0), ("rhs", 1)):
        (data / f"{name}.txt").write_text("".join(f"{pair[side]}\n" for pair in pairs))
    count = str(len(pairs))
    run(entry, "client_preprocess_input", count)
    run(entry, "client_key_generation", "small")
    run(entry, "client_encode_encrypt_input", "small")
    run(entry, "server_encrypted_compute", "small", count)
    run(entry, "client_decrypt_decode", "small", count)
    run(entry, "client_postprocess", "small", count)
    return numbers_of(root / "io" / "small" / "cleartext_output" / "out.txt")


@pytest.fixture
def levelled(monkeypatch):
    """The module of the entry that computes modulo primes."""
    monkeypatch.syspath_prepend(str(ENTRY))
    yield importlib.import_module("levelled")
    for name in ("levelled", "workload"):
        sys.modules.pop(name, None)


def test_products_over_several_ciphertexts(tmp_path, run_stage):
    draws = random.Random(1)
    pairs = PAIRS + [(draws.randrange(WORD), draws.randrange(WORD)) for _ in range(4100)]
    found = compute(run_stage, tmp_path, pairs)
    assert found == [a * b % WORD for a, b in pairs]
    io = tmp_path / "io" / "small"
    assert not list((io / "public_keys").glob("*secret*"))
    # A result has the prime of the lowest level alone, and three components.
    download = sum(path.stat().st_size for path in (io / "ciphertexts_download").iterdir())
    assert download < 3 * 2 * 3 * 4096 * 61 / 8 + 10_000


def test_products_over_several_files(tmp_path, run_stage):
    copy = tmp_path / "submission"  # whose files have one ciphertext each
    shutil.copytree(ENTRY, copy)
    source = (copy / "levelled.py").read_text()
    assert "_BATCH = 256" in source
    (copy / "levelled.py").write_text(source.replace("_BATCH = 256", "_BATCH = 1"))
    draws = random.Random(2)
    pairs = [(draws.randrange(WORD), draws.randrange(WORD)) for _ in range(3 * 4096)]
    assert compute(run_stage, tmp_path, pairs, copy) == [a * b % WORD for a, b in pairs]
    assert len(list((tmp_path / "io" / "small" / "ciphertexts_upload").iterdir())) == 2 * 3 * 3


def test_moduli(levelled):
    product = 1
    for t in levelled.MODULI:
        assert t % (2 * 4096) == 1
        assert all(pow(base, t - 1, t) == 1 for base in (2, 3, 5, 7, 11, 13))
        product *= t
    assert product > (WORD - 1) ** 2
    for params in levelled.parameters():
        assert params.security_bits >= 128
        assert params.max_slots == params.degree


def test_remainders_are_joined(levelled):
    moduli = levelled.MODULI
    draws = random.Random(3)
    values = [a * b for a, b in PAIRS] + [draws.randrange((WORD - 1) ** 2) for _ in range(1000)]
    remainders = np.array([[value % t for value in values] for t in moduli], np.uint64)
    assert levelled.joined(remainders).tolist() == [value % WORD for value in values]


def test_seconds_of_steps(tmp_path, monkeypatch):
    """A run moves the clock, and the device is behind."""
    monkeypatch.setenv("HEMERA_REPEATS", "3")
    now, waiting = [0.0], [0.0]

    class Device:
        def synchronize(self):
            now[0] += waiting[0]
            waiting[0] = 0.0

    monkeypatch.setattr(harness, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    steps = harness.Steps(Device(), Device())
    with steps.of("Reading"):
        waiting[0] = 2.0
    lengths = iter([5.0, 1.0, 4.0, 2.0, 7.0, 3.0, 3.0, 3.0])

    def run():
        waiting[0] = next(lengths)
        return "result"

    assert [steps.compute(run), steps.compute(run)] == ["result", "result"]
    steps.save(tmp_path / "steps.json")
    assert json.loads((tmp_path / "steps.json").read_text()) == {
        "Reading": 2.0,
        "Encrypted computation": 5.0 + 7.0,
        "Repeated computation": 2.0 + 3.0,
        "Total": 30.0,
    }


@pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")
def test_products_of_integers(tmp_path, run_stage, monkeypatch):
    monkeypatch.setenv("HEMERA_METHOD", "integers")
    monkeypatch.setenv("HEMERA_PRESET", "test-exact")
    copy = tmp_path / "submission"  # whose files have one ciphertext each, and which reads two files ahead
    shutil.copytree(ENTRY, copy)
    source = (copy / "integers.py").read_text()
    for line, shorter in (("_BATCH = 16384", "_BATCH = 64"), ("_THREADS = 4", "_THREADS = 2")):
        assert line in source
        source = source.replace(line, shorter)
    (copy / "integers.py").write_text(source)
    draws = random.Random(3)
    pairs = PAIRS + [(draws.randrange(WORD), draws.randrange(WORD)) for _ in range(3 * 64 + 5 - len(PAIRS))]
    assert compute(run_stage, tmp_path, pairs, copy) == [a * b % WORD for a, b in pairs]
    io = tmp_path / "io" / "small"
    assert not list((io / "public_keys").glob("*secret*"))
    upload = [path.stat().st_size for path in (io / "ciphertexts_upload").iterdir()]
    assert len(upload) == 2 * 4
    # N is 2^11, with the levels of a product, and the second component is a seed.
    assert max(upload) < 2048 * 8 * 5 + 2_000
    steps = json.loads((io / "server_reported_steps.json").read_text())
    assert set(steps) == {"Reading", "Encrypted computation", "Writing", "Total"}


def test_unknown_methods(tmp_path, run_stage, monkeypatch):
    monkeypatch.setenv("HEMERA_METHOD", "by hand")
    (tmp_path / "io" / "single").mkdir(parents=True)
    with pytest.raises(SystemExit, match="HEMERA_METHOD is 'by hand', and not one of levelled, integers"):
        run_stage(ENTRY, "client_key_generation", "single")
