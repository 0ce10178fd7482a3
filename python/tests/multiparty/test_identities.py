"""Keys that are sealed and files that are signed stand attacks that a plain folder loses to, and must."""

import hashlib
import pickle
import secrets
import shutil

import numpy as np
import pytest

from hemera import _core, errors
from hemera.multiparty import identity
from hemera.multiparty.identity import Identity

from ..refusals import raises, refuse_each
from .federation_oracle import Messages
from .federation_setting import DEGREE
from .parties import Parties, arrays, expected, same

pytest.importorskip("cryptography", reason="cryptography is not installed: tools/setup frameworks brings it")

BOTH = pytest.mark.parametrize("sealed", [False, True], ids=["plain", "sealed"])
STEPS = 2**15 - 1


def parties_of(folder, sealed, names="abcx", **terms):
    """With identities of a folder that all trust, or with a folder of secrets."""
    own = {"secrets": None, "identities": folder / "identities"} if sealed else {}
    parties = Parties(folder, names, **own, **terms)
    for _ in range(3):
        for fed in parties.of.values():
            fed._keys.prepare()
    return parties


def opened_alone(parties, name, dealt):
    """The whole numbers in a contributor's message, from its dealt keys: no member is asked."""
    fed, files = parties.of[name], parties.of[name]._round(0)
    oracle = Messages(files._description, fed._plan, DEGREE, files.lists()[0].data)
    message = files._shared.read(files.upload_path(files.lists()[0], name), {name})
    z = sum(oracle.secret(key) for key in dealt)
    row = oracle.ring.product(oracle.public(0), z)[: oracle.margin.values]
    phase = oracle.ring.centred((oracle.values_of(message) << oracle.margin.upload_dropped) + row)
    return (2 * phase + oracle.delta) // (2 * oracle.delta)


def whole(values):
    return np.concatenate([np.rint(np.ravel(values[name]) * STEPS) for name in sorted(values)])


def push(parties, names="abcx"):
    given = {name: arrays(i) for i, name in enumerate(names)}
    parties.push(given)
    return given


@pytest.mark.parametrize(("threshold", "committee"), [(1, 1), (2, 3), (3, 4)])
def test_averages_are_those_of_numpy(tmp_path, threshold, committee):
    parties = parties_of(tmp_path, True, "abcdx", threshold=threshold, committee=committee, weight=9)
    assert all(fed.missing == [] for fed in parties.of.values())
    for turn in range(2):
        right = parties.round(turn, {name: 10 * turn + i for i, name in enumerate("abcdx")}, a=9, x=4)
        for fed in parties.of.values():
            assert same(fed.average(turn, wait=0), right)
            assert same(fed.average(turn, wait=0, verify=True), right)
    assert not list(tmp_path.glob("*.party/*box"))
    parties.of["x"] = parties.join("x")  # the same identity again
    assert same(parties.of["x"].average(0, wait=0, verify=True), parties.of["a"].average(0, wait=0))
    modes = {path.stat().st_mode & 0o777 for path in tmp_path.glob("*.party/*") if path.is_file()}
    assert modes == {0o600}


def test_who_sees_keys_on_their_way_opens_a_contributor_unless_they_are_sealed(tmp_path):
    plain = Parties(tmp_path / "plain", "abc")
    plain.of["x"] = plain.join("x")
    for name in "abc":
        plain.of[name]._keys.prepare()
    seen = sorted((tmp_path / "plain" / "carried" / "x").glob("dealt-*"))
    keys = [bytes.fromhex(path.read_text().split('"key": "')[1][:64]) for path in seen]
    given = push(plain)
    plain.of["x"]._keys.prepare()
    plain.work(0)
    assert np.array_equal(opened_alone(plain, "x", keys), whole(given["x"]))

    sealed = parties_of(tmp_path / "sealed", True)
    given = push(sealed)
    sealed.work(0)
    keys = [sealed.of["x"]._keys._party._key(f"dealt-{piece}") for piece in range(3)]
    assert np.array_equal(opened_alone(sealed, "x", keys), whole(given["x"]))  # they are the right ones
    public = b"".join(
        path.read_bytes() for path in (tmp_path / "sealed" / "shared").rglob("*") if path.is_file()
    )
    own = list(tmp_path.glob("sealed/*.party/*"))
    secret = [path.read_bytes() for path in own if path.name[:5] in ("piece", "dealt")]
    secret += [
        path.read_bytes()[at : at + 32] for path in own if path.name == "identity" for at in (0, 32, 96)
    ]
    assert len(secret) == 6 + 12 + 12
    assert not [each for each in secret if each in public or each.hex().encode() in public]
    files = sorted((tmp_path / "sealed" / "shared" / "sealed").glob("dealt-*-to-x"))
    assert len(files) == 3
    for other in "abc":  # sealed for x alone
        reader = sealed.of[other]._shared
        for path in files:
            data = reader.read(path, {path.name.split("-")[3]})
            raises(errors.FormatError, "not sealed for", reader.unsealed, path.name, data)


