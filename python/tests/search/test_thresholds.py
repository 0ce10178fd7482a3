"""Comparisons of encrypted scores with encrypted thresholds beside NumPy's."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hemera.errors import (
    FormatError,
    MismatchError,
    MissingKeyError,
    NoiseError,
    ParameterError,
    RangeError,
)
from hemera.search import (
    Client,
    EncryptedThresholdIndex,
    Index,
    Matches,
    ThresholdClient,
    ThresholdIndex,
    ThresholdSettings,
    wire,
)
from hemera.search.thresholds import BaseThresholdIndex
from hemera.search.thresholds.layout import Layout
from hemera.search.thresholds.messages import pack_ciphertexts

MARGIN = 2.0**-3
DIMS = 6
AnyIndex = ThresholdIndex | EncryptedThresholdIndex


def floats(rows: int, dims: int = DIMS, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(rows, dims))


def payloads_of(rows: int, width: int = 3, seed: int = 7) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(-500, 501, (rows, width))


def cosines(vectors: NDArray[Any], x: NDArray[Any]) -> NDArray[np.float64]:
    rows = vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return np.asarray(rows @ x / np.sqrt((x**2).sum()))


def require_right(found: Matches, ids: NDArray[Any], relative: NDArray[Any], margin: float = MARGIN) -> None:
    """All rows above the threshold by the margin, and none below by it; doubtful ones within it."""
    got = np.isin(ids, found.ids)
    assert len(np.unique(found.ids)) == len(found.ids)
    assert got[relative > margin].all()
    assert not got[relative < -margin].any()
    assert (np.abs(relative[np.isin(ids, found.doubtful)]) < margin).all()
    # Beyond the rows that are told to be doubtful the sign decides.
    sure = ~np.isin(ids, found.doubtful)
    assert np.array_equal(got[sure], relative[sure] > 0)


class World:
    """An index in several blocks, a client, and NumPy's copy of the rows."""

    def __init__(self, encrypted: bool) -> None:
        first, self.x = floats(20, seed=1), floats(1, seed=2)[0] * 3
        numbers = payloads_of(50)
        self.vectors, self.payloads = np.concatenate([first, floats(30, seed=3)]), numbers
        self.index: AnyIndex
        if encrypted:
            self.client = ThresholdClient.owning(
                first, margin=MARGIN, payloads=numbers[:20], payload_bound=500
            )
            self.index = EncryptedThresholdIndex(self.client.encrypt(first, payloads=numbers[:20]))
            self.index.add(self.client.encrypt(self.vectors[20:], payloads=numbers[20:]))
        else:
            self.index = ThresholdIndex(first, margin=MARGIN, payloads=numbers[:20], payload_bound=500)
            self.index.add(self.vectors[20:], payloads=numbers[20:])
            self.client = ThresholdClient(bytes(self.index.settings))
        self.keys = self.index.load_keys(self.client.keys)
        self.scores = cosines(self.vectors, self.x)

    def ask(self, query: bytes) -> bytes:
        return self.index.query(query, self.keys)


@pytest.fixture(scope="module")
def clear() -> World:
    return World(False)


@pytest.fixture(scope="module")
def encrypted() -> World:
    return World(True)


@pytest.fixture(params=["clear", "encrypted"])
def world(request: pytest.FixtureRequest) -> World:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, World)
    return found


# --- Results. ---


@pytest.mark.parametrize("threshold", [0.2, -0.3])
def test_the_mask_is_numpys_beyond_the_margin(world: World, threshold: float) -> None:
    found = world.client.decrypt(world.ask(world.client.query(world.x, threshold)))
    require_right(found, np.arange(50), world.scores - threshold)
    assert found.payloads is None
    assert 0 < len(found) < 50


def test_counts_of_several_thresholds(world: World) -> None:
    layout = world.client.settings.layout
    thresholds = np.linspace(-0.9, 0.9, layout.copies + 3)  # a second ciphertext of thresholds
    answer = world.ask(world.client.query(world.x, thresholds, "count"))
    counts = world.client.decrypt_count(answer)
    assert counts.shape == thresholds.shape
    above = (world.scores[None] > thresholds[:, None] + MARGIN).sum(axis=1)
    near = (np.abs(world.scores[None] - thresholds[:, None]) <= MARGIN).sum(axis=1)
    assert (counts > above - 0.01).all()
    assert (counts < above + near + 0.01).all()
    sure = near == 0
    assert sure.any()
    assert np.abs(counts[sure] - above[sure]).max() < 1e-3
    single = world.client.decrypt_count(world.ask(world.client.query(world.x, 0.1, "count")))
    assert single.shape == ()


