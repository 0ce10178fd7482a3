"""Which parameters a training has, unless its owner says so."""

from __future__ import annotations

from hemera.errors import LevelError, ParameterError
from hemera.times import DeviceTimes
from hemera_apps.logistic_regression.parameters import make_parameters
from hemera_apps.logistic_regression.plan import TrainingPlan
from hemera_apps.logistic_regression.settings import Settings

EPHEMERAL_SECRETS = ("fixed weight", "blocks")

_DEVICE = "nvidia-h200"
"""CPUs order these parameters as it does, but where two are within a hundredth."""
_FEW, _MANY = "n16-40-few", "n16-40"
_DEGREES = (2**15, 2**16)
"""The smaller ring is the faster one, where it has room for the state and secure levels."""
_EVERY = (1, 2, 3)


def fastest_plan(
    settings: Settings, *, bootstrap_every: int | None = None, ephemeral_secret: str = "fixed weight"
) -> TrainingPlan:
    """The plan whose iterations, each with its part of a bootstrap, take the least time by the operations
    that they count on an H200.

    Args:
        bootstrap_every: the number of iterations from one bootstrap to the next; None: any.
        ephemeral_secret: "fixed weight": the preset n16-40. "blocks": also bootstraps by roots of unity, of
            states of up to 256 numbers (at N = 2^16 of 512), with exactly as many levels as one, two or three
            iterations take. The security of their secrets in blocks rests on estimates with judgement in
            them (docs/security.md), so they have to be asked for.

    Raises:
        LevelError, ParameterError: where even n16-40 has too few levels or slots, as `TrainingPlan`.
        ParameterError: for other ephemeral secrets.
    """
    if ephemeral_secret not in EPHEMERAL_SECRETS:
        raise ParameterError(f'ephemeral_secret is "fixed weight" or "blocks", not {ephemeral_secret!r}')
    if ephemeral_secret == "fixed weight":
        return TrainingPlan(make_parameters(_MANY), settings, bootstrap_every=bootstrap_every)
    plans = [
        found
        for every in (_EVERY if bootstrap_every is None else (bootstrap_every,))
        if (found := _by_roots_of_unity(settings, every)) is not None
    ]
    try:
        plans.append(TrainingPlan(make_parameters(_MANY), settings, bootstrap_every=bootstrap_every))
    except (LevelError, ParameterError):
        if not plans:
            raise
    return min(plans, key=_seconds)


def _by_roots_of_unity(settings: Settings, every: int) -> TrainingPlan | None:
    for degree in _DEGREES:
        try:
            params = make_parameters(_FEW, degree=degree, levels=every * settings.depth)
            return TrainingPlan(params, settings, bootstrap_every=every)
        except (LevelError, ParameterError):
            continue  # too many numbers, or levels without 128 bits of security
    return None


def _seconds(plan: TrainingPlan) -> float:
    """Seconds of an iteration, as graphs, with its part of a bootstrap."""
    times = DeviceTimes.find(_DEVICE)
    counted = [*plan.costs, plan.bootstrap_cost]
    return sum(times.seconds(cost._cost, graph=True) for cost in counted) / plan.bootstrap_every
