"""Tables of samples with labels of two classes: a made-up one, a real one, and the user's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hemera.errors import ParameterError
from hemera_apps.table_files import extra, read_table_file

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GROUP = "applications"
"""The name of the extra requirements."""
LABEL_NOISE = 0.2
"""The part of the labels of `loan_applications` that are exchanged."""
OWNERSHIP = ("rents", "mortgage", "owns")
PURPOSES = ("car", "house", "business", "education", "other")
EMPLOYMENT = ("employed", "self-employed", "public", "retired", "none")


@dataclass(frozen=True)
class Table:
    """A data owner's samples in the clear."""

    name: str
    columns: tuple[str, ...]
    features: Floats
    """An array of shape (samples, columns)."""
    labels: Integers
    """0 or 1, one for each sample."""

    def __post_init__(self) -> None:
        rows, columns = self.features.shape
        if rows != len(self.labels) or columns != len(self.columns):
            raise ParameterError(
                f"a table of {rows} x {columns} features does not fit {len(self.labels)} labels and "
                f"{len(self.columns)} names of columns; give as many of each"
            )
        if len(np.unique(self.labels)) != 2 or not np.isin(self.labels, (0, 1)).all():
            raise ParameterError("labels must be 0 and 1, and both must be there")
        wrong = [
            name
            for name, values in zip(self.columns, self.features.T, strict=True)
            if not np.isfinite(values).all()
        ]
        if wrong:
            raise ParameterError(
                f"column {wrong[0]!r} of {self.name} has values that are missing or not finite; fill "
                "them in, or leave out these samples"
            )

    def __len__(self) -> int:
        return len(self.labels)

    def split(self, held_out: float, seed: int) -> tuple[Table, Table]:
        """The table in two, shuffled: one for training, and the part `held_out` of it for measuring.

        Raises:
            ParameterError: if one part gets no sample of a class.
        """
        order = np.random.default_rng(seed).permutation(len(self))
        count = round(held_out * len(self))
        if not 0 < held_out < 1 or min(count, len(self) - count) < 2:
            raise ParameterError(f"a part of {held_out} of {len(self)} samples can not be held out")
        return self._rows(order[count:]), self._rows(order[:count])

    def folds(self, count: int, seed: int) -> list[Table]:
        """The tables of a cross-validation: `count` tables, each without one of `count` equal parts.

        Raises:
            ParameterError: if `count` is below 2, or above the number of samples.
        """
        if not 2 <= count <= len(self):
            raise ParameterError(f"{count} folds of {len(self)} samples: there must be 2 or more samples")
        order = np.random.default_rng(seed).permutation(len(self))
        return [
            self._rows(np.concatenate([*parts[:i], *parts[i + 1 :]]))
            for parts in [np.array_split(order, count)]
            for i in range(count)
        ]

    def _rows(self, chosen: NDArray[np.int64]) -> Table:
        return Table(self.name, self.columns, self.features[chosen], self.labels[chosen])


