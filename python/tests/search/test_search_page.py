"""docs/search.md: its programs run, each by itself, and find the rows of NumPy."""

import re
from pathlib import Path

import numpy as np

import hemera as hm

from ..serving.conftest import Home, serving
from .threshold_cases import in_small_rings

PAGE = Path(__file__).parents[3] / "docs" / "search.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
ADDRESS = "https://search.example.org"


def ran(*words, changed=("", "")):
    """The names of the program that has these words, after it ran."""
    (program,) = (each for each in PROGRAMS if all(word in each for word in words))
    assert changed[0] in program
    space = {}
    exec(compile(program.replace(*changed) if changed[0] else program, "docs/search.md", "exec"), space)
    return space


def cosines(space):
    vectors, x = np.asarray(space["vectors"], np.float64), space["x"]
    return vectors @ x / np.linalg.norm(vectors, axis=1) / np.linalg.norm(x)


def test_all_programs_are_tried():
    assert len(PROGRAMS) == 8


def test_an_index_and_prepared_queries():
    space = ran('hm.search.Index(vectors, metric="cosine")')
    expected = cosines(space)
    assert len(space["ids"]) == 10
    assert space["ids"][0] == np.argmax(expected) == 17
    assert np.allclose(space["scores"], expected[space["ids"]], atol=0.01)
    space = ran("tickets = index.prepare")
    scores, ids = space["client"].decrypt(space["answer"], k=1)
    assert (ids[0], len(space["tickets"])) == (17, 99)
    assert abs(scores[0] - cosines(space)[17]) < 0.01


def test_an_encrypted_database():
    space = ran("owner.encrypt(vectors))", "seen")
    expected = cosines(space)
    assert space["ids"][0] == 17
    assert np.allclose(space["scores"], expected[space["ids"]], atol=0.01)
    scores, ids = space["owner"].decrypt(space["seen"], k=1)
    assert ids[0] == 17
    assert abs(scores[0] - expected[17]) < 0.01


def test_thresholds():
    with in_small_rings():
        space = ran("hm.search.Threshold", "hm.search.Index(vectors")
        owned = ran("hm.search.Threshold", "owner.encrypt")
    scores = cosines(space)
    assert (np.abs(scores[:, None] - [0.5, 0.6, 0.7]) > 2**-5).all()
    expected = np.flatnonzero(scores > 0.7)
    assert space["found"].ids.tolist() == expected.tolist()
    assert space["found"].doubtful.size == 0
    assert space["counts"].round(1).tolist() == [(scores > t).sum() for t in (0.5, 0.6, 0.7)]
    assert np.allclose(space["payloads"], space["numbers"][expected], atol=1)
    assert np.isin(np.argsort(-scores)[:10], space["nearest"].ids).all()
    assert owned["found"].ids.tolist() == np.flatnonzero(cosines(owned) > 0.7).tolist()


def test_the_first_rows():
    with in_small_rings():
        space = ran("hm.search.Top", changed=("margin=2**-5", "margin=2**-4"))
    scores, first = cosines(space), space["first"].ids.tolist()
    surely = [i for i, own in enumerate(scores) if (scores > own - 2**-4).sum() <= 3]
    never = [i for i, own in enumerate(scores) if (scores > own + 2**-4).sum() >= 3]
    assert len(surely) >= 2
    assert set(surely) <= set(first) <= set(range(len(scores))) - set(never)


def test_served_indexes(tmp_path, monkeypatch):
    rows = np.random.default_rng(164).normal(size=(12, 64))
    numbers = np.arange(24.0).reshape(12, 2)
    scores = rows @ np.ones(64) / np.linalg.norm(rows, axis=1) / 8
    home = Home(tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    # Rings of tests are refused otherwise.
    monkeypatch.setattr("hemera.client.remote_index.require_security", lambda *_: None)
    with in_small_rings():
        for name, index in (
            ("documents", hm.search.Index(rows)),
            ("products", hm.search.Index(rows, answers=hm.search.Threshold(), payloads=numbers)),
            ("offers", hm.search.Index(rows[:8], answers=hm.search.Top(margin=2.0**-4))),
        ):
            index.save(tmp_path / f"{name}.hemera-index")
            home.add_index(tmp_path / f"{name}.hemera-index")
        monkeypatch.setenv("HEMERA_TOKEN", home.clients.add("alice"))
        with serving(home) as server:
            found = ran('client.index("documents")', changed=(ADDRESS, server.url))
            compared = ran('client.index("products")', changed=(ADDRESS, server.url))
    assert np.allclose(found["scores"], np.sort(scores)[::-1][:10], atol=0.02)
    assert compared["found"].ids.tolist() == np.flatnonzero(scores > 0.7).tolist()
    assert compared["counts"].round(1).tolist() == [(scores > t).sum() for t in (0.5, 0.6, 0.7)]
    assert np.isin(np.argsort(-scores)[:10], compared["nearest"].ids).all()
    assert np.argmax(scores[:8]) in compared["first"].ids
