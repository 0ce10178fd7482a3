"""Tables of patients, and results beside those of pandas."""

import functools
from datetime import datetime

import numpy as np
import pandas as pd

import hemera as hm
from hemera.arrays.recorder import Recorder
from hemera.compiler.tables.compiled import _TableProgram

ROWS = 90
RANGES = {"age": (0, 120), "income": (-1000, 9000), "stay": (0, 60), "visits": (1, 9)}


def patients(seed=1):
    """Integers, numbers, integers with missing ones, booleans, text, two public keys for all seeds."""
    rng = np.random.default_rng(seed)
    wards = np.random.default_rng(0).choice(["A", "B", "C"], ROWS)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 95, ROWS),
            "income": rng.normal(3000, 1500, ROWS).clip(-1000, 9000),
            "stay": np.where(rng.random(ROWS) < 0.15, np.nan, rng.uniform(0, 60, ROWS)),
            "visits": np.where(rng.random(ROWS) < 0.15, np.nan, rng.integers(1, 10, ROWS)),
            "smokes": rng.random(ROWS) < 0.4,
            "blood": rng.choice(["0", "A", "AB", "B"], ROWS),
            "ward": wards,
            "year": np.random.default_rng(0).integers(2020, 2022, ROWS),
        }
    )


def spec_of(frame, **options):
    return hm.TableSpec.of(frame, **{"ranges": RANGES, "keys": ["ward", "year"], **options})


@functools.cache
def shallow():
    """Insecure ones for programs of up to 26 levels."""
    return hm.ckks.Parameters.for_circuit(26, scale_bits=45, slots=128, range_bits=31, security=None)


def close(found, expected, bits=14):
    a, b = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    assert a.shape == b.shape
    np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
    room = 2.0**-bits * max(1.0, float(np.nanmax(np.abs(b), initial=0)))
    np.testing.assert_allclose(a, b, rtol=0, atol=room)


def assert_is_pandas_s(study, expected, *frames, **options):
    """For two tables, of which the program was made for the first one."""
    tables = frames or (patients(1), patients(2))
    plan = hm.compile(study, spec_of(tables[0]), params=shallow(), **options)
    run = plan.local(threads=1)
    for frame in tables:
        found, wanted = run(frame), expected(frame)
        if isinstance(wanted, pd.DataFrame):
            pd.testing.assert_frame_equal(found, wanted, atol=1e-3, rtol=1e-4, check_dtype=False)
        elif isinstance(wanted, pd.Series):
            pd.testing.assert_series_equal(
                found, wanted, atol=1e-3, rtol=1e-4, check_dtype=False, check_names=False
            )
        else:
            close(found, wanted)
    return plan


def evaluated(study, spec, frame, exact=False):
    """A study as it is compiled, computed in the clear. The function in the clear gives the same."""
    recorder = Recorder(precision_bits=np.inf if exact else 12)
    program = _TableProgram(study, spec, None, recorder)
    found = recorder.program.evaluate_clear([each[None] for each in spec.arrays(frame)])
    names = [name for name, _ in recorder.program.outputs]
    outputs = {name: each[0] for name, each in zip(names, found, strict=True)}
    of_program = program.readings.finished(outputs, pandas=True)
    plain = program.readings_of(program.spec.arrays(frame))
    clear = {name: np.asarray(each) for name, each in plain.encrypted().items()}
    assert_like(of_program, plain.finished(clear, pandas=True), "in the clear", 1e-2)
    return of_program


def assert_like(found, wanted, name="", room=2e-3):
    """Results are those of pandas, groups and values by their labels."""
    if isinstance(wanted, dict):
        for key, each in wanted.items():
            assert_like(found[key], each, f"{name}: {key}", room)
        return
    if isinstance(wanted, (pd.Series, pd.DataFrame)) and isinstance(found, (pd.Series, pd.DataFrame)):
        assert set(found.index) == set(wanted.index), name
        wanted = wanted.reindex(found.index)
    if np.asarray(wanted).dtype.kind in "OUM" and isinstance(np.asarray(found)[-1], (str, datetime)):
        assert [None if each != each else each for each in wanted] == list(found), name
        return
    a, b = np.asarray(found, float), np.asarray(wanted, float)
    assert a.shape == b.shape, name
    room *= max(1.0, float(np.abs(np.nan_to_num(b)).max(initial=0)))
    np.testing.assert_allclose(a, b, rtol=0, atol=room, err_msg=name)