@BOTH
def test_keys_of_an_attacker_in_the_place_of_the_dealers(tmp_path, sealed):
    parties = parties_of(tmp_path, sealed, "abc")
    evil = [secrets.token_bytes(32) for _ in range(3)]
    if sealed:
        federation = parties.of["a"]._description.id
        Identity(tmp_path / "x.party", "x", tmp_path / "identities", federation)  # known to all
        attacker = Identity(tmp_path / "evil", "evil", tmp_path / "identities", federation)
        for piece, dealer in enumerate("aab"):
            path = tmp_path / "shared" / "sealed" / f"dealt-{piece}-from-{dealer}-to-x"
            data = attacker.sealed("x", path.name, evil[piece])
            assert data is not None
            attacker.write(path, data)
    else:
        party = parties.of["a"]._keys._party
        for piece, key in enumerate(evil):
            party.hand_over("x", "dealt", piece, key, parties.of["a"]._description.id)
    parties.of["x"] = parties.join("x")
    assert len(parties.of["x"].missing) == (3 if sealed else 0)
    for name in "abcx":
        parties.of[name]._keys.prepare()
    given = push(parties)
    parties.of["a"].work(0)
    parties.of["x"].work(0)
    assert np.array_equal(opened_alone(parties, "x", evil), whole(given["x"])) == (not sealed)
    if sealed:
        parties.work(0)
        assert same(parties.of["x"].average(0, wait=0), expected(given, dict.fromkeys("abcx", 1)))


@BOTH
def test_a_message_that_somebody_changes_on_its_way(tmp_path, sealed):
    """Multiples of Delta on it are other values; a digest that anybody can make is no signature."""
    parties = parties_of(tmp_path, sealed)
    given = push(parties)
    parties.of["a"].work(0)
    parties.of["x"].work(0)
    files = parties.of["x"]._round(0)
    listed = files.lists()[0]
    path = files.upload_path(listed, "x")
    oracle = Messages(files._description, parties.of["x"]._plan, DEGREE, listed.data)
    message = files._shared.read(path, {"x"})
    shift = (oracle.delta * 1000) >> oracle.margin.upload_dropped
    top = oracle.ring.modulus >> oracle.margin.upload_dropped
    changed = oracle.upload_of("x", [(int(value) + shift) % top for value in oracle.values_of(message)])
    path.write_bytes(changed + path.read_bytes()[len(message) :])
    parties.work(0)
    right = expected(given, dict.fromkeys("abcx", 1))
    found = parties.of["b"].average(0, wait=0, verify=True)
    assert same(found, right) == sealed
    if not sealed:
        assert all(np.allclose(found[name] - right[name], 1000 / STEPS / 4) for name in right)


@BOTH
def test_a_list_that_is_none_of_the_committees(tmp_path, sealed):
    """x closes it without b and c: what is opened is the sum of two."""
    parties = parties_of(tmp_path, sealed)
    given = push(parties)
    files = parties.of["x"]._round(0)
    assert files.lists() == []
    there = files.announcements()
    entries = [(name, there[name].weight, there[name].nonce) for name in "ax"]
    listed = _core.FederationList(files._description, 0, 0, entries)
    files.write(files.folder / "list-0", listed.data)
    parties.work(0)
    names = "abcx" if sealed else "ax"
    right = expected({name: given[name] for name in names}, dict.fromkeys(names, 1))
    assert same(parties.of["a"].average(0, wait=0), right)


@BOTH
def test_a_result_that_is_none_of_the_committees(tmp_path, sealed):
    parties = parties_of(tmp_path, sealed)
    given = push(parties)
    parties.of["a"].work(0)
    files = parties.of["x"]._round(0)
    data = files.lists()[0].digest + np.ones(23, "<i8").tobytes()
    files.write(files.folder / "result", data + hashlib.sha256(data).digest())
    parties.work(0)
    right = expected(given, dict.fromkeys("abcx", 1))
    assert all(same(fed.average(0, wait=0), right) == sealed for fed in parties.of.values())


@BOTH
def test_who_calls_himself_a_contributor(tmp_path, sealed):
    """Members deal to names that they find; an identity that nobody trusts has none."""
    parties = parties_of(tmp_path, sealed)
    own = {"identities": tmp_path / "others"} if sealed else {}
    parties.of["evil"] = parties.join("evil", **own)
    for _ in range(2):
        for fed in parties.of.values():
            fed._keys.prepare()
    assert bool(parties.of["evil"].missing) == sealed
    given = push(parties)
    parties.of["evil"].push(0, arrays(9), wait=0)
    parties.work(0)
    if not sealed:
        given["evil"] = arrays(9)
    assert same(parties.of["x"].average(0, wait=0), expected(given, dict.fromkeys(given, 1)))


