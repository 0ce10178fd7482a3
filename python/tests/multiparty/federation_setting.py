"""Small committees with their pieces, and lists with their messages; N = 1024, without security."""

import hashlib

import numpy as np

import hemera as hm
from hemera import _core

from .federation_oracle import Messages

DEGREE = 1024


def nonce(*of):
    return hashlib.sha256(repr(of).encode()).digest()


class Committee:
    """A committee that draws its pieces by itself."""

    def __init__(
        self,
        members=3,
        threshold=2,
        *,
        values=40,
        contributors=8,
        weight=1,
        value_bits=16,
        rounds=100,
        made=0,
        method="lattice",
        failure_bits=40,
        messages=2,
    ):
        self.access = _core.FederationAccess(members, threshold)
        self.plan = _core.FederationPlan(
            values=values,
            value_bits=value_bits,
            contributors=contributors,
            weight=weight,
            rounds=rounds,
            opening_bits=40,
            pieces=self.access.pieces,
            degree=DEGREE,
            security=None,
            method=method,
            failure_bits=failure_bits,
        )
        self.names = list("abcdefghi"[:members])
        self.description = _core.FederationDescription(
            self.access, self.plan, self.names, nonce("layout"), nonce(made), messages
        )
        self.context = hm.Context(hm.bfv.Parameters._wrap(self.plan.parameters), threads=1)
        self.keys = [nonce("piece", made, T) for T in range(self.access.pieces)]
        self.ledgers = [{} for _ in range(members)]
        self.members = [self.member(m) for m in range(members)]

    def member(self, number):
        """A process of a member, with what its disk has."""
        ledger = self.ledgers[number]
        pieces = [_core.FederationPiece(T, self.keys[T]) for T in self.access.held_by(number)]
        return _core.FederationMember(
            self.context._native, self.description, number, pieces, ledger.get, ledger.__setitem__
        )

    def dealt(self, name):
        pieces = [_core.FederationPiece(T, key) for T, key in enumerate(self.keys)]
        return [piece.dealt(self.description, name) for piece in pieces]

    def list(self, weights, *, turn=0, attempt=0):
        entries = [(name, weights[name], nonce(name, turn)) for name in sorted(weights)]
        return _core.FederationList(self.description, turn, attempt, entries)

    def upload(self, of, name, values):
        return _core.federation_upload(
            self.context._native, self.description, of, name, self.dealt(name), values
        )

    def shares(self, of, active=None):
        """One of each piece, by the first of the active who holds it."""
        active = range(len(self.members)) if active is None else active
        who = [next(m for m in active if self.access.holds(m, T)) for T in range(self.access.pieces)]
        return [self.members[m].share(of, T) for T, m in enumerate(who)]

    def sum(self, of, uploads):
        total = _core.UploadSum(self.description, of)
        total.add(*uploads.values())
        return total

    def oracle(self, of):
        return Messages(self.description, self.plan, DEGREE, of.data)


def integers(seed, count, bits=16):
    most = 2 ** (bits - 1) - 1
    return np.random.default_rng(seed).integers(-most, most + 1, count)


def weighted(values, weights):
    return sum(weights[name] * values[name] for name in weights)