def loan_applications(rows: int = 45_000, seed: int = 0) -> Table:
    """Made-up loan applications: 12 numbers, and three choices as 13 columns of 0 and 1, 25 features in all.
    Papers on encrypted training use tables of this shape, which are not public.

    A hidden number for each applicant (the wealth) enters age, income, savings, credit score, delinquencies
    and the choices, so features are correlated. Incomes, loans and savings are log-normal; counts are
    Poisson. An application is approved (1) by the sign of a linear function of the standardised features,
    about half of them. Then 20 % of the labels (`LABEL_NOISE`) are exchanged, so no model is right for more
    than 80 %.

    Args:
        rows: the number of samples, at least 10.
        seed: the same seed gives the same table.

    Raises:
        ParameterError: if there are fewer rows.
    """
    if rows < 10:
        raise ParameterError(f"{rows} loan applications are too few; give 10 or more")
    random = np.random.default_rng(seed)
    hidden = random.normal(size=rows)

    def mixed(weight: float) -> Floats:
        """A standard normal number that correlates with the hidden one."""
        own: Floats = weight * hidden + np.sqrt(1 - weight**2) * random.normal(size=rows)
        return own

    age = np.clip(42 + 12 * mixed(0.4), 18, 80)
    income = np.exp(10.5 + 0.5 * mixed(0.7))
    amount = income * np.exp(-0.5 + 0.6 * mixed(-0.2))
    term = random.choice([12.0, 24.0, 36.0, 48.0, 60.0], rows)
    score = np.clip(680 + 70 * mixed(0.8), 300, 850)
    rate = 14 - 0.012 * (score - 680) + 0.02 * term + random.normal(0, 1.2, rows)
    numbers = {
        "age": age,
        "income": income,
        "years employed": np.clip((age - 20) * random.beta(2, 4, rows), 0, None),
        "loan amount": amount,
        "months": term,
        "interest rate": rate,
        "credit score": score,
        "debt ratio": np.clip(0.35 - 0.12 * mixed(0.5), 0, 1.2),
        "open accounts": random.poisson(6 + np.clip(2 * hidden, -4, 6)).astype(np.float64),
        "delinquencies": random.poisson(np.exp(-0.7 - 0.7 * hidden)).astype(np.float64),
        "credit used": random.beta(2, np.exp(0.7 + 0.4 * hidden)),
        "savings": np.exp(8.5 + 1.0 * mixed(0.6)),
    }
    columns = list(numbers)
    parts = [np.stack(list(numbers.values()), axis=1)]
    for title, names, pull in (
        ("home", OWNERSHIP, (-0.6, 0.2, 0.6)),
        ("purpose", PURPOSES, (0.1, 0.5, 0.0, 0.1, -0.4)),
        ("work", EMPLOYMENT, (0.2, 0.1, 0.4, -0.1, -1.2)),
    ):
        # Gumbel noise draws each choice with a probability by its pull and the hidden number.
        drawn = np.argmax(np.outer(hidden, pull) + random.gumbel(size=(rows, len(names))), axis=1)
        parts.append(np.eye(len(names))[drawn])
        columns += [f"{title}: {name}" for name in names]
    features = np.concatenate(parts, axis=1)

    scaled = (features - features.mean(axis=0)) / np.maximum(features.std(axis=0), 1e-9)
    weights = np.zeros(len(columns))
    for name, weight in {
        "income": 0.5,
        "years employed": 0.3,
        "loan amount": -0.6,
        "interest rate": -0.3,
        "credit score": 0.8,
        "debt ratio": -0.7,
        "delinquencies": -0.6,
        "credit used": -0.4,
        "savings": 0.3,
        "home: owns": 0.2,
        "purpose: business": -0.3,
        "work: none": -0.5,
    }.items():
        weights[columns.index(name)] = weight
    logits = scaled @ weights
    labels = (logits > np.median(logits)) ^ (random.random(rows) < LABEL_NOISE)
    return Table("loan applications", tuple(columns), features, labels.astype(np.int64))


def breast_cancer() -> Table:
    """Scikit-learn's table of 569 tumours with 30 features; 1 is benign.

    Raises:
        ParameterError: if scikit-learn is not installed.
    """
    data = extra("sklearn.datasets", GROUP).load_breast_cancer()
    return Table(
        "breast cancer", tuple(map(str, data.feature_names)), data.data, data.target.astype(np.int64)
    )


def read_table(path: str | Path, label: str, *, positive: str | None = None) -> Table:
    """A table from a file of comma-separated values or a Parquet file (by its ending, .parquet or .pq).

    Columns of numbers are features as they are. Another column becomes a column of 0 and 1 for each of its
    values.

    Args:
        path: the path of the file.
        label: the column of the labels, which has two different values.
        positive: the label that becomes 1; None: the greater one.

    Raises:
        FileError: if the file can not be read.
        FormatError: if the file is no such table.
        ParameterError: if there is no such column or label, if there are other than two labels, if values are
            missing or not finite, or if pandas (for Parquet also pyarrow) is not installed.
    """
    file = Path(path)
    found = read_table_file(file, label, GROUP)
    if len(found.classes) != 2:
        names = ", ".join(repr(str(value)) for value in found.classes[:5])
        raise ParameterError(
            f"column {label!r} of {file} has {len(found.classes)} different values "
            f"({names}{', ...' * (len(found.classes) > 5)}"
            "), and labels are of two classes; choose another column, or learn a model for each class "
            "(read_classes, --each-class)"
        )
    if positive is None:
        chosen = found.classes[1]
    else:
        named = [value for value in found.classes if str(value) == positive]
        if not named:
            raise ParameterError(
                f"no label of {file} is {positive!r}: they are {str(found.classes[0])!r} and "
                f"{str(found.classes[1])!r}"
            )
        chosen = named[0]
    return Table(file.name, found.columns, found.features, (found.labels == chosen).astype(np.int64))


def read_classes(path: str | Path, label: str) -> list[Table]:
    """A table of the same samples for each class, with the label 1 for the class and 0 for the rest.

    Args:
        path, label: see `read_table`.

    Raises:
        FileError, FormatError, ParameterError: as `read_table`, but for any number of classes.
    """
    file = Path(path)
    found = read_table_file(file, label, GROUP)
    return [
        Table(
            f"{file.name}: {value}", found.columns, found.features, (found.labels == value).astype(np.int64)
        )
        for value in found.classes
    ]
