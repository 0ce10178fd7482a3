"""Averages over a folder or a server: those of NumPy, whoever comes late, vanishes or is killed."""

import functools
import json
import shutil

import numpy as np
import pytest

import hemera as hm
from hemera import errors
from hemera.multiparty import Federation, WaitingError, unreviewed
from hemera.multiparty.layout import Layout

from ..beside import together
from ..refusals import raises
from .parties import Parties, arrays, expected, join, same

pytestmark = pytest.mark.usefixtures("transport")


@pytest.mark.parametrize(
    ("threshold", "committee", "transport"),
    [*((t, n, "folder") for t, n in ((1, 1), (2, 2), (2, 3), (3, 3), (3, 4))), (2, 3, "server")],
    indirect=["transport"],
)
def test_averages_are_those_of_numpy(tmp_path, threshold, committee):
    parties = Parties(
        tmp_path, "abcdef"[: committee + 1], committee=committee, threshold=threshold, weight=900
    )
    assert all(fed.missing == [] for fed in parties.of.values())
    for turn in range(2):
        seeds = {name: 10 * turn + i for i, name in enumerate(parties.names)}
        right = parties.round(turn, seeds, a=900, b=17)
        for fed in parties.of.values():
            assert same(fed.average(turn, wait=0), right)
            assert same(fed.average(turn, wait=0, verify=True), right)


def test_ten_lines_in_processes_of_their_own(tmp_path):
    """Calls that wait for each other: threads stand for processes."""
    found = {}

    def run(name):
        fed = join(
            tmp_path / "fl",
            me=tmp_path / f"{name}.party",
            like=arrays(0),
            committee=3,
            threshold=2,
            clients=10,
            rounds=10,
            secrets=tmp_path / "carried",
            least=4,
            patience=0.5,
        )
        weights = arrays(ord(name))
        for turn in range(2):
            fed.push(turn, weights, wait=20)
            weights = fed.average(turn, wait=20)
            found[name, turn] = weights

    together(*(functools.partial(run, name) for name in "abcd"))
    given = {name: arrays(ord(name)) for name in "abcd"}
    right = expected(given, dict.fromkeys("abcd", 1))
    assert all(same(found[name, 0], right) for name in "abcd")
    assert all(same(found[name, 1], found["a", 1]) for name in "abcd")


def test_keys_are_carried_by_hand(tmp_path):
    parties = Parties(tmp_path, "abcx", secrets=None)
    assert parties.of["c"].missing == ["piece-0", "piece-1", "dealt-0", "dealt-1", "dealt-2"]
    raises(WaitingError, "x lacks dealt-0", parties.of["x"].push, 0, arrays(1), wait=0.01)
    for _ in range(2):  # the first holder's piece, then what follows from it
        for name in "abcx":
            for file in (tmp_path / f"{name}.party" / "outbox").glob("*/*"):
                box = tmp_path / f"{file.parent.name}.party" / "inbox"
                box.mkdir(exist_ok=True)
                shutil.move(file, box / file.name)
        for fed in parties.of.values():
            fed._keys.prepare()
    assert all(fed.missing == [] for fed in parties.of.values())
    assert not list(tmp_path.glob("*.party/*box/*/*"))
    right = parties.round(0, {"a": 2, "x": 1})
    assert not parties.file(0, "list-0").exists()  # b and c are known, and not there yet
    parties.lose_patience(0)
    parties.work(0)
    assert same(parties.of["x"].average(0, wait=0), right)
    modes = {path.stat().st_mode & 0o777 for path in tmp_path.glob("*.party/*") if path.is_file()}
    assert modes == {0o600}


def test_any_two_members_open_and_another_one_who_comes_later_changes_nothing(tmp_path):
    parties = Parties(tmp_path)
    given = {name: arrays(i) for i, name in enumerate("abc")}
    parties.push(given)
    parties.of["c"].work(0)  # closes nothing anew, uploads
    for _ in range(3):
        parties.of["a"].work(0)
        parties.of["b"].work(0)
    shares = {path.name: path.read_bytes() for path in parties.file(0, "").glob("share-*")}
    assert {name.split("-")[2] for name in shares} == {"0", "1", "2"}
    assert not any(name.endswith("-c") for name in shares)
    right = expected(given, dict.fromkeys("abc", 1))
    assert same(parties.of["c"].average(0, wait=0), right)
    # The same bytes from another holder: c answers where the others' shares are gone.
    for name in shares:
        parties.file(0, name).unlink()
    parties.file(0, "result").unlink()
    parties.of["c"] = parties.join("c")
    parties.work(0, without="a")
    for path in parties.file(0, "").glob("share-*"):
        piece = path.name.split("-")[2]
        assert path.read_bytes() in [data for name, data in shares.items() if name.split("-")[2] == piece]
    assert same(parties.of["b"].average(0, wait=0), right)


