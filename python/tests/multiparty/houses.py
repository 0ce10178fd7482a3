"""Houses: the members of a group in one folder, each with a folder of its own; small rings."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import hemera as hm
from hemera import _core
from hemera.multiparty import Group, Receiver

SPEC = hm.ArraySpec((40,), range=(0, 120), dtype=int)
OF_NUMBERS = hm.ArraySpec((40,), range=(0, 120))
TERMS = {"members": ["a", "b", "c"], "threshold": 2, "receivers": ["r"], "openings": 20}


def statistics(a, b, c):
    return {"sum": (a + b + c).sum(), "squares": (a * a + b * b + c * c).sum()}


def program_of(scheme, what=statistics):
    openings = _core.Openings(3, TERMS["openings"], 40)
    of_scheme = {"plain_bits": 25, "slots": 64, "terms": 512}
    spec = SPEC
    if scheme == "ckks":
        of_scheme, spec = {"scale_bits": 40, "slots": 64}, OF_NUMBERS
    depth = 3 if scheme == "ckks" else 1
    params = getattr(hm, scheme).Parameters.for_circuit(
        depth, degree=1024, security=None, openings=openings, **of_scheme
    )
    return hm.compile(what, spec, spec, spec, scheme=scheme, params=params, security=None)


class Houses:
    """The members of a group in one folder, each with a folder of its own."""

    def __init__(self, folder, program, terms=None, *, url=None, own=lambda _: {}):
        self.folder, self.program, self.terms = folder, program, terms or TERMS
        self.place, self.own = folder / "study", own
        self.shared = url or self.place
        self.names = self.terms["members"]
        self.groups = {name: self.join(name) for name in self.names}
        if self.terms["receivers"]:
            self.receiver()  # members make keys after its own
        self.rows = {n: np.random.default_rng(k).integers(0, 121, 40) for k, n in enumerate(self.names)}

    def join(self, name):
        """A process of a member."""
        own = self.own(name)
        if "identities" not in own:
            own |= {"secrets": self.folder / "secrets"}
        return Group.join(self.shared, self.folder / f"{name}.party", **own, **self.terms)

    def together(self, what, names=None):
        chosen = self.names if names is None else names
        with ThreadPoolExecutor(len(chosen)) as pool:
            return list(pool.map(lambda name: what(self.groups[name], name), chosen))

    def keys(self):
        return self.together(lambda group, _: group.make_keys(self.program, wait=60))

    def put(self, turn=0):
        self.together(
            lambda group, name: group.put(self.rows[name], program=self.program, turn=turn, wait=60)
        )

    def receiver(self):
        found = Receiver.join(self.shared, self.folder / "r.party", **self.own("r"), **self.terms)
        found.make_key(self.program)
        return found


def expected(houses):
    rows = np.concatenate(list(houses.rows.values()))
    return {"sum": int(rows.sum()), "squares": int((rows**2).sum())}


def ready(houses):
    houses.keys()
    houses.put()
    return houses.groups["a"]._own_keys().context