def test_answers_of_counts_have_nothing_else(clear: World) -> None:
    query = clear.client.query(clear.x, np.linspace(-0.5, 0.5, 7), "count")
    answer = clear.ask(query)
    unpacked, _ = clear.client._take(answer, True)
    slots = clear.client._context.decrypt(unpacked.results[0], clear.client.secret_key)
    others = slots.reshape(-1, clear.client.settings.rows)[:, 1:]
    assert np.abs(others).max() < 1e-4


def test_payloads_of_matches(world: World) -> None:
    answer = world.ask(world.client.query(world.x, 0.3, "payloads"))
    found = world.client.decrypt(answer)
    require_right(found, np.arange(50), world.scores - 0.3)
    assert found.payloads is not None
    assert found.payloads.shape == (len(found), 3)
    sure = ~np.isin(found.ids, found.doubtful)
    assert sure.sum() > 5
    assert np.array_equal(np.rint(found.payloads[sure]), world.payloads[found.ids[sure]])


def test_a_row_at_the_threshold_is_told_to_be_doubtful(world: World) -> None:
    place = int(np.argsort(world.scores)[30])
    found = world.client.decrypt(world.ask(world.client.query(world.x, world.scores[place])))
    assert place in found.doubtful


@pytest.mark.parametrize(("k", "thresholds"), [(1, None), (4, 5), (50, None), (80, None)])
def test_top_has_the_best_rows(clear: World, k: int, thresholds: int | None) -> None:
    asked = []

    def ask(query: bytes) -> bytes:
        asked.append(query)
        return clear.ask(query)

    found = clear.client.top(clear.x, k, ask, thresholds=thresholds, payloads=k == 4)
    order = np.argsort(-clear.scores)
    assert np.isin(order[:k], found.ids).all()
    least = clear.scores[order[min(k, 50) - 1]]
    assert (clear.scores[found.ids] > least - 3 * MARGIN).all()
    assert (found.payloads is not None) == (k == 4)
    # Rounds of counts as the settings have them, whatever the scores are, and one for the mask.
    assert len(asked) == (3 if thresholds == 5 else 2)


def test_top_of_separated_rows_has_k() -> None:
    axes = np.eye(DIMS)
    x = axes[0]
    angles = np.array([0.98, 0.97, 0.4, 0.39, -0.2, -0.8])
    rows = angles[:, None] * axes[0] + np.sqrt(1 - angles**2)[:, None] * axes[1]
    index = ThresholdIndex(rows, margin=MARGIN, ids=[9, 8, 7, 6, 5, 4])
    client = ThresholdClient(index.settings)
    keys = index.load_keys(client.keys)
    for k, expected in ((2, [9, 8]), (4, [9, 8, 7, 6])):
        found = client.top(x, k, lambda query: index.query(query, keys))
        assert found.ids.tolist() == expected


def test_inner_products() -> None:
    vectors, x = floats(20, seed=8) * 4, floats(1, seed=9)[0] * 3
    index = ThresholdIndex(vectors, "dot", margin=MARGIN)
    client = ThresholdClient(index.settings)
    bound = np.linalg.norm(vectors, axis=1).max()
    assert np.isclose(index.settings.row_bound, bound)
    found = client.decrypt(index.query(client.query(x, 11.0), client.keys))
    require_right(found, np.arange(20), (vectors @ x - 11) / (bound * np.linalg.norm(x)))
    with pytest.raises(RangeError, match="row_bound="):
        index.add(vectors * 1.1)


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("rows", [4, 20])
def test_squared_distances(encrypted: bool, rows: int) -> None:
    vectors, x = floats(rows, seed=8) * 4, floats(1, seed=9)[0] * 3
    index: AnyIndex
    if encrypted:
        client = ThresholdClient.owning(vectors, "l2", margin=2.0**-5)
        index = EncryptedThresholdIndex(client.encrypt(vectors))
    else:
        index = ThresholdIndex(vectors, "l2", margin=2.0**-5)
        client = ThresholdClient(index.settings)
    distances = ((vectors - x) ** 2).sum(axis=1)
    bound = np.linalg.norm(vectors, axis=1).max()
    threshold = float(np.median(distances))
    found = client.decrypt(index.query(client.query(x, threshold), client.keys))
    relative = (threshold - distances) / (bound * (2 * np.linalg.norm(x) + bound))
    require_right(found, np.arange(rows), relative, 2.0**-5)
    assert len(found) < rows


