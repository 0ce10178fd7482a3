"""A compiled estimator that is served: clients give tables, and read scikit-learn's labels."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import hemera as hm
from hemera.serving.home import Home

from ..serving.conftest import client_of
from ..serving.conftest import serving as running


def test_a_table_is_predicted_by_a_server(tmp_path):
    data = load_iris(as_frame=True)
    names = load_iris().target_names[data.target]
    model = make_pipeline(StandardScaler(), SVC(kernel="poly", degree=2)).fit(data.data, names)
    plan = hm.compile(model, calibrate=data.data, rows=32, name="irises", security=None)
    plan.save(tmp_path / "irises.hemera-model")
    home = Home(tmp_path / "home")
    home.add_model(tmp_path / "irises.hemera-model")
    token = home.clients.add("clinic")
    with running(home) as server, client_of(server.url, token) as client:
        found = client.predict("irises", data.data[::3])
        np.testing.assert_array_equal(found, model.predict(data.data[::3]))
        assert found.shape == (50,)
        with pytest.raises(hm.errors.MismatchError, match="the model's order"):
            client.predict("irises", data.data[data.data.columns[::-1]])
