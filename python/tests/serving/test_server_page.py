"""docs/server.md: its program runs as written, and its table of limits has the settings' defaults."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import hemera as hm
from hemera.serving.configuration import written
from hemera.serving.settings import Settings

from .conftest import Home, serving

PAGE = (Path(__file__).parents[3] / "docs" / "server.md").read_text(encoding="utf-8")


def test_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(7).normal(size=(40, 5))
    model = LogisticRegression().fit(rows, rows[:, 0] > 0)
    home = Home(tmp_path / "home")
    plan = hm.compile(model, name="tumours", calibrate=rows, method="predict_proba")
    plan.save(tmp_path / "tumours.hemera-model")
    home.add_model(tmp_path / "tumours.hemera-model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEMERA_TOKEN", home.clients.add("alice"))
    np.save("rows.npy", rows)
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    with serving(home) as server:
        space: dict[str, object] = {}
        exec(
            compile(program.replace("https://models.example.org", server.url), "docs/server.md", "exec"),
            space,
        )
    np.testing.assert_allclose(space["probabilities"], model.predict_proba(rows), atol=1e-4)


def test_limits_are_those_of_the_settings() -> None:
    defaults = {each.name: each.default for each in dataclasses.fields(Settings)}
    rows = re.findall(r"^\| (`[a-z_]+`[^|]*) \|[^|]*\| ([^|]*) \|$", PAGE, re.MULTILINE)
    told: dict[str, object] = {}
    for names, values in rows:
        for name, value in zip(re.findall("`([a-z_]+)`", names), values.split(", "), strict=True):
            told[name] = value
            follows = value.startswith(("a ", "half ", "never"))
            assert defaults[name] is None if follows else written(name, defaults[name]).strip('"') == value
    apart = {"device", "threads", "storage", "keys", "origins", "page", "federations"}
    assert set(told) == set(defaults) - apart
