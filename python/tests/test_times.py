"""Tables of times of operations: where they are found, and what they give for counted functions."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera import _core
from hemera.objects import calibration
from hemera.times.matrix_model import matrix_rows
from hemera.times.table import SHIPPED, DeviceTimes, cache_folder, device_name, known_devices

from .refusals import raises, refuse

PARAMS = hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=512)
LIMBS = len(PARAMS.primes[-1])  # at the highest level


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "hemera"


def table(device, seconds=0.25):
    """Sums of two ciphertexts at the top level take so long, others in proportion to their limbs."""
    return DeviceTimes(device, [("add", PARAMS.degree, 50, 2 * LIMBS, seconds)])


def test_counted_functions_have_the_times_of_their_operations():
    table("made-up").save()
    once = hm.cost(lambda x, y: x + y, 512, 512, params=PARAMS, device="made-up")
    thrice = hm.cost(lambda x, y: x + y + x + y, (4, 512), (4, 512), params=PARAMS, device="made-up")
    assert once.seconds == pytest.approx(0.25)
    # Each element of a batch counts.
    assert thrice.seconds == pytest.approx(3 * 4 * 0.25)
    assert "made-up" in once.report()
    assert once.as_dict()["device"] == "made-up"
    assert hm.cost(lambda x, y: x + y, 512, 512, params=PARAMS).seconds is None


def test_tables_are_kept_in_the_cache_folder(cache):
    path = table("made-up").save()
    assert path == cache / "made-up.json" == cache_folder() / "made-up.json"
    assert DeviceTimes.find("made-up") == DeviceTimes.load(path) == table("made-up")
    assert "made-up" in known_devices()


def test_a_table_that_is_measured_again_is_read_again():
    """In the same place, of the same size: one number of it is another."""
    for seconds in (0.25, 0.75, 0.25):
        table("made-up", seconds).save()
        assert DeviceTimes.find("made-up").rows == [("add", PARAMS.degree, 50, 2 * LIMBS, seconds)]


@pytest.mark.parametrize("name", sorted(path.stem for path in SHIPPED.glob("*.json")))
def test_a_table_that_was_made_on_this_machine_wins_over_the_shipped_one(name):
    """Under its name, and where a CPU takes the nearest one."""
    shipped, own = DeviceTimes.load(SHIPPED / f"{name}.json"), table(name, 0.125)
    assert DeviceTimes.find(name) == shipped != own
    own.save()
    assert DeviceTimes.find(name) == own
    assert hm.cost(lambda x, y: x + y, 512, 512, params=PARAMS, device=name).seconds == pytest.approx(0.125)
    if name.startswith("cpu-"):
        assert DeviceTimes.find(name.replace("-16", "-17")) == own


def test_tables_keep_all_that_they_have(cache, monkeypatch):
    """Tables from before there was a least time have none."""
    whole = DeviceTimes(
        "made-up", [("add", 4096, 50, 2.0, 0.5)], 0.125, 0.25, {"version": "1", "date": "today"}
    )
    path = whole.save()
    assert DeviceTimes.load(path) == whole
    fields = json.loads(path.read_text())
    del fields["least"]
    path.write_text(json.dumps(fields))
    assert DeviceTimes.load(path) == DeviceTimes("made-up", whole.rows, 0.125, 0.0, whole.made)
    assert known_devices() == sorted({"made-up", *(file.stem for file in SHIPPED.glob("*.json"))})
    elsewhere = whole.save(cache / "below" / "other.json")
    assert DeviceTimes.load(elsewhere) == whole
    for own in ("", None):  # as no folder is told
        monkeypatch.setenv("XDG_CACHE_HOME", own) if own is not None else monkeypatch.delenv("XDG_CACHE_HOME")
        assert cache_folder() == Path.home() / ".cache" / "hemera"


def test_short_calls_take_the_least_time_one_by_one_and_none_in_a_graph():
    rows = [("add", PARAMS.degree, 50, 2 * LIMBS, 0.25)]
    cost = hm.cost(lambda x, y: x + y, 512, 512, params=PARAMS)._counted()[1]
    assert DeviceTimes("d", rows).seconds(cost) == pytest.approx(0.25)
    assert DeviceTimes("d", rows, least=2.0).seconds(cost) == pytest.approx(2.0)
    assert DeviceTimes("d", rows, least=2.0).seconds(cost, graph=True) == pytest.approx(0.25)


@pytest.mark.parametrize("there", [(3, 8, 20), (8,), (2, 16)], ids=str)
def test_a_cpu_takes_the_table_of_the_nearest_number_of_threads(there):
    """From half as many to twice: half of them take about twice as long."""
    for threads in there:
        table(f"cpu-made-{threads}", threads).save()
    for wanted in range(1, 65):
        apart = sorted((abs(each - wanted), each) for each in there if wanted <= 2 * each <= 4 * wanted)
        if not apart:
            raises(hm.errors.DeviceError, "hemera calibrate", DeviceTimes.find, f"cpu-made-{wanted}")
            continue
        least = {f"cpu-made-{each}" for gap, each in apart if gap == apart[0][0]}
        assert DeviceTimes.find(f"cpu-made-{wanted}").device in least
    refuse((lambda: DeviceTimes.find("cpu-other-2"), hm.errors.DeviceError, "hemera calibrate"))


def test_damaged_tables_are_refused():
    path = table("made-up").save()
    whole = json.loads(path.read_text())
    for damaged in ("", "[]", "{}", json.dumps({**whole, "rows": []}), json.dumps({**whole, "rows": [[1]]})):
        path.write_text(damaged)
        refuse((lambda: DeviceTimes.find("made-up"), hm.errors.FormatError, "hemera calibrate"))


@pytest.mark.fact_of_the_cpu("names of devices")
def test_devices_are_named_by_what_makes_them_fast():
    assert device_name(hm.Context(PARAMS, "cpu", threads=2).description).endswith("-2")
    assert device_name("cpu (avx512, 16 threads)") == "cpu-avx512-16"
    assert device_name("cuda:0 (NVIDIA H200, in passes)") == "nvidia-h200"


@pytest.mark.fact_of_the_cpu("times of the CPU")
def test_calibration_keeps_the_least_times_of_three_rounds(monkeypatch):
    monkeypatch.setattr(calibration, "LEVELS", {4096: 1})
    monkeypatch.setattr(calibration, "SECONDS", 1e-3)
    rounds = []
    kept = calibration._Measurement.run

    def run(measurement):
        kept(measurement)
        rounds.append((list(measurement.eager), {row[:4]: row[4] for row in measurement.rows()}))

    monkeypatch.setattr(calibration._Measurement, "run", run)
    lines = []
    found = calibration.calibrate("cpu", threads=1, report=lines.append)
    assert lines == ["measuring ckks at N = 4096", *(f"{lines[0]}, round {i}" for i in (2, 3))]
    assert [row[:4] for row in found.rows] == list(rounds[0][1])
    for before, after in itertools.pairwise(eager for eager, _ in rounds):
        assert all(b <= a for a, b in zip(before, after, strict=True))
    assert (found.waiting, found.device.endswith("-1")) == (0.0, True)
    assert found.made["backend"] == _core.describe_cpu(1) != _core.describe_cpu(3)
    # Rows are such that circuits take what they took, which are of all operations that they are made of.
    program = hm.cost(lambda x, y: x * y + x, 1024, 1024, params=next(calibration._parameters()))
    assert 0 < found.seconds(program._counted()[1]) < 1
    assert {"add", "multiply_relinearize", "switch_keys", "inner_product", "transform"} <= {
        row[0] for row in found.rows
    }


def test_calibration_leaves_out_what_there_is_no_time_for(monkeypatch):
    monkeypatch.setattr(calibration, "LEVELS", {4096: 1, 8192: 2})
    monkeypatch.setattr(calibration, "SECONDS", 1e-3)
    lines = []
    found = calibration.calibrate("cpu", threads=1, seconds=1e-3, report=lines.append)
    assert {row[1] for row in found.rows} <= {1, 128, 1024, 2048, 4096}
    assert lines[0] == "measuring ckks at N = 4096"
    assert lines[1:] == [
        f"left out: {scheme} at N = 8192, for want of time" for scheme in ("ckks", "bfv", "bgv")
    ]


def test_a_context_without_times_is_refused():
    context = hm.Context(hm.ckks.Parameters.for_circuit(1, degree=4096, security=None), "cpu")
    raises(hm.errors.ParameterError, "notes no times", _core.unit_times, context._native, least=False)


def seconds_of_product(table, size, bits):
    """Seconds of a matrix times rows of 4,096 values, over three primes."""
    params = hm.ckks.Parameters.for_circuit(depth=1, slots=4096)
    product = hm.circuits.PlainMatrixProduct(np.ones((size, size)), params, bits=bits)
    assert (params.degree, len(params.primes[product.level])) == (8192, 3)
    return table.seconds(product._native.cost)


@pytest.mark.parametrize(("bits", "measured"), [(8, 0.89), (16, 1.03)])
def test_a_cpu_whose_table_has_no_products_of_matrices_is_near_what_was_measured(bits, measured):
    """docs/matrices.md: AVX-512 on two threads."""
    shipped = DeviceTimes.find("cpu-avx512-16")
    assert not any(row[0] == "multiply_matrix" for row in shipped.rows)
    two = DeviceTimes("cpu-avx512-2", shipped.rows)
    assert 0.5 < seconds_of_product(two, 768, bits) / measured < 2


def test_a_gpu_whose_table_has_no_products_of_matrices_is_near_what_was_measured():
    """The products alone: estimates of the division that follows are a table's own."""
    path = Path(__file__).parents[2] / "bench" / "results" / "matrices-h100.json"
    measured = json.loads(path.read_text())
    others = [("combine", 8192, 49, 1.0, 1e-12)]
    compared = 0
    for row in measured["rows"]:
        own = row.get("mode") == "eager" and row["bits"] == 49 and row["commit"] == measured["commit"]
        if own and row["rows"] == row["columns"]:
            estimated = seconds_of_product(DeviceTimes("nvidia-h100", others), row["rows"], 8 * row["bytes"])
            whole = row["microseconds"] * 1e-6 * (3 / row["limbs"]) * (8192 / row["n"])
            assert 0.5 < estimated / whole < 2
            compared += 1
    assert compared == 8


