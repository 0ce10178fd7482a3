"""Rows, ids, blocks and texts of searches at their edges."""

import re
import warnings
from functools import partial

import numpy as np
import pytest

import hemera as hm
from hemera import search
from hemera.errors import FormatError, MismatchError, ParameterError, PrecisionWarning, RangeError
from hemera.search import Client, Index, wire

from ..refusals import raises
from .search_cases import DEGREE, ask, bytes_of, floats
from .threshold_cases import in_small_rings


def both(rows, metric="dot", **options):
    """Indexes of rows, and what makes rows to add."""
    owner = Client.owning(rows, metric, **options)
    return {
        "clear": (Index(rows, metric, **options), lambda rows, **more: (rows, more)),
        "encrypted": (Index(owner.encrypt(rows)), lambda rows, **more: (owner.encrypt(rows, **more), {})),
    }


@pytest.mark.parametrize("kind", ["clear", "encrypted"])
@pytest.mark.parametrize("metric", ["dot", "l2"])
def test_entries_fit_up_to_half_a_step_above_the_largest(kind, metric):
    rows = floats(3, 2)
    index, made = both(rows, metric, largest=4.0)[kind]
    last = 4.0 * 127.5 / 127
    for sign in (1, -1):
        index.add(made(np.array([[0.5, sign * last * (1 - 1e-4)]]))[0])
        with pytest.raises(RangeError, match=rf"up to {last:.4g}; make it with largest="):
            index.add(made(np.array([[sign * last * (1 + 1e-4), 0.5]]))[0])


def test_blocks_that_move_keep_their_messages():
    """As an index that never had the rows before them: errors, and the room for further messages."""
    rows = bytes_of(DEGREE, 2)
    owner = Client.owning(rows, "dot")
    few = [owner.encrypt(rows[i : i + 1], ids=[DEGREE + i]) for i in range(20)]
    index, other = Index(owner.encrypt(rows)), Index(few[0])
    for message in few[:5]:
        index.add(message)
    for message in few[1:5]:
        other.add(message)
    assert index.expected_error != other.expected_error
    index.remove(np.arange(DEGREE))
    for message in few[5:]:
        assert index.ids.tolist() == other.ids.tolist()
        assert (index.expected_error, index.memory_bytes) == (other.expected_error, other.memory_bytes)
        index.add(message)
        other.add(message)
    assert index.memory_bytes == other.memory_bytes == 2 * DEGREE * 2 * 16  # sixteen in a block
    scores, ids = ask(index, owner, [1.0, 2.0])
    expected = dict(zip(range(DEGREE, DEGREE + 20), rows[:20] @ [1.0, 2.0], strict=True))
    np.testing.assert_allclose(scores, [expected[i] for i in ids.tolist()], atol=0.5)


def test_warnings_tell_as_many_rows_as_are_wrong():
    """More than a tenth of the queries that they name, which are 32 at most."""
    random, seen = np.random.default_rng(11), set()
    for count in (20, 60):
        for ratio in (1e2, 1e3, 1e4):
            for metric in ("dot", "l2"):
                rows = random.normal(size=(count, 6)) * [ratio, 1, 1, 1, 1, 1]
                if metric == "l2":
                    rows[:, 0] = np.round(rows[:, 0] / ratio) * ratio
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", PrecisionWarning)
                    Index(rows, metric)
                for each in caught:
                    told = re.match(r"of (\d+) (rows|queries)\D*, (\d+) find one", str(each.message))
                    assert told is not None
                    assert int(told[1]) == min(count, 32)
                    assert 0.1 * int(told[1]) < int(told[3]) <= int(told[1])
                    seen.add(told[2])
    assert seen == {"rows", "queries"}


