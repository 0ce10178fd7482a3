"""The section on thresholds of docs/search.md: its programs run, and find the rows of NumPy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

import hemera as hm

from .threshold_cases import in_small_rings

PAGE = Path(__file__).parents[3] / "docs" / "search.md"


def test_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("\n## Thresholds\n")[2].partition("\n## ")[0]
    clear, encrypted, top = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    random = np.random.default_rng(162)
    vectors = random.normal(size=(30, 8))
    x = vectors[4] + 0.4 * random.normal(size=8)
    numbers = random.integers(0, 100, (30, 2))
    scores = vectors @ x / np.linalg.norm(vectors, axis=1) / np.linalg.norm(x)
    space: dict[str, Any] = {"hm": hm, "vectors": vectors, "x": x, "numbers": numbers}
    assert (np.abs(scores[:, None] - [0.5, 0.6, 0.7]) > 2**-5).all()
    expected = np.flatnonzero(scores > 0.7)
    exec(compile(clear, "docs/search.md", "exec"), space)
    assert space["found"].ids.tolist() == expected.tolist()
    assert space["found"].doubtful.size == 0
    assert space["counts"].round(2).tolist() == [(scores > t).sum() for t in (0.5, 0.6, 0.7)]
    assert space["payloads"].round().tolist() == numbers[expected].tolist()
    assert np.isin(np.argsort(-scores)[:10], space["nearest"].ids).all()
    exec(compile(encrypted, "docs/search.md", "exec"), space)
    assert space["found"].ids.tolist() == expected.tolist()
    assert "margin=2**-5" in top
    few = np.argsort(-scores)[::4]
    space.update(vectors=vectors[few], numbers=numbers[few])
    with in_small_rings():
        exec(compile(top.replace("margin=2**-5", "margin=2**-2"), "docs/search.md", "exec"), space)
    first = space["first"]
    surely = [i for i, row in enumerate(few) if (scores[few] > scores[row] - 2**-2).sum() <= 3]
    never = [i for i, row in enumerate(few) if (scores[few] > scores[row] + 2**-2).sum() >= 3]
    assert set(surely) <= set(first.ids.tolist()) <= set(range(len(few))) - set(never)
