"""Features before they are encrypted: columns whose numbers differ by rounding alone."""

import numpy as np
import pytest

from hemera_apps.logistic_regression.preparation import Preparation


@pytest.mark.parametrize("value", [0.1, -0.7, 1e6 / 3, 0.0])
def test_columns_of_one_value_become_0(value):
    column = np.full((1000, 1), value)
    # The mean of 1,000 times 0.1 is not 0.1, so NumPy's deviation is not 0.
    assert value != 0.1 or column.std(axis=0)[0] > 0
    other = np.linspace(-1, 1, 1000)[:, None]
    features = np.hstack([column, other])
    rows = Preparation.of(features).apply(features, 4)
    np.testing.assert_allclose(rows[:, 1], 0, atol=1e-6)
    np.testing.assert_allclose(rows[:, 2], (other[:, 0] - other.mean()) / other.std(), rtol=1e-12)