def test_measured_products_of_matrices_have_their_own_times():
    rows = [
        ("combine", 8192, 49, 100.0, 1.0),
        ("exponentials", 1, 0, 100.0, 1.0),
        ("multiply_matrix", 8192, 49, 100.0, 1e-3),
    ]
    product = hm.circuits.PlainMatrixProduct(np.ones((8, 8)), PARAMS, bits=8)
    measured, other = DeviceTimes("cpu-avx512-2", rows), DeviceTimes("cpu-avx512-2", rows[:2])
    assert (measured._all_rows, other._all_rows[:2]) == (rows, rows[:2])
    assert {row[0] for row in other._all_rows[2:]} == {"multiply_matrix"}
    # Rates that are not known leave the times of sums.
    assert DeviceTimes("cpu-scalar-2", rows[:2])._all_rows == rows[:2]
    assert DeviceTimes("a-card", rows[:1]).seconds(product._native.cost) > 0.01


def seconds_of_few(table, slots):
    """Seconds of a bootstrap by roots of unity, captured on a GPU."""
    boot = hm.circuits.Bootstrap(hm.ckks.Parameters.for_bootstrapping("n16-40-few"), slots=slots, real=True)
    return table.seconds(boot._native.cost, graph=True)


@pytest.mark.parametrize(("device", "numbers"), [("cpu-avx512-16", 2.6e-8 / 16), ("nvidia-h200", 2.0e-11)])
def test_exponentials_have_the_times_of_a_model_where_a_table_has_none(device, numbers):
    shipped = DeviceTimes.find(device)
    rows = [row for row in shipped.rows if row[0] != "exponentials"]
    lacking = DeviceTimes(device, rows, shipped.waiting)
    free = DeviceTimes(device, [*rows, ("exponentials", 1, 0, 1.0, 1e-30)], shipped.waiting)
    for slots in (64, 256):
        found = seconds_of_few(lacking, slots) - seconds_of_few(free, slots)
        # As many as the secret has coefficients, for each value: 2^14.
        assert found == pytest.approx(slots * 2**14 * numbers, rel=0.02)
    unknown = DeviceTimes("a-card", rows, shipped.waiting)
    assert seconds_of_few(unknown, 64) == pytest.approx(seconds_of_few(free, 64))


