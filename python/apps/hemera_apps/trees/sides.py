"""Server and client of packaged trees in one process, which share nothing but bytes."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import hemera
from hemera.errors import SecurityWarning
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.evaluator import Evaluator
from hemera.objects.graph import Graph
from hemera.package.encodings import TreeRows
from hemera.package.package import Package
from hemera.program import operations as op
from hemera.program.program import Program
from hemera.trees.ensemble import Ensemble, Integers
from hemera.trees.parameters import parameters_for
from hemera.trees.quantise import IntegerEnsemble, Quantiser, quantise
from hemera_apps.trees.paper import DEPTH, PaperLayout, planes_of
from hemera_apps.trees.paper import package as package_of_paper

Workload = Literal["packed", "paper"]
"""The circuit: many samples in a ciphertext, or the circuit of Magara et al."""
NAMES = (
    "multiplications",
    "plain_multiplications",
    "additions",
    "subtractions",
    "rotations",
    "relinearizations",
)
"""Operations that are counted."""
_PAPER_BATCH = 16
"""The number of samples of the paper's workload that a CPU evaluates at once. The data that they share then
stays in its caches."""


@dataclass(frozen=True)
class Packaged:
    """A packaged model of trees, and what goes in and comes out in the clear."""

    package: Package
    model: IntegerEnsemble
    """Its scores are what the encrypted ones equal."""
    encoded: Callable[[NDArray[Any]], NDArray[Any]]
    """The slots of a request, shape (evaluations, planes, N), of samples."""
    unpacked: Callable[[NDArray[np.int64], int], Integers]
    """The scores, shape (samples, K), of slots of shape (evaluations, N), of a number of samples."""
    plain_modulus: int
    at_once: int | None
    """The number of evaluations that a CPU does together; None: all."""


def packaged(
    model: Ensemble, quantiser: Quantiser, *, samples: int, workload: Workload, parameters: Any = "auto"
) -> Packaged:
    """The model for so many samples.

    Raises:
        ParameterError: if it does not fit workload, bins or parameters.
    """
    bins = quantiser.for_depth(model.depth)
    params = parameters_for(parameters, model, bins, DEPTH if workload == "paper" else None)
    integers = quantise(model, bins, params.plain_modulus.bit_length())
    if workload == "paper":
        places = PaperLayout.choose(params.degree, integers)
        return Packaged(
            package_of_paper(integers, places, params),
            integers,
            lambda rows: planes_of(bins.bins(rows), integers, places),
            lambda slots, _: places.unpack(slots),
            params.plain_modulus,
            _PAPER_BATCH,
        )
    package = hemera.compile(model, quantiser=quantiser, samples=samples, params=params, name="trees").package
    interface = package.interface
    assert isinstance(interface.encoding, TreeRows)
    layout = interface.encoding.layout
    return Packaged(
        package,
        integers,
        lambda rows: interface.encode(rows)[0],
        lambda slots, count: replace(layout, samples=count).unpack(slots),
        params.plain_modulus,
        None,
    )


class Sides:
    """A server that has the model, and a client that has the secret key.

    Args:
        machine: device and threads of both, as for `hemera.Context`.
    """

    def __init__(self, trees: Packaged, **machine: Any) -> None:
        self._trees = trees
        self.server = hemera.Context(trees.package.params, **machine)
        self._prepared = trees.package.prepare(self.server)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)  # the server's context told it
            self.client = hemera.Context(trees.package.params, **machine)
        self.secret_key = self.client.generate_secret_key()
        self._evaluator: Evaluator | None = None
        self._graph: Graph | None = None
        self._captured: tuple[int, ...] = ()

    def keys(self) -> bytes:
        """The client's evaluation keys."""
        return bytes(self._trees.package.generate_keys(self.client, self.secret_key))

    def accept(self, keys: bytes) -> None:
        """The server takes a client's keys."""
        self._evaluator, self._graph = self._prepared.bind(self.server.load(keys)), None

    def request(self, rows: NDArray[Any]) -> bytes:
        """The client's samples, encrypted."""
        return bytes(self.client.encrypt(self._trees.encoded(rows), self.secret_key))

    def evaluate(self, planes: Ciphertext) -> Ciphertext:
        """The server's encrypted scores of a request that it loaded. On a GPU a captured graph is replayed
        for requests of the first one's shape.

        Raises:
            NoiseError: if the parameters leave no guaranteed noise budget.
        """
        assert self._evaluator is not None
        if self._graph is not None and planes.shape == self._captured:
            return self._graph(planes)[0]
        captures = self._prepared.captures
        size = len(planes) if captures else self._trees.at_once or len(planes)
        parts = [
            self._prepared.run(self._evaluator, [planes[at : at + size]])[0]
            for at in range(0, len(planes), size)
        ]
        if captures and self._graph is None:
            self._graph, self._captured = self._prepared.capture(self._evaluator, [planes]), planes.shape
        return parts[0] if len(parts) == 1 else hemera.concatenate(parts)

    def scores(self, response: bytes, samples: int) -> Integers:
        """The integer scores that the client decrypts, shape (samples, K)."""
        slots = self.client.decrypt(self.client.load(response), self.secret_key)
        return self._trees.unpacked(slots, samples)


def operations(program: Program, evaluations: int) -> dict[str, int]:
    """The number of ciphertexts that each operation makes in so many evaluations. A sum of products counts
    each of its products and additions."""
    counts: Counter[str] = Counter(dict.fromkeys(NAMES, 0))
    for node in program.nodes:
        terms = len(node.operands)
        match node.operation:
            case op.Dot():
                terms //= 2
                counts.update(multiplications=terms, additions=terms - 1, relinearizations=1)
            case op.Multiply():
                counts.update(multiplications=1, relinearizations=1)
            case op.DotArrays():
                counts.update(plain_multiplications=terms, additions=terms - 1)
            case op.MultiplyArray() | op.MultiplyNumber():
                counts.update(plain_multiplications=1)
            case op.Add() | op.AddArray() | op.AddNumber():
                counts.update(additions=1)
            case op.Subtract() | op.Negate():
                counts.update(subtractions=1)
            case op.RotateRows() | op.SwapRows():
                counts.update(rotations=1)
    return {name: count * evaluations for name, count in counts.items()}
