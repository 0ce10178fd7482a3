"""docs/server.md: its program runs as written, and its table of limits has the command's defaults."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import hemera as hm
from hemera.commands import serve

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


def test_limits_are_those_of_the_command() -> None:
    parser = argparse.ArgumentParser()
    serve.add_arguments(parser)
    defaults = re.findall(r"(--[a-z-]+) [A-Z]+\s[^()]*\(default:?\s+([^)]*)\)", parser.format_help())
    known = {name: re.sub(r"\s", "", text).removesuffix("ofall") for name, text in defaults}
    rows = re.findall(r"^\| (`--[^|]*) \|[^|]*\| ([^|]*) \|$", PAGE, re.MULTILINE)
    told = {}
    for names, values in rows:
        options = re.findall(r"`(--[a-z-]+)`", names)
        given = [each.replace(" ", "").replace("none", "nolimit") for each in values.split(", ")]
        told |= dict(zip(options, given * (len(options) if len(given) == 1 else 1), strict=True))
    assert told == {name: known[name] for name in told}
    assert len(told) > 20
