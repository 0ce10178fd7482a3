"""Indexes that the client in WebAssembly asks, run by Node: NumPy judges scores, ranks and payloads."""

import base64
import functools
import json

import numpy as np
import pytest

from hemera import search
from hemera.serving.home import Home

from .beside import told_by_node
from .search.threshold_cases import in_small_rings, require_right
from .serving.conftest import serving
from .test_wasm_client import module

__all__ = ["module"]

ROWS, DIMS = 24, 6
MARGIN = 2.0**-3
RNG = np.random.default_rng(17)
VECTORS, X = RNG.normal(size=(ROWS, DIMS)), RNG.normal(size=(2, DIMS))
WHOLE, Q = RNG.integers(-128, 128, (ROWS, DIMS)).astype(np.int8), np.full(DIMS, 127)
NUMBERS = RNG.integers(-50, 51, (ROWS, 3))
IDS = np.arange(ROWS)[::-1] * 1000 + 2**40
NORMS, LENGTHS = np.linalg.norm(VECTORS, axis=1), np.linalg.norm(X, axis=1)
PRODUCTS = X @ VECTORS.T
COSINES = PRODUCTS / NORMS / LENGTHS[:, None]
SQUARES = ((X[:, None] - VECTORS) ** 2).sum(axis=2)
EXACT = WHOLE.astype(np.int64) @ Q
FEW = np.argsort(-COSINES[0])[::4]
BEYOND = float(np.median(SQUARES[0]))


def indexes(home, folder):
    """A home's indexes of all kinds; the files of their owners' keys."""
    near, keys = search.Threshold(margin=MARGIN), {}
    clear = {
        "cosine": search.Index(VECTORS, ids=IDS),
        "l2": search.Index(VECTORS, "l2"),
        "exact": search.Index(WHOLE, "dot", exact=True),
        "near": search.Index(VECTORS, answers=near, payloads=NUMBERS),
        "near-l2": search.Index(VECTORS, "l2", answers=near),
        "few": search.Index(VECTORS[FEW], answers=search.Top(margin=2.0**-2), payloads=NUMBERS[FEW], ids=FEW),
        "wide": search.Index(VECTORS[:1], ids=[2**53]),
    }
    owned = [
        ("owned-l2", VECTORS, {"metric": "l2"}),
        ("owned-exact", WHOLE, {"metric": "l2", "exact": True}),
        ("owned-near", VECTORS, {"metric": "dot", "answers": near}),
    ]
    for name, vectors, options in owned:
        owner = search.Client.owning(vectors, **options)
        clear[name] = search.Index(owner.encrypt(vectors[[5, *range(ROWS)]], ids=[99, *range(ROWS)]))
        clear[name].remove([99])
        keys[name] = base64.b64encode(bytes(owner.secret_key)).decode()
    clear["foreign"] = clear["owned-l2"]
    keys["foreign"] = base64.b64encode(bytes(search.Client.owning(VECTORS, "l2").secret_key)).decode()
    for name, index in clear.items():
        index.save(folder / f"{name}.index")
        home.add_index(folder / f"{name}.index")
    return keys


def answers(module, folder, asked, between=lambda *_: None, **limits):
    """What the client tells of calls: their name, arguments, and how an answer is altered. At the call "wait"
    `between` runs."""
    with in_small_rings():
        home = Home(folder / "home")
        keys = indexes(home, folder)
        with serving(home, **limits) as server:
            calls = [
                {"call": call, "given": given, "how": next(iter(how), None), "secret": keys.get(given[0])}
                for call, given, *how in asked
            ]
            told = {"url": server.url, "token": home.clients.add("page"), "asked": calls}
            (folder / "asked.json").write_text(json.dumps(told))
            waits = any(call == "wait" for call, *_ in asked)
            meanwhile = functools.partial(between, home, server) if waits else None
            return told_by_node("search.mjs", module, folder / "asked.json", meanwhile=meanwhile)


def require_best(found, scores, k, tolerance, *, ids=None):
    """The k best rows by NumPy, largest scores first, by their names."""
    named = np.arange(len(scores)) if ids is None else ids
    places = np.argsort(named)[np.searchsorted(np.sort(named), found["ids"])]
    assert len(set(found["ids"])) == len(found["ids"]) == min(k, len(scores))
    assert np.allclose(scores[places], found["scores"], atol=tolerance)
    assert np.allclose(np.sort(scores)[::-1][:k], scores[places], atol=2 * tolerance)


