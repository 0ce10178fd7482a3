"""A whole training: table, client, server, and the comparison with training in the clear."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera_apps.logistic_regression.clear import require_bounds, train_clear
from hemera_apps.logistic_regression.client import Client
from hemera_apps.logistic_regression.measures import Quality, loss, quality
from hemera_apps.logistic_regression.plan import TrainingPlan
from hemera_apps.logistic_regression.preparation import Preparation, make_batches
from hemera_apps.logistic_regression.server import Server
from hemera_apps.logistic_regression.tables import GROUP, Table
from hemera_apps.table_files import extra

Floats = NDArray[np.float64]
Progress = Callable[[str, int], None]
"""A function that is called with the name of a stage and the number of iterations done."""


@dataclass(frozen=True)
class Mark:
    """The quality of one model after some iterations, on the held-out samples."""

    iteration: int
    model: int
    encrypted: Quality
    clear: Quality
    difference: float
    """The largest difference of an encrypted weight from the clear one."""


@dataclass
class Run:
    """The results of a training. `to_json` has the stable keys."""

    plan: TrainingPlan
    table: str
    samples: int
    held_out: int
    batches: int
    """The number of mini-batches of an epoch."""
    device: str
    description: str
    marks: list[Mark] = field(default_factory=list)
    """The marks of each model after each epoch, and at the end."""
    losses: dict[str, list[list[float]]] = field(default_factory=lambda: {"encrypted": [], "clear": []})
    """The loss on the training samples, by iteration and model."""
    class_accuracy: dict[str, float] | None = None
    """If each model is of one class: the part of the held-out samples whose class has the largest logit, for
    "encrypted", "clear" and "scikit_learn"."""
    largest_logit: float = 0.0
    """The largest logit of the training samples during training. Beyond the sigmoid's interval, the interval
    was too narrow."""
    scikit_learn: list[Quality] = field(default_factory=list)
    """The quality of scikit-learn's LogisticRegression on each model's samples; one if models share
    samples."""
    weights: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    """The decrypted weights, of shape (models, width)."""
    seconds: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)

    @property
    def difference(self) -> float:
        """The largest difference of an encrypted weight from the clear one at the end; NaN if one is."""
        at_end = self.marks[-1].iteration
        return float(np.max([mark.difference for mark in self.marks if mark.iteration == at_end]))

    def to_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "samples": self.samples,
            "held_out": self.held_out,
            "batches": self.batches,
            "settings": self.plan.settings.as_dict(),
            "plan": self.plan.as_dict(),
            "security": self.plan.params.security,
            "device": self.device,
            "description": self.description,
            "marks": [asdict(mark) for mark in self.marks],
            "difference": self.difference,
            "class_accuracy": self.class_accuracy,
            "losses": self.losses,
            "largest_logit": self.largest_logit,
            "scikit_learn": [asdict(one) for one in self.scikit_learn],
            "weights": self.weights.tolist(),
            "seconds": self.seconds,
            "memory": self.memory,
        }


def run(
    plan: TrainingPlan,
    tables: Sequence[Table],
    held_out: Sequence[Table],
    *,
    seed: int = 0,
    device: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Run:
    """Train encrypted and in the clear, on the same mini-batches.

    Args:
        plan: the plan of the training.
        tables: the table of training samples, or one for each model.
        held_out: the table of held-out samples, or one for each model: the same samples with the labels of a
            class.
        seed: the seed of the order of the samples.
        device, threads: see `hemera.Context`.
        progress: called with each stage.

    Raises:
        OutOfMemoryError: if keys, plaintexts and intermediate values do not fit.
        NoiseError: if weights left their bound.
        ParameterError: before any encryption, if scikit-learn is not installed, or the same training in the
            clear leaves the bound of the weights.
    """
    extra("sklearn.linear_model", GROUP)  # the end needs it: the error comes before the training
    settings = plan.settings
    report: Progress = progress or (lambda *_: None)
    preparation = Preparation.of(tables[0].features)
    source = tables[0] if len(tables) == 1 else list(tables)
    batches = make_batches(settings, preparation, source, seed)
    require_bounds(settings, batches)
    seconds: dict[str, Any] = {}

    @contextmanager
    def stage(name: str, text: str) -> Iterator[None]:
        report(text, 0)
        begin = time.perf_counter()
        yield
        seconds[name] = time.perf_counter() - begin

    with stage("setup", "setting up"):
        client = Client(plan, device=device, threads=threads)
    context = client.context
    result = Run(
        plan,
        tables[0].name,
        len(tables[0]),
        len(held_out[0]),
        batches.shape[-3],
        context.device,
        context.description,
    )
    with stage("keys", "making keys"):
        keys = client.keys()
        server = Server(plan, context, keys)
        context.synchronize()
    with stage("encrypt", "encrypting mini-batches"):
        used = min(result.batches, settings.iterations)
        for number in range(used):
            server.add_batch(client.encrypt(batches[..., number, :, :]))
        context.synchronize()

    training = [_Samples(preparation, table, settings.width) for table in tables]
    measured = [_Samples(preparation, table, settings.width) for table in held_out]
    clear = train_clear(settings, batches)
    largest_memory = 0
    begin = time.perf_counter()
    for done in server.train(client.start(), measure=True):
        report("training", done)
        expected = next(clear)
        weights = client.decrypt(server.weights())
        largest_memory = max(largest_memory, context.memory_used)
        ends = done % result.batches == 0 or done == settings.iterations
        losses: dict[str, list[float]] = {"encrypted": [], "clear": []}
        for model in range(settings.models):
            own, other = training[model % len(training)], measured[model % len(measured)]
            logits = own.rows @ weights[model]
            result.largest_logit = float(np.max(np.abs(logits), initial=result.largest_logit))
            losses["encrypted"].append(loss(logits, own.labels))
            losses["clear"].append(loss(own.rows @ expected[model], own.labels))
            if ends:
                result.marks.append(
                    Mark(
                        done,
                        model,
                        other.quality(weights[model]),
                        other.quality(expected[model]),
                        float(np.abs(weights[model] - expected[model]).max()),
                    )
                )
        for kind, values in losses.items():
            result.losses[kind].append(values)
        result.weights = weights
    seconds["training"] = time.perf_counter() - begin
    seconds.update(_times(server, plan))
    result.seconds = seconds
    result.memory = {"keys": keys.memory_bytes, "device": largest_memory}
    report("scikit-learn", settings.iterations)
    theirs = [_scikit_learn(own) for own in training]
    result.scikit_learn = [
        measured[number % len(measured)].quality(weights) for number, weights in enumerate(theirs)
    ]
    if len(measured) > 1:
        result.class_accuracy = {
            name: _class_accuracy(measured, of_each)
            for name, of_each in (
                ("encrypted", result.weights),
                ("clear", expected),
                ("scikit_learn", np.stack(theirs)),
            )
        }
    return result


class _Samples:
    """Prepared rows with their labels."""

    def __init__(self, preparation: Preparation, table: Table, width: int) -> None:
        self.rows = preparation.apply(table.features, width)
        self.labels = table.labels

    def quality(self, weights: Floats) -> Quality:
        return quality(self.rows @ weights, self.labels)


def _scikit_learn(training: _Samples) -> Floats:
    """The weights of scikit-learn's LogisticRegression, the intercept first."""
    model = extra("sklearn.linear_model", GROUP).LogisticRegression(max_iter=1000)
    model.fit(training.rows[:, 1:], training.labels)
    return np.concatenate([model.intercept_, model.coef_[0]])


def _class_accuracy(measured: Sequence[_Samples], weights: Floats) -> float:
    """The part of the samples whose class has the largest logit. Each model, and its labels, is of one
    class."""
    chosen = np.argmax(measured[0].rows @ weights.T, axis=1)
    return float(np.mean(chosen == np.argmax([own.labels for own in measured], axis=0)))


def _times(server: Server, plan: TrainingPlan) -> dict[str, Any]:
    """Medians of the times. The first of each kind encodes constants and captures graphs, and counts only if
    there is no other."""
    iterations, bootstraps = server.seconds["iterations"], server.seconds["bootstraps"]
    every = plan.bootstrap_every
    positions = [
        float(np.median(own[1:] if len(own) > 1 else own))
        for own in (iterations[position::every] for position in range(every))
        if own
    ]
    told: dict[str, Any] = {"iteration": float(np.mean(positions)), "iteration_by_level": positions}
    if bootstraps:
        told["bootstrap"] = float(np.median(bootstraps[1:] if len(bootstraps) > 1 else bootstraps))
        told["iteration_with_bootstrap"] = told["iteration"] + told["bootstrap"]
        told["iteration_on_average"] = told["iteration"] + told["bootstrap"] / every
    return told
