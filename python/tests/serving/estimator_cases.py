"""Rows, targets and estimators of scikit-learn that the tests of estimators share."""

import json
import warnings

import numpy as np

import hemera as hm
from hemera import serving
from hemera.package.sharing import Shown

SMALL = {"security": None, "rows": 16}
TYPED = hm.errors.Error

# Columns of different places and sizes: what a scaler forgets shows.
RANDOM = np.random.default_rng(28)
ROWS = RANDOM.normal(size=(90, 4)) * [1, 3, 0.3, 2] + [0, 9, -0.3, 4]
SCORE = (ROWS - ROWS.mean(axis=0)) / ROWS.std(axis=0) @ [1.0, -0.7, 0.4, 0.2]
VALUES = SCORE + 0.1 * RANDOM.normal(size=90)
POSITIVE = np.exp(0.5 * VALUES)
TWO = np.where(VALUES > 0.2, "yes", "no")
THREE = np.digitize(VALUES, [-0.6, 0.6]) + 5
TARGETS = np.stack([VALUES, POSITIVE], axis=1)
OTHERS = RANDOM.permuted(ROWS, axis=0)
"""Rows within the ranges of ROWS, which the compiler does not see."""


def fitted(model, rows, targets):
    """Trained; None where scikit-learn refuses these rows or targets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return model.fit(rows, targets)
        except (ValueError, TypeError, NotImplementedError, IndexError, AttributeError):
            return None


def require_same(found, expected):
    """Equal labels of one type, or equal numbers, in arrays of one shape."""
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    if expected.dtype.kind in "f":
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    else:
        assert found.dtype.kind == expected.dtype.kind
        np.testing.assert_array_equal(found, expected)


def packaged(model, rows=ROWS, **more):
    """The package after its bytes."""
    given = more if "clip" in more else {"calibrate": rows, **more}
    return serving.Package.load(bytes(hm.compile(model, **given, **SMALL).package))


def require_its_results(model, rows=OTHERS, **more):
    """Each method of the compiled model is that of the library's."""
    plan = hm.compile(model, calibrate=ROWS, **more, **SMALL)
    for method in plan.methods:
        require_same(plan.evaluate_clear(rows, method=method), getattr(model, method)(rows))


def encrypted(package, rows):
    """What a client of the package's description reads, after everything went through bytes."""
    package = serving.Package.load(bytes(package))
    interface = serving.Interface.from_dict(json.loads(json.dumps(package.describe())))
    ctx = hm.Context(interface.params, "cpu")
    sk = ctx.generate_secret_key()
    keys = ctx.load(bytes(interface.generate_keys(ctx, sk)))
    package.check(ctx, keys)
    inputs = [
        ctx.load(bytes(ctx.encrypt(ctx.encode(values, level=spec.level), sk)))
        for values, spec in zip(interface.encode(rows), interface.inputs, strict=True)
    ]
    results = [ctx.load(bytes(y)) for y in package.prepare(ctx).run(keys, inputs)]
    return interface.decode(interface.decrypt(ctx, results, sk, Shown()), interface.count(rows))