def negative(found):
    return {**found, "scores": [-each for each in found["scores"]]}


def test_every_kind_answers(module, tmp_path):
    x, several = X[0].tolist(), X.tolist()
    told = answers(
        module,
        tmp_path,
        [
            ("search", ["cosine", x, {"k": ROWS}]),
            ("search", ["cosine", x, {"k": ROWS + 1}]),
            ("search", ["cosine", several, {"k": None}]),
            ("search", ["l2", x, {"k": 3}]),
            ("search", ["exact", Q.tolist(), {"k": None}]),
            ("search", ["owned-l2", several, {"k": 3}]),
            ("search", ["owned-exact", Q.tolist(), {"k": None}]),
            ("search", ["near", several, {"threshold": 0.2, "payloads": True}]),
            ("search", ["near", x, {"threshold": 1}]),
            ("count", ["near", x, 0.2]),
            ("count", ["near", x, np.linspace(-1, 1, 300).tolist()]),
            ("search", ["near", x, {"k": 3}]),
            ("search", ["near-l2", x, {"threshold": BEYOND}]),
            ("count", ["near-l2", x, [1e9, 2e9]]),
            ("search", ["owned-near", x, {"threshold": 0.5}]),
            ("search", ["few", several, {"k": 2, "payloads": True}]),
        ],
        batch=2,
    )
    assert {each["name"] for each in told["indexes"]} >= {"cosine", "few", "near", "owned-l2"}
    alls, more, both, l2, exact, owned, whole, pairs, none, one, many, top, far, *rest = told["answers"]
    ends, hidden, few = rest
    require_best(alls, COSINES[0], ROWS, 0.02, ids=IDS)
    assert more == alls | {"scores": pytest.approx(alls["scores"], abs=1e-3)}
    for found, scores in zip(both, COSINES, strict=True):  # in the index's order
        assert found["ids"] == IDS.tolist()
        assert np.allclose(found["scores"], scores, atol=0.02)
    require_best(negative(l2), -SQUARES[0], 3, 0.2)
    assert exact == {"ids": list(range(ROWS)), "scores": EXACT.tolist()}
    for found, scores in zip(owned, SQUARES, strict=True):
        require_best(negative(found), -scores, 3, 0.02)
    squares = ((WHOLE.astype(np.int64) - Q) ** 2).sum(axis=1)
    assert whole == {"ids": list(range(ROWS)), "scores": squares.tolist()}
    rows = np.arange(ROWS)
    for found, scores in zip(pairs, COSINES, strict=True):
        require_right(search.Matches(*map(np.array, (found["ids"], found["doubtful"]))), rows, scores - 0.2)
        sure = [at for at, each in enumerate(found["ids"]) if each not in found["doubtful"]]
        at = np.array(found["ids"])[sure]
        assert np.array_equal(np.round(np.array(found["payloads"])[sure]), NUMBERS[at])
    assert not np.isin(none["ids"], rows[COSINES[0] < 1 - MARGIN]).any()
    levels = np.array([0.2, *np.linspace(-1, 1, 300)])
    above = (COSINES[0] > levels[:, None] + MARGIN).sum(axis=1)
    at_most = (COSINES[0] > levels[:, None] - MARGIN).sum(axis=1)
    counts = np.array([one, *many])
    assert ((above - 0.01 < counts) & (counts < at_most + 0.01)).all()
    assert np.isin(np.argsort(-COSINES[0])[:3], top["ids"]).all()
    assert len(top["ids"]) < ROWS
    assert np.allclose(ends, ROWS, atol=0.01)  # beyond all scores
    bound = NORMS.max()
    relative = (BEYOND - SQUARES[0]) / (bound * (2 * LENGTHS[0] + bound))
    require_right(search.Matches(*map(np.array, (far["ids"], far["doubtful"]))), rows, relative)
    relative = (PRODUCTS[0] - 0.5) / (bound * LENGTHS[0])
    require_right(search.Matches(*map(np.array, (hidden["ids"], hidden["doubtful"]))), rows, relative)
    for found, scores in zip(few, COSINES[:, FEW], strict=True):
        before = (scores[None] > scores[:, None] + 2.0**-2).sum(axis=1)
        beside = (np.abs(scores[None] - scores[:, None]) <= 2.0**-2).sum(axis=1) - 1
        assert set(FEW[before + beside < 2]) <= set(found["ids"]) <= set(FEW[before < 2])
    # Keys were made and sent once for each index.
    assert told["events"][0] == ["search", "keys", "upload", "request", "answer", "search"]
    assert told["events"][1] == ["search", "request", "answer", "search"]