def test_calibration_measures_exponentials():
    params = hm.ckks.Parameters.for_circuit(1, slots=1024, degree=4096, security=None)
    context = calibration.TimedContext(params, "cpu", threads=1)
    _core.unit_times(context._native, least=False)
    for values in (2, 8, 32):
        _core.run_exponentials(context._native, values)
    rows = [row for row in _core.unit_times(context._native, least=False) if row[0] == "exponentials"]
    assert [row[:4] for row in rows] == [("exponentials", 1, 0, values * 4096.0) for values in (2, 8, 32)]
    with pytest.raises(hm.errors.ParameterError, match="64 values by roots of unity; up to 32"):
        _core.run_exponentials(context._native, 64)


def test_more_threads_and_larger_matrices_of_a_model_take_their_share():
    two, sixteen = (
        {row[3]: row[4] for row in matrix_rows(f"cpu-avx512-{threads}", 0.0)} for threads in (2, 16)
    )
    works = sorted(two)
    assert two[works[-1]] == pytest.approx(8 * sixteen[works[-1]], rel=0.01)
    # A matrix of four times the rows and columns has sixteen times the products.
    assert two[works[-1]] == pytest.approx(16 * two[works[-2]], rel=0.01)
    assert all(row[4] > 5e-6 for row in matrix_rows("nvidia-h200", 5e-6))