def test_an_announcement_and_a_share_of_another_do_not_count(tmp_path):
    parties = parties_of(tmp_path, True)
    push(parties)
    parties.work(0)
    files, forger = parties.of["a"]._round(0), parties.of["x"]._shared
    forger.write(files.folder / "announced-b", files._shared.read(files.folder / "announced-b", {"b"}))
    assert list(files.announcements()) == ["a", "c", "x"]
    listed = files.lists()[0]
    (share,) = files.shares(listed, 0)
    data = files._shared.read(share, "abc")
    share.unlink()
    for name in ("b", "x", "a"):  # as b's by x; as one of x, who is no member; moved from another place
        path = files.share_path(listed, 0, name)
        forger.write(path, data)
        assert list(files.shares(listed, 0)) == []
    parties.work(0)
    assert len(list(files.shares(listed, 0))) == 1


def test_every_byte_is_signed_and_sealed(tmp_path):
    a, b = (Identity(tmp_path / name, name, tmp_path / "known", bytes(32)) for name in "ab")
    other = Identity(tmp_path / "a", "a", tmp_path / "known", bytes(31) + b"1")
    path = tmp_path / "round-0" / "list-0"
    a.write(path, b"some data")
    assert b.read(path, {"a", "b"}) == b"some data"
    whole_file = path.read_bytes()
    for by in ({"b"}, set(), {"c"}):
        raises(errors.FormatError, "not signed", b.read, path, by)
    drawn = np.random.default_rng(1)
    damaged = [whole_file[:size] for size in range(len(whole_file))]
    damaged += [
        bytes(
            byte ^ (1 << int(drawn.integers(8)) if at == where else 0) for at, byte in enumerate(whole_file)
        )
        for where in range(len(whole_file))
    ]
    damaged += [drawn.bytes(int(drawn.integers(200))) for _ in range(500)]
    for data in damaged:
        path.write_bytes(data)
        raises(errors.FormatError, "not signed", b.read, path, {"a", "b"})
    for elsewhere in ("round-1/list-0", "round-0/list-1"):  # the same bytes in another place
        (tmp_path / elsewhere).parent.mkdir(exist_ok=True)
        (tmp_path / elsewhere).write_bytes(whole_file)
        raises(errors.FormatError, "not signed", b.read, tmp_path / elsewhere, {"a"})
    path.write_bytes(whole_file)
    with pytest.raises(errors.FormatError, match="not signed"):
        other.read(path, {"a"})  # of another federation

    key = secrets.token_bytes(32)
    data = a.sealed("b", "dealt-0-from-a-to-b", key)
    assert data is not None
    assert b.unsealed("dealt-0-from-a-to-b", data) == key
    assert a.sealed("b", "dealt-0-from-a-to-b", key) != data
    assert a.sealed("nobody", "dealt-0-from-a-to-nobody", key) is None
    for at in range(0, len(data), 7):
        with pytest.raises(errors.FormatError, match="not sealed"):
            b.unsealed("dealt-0-from-a-to-b", data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    for wrong in (data[:-1], b"", data + b"0"):
        raises(errors.FormatError, "not sealed", b.unsealed, "dealt-0-from-a-to-b", wrong)
    raises(errors.FormatError, "not sealed", b.unsealed, "dealt-1-from-a-to-b", data)


def test_identities_of_a_party(tmp_path, monkeypatch):
    parties = parties_of(tmp_path, True)
    fed, known = parties.of["a"], tmp_path / "identities"
    own = fed._shared
    assert isinstance(own, Identity)
    text = own.fingerprint("a")
    assert len(text) == 32
    assert text in fed.report()
    assert text == hashlib.sha256((known / "a.identity").read_bytes()).hexdigest()[:32]
    assert own.fingerprint("nobody") == ""
    refuse_each(pickle.dumps, (fed, own), TypeError)
    shutil.copy(known / "b.identity", known / "a.identity")
    raises(errors.FormatError, "another's identity", parties.join, "a")
    (tmp_path / "c.party" / "identity").write_bytes(b"0" * 127)
    raises(errors.FormatError, "127 bytes", parties.join, "c")
    (known / "x.identity").write_bytes(b"0")
    assert own.fingerprint("x") == ""
    raises(errors.ParameterError, "one of both", parties.join, "b", secrets=tmp_path / "carried")
    monkeypatch.setattr(identity, "_problem", "No module named 'cryptography'")
    raises(errors.ParameterError, "pip install cryptography", parties.join, "b")