def test_what_no_index_takes_is_refused(module, tmp_path):
    x = X[0].tolist()
    cases = [
        ("search", ["absent", x], "ServerError", "absent"),
        ("search", ["cosine", x[:-1]], "MismatchError", "has 6 numbers, not 5"),
        ("search", ["cosine", [*x, 1.0]], "MismatchError", "has 6 numbers, not 7"),
        ("search", ["cosine", [0.0] * DIMS], "ParameterError", "query of zeros"),
        ("search", ["cosine", [None, *x[1:-1], "a"]], "RangeError", "not finite"),
        ("search", ["cosine", x, {"k": 0}], "ParameterError", "1 or more, not 0"),
        ("search", ["cosine", x, {"threshold": 0.5}], "ParameterError", "index with thresholds"),
        ("search", ["cosine", x, {"payloads": True}], "ParameterError", "no payloads"),
        ("search", ["l2", [1e151] * DIMS], "RangeError", "no doubles"),
        ("search", ["exact", [128, *Q[1:].tolist()]], "RangeError", "up to 127, not 128"),
        ("search", ["exact", [0.5, *Q[1:].tolist()]], "RangeError", "not 0.5"),
        ("search", ["near", x, {"threshold": 1.001}], "RangeError", "from -1 to 1, not 1.001"),
        ("search", ["near", x, {"k": None}], "ParameterError", "k: null is for scores"),
        ("count", ["few", x, 0.5], "ParameterError", "no index with thresholds"),
        ("count", ["near", x, []], "ParameterError", "one threshold at least"),
        ("count", ["near-l2", x, [BEYOND, 1e9]], "RangeError", "beyond all scores"),
        ("search", ["wide", x], "RangeError", "above 2^53"),
        ("search", ["owned-l2", x, {"secretKey": None}], "ParameterError", "give secretKey"),
        ("search", ["foreign", x], "NoiseError", "no row can have"),
    ]
    told = answers(module, tmp_path, [(call, given) for call, given, _, _ in cases])
    for found, (_, _, name, why) in zip(told["answers"], cases, strict=True):
        assert found["error"] == name, found
        assert why in found["text"], found


def test_altered_answers_are_refused(module, tmp_path):
    x = X[0].tolist()
    kinds = [["cosine", x], ["owned-l2", x], ["near", x, {"threshold": 0.2}]]
    places = [0, 0.001, 0.01, 0.5, 0.9999, -1, -100]
    asked = [("search", each, how) for each in kinds for how in places]
    asked += [("search", ["cosine", x]), ("search", ["cosine", x], "replayed")]
    *damaged, right, replayed = answers(module, tmp_path, asked)["answers"]
    assert [each["error"] for each in damaged] == ["FormatError"] * len(damaged)
    assert len(right["ids"]) == 10
    assert replayed["error"] == "MismatchError"
    assert "another query" in replayed["text"]


def test_an_index_is_replaced(module, tmp_path):
    """The call that finds another index is refused, and the next one has its settings."""

    def replace(home, server):
        search.Index(VECTORS[:, :3], "dot").save(tmp_path / "l2.index")
        home.add_index(tmp_path / "l2.index")
        server.service.sweep_indexes()

    x = X[0].tolist()
    calls = [("search", ["l2", each, {"k": None}]) for each in (x, x, x, x[:3])]
    asked = [calls[0], ("wait", [""]), *calls[1:]]
    before, mismatch, other, after = answers(module, tmp_path, asked, replace)["answers"]
    assert np.allclose(before["scores"], SQUARES[0], atol=0.2)
    assert (mismatch["error"], mismatch["code"]) == ("MismatchError", "mismatch")
    assert "has 3 numbers, not 6" in other["text"]
    assert np.allclose(after["scores"], VECTORS[:, :3] @ X[0][:3], atol=0.1)
