"""The entry for transciphering: AES beside published vectors, its stages, and what is counted of it."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import hemera as hm
from hemera.errors import NoiseError
from hemera.integers.bounded import Bounded
from hemera_apps.bench.official_transciphering import Transciphering

ENTRY = Path(__file__).parents[3] / "bench" / "official" / "transciphering" / "submission"


def octets(text):
    return np.frombuffer(bytes.fromhex(text), np.uint8).reshape(-1, 16)


@pytest.fixture
def aes(load_program):
    return SimpleNamespace(**load_program(ENTRY, "aes"))


@pytest.mark.parametrize(
    ("key", "block", "expected"),
    [  # FIPS 197, appendices B and C.1, and SP 800-38A, F.1.1
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "3243f6a8885a308d313198a2e0370734",
            "3925841d02dc09fbdc118597196a0b32",
        ),
        (
            "000102030405060708090a0b0c0d0e0f",
            "00112233445566778899aabbccddeeff",
            "69c4e0d86a7b0430d8cdb78070b4c55a",
        ),
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "6bc1bee22e409f96e93d7e117393172a",
            "3ad77bb40d7a3660a89ecaf32466ef97",
        ),
    ],
)
def test_published_vectors(aes, key, block, expected):
    keys = aes.round_keys(octets(key)[0])
    assert aes.encrypted_blocks(octets(block), keys).tobytes().hex() == expected


def test_counter_mode(aes):
    """SP 800-38A, F.5.1; and a counter that overflows, as the harness' counts."""
    keys = aes.round_keys(octets("2b7e151628aed2a6abf7158809cf4f3c")[0])
    stream = aes.encrypted_blocks(aes.counters(bytes(range(0xF0, 0x100)), 2), keys)
    plain = octets("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")
    assert (plain ^ stream).tobytes().hex() == (
        "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
    )
    assert aes.counters(b"\xff" * 16, 2).tobytes() == b"\xff" * 16 + bytes(16)


def stages(run_stage, root, size, method, monkeypatch, rounds=2):
    """The entry with few rounds at the test preset, on the data of the command."""
    monkeypatch.setenv("HEMERA_PRESET", "test-exact")
    monkeypatch.setenv("HEMERA_METHOD", method)
    shutil.copytree(ENTRY, root / "submission")
    source = (ENTRY / "aes.py").read_text()
    assert "\nROUNDS = 10\n" in source
    (root / "submission" / "aes.py").write_text(source.replace("\nROUNDS = 10\n", f"\nROUNDS = {rounds}\n"))
    workload = Transciphering()
    workload.make_data(root, size, np.random.default_rng(1))
    for stage, arguments in workload.stages(size):
        run_stage(root / "submission", stage, *arguments)
    return workload


@pytest.mark.parametrize(("size", "method"), [("toy", "inner"), ("small", "maximum")])
@pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")
def test_stages(tmp_path, run_stage, monkeypatch, size, method, refuse):
    workload = stages(run_stage, tmp_path, size, method, monkeypatch)
    records = np.loadtxt(tmp_path / "datasets" / size / "db.txt", int)
    first, second = np.split(records, 2)
    expected = records.max() if method == "maximum" else first @ second % 2**16
    assert workload.check(tmp_path, size) == {"right": workload.sizes[size], "result": expected}
    io = tmp_path / "io" / size
    assert not list((io / "public_keys").glob("*secret*"))
    steps = json.loads((io / "server_reported_steps.json").read_text())
    parts = [steps[f"Encrypted computation, {part}"] for part in ("aes", method)]
    assert steps["Encrypted computation"] == pytest.approx(sum(parts), abs=2e-5)
    (io / "result.txt").write_text(f"{expected + 1}\n")
    refuse((lambda: workload.check(tmp_path, size), NoiseError, "transciphering: the result is"))
    (io / "result_aes.txt").write_text("1\n")
    refuse((lambda: workload.check(tmp_path, size), NoiseError, "not those that were encrypted"))


@pytest.mark.parametrize(("parts", "way"), [(1, "Forward"), (1, "Inverse")])
def test_refreshes_of_the_whole_cipher(modules_of, parts, way):
    """At the secure preset, counted: one refresh a round, and one of each round's key."""
    params = hm.ckks.Parameters.for_bootstrapping("n16-exact")
    work = {}

    def run(keys):
        from hemera.circuits import Bootstrap
        from hemera.integers.engine import Engine
        from hemera.integers.layout import Layout
        from hemera.integers.points import Points

        layout = Layout(params.max_slots, 4)
        engine = Engine(
            keys.evaluator, layout, Bootstrap(params), Bootstrap(params, real=True), Points(params, layout)
        )
        home = SimpleNamespace(
            bits=16,
            values=layout.values,
            _engine=engine,
            _bound=lambda held: held,
            _levels_of=lambda held: engine.level(held) - engine.lowest,
        )
        held = Bounded(keys, 15, engine.fresh)
        of_rounds = hm.integers.Integers(home, held, (11, 16, 512), np.dtype(np.uint8))
        with modules_of(ENTRY):
            import aes
            import workload

            blocks = workload.bits_of(np.zeros((parts * 512, 16), np.uint8), home)
            found = aes.crypted(blocks, of_rounds, getattr(aes, way)) ^ blocks
            work["cipher"] = engine.work.refreshes
            return workload.records_of(found, 256)._held.value

    hm.cost(run, (11, params.max_slots), params=params)
    assert work["cipher"] == 11 + 10 * parts
