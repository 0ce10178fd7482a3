"""Lists of a round: attempts, who vanishes or starts again, what a coordinator may not do."""

import dataclasses

import numpy as np
import pytest

from hemera import _core, errors
from hemera.multiparty import WaitingError

from ..forked import in_child
from ..refusals import raises
from .parties import Parties, arrays, expected, same

pytestmark = pytest.mark.usefixtures("transport")


def test_who_vanishes_after_the_list_costs_an_attempt(tmp_path):
    parties = Parties(tmp_path, "abcxy")
    given = {name: arrays(i) for i, name in enumerate("abcxy")}
    parties.push(given)
    parties.work(0, without="x")
    raises(WaitingError, "lacks messages of x", parties.of["y"].average, 0, wait=0)
    assert not list(parties.file(0, "").glob("share-*"))  # nothing is answered for a list that is not whole
    parties.lose_patience(0)
    parties.work(0, without="x")
    assert parties.file(0, "list-1").exists()
    right = expected(given, dict.fromkeys("abcy", 1))
    assert all(same(fed.average(0, wait=0), right) for fed in parties.of.values())


def test_a_late_client_joins_a_later_round(tmp_path):
    parties = Parties(tmp_path)
    parties.round(0, {"a": 1, "b": 2, "c": 3})
    parties.of["late"] = parties.join("late")
    raises(WaitingError, "", parties.of["late"].push, 1, arrays(4), wait=0.01)
    for fed in parties.of.values():
        fed._keys.prepare()
    right = parties.round(1, {"a": 1, "b": 2, "c": 3, "late": 4})
    assert same(parties.of["late"].average(1, wait=0), right)
    assert same(parties.of["late"].average(0, wait=0), parties.of["a"].average(0, wait=0))


def test_garbage_in_the_place_of_an_upload_is_as_if_it_were_not_there(tmp_path):
    parties = Parties(tmp_path, "abcx")
    given = {name: arrays(i) for i, name in enumerate("abcx")}
    parties.push(given)
    parties.work(0, without="x")
    files = parties.of["a"]._round(0)
    for garbage in (np.random.default_rng(1).bytes(5000), parties.file(0, "upload-0-a").read_bytes()):
        parties.file(0, "upload-0-x").write_bytes(garbage)
        assert files.missing(files.lists()[0]) == ["x"]
    parties.file(0, "share-0-0-x").write_bytes(b"no share")
    parties.file(0, "announced-y").write_bytes(b"{}")
    parties.lose_patience(0)
    parties.work(0, without="x")
    assert same(parties.of["a"].average(0, wait=0), expected(given, dict.fromkeys("abc", 1)))


def test_a_contributor_that_starts_again_never_sends_twice_for_a_list(tmp_path):
    """Two uploads of one list would tell the difference of their values (test_attacks.py, N)."""
    parties = Parties(tmp_path, "abcx")
    for i, name in enumerate("abcx"):
        parties.of[name].push(0, arrays(i), wait=0)
    parties.of["a"].work(0)
    assert parties.file(0, "list-0").exists()
    parties.of["x"] = parties.join("x")  # its memory is gone: it was killed before its upload
    parties.of["x"].push(0, arrays(30), wait=0)
    assert not parties.file(0, "upload-0-x").exists()
    parties.work(0)
    assert not parties.file(0, "upload-0-x").exists()
    given = {"a": arrays(0), "b": arrays(1), "c": arrays(2), "x": arrays(30)}
    assert same(parties.of["x"].average(0, wait=0), expected(given, dict.fromkeys("abcx", 1)))
    assert parties.file(0, "upload-1-x").exists()
    # After its upload a process that starts again has nothing to send.
    before = parties.file(0, "upload-1-x").read_bytes()
    parties.of["x"] = parties.join("x")
    parties.of["x"].push(0, arrays(31), wait=0.1)
    assert parties.file(0, "upload-1-x").read_bytes() == before
    # Nor may a process push other values.
    parties.of["a"].push(0, arrays(0), wait=0)
    raises(errors.MismatchError, "other values", parties.of["a"].push, 0, arrays(1), wait=0)


def test_a_child_of_fork_has_no_nonce_of_its_parent(tmp_path):
    """Two processes with one nonce could answer two lists with one secret."""
    fed = Parties(tmp_path, "abcx").of["x"]
    fed.push(0, arrays(0), wait=0)
    assert list(fed._own.value) == [0]
    assert in_child(lambda: list(fed._own.value)) == "[]"
    assert list(fed._own.value) == [0]