@pytest.mark.parametrize("transport", ["folder"], indirect=True)  # a hundred clients ask often
def test_a_hundred_clients_are_exact_and_the_one_who_sends_random_bytes_is_left_out(tmp_path):
    names = ["a", "b", "c", *(f"client-{i:02}" for i in range(97))]
    like = np.zeros(500, np.float32)
    parties = Parties(tmp_path, "", like=like, clients=100, weight=5)
    for name in names:
        parties.of[name] = parties.join(name)
    for fed in parties.of.values():
        fed._keys.prepare()
    for fed in parties.of.values():
        fed._keys.prepare()
    drawn = np.random.default_rng(3)
    given = {name: drawn.uniform(-1.2, 1.2, 500).astype(np.float32) for name in names}
    weights = {name: 1 + i % 5 for i, name in enumerate(names)}
    clipped = [parties.of[n].push(0, given[n], weight=weights[n], wait=0) for n in names]
    assert clipped == [int(np.count_nonzero(np.abs(given[name]) > 1)) for name in names]
    members = [parties.of[name] for name in "abc"]
    members[0].work(0)
    evil = "client-50"
    for name in names:
        if name != evil:
            parties.of[name].work(0)
    size = parties.file(0, "upload-0-a").stat().st_size
    parties.file(0, f"upload-0-{evil}").write_bytes(drawn.bytes(size))
    parties.lose_patience(0)
    for name in names:
        if name != evil:
            parties.of[name].work(0)
    members[1].work(0)
    members[2].work(0)
    steps = 2**15 - 1
    whole = {name: np.rint(np.clip(v.astype(np.float64), -1, 1) * steps) for name, v in given.items()}
    right = sum(weights[n] * whole[n] for n in names if n != evil)
    found = parties.of["client-00"].average(0, wait=0)
    assert found.dtype == np.float32
    total = sum(w for name, w in weights.items() if name != evil)
    assert np.array_equal(found, (right * (1.0 / steps / total)).astype(np.float32))


class Tensor:
    """What another library's arrays have: NumPy's array protocol alone."""

    def __init__(self, values):
        self._values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype)


def test_arrays_of_other_libraries_and_of_several_types(tmp_path):
    like = {"b": np.zeros(3, np.float16), "a": Tensor(np.zeros((2, 2), np.float32))}
    parties = Parties(tmp_path, like=like)
    for name in "abc":
        values = {"a": Tensor(np.full((2, 2), 0.25, np.float32)), "b": np.full(3, -1, np.float16)}
        parties.of[name].push(0, values, wait=0)
    parties.work(0)
    found = parties.of["a"].average(0, wait=0)
    assert {name: (array.dtype, array.shape) for name, array in found.items()} == {
        "a": (np.float32, (2, 2)),
        "b": (np.float16, (3,)),
    }
    assert np.array_equal(found["b"], np.full(3, -1, np.float16))
    assert np.array_equal(found["a"], np.full((2, 2), np.rint(0.25 * 32767) / 32767, np.float32))


REFUSED = [
    *({"committee": 10}, {"committee": 0}, {"committee": ["a", "a"]}, {"committee": ["a", "../b"]}),
    *({"threshold": 4}, {"least": 0}, {"least": 9}, {"clip": 0.0}, {"clip": float("nan")}, {"bits": 1}),
    *({"weight": 0}, {"rounds": 0}, {"like": np.arange(3)}, {"like": {}}),
    *({"like": {"x": np.zeros(3, np.complex128)}}, {"like": {1: np.zeros(3)}}),
]
OTHERS = [*({"rounds": 6}, {"clip": 2.0}, {"like": np.zeros(3)}, {"committee": ["a", "b", "d"]})]


def test_terms_that_are_refused(tmp_path):
    """A party that is refused leaves nothing, so that each one asks the same federation."""
    parties = Parties(tmp_path)
    for error, terms in ((errors.ParameterError, REFUSED), (errors.MismatchError, OTHERS)):
        for changed in terms:
            with pytest.raises(error):
                pytest.fail(f"{changed} are not refused: {parties.join('z', **changed)}")
            assert not (tmp_path / "z.party" / "federation").exists(), changed


def test_a_folder_says_which_messages_its_parties_send(tmp_path):
    """A Hemera of before reads the method alone, and refuses it; its own folders name no version."""
    new, old = Parties(tmp_path / "new"), tmp_path / "old" / "shared" / "federation.json"
    if Parties.server is not None:
        Parties.server.place(old.parent)
    content = json.loads((new.folder / "shared" / "federation.json").read_bytes())
    assert content.pop("messages") == 2
    assert content["method"].startswith("lattice, messages of version 2 (take a Hemera newer")
    old.parent.mkdir(parents=True, exist_ok=True)
    old.write_text(json.dumps(content | {"method": "lattice"}))
    parties = Parties(tmp_path / "old")
    right = parties.round(0, {"a": 1, "b": 2, "c": 3})
    assert same(parties.of["c"].average(0, wait=0), right)
    for each, version in ((new, 2), (parties, 1)):
        each.round(1, {"a": 1, "b": 2, "c": 3})
        assert each.file(1, "upload-0-a").read_bytes().startswith(b"HMP%d" % version)
    old.write_text(json.dumps(content | {"messages": 3}))
    raises(errors.FormatError, "version 3; take a newer Hemera", parties.join, "z")


