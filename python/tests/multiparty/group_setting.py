"""Small groups in memory, N = 1024, without security."""

import itertools

import hemera as hm
from hemera import _core

from .federation_setting import nonce
from .group_files import Residues, secret_file, sections
from .group_oracle import GroupMessages, Opened

DEGREE = 1024


class Members:
    """All members of a group, who pass messages to each other."""

    def __init__(
        self, scheme="bfv", members=3, threshold=2, *, plain_modulus=12289, depth=1, openings=20, made=0
    ):
        self.access = _core.FederationAccess(members, threshold)
        self.openings = _core.Openings(self.access.pieces, openings, 40)
        of_scheme = {"plain_modulus": plain_modulus, "terms": 4}
        if scheme == "ckks":
            of_scheme = {"scale_bits": 35, "slots": DEGREE // 2}
        self.params = getattr(hm, scheme).Parameters.for_circuit(
            depth, degree=DEGREE, security=None, openings=self.openings, **of_scheme
        )
        self.context = hm.Context(self.params, threads=1)
        self.id, self.count = nonce("group", made), members
        self.terms = _core.GroupTerms(self.access, self.openings, self.id)
        self.seeds = [nonce("piece", made, T) for T in range(self.access.pieces)]
        self.opened = [set() for _ in range(members)]
        self.openers = [self.opener(m) for m in range(members)]

    def pieces(self, member):
        return [_core.FederationPiece(T, self.seeds[T]) for T in self.access.held_by(member)]

    def opener(self, member):
        names = self.opened[member]

        def note(name):
            names.add(name)
            return len(names)

        return _core.Opening(self.context._native, self.terms, member, self.pieces(member), note)

    # --- Keys.
    def needs(self, rotations=(), *, relinearization=True):
        native, level = self.params._native, self.params._native.highest_user_level
        elements = [self.context._native.galois_element(steps) for steps in rotations]
        needs = [_core.key_need(native, 1, g, level) for g in elements]
        return needs + ([_core.key_need(native, 2, 1, level)] if relinearization else [])

    def messages(self, member, attempt, needs):
        return _core.KeyMessages(
            self.context._native, self.terms, attempt, member, self.pieces(member), list(needs)
        )

    def sender(self, piece):
        return next(m for m in range(self.count) if piece in self.terms.sent_by(m))

    def run(self, attempt, needs):
        """All rounds of all members."""
        of = [self.messages(m, attempt, needs) for m in range(self.count)]
        for number in range(1, of[0].rounds + 1):
            self.round(of, number)
        return of

    def round(self, of, number):
        pieces = range(self.access.pieces)
        digests = [of[self.sender(T)].digest(number, T) for T in pieces]
        for each, piece in itertools.product(of, pieces):
            each.accept_digest(number, piece, digests[piece])
        sent = [of[self.sender(T)].message(number, T) for T in pieces]
        for each, piece in itertools.product(of, pieces):
            each.accept(number, piece, sent[piece])
        return sent

    def keys(self, rotations=(), *, relinearization=True):
        needs = self.needs(rotations, relinearization=relinearization)
        return hm.Keys(self.run(nonce("attempt"), needs)[0].keys(), self.context)

    # --- What nobody has: for tests alone.
    def secret(self):
        oracle = self.oracle(nonce("attempt"))
        return sum(oracle.secret(key) for key in self.seeds)

    def secret_key(self):
        some = self.context.generate_secret_key()
        template = _core.save(some._native, 0)
        return self.context.load(secret_file(template, self.secret()))

    # --- Openings.
    def shares(self, x, active=None, noise_log2=None):
        """One of each piece, by the first of the active who holds it."""
        active = range(self.count) if active is None else active
        bound = x.noise_bits if noise_log2 is None else noise_log2
        who = [next(m for m in active if self.access.holds(m, T)) for T in range(self.access.pieces)]
        return [self.openers[m].share(x._native, bound, T) for T, m in enumerate(who)]

    def open(self, x, shares, noise_log2=None, dtype=None):
        bound = x.noise_bits if noise_log2 is None else noise_log2
        plain = _core.opened(self.context._native, self.terms, x._native, bound, list(shares))
        return self.context.decode(self.context._wrap(plain), dtype=dtype)

    # --- Oracles.
    def oracle(self, attempt):
        return GroupMessages(self.id, attempt, self.params)

    def opening(self, level):
        return Opened(self.id, self.params, level, self.openings)


def rows_of(x, component, element=0):
    return list(Residues(sections(bytes(x))[-1][1]).rows[element, component])
