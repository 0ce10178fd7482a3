"""The entry for the official fetch-by-similarity workload: its stages, on data of our own, beside NumPy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ENTRY = Path(__file__).parents[3] / "bench" / "official" / "fetch-by-similarity" / "submission"
FIRST = ["client_key_generation", "client_encode_encrypt_db"]
EACH = [
    "client_encode_encrypt_query",
    "server_encrypted_compute",
    "client_decrypt_decode",
    "client_postprocess",
]
RECORDS, DIMS = 1000, 128


@pytest.mark.parametrize("count_only", [False, True])
@pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")
def test_stages(
    tmp_path: Path, count_only: bool, run_stage: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(stages: list[str]) -> None:
        for stage in stages:
            run_stage(ENTRY, stage, "0", *options, "--seed", "5")

    random = np.random.default_rng(3)
    data = tmp_path / "datasets" / "toy"
    data.mkdir(parents=True)

    def unit(rows: np.ndarray) -> np.ndarray:
        return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)

    centers = unit(random.normal(size=(31, DIMS)))
    noise = 0.3 * unit(random.normal(size=(RECORDS, DIMS)))
    near = centers[random.integers(0, 31, RECORDS)] + noise
    rows = unit(np.where(random.random((RECORDS, 1)) < 0.5, near, random.normal(size=(RECORDS, DIMS))))
    payloads = random.integers(0, 512, (RECORDS, 7)).astype(np.int16)
    payloads[::5] = 0  # a match all the same
    rows.tofile(data / "db.bin")
    payloads.tofile(data / "payloads.bin")
    options = ["--count_only"] if count_only else []
    run(FIRST)
    queries = [unit(centers[4] + 0.3 * unit(random.normal(size=DIMS))), unit(random.normal(size=DIMS))]
    for query, some in zip(queries, (True, False), strict=True):
        query.tofile(data / "query.bin")
        monkeypatch.setenv("HEMERA_REPEATS", "2" if some else "0")
        run(EACH)
        steps = json.loads((tmp_path / "io" / "toy" / "server_reported_steps.json").read_text())
        assert ("Repeated computation" in steps) == some
        matches = rows.astype(np.float64) @ query > 0.8
        assert bool(matches.any()) == some
        found = tmp_path / "io" / "toy" / "results.bin"
        if count_only:
            assert np.fromfile(found, np.int_).tolist() == [int(matches.sum())]
        else:
            expected = sorted(map(tuple, payloads[matches].tolist()))
            assert np.fromfile(found, np.int16).reshape(-1, 7).tolist() == [list(each) for each in expected]
    assert not list((tmp_path / "io" / "toy" / "keys").glob("*secret*"))
