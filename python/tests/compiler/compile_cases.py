"""Programs to compile, and results beside NumPy's."""

import functools

import numpy as np

import hemera as hm


@functools.cache
def shallow():
    """Insecure ones for programs of up to eight levels."""
    return hm.ckks.Parameters.for_circuit(8, scale_bits=40, slots=1024, range_bits=10, security=None)


@functools.cache
def deep():
    """Insecure ones with bootstraps."""
    return hm.ckks.Parameters.for_bootstrapping("test-40")


def compiled(function, *samples, **options):
    """The function for inputs as these samples are, of shape (samples, *shape)."""
    given = [each[0] for each in samples]
    calibrate = samples[0] if len(samples) == 1 else list(samples)
    return hm.compile(function, *given, calibrate=calibrate, **{"params": shallow(), **options})


def assert_gives(function, *samples, bits=14, **options):
    """The encrypted results of the first sample are the function's, relative to the largest."""
    plan = compiled(function, *samples, **options)
    own = [each[0] for each in samples]
    expected = function(*own)
    found = plan.local(threads=1)(*own)
    if not isinstance(expected, dict):
        expected, found = {"": expected}, {"": found}
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        assert np.shape(found[name]) == np.shape(value), name
        room = 2.0**-bits * max(1.0, float(np.abs(value).max()))
        np.testing.assert_allclose(found[name], value, rtol=0, atol=room, err_msg=name)
    return plan