def test_a_block_that_fills_the_slots() -> None:
    """One copy of rows, and a second block: rotations by all entries."""
    rows, dims = 16384 + 50, 4
    vectors, x = floats(rows, dims, 10), floats(1, dims, 11)[0]
    index = ThresholdIndex(vectors, margin=MARGIN)
    assert index.settings.layout == Layout(16384, 16384, dims)
    client = ThresholdClient(index.settings)
    keys = index.load_keys(client.keys)
    relative = cosines(vectors, x) - 0.4
    require_right(client.decrypt(index.query(client.query(x, 0.4), keys)), np.arange(rows), relative)
    count = client.decrypt_count(index.query(client.query(x, 0.4, "count"), keys))
    assert (relative > MARGIN).sum() < count < (relative > -MARGIN).sum()


# --- Rows. ---


def changed(world: World, path: Path) -> None:
    """Removes rows, some of two blocks and all of another, and compares an answer."""
    index, client = type(world.index).load(saved(world.index, path)), world.client
    keys = index.load_keys(client.keys)
    gone = [3, 17, *range(20, 36), 49] if isinstance(index, ThresholdIndex) else [3, 17, 49]
    version = index.version
    index.remove(gone)
    kept = np.setdiff1d(np.arange(50), gone)
    assert index.version == version + 1
    assert index.ids.tolist() == kept.tolist()
    found = client.decrypt(index.query(client.query(world.x, -0.5), keys))
    require_right(found, kept, world.scores[kept] + 0.5)
    # Zeros in the places of rows score 0, above this threshold, and do not count.
    count = client.decrypt_count(index.query(client.query(world.x, -0.5, "count"), keys))
    assert count < (world.scores[kept] > -0.5 - MARGIN).sum() + 0.01
    assert count > (world.scores[kept] > -0.5 + MARGIN).sum() - 0.01
    with pytest.raises(ParameterError, match="no row 17"):
        index.remove([17])
    index.remove(kept)
    assert len(index) == 0
    with pytest.raises(MismatchError, match="no row"):
        index.query(client.query(world.x, 0.5), keys)


def saved(index: BaseThresholdIndex, path: Path) -> Path:
    index.save(path)
    return path


def test_removed_rows(world: World, tmp_path: Path) -> None:
    changed(world, tmp_path / "index")


def test_answers_have_nothing_of_removed_rows(clear: World, tmp_path: Path) -> None:
    index = ThresholdIndex.load(saved(clear.index, tmp_path / "index"))
    best = int(np.argmax(clear.scores))
    index.remove([best])
    answer = index.query(clear.client.query(clear.x, 0.5, "payloads"), clear.client.keys)
    unpacked, _ = clear.client._take(answer, False)
    for result in unpacked.results:
        slots = clear.client._context.decrypt(result, clear.client.secret_key)
        block, row = divmod(best, index.settings.rows)
        assert np.abs(slots[block].reshape(-1, index.settings.rows)[:, row]).max() < 1e-4


def test_added_rows_fill_blocks_and_have_ids(clear: World) -> None:
    index = ThresholdIndex(clear.vectors[:20], margin=MARGIN, ids=np.arange(100, 120))
    assert index.add(clear.vectors[20:25]).tolist() == [120, 121, 122, 123, 124]
    assert index.add(clear.vectors[25:], ids=np.arange(25, 50)).tolist() == list(range(25, 50))
    ids = np.concatenate([np.arange(100, 125), np.arange(25, 50)])
    assert index.ids.tolist() == ids.tolist()
    assert len(index._blocks) == 2
    client = ThresholdClient(index.settings)
    found = client.decrypt(index.query(client.query(clear.x, 0.1), client.keys))
    require_right(found, ids, clear.scores - 0.1)
    with pytest.raises(ParameterError, match="a row 121 already"):
        index.add(clear.vectors[:1], ids=[121])


