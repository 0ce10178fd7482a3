"""Memory that files of indexes announce and take, and sizes that indexes tell servers."""

import numpy as np
import pytest

import hemera as hm
from hemera import search
from hemera.inputs.fields import require_memory
from hemera.search import Client, Index, Settings, wire
from hemera.search.answers import Scores

from ..limited_memory import run_within
from ..refusals import raises
from .search_cases import DEGREE, bytes_of, floats
from .threshold_cases import in_small_rings

LOAD = "index = hm.search.Index.load(sys.argv[1]); print('loaded', len(index))"


def changed(path, index, **settings):
    """The file of an index, with other settings, and a right checksum."""
    index.save(path)
    data = path.read_bytes()
    header, body = wire.unpack(index.kind, data)
    header["settings"] |= settings
    made = wire.pack(index.kind, header, body)
    path.write_bytes(made)
    return made


@pytest.mark.fact_of_the_cpu("limits of the process's memory")
def test_a_small_file_of_a_large_index_is_refused_before_it_is_made(tmp_path):
    path = tmp_path / "index"
    with in_small_rings():
        top = search.Index(floats(2, 16), answers=search.Top(margin=2.0**-4))
        data = changed(path, top, rows=1024)
    assert len(data) < 1024
    told = run_within(256, LOAD, str(path))
    assert told.startswith("FormatError: the top index of")
    assert "limit=" in told
    assert int(told.split("would take ")[1].split()[0]) > 1 << 32
    with in_small_rings():
        changed(
            path,
            search.Index(floats(2, 4), answers=search.Threshold(margin=2.0**-4), payloads=np.ones((2, 1))),
            payload=1 << 14,
        )
    assert "FormatError" in run_within(256, LOAD, str(path))


@pytest.mark.parametrize("kind", ["index", "exact", "encrypted", "threshold", "top"])
@pytest.mark.fact_of_the_cpu("memory of the process")
def test_what_is_announced_is_taken(kind, tmp_path, monkeypatch):
    rows = floats(70, 8)
    whole = (rows * 20).astype(np.int8)
    path = tmp_path / "index"
    with in_small_rings():
        made = {
            "index": lambda: search.Index(rows, "l2"),
            "exact": lambda: search.Index(whole, "dot", exact=True),
            "encrypted": lambda: search.Index(search.Client.owning(rows, "l2").encrypt(rows)),
            "threshold": lambda: search.Index(
                rows, "l2", answers=search.Threshold(), payloads=np.ones((70, 3))
            ),
            "top": lambda: search.Index(rows[:6], answers=search.Top(), payloads=np.ones((6, 3))),
        }
        index = made[kind]()
        index.save(path)
        header, _ = wire.unpack(index.kind, path.read_bytes())
        needed = type(index._rows).memory_of(index.settings.program, header)
        on_device = index._context.memory_used if kind in ("threshold", "top") else index.memory_bytes
        beside = whole.nbytes if kind in ("index", "exact") else 0
        assert needed - beside <= on_device * 1.5
        assert needed >= on_device * 0.85  # blocks end at whole lines
        monkeypatch.setattr(hm.inputs.fields, "TIMES_THE_FILE", 0)
        assert len(search.Index.load(path, limit=needed)) == len(index)
        with pytest.raises(hm.errors.FormatError, match=f"{needed} bytes of memory, and {needed - 1} are"):
            search.Index.load(path, limit=needed - 1)


def test_the_limit_grows_with_the_file():
    require_memory(100, 1, 100, "a file", "do not")
    require_memory(12_800, 100, 1, "a file", "do not")
    for needed, size, limit in ((101, 0, 100), (12_801, 100, 1)):
        with pytest.raises(hm.errors.FormatError, match=f"would take {needed} bytes"):
            require_memory(needed, size, limit, "a file", "do not")


def test_rows_of_a_file_keep_to_their_bounds(tmp_path):
    """Longer rows, and larger payloads, would come out with wrong scores."""
    with in_small_rings():
        index = search.Index(
            floats(3, 2), answers=search.Threshold(margin=2.0**-4, payload_bound=2), payloads=np.ones((3, 1))
        )
        index.save(tmp_path / "index")
        header, body = wire.unpack(index.kind, (tmp_path / "index").read_bytes())
        vectors = 8 * index.settings.program.rows
        for at, kind, last, first in (
            (vectors, "<f4", 1.0, 1.00001),
            (vectors + 4 * 6, "<f8", 2.0, 2.00001),
            (vectors + 4 * 6, "<f8", -2.0, np.nan),
        ):
            for value in (last, first):
                changed = np.array(value, kind).tobytes()
                data = wire.pack(
                    index.kind, header, bytes(body[:at]) + changed + bytes(body[at + len(changed) :])
                )
                if value == last:
                    assert len(search.Index.load(data)) == 3
                    continue
                raises(hm.errors.FormatError, "above their bound", search.Index.load, data)


HEADER = 600  # bytes, at most


@pytest.mark.parametrize("metric", ["dot", "l2"])
@pytest.mark.parametrize("encrypted", [False, True])
def test_answers_take_what_is_announced(encrypted, metric):
    """As in docs/search.md: 32,768 bytes for each query and 4,096 rows, once more for encrypted norms; 8 for
    an id, and 4 for a norm in the clear."""
    rows = bytes_of(DEGREE + 3, 2)
    client = Client.owning(rows, metric) if encrypted else None
    index = Index(rows, metric) if client is None else Index(client.encrypt(rows))
    asking = client or Client(index.settings)
    for removed in (None, np.arange(3, DEGREE), [1, 2, DEGREE]):
        if removed is not None:
            index.remove(removed)
        blocks = 2 if encrypted or len(index) > DEGREE else 1
        for count in (1, 2):
            query = asking.query(bytes_of(count, 2, seed=count))
            assert index.settings.program.count(query) == count
            length, told = len(index.query(query, asking.keys)), index.answer_bytes(count)
            numbers = 32_768 * blocks * (count + (encrypted and metric == "l2"))
            assert told == numbers + 12 * DEGREE * blocks
            assert numbers < length <= told + HEADER


@pytest.mark.parametrize(("exact", "of_a_number"), [(False, 65_536), (True, 262_144)])
@pytest.mark.parametrize("dims", [1, 100, 4096, 8192])
def test_queries_at_once_fit_a_gibibyte_or_are_one(exact, of_a_number, dims):
    """As in docs/search.md: the bytes of each number of an expanded query."""
    if not exact and dims > DEGREE:
        return
    settings = Settings(dims, "dot", Scores(exact))
    assert settings.program.expanded_bytes == of_a_number * dims
    assert settings.program.queries_at_once == max(1, 2**30 // (of_a_number * dims))
