"""All parties of a federation in one process and one folder, and NumPy's averages."""

from __future__ import annotations

import numpy as np

from hemera.multiparty import Federation
from hemera.serving.clients import is_name

SHAPES = {"bias": (7,), "kernel": (3, 5), "scale": ()}


def arrays(seed):
    drawn = np.random.default_rng(seed)
    return {name: np.asarray(drawn.uniform(-1, 1, shape)) for name, shape in SHAPES.items()}


def expected(given, weights, bits=16):
    """NumPy's average of values that are rounded to steps."""
    steps = 2 ** (bits - 1) - 1
    out = {}
    for array in SHAPES:
        whole = [w * np.rint(np.clip(given[name][array], -1, 1) * steps) for name, w in weights.items()]
        out[array] = sum(whole) / (steps * sum(weights.values()))
    return out


def same(found, right):
    shapes = all(found[name].shape == np.shape(right[name]) for name in right)
    return shapes and all(np.abs(found[name] - right[name]).max() < 1e-12 for name in right)


def join(folder, me, **terms):
    """Join a federation in a folder, or on the server where a test has one."""
    server = Parties.server
    if server is None:
        return Federation.join(folder, me, **terms)
    return Federation.join(
        server.place(folder), me, token=server.token(me.name.removesuffix(".party")), **terms
    )


class Server:
    """Keeps the shared folders of federations, one for each that a test has, and adds clients."""

    def __init__(self, home, url):
        self.home, self.url = home, url
        self.tokens = {}
        self.names = {}

    def token(self, name):
        """A client's, which is added where there is none."""
        if name not in self.tokens:
            self.tokens[name] = self.home.clients.add(name) if is_name(name) else "nobody.0"
        return self.tokens[name]

    def place(self, folder):
        """The address of a federation, whose files the server keeps where `folder` leads to."""
        if folder not in self.names:
            self.names[folder] = f"fl{len(self.names)}"
            there = self.home.federation(self.names[folder])
            there.mkdir(parents=True, exist_ok=True)  # a killed process was here
            folder.parent.mkdir(parents=True, exist_ok=True)
            if not folder.is_symlink():
                folder.symlink_to(there)
        return f"{self.url}/v1/federations/{self.names[folder]}"


class Parties:
    """All in one process and one folder; `join` is a process of a party that starts, or starts again.

    `server`: where the folder is one of a server's.
    """

    server: Server | None = None

    def __init__(self, folder, names="abc", **given):
        self.folder, self.names = folder, names
        self.terms = {"like": arrays(0), "clients": 8, "rounds": 5, "patience": 1000.0}
        self.terms |= {"secrets": folder / "carried"} | given
        self.of = {name: self.join(name) for name in names}
        for fed in self.of.values():
            fed._keys.prepare()

    def join(self, name, **changed):
        return join(self.folder / "shared", self.folder / f"{name}.party", **(self.terms | changed))

    def work(self, turn, without=""):
        """Everybody does what can be done, as often as it helps."""
        for _ in range(6):
            for name, fed in self.of.items():
                if name not in without:
                    fed.work(turn)

    def push(self, given):
        """The arrays of each contributor, for round 0."""
        for name, values in given.items():
            self.of[name].push(0, values, wait=0)

    def lose_patience(self, turn):
        """A member who has waited long enough."""
        fed = self.of["a"]
        fed._patience.seconds, before = 0, fed._patience.seconds
        fed.work(turn)
        fed._patience.seconds = before

    def round(self, turn, seeds, **weights):
        given = {name: arrays(seed) for name, seed in seeds.items()}
        for name, values in given.items():
            self.of[name].push(turn, values, weight=weights.get(name, 1), wait=0)
        self.work(turn)
        return expected(given, {name: weights.get(name, 1) for name in given})

    def file(self, turn, name):
        return self.folder / "shared" / f"round-{turn}" / name