def test_encrypted_rows_have_ids(encrypted: World) -> None:
    client = encrypted.client
    rows, numbers = encrypted.vectors[:5], encrypted.payloads[:5]
    index = EncryptedThresholdIndex(client.encrypt(rows, payloads=numbers, ids=[5, 3, 8, 1, 40]))
    assert index.add(client.encrypt(rows, payloads=numbers)).tolist() == [41, 42, 43, 44, 45]
    with pytest.raises(ParameterError, match="a row 8 already"):
        index.add(client.encrypt(rows[:1], payloads=numbers[:1], ids=[8]))
    found = client.decrypt(index.query(client.query(encrypted.x, -0.9), client.keys))
    relative = encrypted.scores[:5] + 0.9
    require_right(found, np.array([5, 3, 8, 1, 40, 41, 42, 43, 44, 45]), np.tile(relative, 2))


def test_files(world: World, tmp_path: Path) -> None:
    path = saved(world.index, tmp_path / "index")
    loaded = type(world.index).load(path)
    assert loaded.settings == world.index.settings
    assert loaded.version == world.index.version
    assert loaded.ids.tolist() == world.index.ids.tolist()
    found = world.client.decrypt(
        loaded.query(world.client.query(world.x, 0.2, "payloads"), world.client.keys)
    )
    require_right(found, np.arange(50), world.scores - 0.2)
    data = path.read_bytes()
    broken = bytearray(data)
    broken[len(data) // 2] ^= 1
    for damaged in (bytes(broken), data[:-1], data[:100], b""):
        with pytest.raises(FormatError):
            type(world.index).load(damaged)
    other = EncryptedThresholdIndex if isinstance(world.index, ThresholdIndex) else ThresholdIndex
    with pytest.raises(FormatError):
        other.load(data)


def test_a_client_comes_back_with_its_key(world: World, tmp_path: Path) -> None:
    world.client.secret_key.save(tmp_path / "key")
    again = ThresholdClient(bytes(world.client.settings), tmp_path / "key")
    found = again.decrypt(world.ask(again.query(world.x, 0.2)))
    require_right(found, np.arange(50), world.scores - 0.2)


# --- Refusals. ---


def test_an_answer_is_decrypted_once_and_by_its_client(clear: World) -> None:
    query = clear.client.query(clear.x, 0.2)
    answer = clear.ask(query)
    other = ThresholdClient(clear.index.settings)
    with pytest.raises(MismatchError, match="no query of this client"):
        other.decrypt(answer)
    with pytest.raises(MismatchError, match="decrypt_count reads"):
        clear.client.decrypt_count(answer)
    clear.client.decrypt(answer)
    with pytest.raises(MismatchError, match="no query of this client"):
        clear.client.decrypt(answer)
    forgotten = clear.client.query(clear.x, 0.2)
    clear.client.forget(forgotten)
    with pytest.raises(MismatchError, match="no query of this client"):
        clear.client.decrypt(clear.ask(forgotten))


def test_another_secret_key_reads_nothing(clear: World) -> None:
    query = clear.client.query(clear.x, 0.2)
    answer = clear.ask(query)
    other = ThresholdClient(clear.index.settings)
    other._waiting = dict(clear.client._waiting)
    with pytest.raises(NoiseError):
        other.decrypt(answer)


def test_damaged_messages(clear: World) -> None:
    query = clear.client.query(clear.x, 0.2)
    answer = clear.ask(query)
    for message, read in (
        (query, lambda data: clear.ask(data)),
        (answer, lambda data: clear.client.decrypt(data)),
        (bytes(clear.index.settings), lambda data: ThresholdSettings.load(data)),
    ):
        for place in (0, 20, 60, len(message) // 2, len(message) - 1):
            broken = bytearray(message)
            broken[place] ^= 1
            with pytest.raises(FormatError):
                read(bytes(broken))
        with pytest.raises(FormatError):
            read(message[:-40])
    with pytest.raises(FormatError):
        clear.ask(answer)
    with pytest.raises(FormatError):
        clear.client.decrypt(query)
    with pytest.raises(FormatError):
        clear.index.query(query, clear.client.keys[:-5])


def test_messages_of_other_settings(clear: World) -> None:
    for other in (
        ThresholdIndex(floats(20, seed=1), margin=MARGIN),
        ThresholdIndex(floats(20, seed=1), margin=MARGIN / 2),
        ThresholdIndex(floats(20, DIMS + 1), margin=MARGIN),
    ):
        client = ThresholdClient(other.settings)
        query = client.query(np.ones(other.settings.dims), 0.5)
        with pytest.raises(MismatchError):
            clear.ask(query)
        with pytest.raises(MismatchError):
            clear.client.decrypt(other.query(query, client.keys))
    with pytest.raises(FormatError):
        ThresholdClient(bytes(Index(floats(20).astype(np.float32)).settings))


def test_queries_of_other_levels(clear: World) -> None:
    """A server answers by the levels of its settings alone."""
    settings, client = clear.client.settings, clear.client
    ones = np.full(settings.layout.slots, 0.1)
    fresh = {
        level: client._context.encrypt(client._context.encode(ones[None], level=level), client.secret_key)
        for level in range(settings.top - 3, settings.top + 1)
    }
    for x, thresholds in ((settings.top - 1, settings.top - 1), (settings.top, settings.top - 2)):
        header = {"settings": settings.digest, "want": "mask", "thresholds": 1}
        query = wire.pack("threshold query", header, *pack_ciphertexts([fresh[x], fresh[thresholds]]))
        with pytest.raises(MismatchError, match="at level"):
            clear.ask(query)


def test_rows_of_another_owner(encrypted: World) -> None:
    other = ThresholdClient.owning(floats(20), margin=MARGIN, payloads=payloads_of(20), payload_bound=500)
    with pytest.raises(MismatchError):
        encrypted.index.add(other.encrypt(floats(3), payloads=payloads_of(3)))
    with pytest.raises(ParameterError, match="key of its owner"):
        ThresholdClient(encrypted.client.settings)


def test_keys_that_lack_one(clear: World) -> None:
    context, secret_key = clear.client._context, clear.client.secret_key
    few = context.generate_keys(secret_key, public_key=False).to_bytes()
    with pytest.raises(MissingKeyError):
        clear.index.query(clear.client.query(clear.x, 0.2, "count"), few)
    search = Client(Index(floats(20).astype(np.float32)).settings)
    with pytest.raises(MismatchError):
        clear.index.query(clear.client.query(clear.x, 0.2), search.keys)


def test_arguments(clear: World) -> None:
    client, x = clear.client, clear.x
    with pytest.raises(MismatchError, match="6 numbers"):
        client.query(x[:-1], 0.5)
    with pytest.raises(ParameterError, match="zeros"):
        client.query(x * 0, 0.5)
    for threshold in (1.5, np.nan):
        with pytest.raises(RangeError):
            client.query(x, threshold)
    with pytest.raises(RangeError):
        client.query(x * np.inf, 0.5)
    with pytest.raises(ParameterError, match="thresholds"):
        client.query(x, [0.1, 0.2])
    with pytest.raises(ParameterError, match="wants one of"):
        client.query(x, 0.1, "scores")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="k must be"):
        client.top(x, 0, clear.ask)
    plain = ThresholdClient(ThresholdIndex(floats(4), margin=MARGIN).settings)
    with pytest.raises(ParameterError, match="no payloads"):
        plain.query(x, 0.1, "payloads")
    assert isinstance(clear.index, ThresholdIndex)
    with pytest.raises(MismatchError):
        clear.index.add(floats(2))
    with pytest.raises(RangeError, match="payload_bound="):
        clear.index.add(floats(2), payloads=payloads_of(2) * 0 + 501)
    with pytest.raises(ParameterError, match="in the clear"):
        client.encrypt(floats(2), payloads=payloads_of(2))
    settings = client.settings
    for field, value in (("margin", 2.0**-12), ("rows", 12), ("rows", 4), ("dims", 0), ("payload", -1)):
        with pytest.raises(ParameterError):
            dataclasses.replace(settings, **{field: value})  # type: ignore[arg-type]


def test_the_cost_is_told_before_a_query(clear: World) -> None:
    cost = clear.index.cost("nvidia-h200")
    assert cost.seconds is not None
    assert 0 < cost.seconds < 1
    assert clear.index.settings.params.security == ">=128"
