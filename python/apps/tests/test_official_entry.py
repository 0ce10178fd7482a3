"""The entry for the official fetch-by-similarity workload: its stages, on data of our own, beside NumPy."""

import json
import math
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
OUTSIDE = (-1.0, -0.98, -0.3, 0.6, 0.85, 1.0)
INSIDE = (0.77, 0.83)
"""Cosines of records with the first query: outside of the gap, and inside, where payloads are exact all the
same, and counts are not."""


@pytest.mark.parametrize("count_only", [False, True])
@pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")
def test_stages(tmp_path, count_only, run_stage, monkeypatch):
    def run(stages):
        for stage in stages:
            run_stage(ENTRY, stage, "0", *options, "--seed", "5")

    random = np.random.default_rng(3)
    data = tmp_path / "datasets" / "toy"
    data.mkdir(parents=True)

    def unit(rows):
        return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)

    centers = unit(random.normal(size=(31, DIMS)))
    noise = 0.3 * unit(random.normal(size=(RECORDS, DIMS)))
    near = centers[random.integers(0, 31, RECORDS)] + noise
    rows = unit(np.where(random.random((RECORDS, 1)) < 0.5, near, random.normal(size=(RECORDS, DIMS))))
    queries = [unit(centers[4] + 0.3 * unit(random.normal(size=DIMS))), unit(random.normal(size=DIMS))]
    for place, cosine in enumerate(OUTSIDE if count_only else OUTSIDE + INSIDE):
        other = random.normal(size=DIMS)
        other = unit(other - (other @ queries[0]) * queries[0])
        rows[-1 - place] = cosine * queries[0] + np.sqrt(1 - cosine**2) * other
    payloads = random.integers(0, 512, (RECORDS, 7)).astype(np.int16)
    payloads[::5] = 0  # a match all the same
    rows.tofile(data / "db.bin")
    payloads.tofile(data / "payloads.bin")
    options = ["--count_only"] if count_only else []
    run(FIRST)
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


def test_the_promise_of_the_parameters(load_program):
    """At the full size, by the model of bootstraps, beside cosines and a Chebyshev polynomial by NumPy."""
    found = load_program(ENTRY, "workload")
    random = np.random.default_rng(5)
    for count_only in (False, True):
        work = found["Workload"](1, count_only)
        assert work.parameters.security_bits >= 128
        boot = work.bootstrap()
        assert boot.failure_log2 < -130
        assert boot.levels_left == (9 if count_only else 4)
        shape = (2, boot.slots)
        # With the error of scores, that of the query's and the records' encryptions.
        error = (
            3.2 * math.hypot(work.query_scale, work.record_scale * math.sqrt(work.degree)) / work.score_scale
        )
        assert error < 2**-7.9
        cosines = random.choice([-1, -0.5, 0, 0.5, 0.6, 0.85, 0.917, 1], shape)
        scores = cosines + random.normal(0, error, shape) + found["shift"]
        waves = boot.simulate(scores[0] + 1j * scores[1], seed=3).real
        angle = 2 * np.pi / boot.ratio
        gain = (1 + angle**2 / 8) / angle
        clear = gain * np.cos(angle * (1 - cosines))
        assert np.abs(waves - clear).max() < 0.1
        values = found["indicator"](waves)
        low = gain * np.cos(angle * (1 - 0.64))
        chebyshev = np.polynomial.Chebyshev.basis(8)((2 * waves + gain - low) / (gain + low))
        assert np.allclose(values / values.max(), chebyshev / chebyshev.max(), rtol=1e-3, atol=1e-6)
        match = cosines > 0.8
        assert np.abs(values[~match]).max() < 2**-10
        assert 0.27 < values[match].min() < values[match].max() < 1
        ones = np.polynomial.chebyshev.chebval(2 * values - 1, found["exact"]())
        assert np.abs(ones - match).max() < 2**-20
