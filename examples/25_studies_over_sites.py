"""Studies of three hospitals that pool sums and no rows: moments, a histogram, survival, two regressions.

python examples/25_studies_over_sites.py
"""

from __future__ import annotations

import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hemera as hm

SITES = ("a", "b", "c")
MOST = 2**31 - 1  # values are whole numbers up to this: sums are exact
UNIT = 2.0**10  # of real numbers
ROOM = 64


class Site:
    """One hospital: its rows, and sums over all of them."""

    def __init__(self, folder: Path, name: str, rows: dict[str, Any]) -> None:
        self.rows, self.turn = rows, 0
        self.fed = hm.multiparty.Federation.join(
            folder / "shared",
            me=folder / f"{name}.party",
            like=np.zeros(ROOM),
            bits=32,
            clip=MOST,
            clients=len(SITES),
            least=len(SITES),
            rounds=100,
            secrets=folder / "carried",  # of one machine; between houses: identities=
        )

    def total(self, values: Any, unit: float = 1.0) -> Any:
        """The sum of all sites' arrays."""
        flat = np.ravel(values)
        padded = np.pad(np.rint(flat * unit), (0, ROOM - flat.size))
        self.fed.push(self.turn, padded)
        mean = self.fed.average(self.turn)
        self.turn += 1
        return (np.rint(mean * len(SITES)) / unit)[: flat.size].reshape(np.shape(values))


def moments(site: Site) -> tuple[float, float]:
    """Mean and variance of the ages."""
    age = site.rows["age"]
    count, first, second = site.total([age.size, age.sum(), (age**2).sum()])
    return first / count, (second - first**2 / count) / (count - 1)


def histogram(site: Site) -> Any:
    """Ages by decades."""
    return site.total(np.histogram(site.rows["age"], bins=range(20, 101, 10))[0])


def survival(site: Site) -> Any:
    """Kaplan and Meier's estimate after each of 24 months."""
    months, died = site.rows["months"], site.rows["died"]
    grid = np.arange(1, 25)
    deaths = [((months == month) & died).sum() for month in grid]
    at_risk = [(months >= month).sum() for month in grid]
    deaths, at_risk = site.total([deaths, at_risk])
    return np.cumprod(1 - deaths / at_risk)


def regression(site: Site, outcome: str, mean: Callable[[Any], Any], variance: Callable[[Any], Any]) -> Any:
    """A generalised linear model by Newton's steps: sums of X'WX and of X'(y - mean), once a step."""
    x, y = site.rows["x"], site.rows[outcome]
    beta = np.zeros(x.shape[1])
    for _ in range(8):
        mu = mean(x @ beta)
        own = np.column_stack([x.T @ (x * variance(mu)[:, None]), x.T @ (y - mu)])
        sums = site.total(own, UNIT**2)
        beta = beta + np.linalg.solve(sums[:, :-1], sums[:, -1])
    return beta


def logistic(site: Site) -> Any:
    """Coefficients of a logistic regression of deaths."""
    return regression(site, "died", lambda eta: 1 / (1 + np.exp(-eta)), lambda mu: mu * (1 - mu))


def poisson(site: Site) -> Any:
    """Coefficients of a Poisson regression of visits."""
    return regression(site, "visits", np.exp, lambda mu: mu)


STUDIES = (moments, histogram, survival, logistic, poisson)


def rows_of(seed: int, count: int = 200) -> dict[str, Any]:
    """Patients of a hospital."""
    drawn = np.random.default_rng(seed)
    x = np.column_stack([np.ones(count), drawn.normal(size=(count, 2))])
    odds = x @ [-0.5, 0.8, -0.4]
    return {
        "age": drawn.integers(20, 100, count),
        "months": drawn.integers(1, 30, count),
        "died": drawn.uniform(size=count) < 1 / (1 + np.exp(-odds)),
        "visits": drawn.poisson(np.exp(x @ [0.3, 0.4, -0.2])),
        "x": x,
    }


def run(rows: dict[str, dict[str, Any]]) -> dict[str, list[Any]]:
    """What each site finds, in the order of the studies. Threads stand for the sites."""
    found: dict[str, list[Any]] = {}
    with tempfile.TemporaryDirectory() as folder:

        def work(name: str) -> None:
            site = Site(Path(folder), name, rows[name])
            found[name] = [study(site) for study in STUDIES]

        threads = [threading.Thread(target=work, args=(name,)) for name in SITES]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return found


def main() -> None:
    """Print what the studies find."""
    warnings.simplefilter("ignore", hm.errors.SecurityWarning)
    found = run({name: rows_of(seed) for seed, name in enumerate(SITES)})
    for study, result in zip(STUDIES, found["a"], strict=True):
        print(f"{study.__name__:10}", np.round(result, 4))


if __name__ == "__main__":
    main()