def test_a_party_belongs_to_one_federation(tmp_path):
    parties = Parties(tmp_path)
    with pytest.raises(errors.MismatchError, match="folder of its own"):
        join(tmp_path / "another", tmp_path / "a.party", **parties.terms)
    raises(errors.ParameterError, "no name", parties.join, ".hidden")
    (tmp_path / "a.party" / "piece-1").write_bytes(b"short")
    raises(errors.FormatError, "no key", parties.join, "a")


def test_two_pieces_of_one_number_are_noticed(tmp_path):
    parties = Parties(tmp_path, "ab")  # c holds pieces 0 and 1, which b and a draw
    path = next((tmp_path / "carried" / "c").glob("piece-0-*"))
    content = json.loads(path.read_bytes())
    path.write_text(json.dumps(content | {"key": "00" * 32}))
    parties.of["c"] = parties.join("c")
    for fed in (parties.of["a"], parties.of["b"]):
        fed._keys.prepare()
    with pytest.raises(errors.MismatchError, match="another content"):
        parties.of["c"]._keys.prepare()  # the dealer's own file came as well
    next((tmp_path / "carried" / "c").glob("piece-0-*")).unlink()
    (tmp_path / "c.party" / "piece-0").unlink()
    for fed in (parties.of["a"], parties.of["b"], parties.of["c"]):
        fed._keys.prepare()
    assert parties.of["c"].missing == []
    (tmp_path / "c.party" / "piece-0").write_bytes(bytes(32))
    raises(errors.MismatchError, "another piece 0 than c; b handed out two", parties.join, "c")
    for damage in (b"", b"{}", b"[]", json.dumps(content | {"to": "b"}).encode(), path.name.encode()):
        box = tmp_path / "carried" / "d" / "piece-0-from-a"
        box.parent.mkdir(exist_ok=True)
        box.write_bytes(damage)
        raises((errors.FormatError, errors.MismatchError), "", parties.join, "d")


def test_calls_that_are_refused(tmp_path):
    parties = Parties(tmp_path)
    fed = parties.of["a"]
    for turn in (-1, 5):
        raises(errors.ParameterError, "flooding", fed.push, turn, arrays(1), wait=0)
    for weight in (0, 2, 1.0, True):
        raises(errors.ParameterError, "weight", fed.push, 0, arrays(1), weight=weight, wait=0)
    for wrong in ({"bias": np.zeros(7)}, arrays(1) | {"bias": np.zeros(8)}, np.zeros(23)):
        raises(errors.MismatchError, "", fed.push, 0, wrong, wait=0)
    for value in (np.inf, np.nan):
        raises(errors.RangeError, "", fed.push, 0, arrays(1) | {"bias": np.full(7, value)}, wait=0)
    odd = [
        np.full(7, 1j),
        np.full(7, "1"),
        np.full(7, "1", object),
        np.full(7, 1, "datetime64[s]"),
        np.full(7, b"1"),
    ]
    for wrong in odd:
        raises(TypeError, "'bias': real numbers", fed.push, 0, arrays(1) | {"bias": wrong}, wait=0)
    with pytest.raises(errors.ParameterError, match="'bias': 1 value is masked"):
        fed.push(0, arrays(1) | {"bias": np.ma.array(np.ones(7), mask=np.arange(7) == 6)}, wait=0)
    with pytest.raises(errors.ParameterError, match="clip"):
        Layout.of(np.zeros(1), 16, 2.0**-1008)  # more steps a unit than doubles have
    assert Layout.of(np.zeros(1), 16, 2.0**-1007).quantized(np.full(1, 2.0**-1007)).values == 2**15 - 1
    assert not parties.file(0, "").exists()
    quiet = parties.join("quiet", contributes=False)
    raises(errors.ParameterError, "contributes", quiet.push, 0, arrays(1))
    raises(WaitingError, "no list", quiet.average, 0, wait=0.01)


def test_the_report_says_what_is_done(tmp_path):
    report = Parties(tmp_path, clip=0.5).of["a"].report()
    assert "2 of 3 members open; 3 pieces; two lists of a round need 1 corrupt members" in report
    assert "23 values of 16 bits: clipped to [-0.5, 0.5], rounded to 1.53e-05" in report
    assert "5 rounds" in report
    assert "not been reviewed" in report


def test_it_warns_once_that_nobody_from_outside_has_reviewed_it(tmp_path, monkeypatch):
    monkeypatch.setattr(unreviewed, "_warned", [])
    with pytest.warns(errors.SecurityWarning, match="not been reviewed") as caught:
        Parties(tmp_path)
    assert len([each for each in caught if "reviewed" in str(each.message)]) == 1
    assert hm.multiparty.Federation is Federation
