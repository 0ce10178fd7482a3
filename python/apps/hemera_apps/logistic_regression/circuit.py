"""The steps of training on ciphertexts, by any evaluator: the server runs them, and plans count them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

import hemera
from hemera._noise_warning import ranges_are_known
from hemera.circuits import Bootstrap, FunctionPlan, InnerSum, Replication

Step = Callable[[hemera.Ciphertext], hemera.Ciphertext]
AtLevel = Callable[[int], hemera.Ciphertext]
"""z times what the gradient is multiplied by, for the level of the product with it."""
Factor = complex | NDArray[np.complex128]
"""One factor for all slots, or one for each slot that a state repeats."""


class Circuits(Protocol):
    """The circuits of each ciphertext of a mini-batch, and then of the sum of all."""

    @property
    def level(self) -> int: ...
    @property
    def scores(self) -> Step: ...
    @property
    def sigmoid(self) -> Step: ...
    @property
    def copies(self) -> Step: ...
    @property
    def gradient(self) -> Step: ...


@dataclass(frozen=True)
class Iteration:
    """The circuits of an iteration that starts at a level. Rows are samples of one model, of `width` slots
    each."""

    level: int
    scores: InnerSum
    """z v summed along each row, into its first slot."""
    sigmoid: FunctionPlan
    """The polynomial in the first slot of each row, 0 in the others: its coefficients are the mask."""
    copies: Replication
    """The first slot of a row in all of its slots."""
    gradient: InnerSum
    """The sum of all rows of each model, in each of them."""
    result_level: int
    """The level of the next state."""

    @property
    def gradient_level(self) -> int:
        """The level of the product with the z of the gradient."""
        return self.copies.result_level


def scaled(ev: hemera.Evaluator, z: hemera.Ciphertext, level: int, factor: complex) -> hemera.Ciphertext:
    """z times what the gradient is multiplied by, at a level."""
    return ev.rescale(ev.at_level(z, level + 1) * factor)


def descended(
    ev: hemera.Evaluator, own: Circuits, state: hemera.Ciphertext, z: hemera.Ciphertext, factored: AtLevel
) -> hemera.Ciphertext:
    """The next state of gradient descent."""
    spread = _probabilities(own, ev.rescale(ev.at_level(z, own.level) * state))
    return _gradient(ev, own, spread, factored) + state


def accelerated(
    ev: hemera.Evaluator, own: Circuits, state: hemera.Ciphertext, z: hemera.Ciphertext, factored: AtLevel
) -> tuple[hemera.Ciphertext, hemera.Ciphertext, hemera.Ciphertext]:
    """Nesterov's method with the state s = v + i w: the gradient, and at the level of its last product s +
    conj s = 2 v and s."""
    ahead = state + state.conjugate()
    spread = _probabilities(own, ev.rescale(ev.at_level(z, own.level) * ahead))
    return (
        _gradient(ev, own, spread, factored),
        ev.at_level(ahead, spread.level),
        ev.at_level(state, spread.level),
    )


def accelerated_parts(
    ev: hemera.Evaluator,
    own: Circuits,
    state: hemera.Ciphertext,
    halves: hemera.Ciphertext,
    factored: AtLevel,
    turn: int,
) -> tuple[hemera.Ciphertext, hemera.Ciphertext, hemera.Ciphertext]:
    """Nesterov's method with the real state (v, w), which repeats, of `turn` slots each: the gradient, and at
    the level of its last product (w, v) and (v, w).

    `halves`: z where the state has v, and z where it has w, as a batch of two with zeros elsewhere: times
    (v, w) and times (w, v) they add up to z v, without a mask that takes a level.
    """
    turned = state.rotate(turn)
    parts = [
        half * ahead for half, ahead in zip(ev.at_level(halves, own.level), (state, turned), strict=True)
    ]
    scores = parts[0] + parts[1]
    spread = _probabilities(own, ev.rescale(scores + scores))
    return (
        _gradient(ev, own, spread, factored),
        ev.at_level(turned, spread.level),
        ev.at_level(state, spread.level),
    )


def joined(
    ev: hemera.Evaluator,
    gradient: hemera.Ciphertext,
    ahead: hemera.Ciphertext,
    kept: hemera.Ciphertext,
    factors: tuple[Factor, Factor],
) -> hemera.Ciphertext:
    """The next state of the parts of `accelerated`, or of `accelerated_parts`; `factors`: of
    `TrainingPlan.state_factors`."""
    a, b = factors
    return gradient + ev.rescale(_times(kept, b) + _times(ahead, a))


def _times(x: hemera.Ciphertext, factor: Factor) -> hemera.Ciphertext:
    if isinstance(factor, np.ndarray):
        return (x.with_slots(factor.size) * factor).with_slots(x.slots)
    return x * factor


def refreshed(
    ev: hemera.Evaluator, bootstrap: Bootstrap, state: hemera.Ciphertext, level: int
) -> hemera.Ciphertext:
    """A state at a level, bootstrapped as the few slots that it repeats."""
    with ranges_are_known():
        fresh = bootstrap(state.with_slots(bootstrap.slots))
    return ev.at_level(fresh, level).with_slots(state.slots)


def _probabilities(own: Circuits, products: hemera.Ciphertext) -> hemera.Ciphertext:
    """p(-z v) of each sample, in all slots of its row, by the products of z and v."""
    scores = own.scores(products)
    with ranges_are_known():
        return own.copies(own.sigmoid(scores))


def _gradient(
    ev: hemera.Evaluator, own: Circuits, spread: hemera.Ciphertext, factored: AtLevel
) -> hemera.Ciphertext:
    """The sum over samples of p(-z v) times the scaled z, in each row of a model."""
    z = factored(spread.level)
    # The products of several ciphertexts are relinearized as their sum.
    total = ev.dot(list(spread), list(z)) if spread.shape else spread * z
    return own.gradient(ev.rescale(total))
