"""Parties that are killed at any write, start again and go on: the same messages, the same average."""

import functools
import os
import signal

import numpy as np
import pytest

from hemera import _files, multiparty
from hemera.errors import MismatchError
from hemera.multiparty import Group, Receiver, identity, party, shared, terms
from hemera.multiparty.waiting import WaitingError

from .houses import TERMS, program_of
from .parties import Parties, arrays, expected, same

NAMES = "abcx"
RIGHT = expected({name: arrays(ord(name)) for name in NAMES}, dict.fromkeys(NAMES, 1))


class KilledError(BaseException):
    """A process ends here."""


class Writes:
    """Counts writes, keeps them, and ends the process before or after one of them."""

    def __init__(self, patched, at, *, after, end):
        self.count, self.at, self.after, self.end = 0, at, after, end
        self.seen = {}
        for module in (identity, party):
            patched.setattr(
                module, "write_atomically", functools.partial(self.write, _files.write_atomically)
            )
        for module in (identity, terms):
            patched.setattr(module, "write", functools.partial(self.write, shared.write))

    def write(self, write, path, data, *, replace=True):
        self.count += 1
        if self.count == self.at and not self.after:
            self.end()
        write(path, data, replace=replace)
        self.seen.setdefault("/".join(path.parts[-2:]), set()).add(data)
        if self.count == self.at and self.after:
            self.end()


def end():
    raise KilledError


def all_of(folder, sealed=False):
    own = {"secrets": None, "identities": folder / "identities"} if sealed else {}
    return Parties(folder, "", least=4, **own)


def run(parties):
    """All go on with round 0 until each has the average; who was killed joins and pushes again."""
    for _ in range(12):
        for name in NAMES:
            try:
                if name not in parties.of:
                    parties.of[name] = parties.join(name)
                parties.of[name].push(0, arrays(ord(name)), wait=0)
            except KilledError:
                parties.of.pop(name, None)
        if len(parties.of) == len(NAMES) and parties.file(0, "result").exists():
            break
    for name in NAMES:
        try:
            found = parties.of[name].average(0, wait=0, verify=True)
        except KilledError:  # a member notes a list before it compares shares
            parties.of[name] = parties.join(name)
            found = parties.of[name].average(0, wait=0, verify=True)
        assert same(found, RIGHT)
        assert same(parties.of[name].average(0, wait=0), RIGHT)


def writes_in_all(folder, sealed=False):
    with pytest.MonkeyPatch.context() as patched:
        writes = Writes(patched, 0, after=False, end=end)
        run(all_of(folder, sealed))
    return writes.count


@pytest.mark.parametrize("sealed", [False, True])
def test_a_party_that_is_killed_at_a_write_goes_on(tmp_path, transport, sealed):
    if sealed:
        pytest.importorskip(
            "cryptography", reason="cryptography is not installed: tools/setup frameworks brings it"
        )
    total = writes_in_all(tmp_path / "whole", sealed)
    assert total > 40
    # The server is another transport of the same files: three writes of it.
    for at in range(1, total + 1, 1 if transport == "folder" else 37):
        with pytest.MonkeyPatch.context() as patched:
            writes = Writes(patched, at, after=at % 8 == 0, end=end)
            run(all_of(tmp_path / f"{at}", sealed))
        # Each name has its attempt and piece, and a share has the member's: one message for ever.
        for path, contents in writes.seen.items():
            name = path.split("/")[-1]
            if name.startswith(
                ("share-", "upload-", "list-", "result", "answered-", "piece-", "dealt-", "identity")
            ):
                assert len(contents) == 1, path


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.fact_of_the_cpu("contexts in forked processes")
def test_all_parties_are_killed_at_once(tmp_path, transport):
    total = writes_in_all(tmp_path / "whole")
    for part in (0.2, 0.5, 0.7, 0.8, 0.9) if transport == "folder" else (0.7,):
        folder = tmp_path / f"killed-{part}"
        child = os.fork()
        if child == 0:
            with pytest.MonkeyPatch.context() as patched:
                at, end = int(part * total), functools.partial(os.kill, os.getpid(), signal.SIGKILL)
                Writes(patched, at, after=False, end=end)
                run(all_of(folder))
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        run(all_of(folder))


def test_the_module_has_these_names():
    assert multiparty.__all__ == ["Federation", "Group", "Receiver", "WaitingError"]


def study(folder, program):
    """The result that the receiver reads once all have done their part; who was killed starts again."""
    groups = {}
    for _ in range(40):
        for k, name in enumerate(TERMS["members"]):
            own = {"secrets": folder / "secrets", **TERMS}
            try:
                group = groups.get(name) or Group.join(folder / "study", folder / f"{name}.party", **own)
                groups[name] = group
                group.make_keys(program, wait=0)
                group.put(np.arange(40) + k, program=program, wait=0)
                if name == "b" and not group.requests():
                    group.request(program)
                for request in group.requests():
                    request.approve(program)
            except KilledError:
                groups.pop(name, None)
            except WaitingError:
                continue
        try:
            receiver = Receiver.join(folder / "study", folder / "r.party", **TERMS)
            receiver.make_key(program)
            return receiver.open(program, wait=0)
        except (KilledError, WaitingError, MismatchError):
            continue
    raise AssertionError("the receiver has no result")


def test_a_member_of_a_group_that_is_killed_at_a_write_goes_on(tmp_path):
    program, rows = program_of("bfv"), np.arange(40) + np.arange(3)[:, None]
    total = 0
    for at in range(0, 200, 5):
        with pytest.MonkeyPatch.context() as patched:
            writes = Writes(patched, at, after=at % 2 == 0, end=end)
            found = study(tmp_path / f"{at}", program)
        assert found == {"sum": rows.sum(), "squares": (rows**2).sum()}
        # What others have seen of a member is never another thing: of an attempt, an input, an opening.
        for path, contents in writes.seen.items():
            if path.split("/")[-1].startswith(
                ("message-", "nonce-", "digest-", "input-", "share-", "result-")
            ):
                assert len(contents) == 1, path
        total = total or writes.count
        if at > total:
            break
    assert total > 60