@pytest.mark.parametrize("threads", [1, 3])
def test_all_have_the_threads_that_are_asked_for(threads, tmp_path):
    rows = floats(3, 4)
    with in_small_rings():
        indexes = [
            Index(rows, threads=threads),
            search.Index(rows, answers=search.Threshold(), threads=threads),
            search.Index(rows, answers=search.Top(), threads=threads),
        ]
        clients = [
            Client(indexes[0].settings, threads=threads),
            Client.owning(rows, threads=threads),
            search.Client(indexes[1].settings, threads=threads),
            search.Client.owning(rows, answers=search.Threshold(), threads=threads),
            search.Client(indexes[2].settings, threads=threads),
        ]
        indexes.append(Index(clients[1].encrypt(rows), threads=threads))
        for index in list(indexes):
            index.save(tmp_path / "index")
            indexes.append(search.Index.load(tmp_path / "index", threads=threads))
    contexts = [each._context for each in [*indexes, *clients]]
    for context in contexts:
        assert context.description == hm.Context(context.params, "cpu", threads=threads).description
    assert len({context.description for context in contexts}) == 1


def _next(seeds, *_):
    return next(seeds), None


def test_as_many_queries_are_prepared_as_there_may_be(monkeypatch):
    """100,000 in a message, on both sides."""
    index = Index(bytes_of(1, 1), "dot")
    settings = index.settings
    seeds = [i.to_bytes(32, "little") for i in range(100_001)]
    for count in (0, 1, 99_999, 100_000, 100_001):
        message = wire.pack("preparation", {"settings": settings.digest, "count": count}, *seeds[:count])
        client = Client(settings)
        monkeypatch.setattr("hemera._core.search_encrypt", partial(_next, iter(seeds)))
        if 1 <= count <= 100_000:
            assert client.prepare(count) == message
            assert client.prepared == len(index.settings.program.seeds(message)) == count
            assert index.settings.program.seeds(message)[-1] == seeds[count - 1]
            continue
        raises(ParameterError, f"prepare 1 to 100000 queries at a time, not {count}", client.prepare, count)
        raises(FormatError, "", index.settings.program.seeds, message)


@pytest.mark.parametrize(
    ("noise", "rounding", "bits"),
    [
        (0.0, 0.0, np.inf),
        (2.0**-10, 0.0, 10),
        (0.0, 2.0**-9, 9),
        (3 * 2.0**-12, 4 * 2.0**-12, 12 - np.log2(5)),
    ],
)
def test_bits_are_above_both_errors(noise, rounding, bits):
    assert search.settings.Errors(noise, rounding).bits == pytest.approx(bits)


def test_queries_in_the_clear_have_16_bits():
    rows = bytes_of(5, 2)
    owner = Client.owning(rows, "dot", exact=True, query_bound=40_000)
    index = Index(owner.encrypt(rows))
    for x in ([32_767, -32_767], [-32_767, 1], [0, 0]):
        assert owner.decrypt(index.query(x))[0].tolist() == (rows.astype(np.int64) @ x).tolist()
    for x in ([32_768, 0], [0, -32_768]):
        with pytest.raises(
            RangeError, match="magnitude 32768, and those in the clear have 16 bits, up to 32767"
        ):
            index.query(x)
        assert ask(index, owner, x)[0].tolist() == (rows.astype(np.int64) @ x).tolist()


@pytest.mark.parametrize(("most", "count"), [(None, 3), (0, 0), (1, 1), (3, 3), (9, 3)])
def test_as_many_tickets_as_are_wanted_of_the_first_queries(most, count):
    rows = bytes_of(3, 2)
    index = Index(rows, "dot", exact=True)
    client = Client(index.settings)
    tickets = index.prepare(client.prepare(3), client.keys, most=most)
    assert len(tickets) == count
    for left in range(count, 0, -1):
        query = client.query([1, left], prepared=True)
        assert (
            client.decrypt(index.query(query, tickets))[0].tolist() == (rows @ np.array([1, left])).tolist()
        )
        assert (len(tickets), tickets.memory_bytes) == (left - 1, (left - 1) * index.ticket_bytes)
    if count < 3:
        with pytest.raises(MismatchError, match="no ticket for this query"):
            index.query(client.query([1, 1], prepared=True), tickets)