def test_two_lists_of_a_round_are_refused(tmp_path):
    """The coordinator puts another list where the first was; memory and ledger know."""
    parties = Parties(tmp_path, "abcx")
    parties.round(0, {name: i for i, name in enumerate("abcx")})
    for name in ("result", "list-0"):
        parties.file(0, name).rename(parties.file(0, f"hidden-{name}"))
    for path in [*parties.file(0, "").glob("share-*"), *parties.file(0, "").glob("upload-*")]:
        path.unlink()
    for name in "abc":
        fed = parties.of[name]
        own = fed._own.value[0]
        fed._round(0).announce(name, own.weight, own.nonce)
    parties.file(0, "announced-x").unlink()
    parties.lose_patience(0)
    for fed in parties.of.values():
        fed._upload(fed._round(0))
    assert parties.file(0, "list-0").read_bytes() != parties.file(0, "hidden-list-0").read_bytes()
    for name in "ab":  # who answered the first list; then as a process that starts again
        raises(errors.MismatchError, "two lists", parties.of[name].work, 0)
        raises(errors.MismatchError, "two lists", parties.join(name).work, 0)
    assert not list(parties.file(0, "").glob("share-*"))
    parties.of["c"].work(0)  # has not answered: one of three alone opens nothing
    assert {path.name for path in parties.file(0, "").glob("share-*")} == {"share-0-0-c", "share-0-1-c"}
    assert not parties.file(0, "result").exists()


def test_lists_of_fewer_than_the_least_get_no_messages(tmp_path):
    parties = Parties(tmp_path, "abcx", least=3)
    for i, name in enumerate("abcx"):
        parties.of[name].push(0, arrays(i), wait=0)
    files, own = parties.of["x"]._round(0), parties.of["x"]._own.value[0]
    parties.file(0, "list-0").unlink(missing_ok=True)
    for path in parties.file(0, "").glob("upload-*"):
        path.unlink()
    mine = [("a", 1, parties.of["a"]._own.value[0].nonce), ("x", 1, own.nonce)]
    parties.of["a"]._round(0).close(0, mine)  # the coordinator wants to see x's values and controls a
    parties.work(0)
    assert not list(parties.file(0, "").glob("upload-*"))
    for name in "ax":  # contributors who do not look
        fed = parties.of[name]
        fed._keys._terms = dataclasses.replace(fed._terms, least=1)
        fed._upload(fed._round(0))
        fed._keys._terms = dataclasses.replace(fed._terms, least=3)
    assert files.missing(files.lists()[0]) == []
    parties.work(0)
    assert not list(parties.file(0, "").glob("share-*"))


def test_who_starts_again_after_its_message_is_in_later_attempts(tmp_path):
    parties = Parties(tmp_path, "abcxy")
    given = {name: arrays(i) for i, name in enumerate("abcxy")}
    parties.push(given)
    parties.work(0, without="y")
    parties.of["x"] = parties.join("x")
    parties.of["x"].push(0, given["x"], wait=0)
    parties.lose_patience(0)  # y has vanished
    parties.work(0, without="y")
    right = expected(given, dict.fromkeys("abcx", 1))
    assert same(parties.of["x"].average(0, wait=0), right)


def test_a_false_result_is_found_by_who_verifies(tmp_path):
    parties = Parties(tmp_path)
    given = {name: arrays(i) for i, name in enumerate("abc")}
    parties.push(given)
    parties.of["a"].work(0)
    files = parties.of["a"]._round(0)
    files.publish(files.lists()[0], np.ones(23, np.int64))
    parties.work(0)
    right = expected(given, dict.fromkeys("abc", 1))
    for fed in parties.of.values():
        assert not same(fed.average(0, wait=0), right)
        assert same(fed.average(0, wait=0, verify=True), right)
    result = parties.file(0, "result")
    for damage in (result.read_bytes()[:-1], bytes(len(result.read_bytes()))):
        result.write_bytes(damage)
        raises(errors.FormatError, "damaged", parties.of["a"].average, 0, wait=0)


def test_a_spoiled_round_is_noticed_and_the_next_one_is_not(tmp_path):
    parties = Parties(tmp_path, "abcx")
    for i, name in enumerate("abcx"):
        parties.of[name].push(0, arrays(i), wait=0)
    for name in "ca":
        parties.of[name].work(0)
    files = parties.of["x"]._round(0)
    own = parties.of["x"]._own.value[0]
    parts = [bytes(32)] * 3  # a false key: a message that is whole and means nothing
    upload = _core.federation_upload(
        parties.of["x"]._keys._context._native, files._description, files.lists()[0], "x", parts, own.values
    )
    parties.file(0, files.upload_path(files.lists()[0], "x").name).write_bytes(upload)
    raises(errors.NoiseError, "something else", parties.work, 0)
    assert not parties.file(0, "result").exists()
    right = parties.round(1, {name: 5 + i for i, name in enumerate("abcx")})
    assert same(parties.of["x"].average(1, wait=0), right)
