"""A client's side of a model and of the one that takes its place, and how many results may be shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import hemera as hm
from hemera import errors
from hemera.package.local_model import LocalModel
from hemera.package.sharing import Sharing, Shown
from hemera.serving import Package


def shared(factor: float, scale_bits: int = 40) -> Package:
    params = hm.ckks.Parameters.for_circuit(2, scale_bits=scale_bits, slots=4, security=None, degree=1024)
    return hm.compile(lambda x: x * factor, hm.ArraySpec((4,), range=(0, 1)), params=params).package


@pytest.mark.parametrize("in_folder", [False, True])
def test_a_model_that_takes_anothers_place_counts_on(tmp_path: Path, in_folder: bool) -> None:
    """With the same parameters the secret key stays, and what was shown under it counts."""
    folder = tmp_path if in_folder else None

    def side(package: Package, before: LocalModel | None = None) -> LocalModel:
        return LocalModel(
            package.interface, folder=folder, security=None, before=before, digest=package.digest
        )

    def show(local: LocalModel) -> None:
        local._shown.add(1, 3)

    first, second, other = shared(1.0), shared(2.0), shared(1.0, scale_bits=35)
    local = side(first)
    show(local)
    show(local)
    later = side(second, local)
    assert (later.secret_key, later.context) == (local.secret_key, local.context)
    assert (later.digest, later.interface) == (second.digest, second.interface)
    show(later)
    for each in (local, later, *([side(first)] if in_folder else [])):
        with pytest.raises(errors.SecurityError, match="3 results of this secret key were shown"):
            show(each)
    anew = side(other, later)  # other parameters: another key
    assert bytes(anew.secret_key) != bytes(later.secret_key)
    assert anew.context.params == other.params
    show(anew)
    fresh = side(first)
    assert (bytes(fresh.secret_key) == bytes(local.secret_key)) == in_folder


@pytest.mark.parametrize(("before", "more"), [(0, 1), (0, 5), (3, 2), (4, 1)])
def test_results_are_shown_up_to_their_number(tmp_path: Path, before: int, more: int) -> None:
    """The last one that is taken and the first that is not; what is refused does not count."""
    ways: list[Callable[[], Shown]] = [Shown, lambda: Shown(tmp_path / f"shown-{before}-{more}.json")]
    for make in ways:
        shown = make()
        if before:
            shown.add(before, 5)
        beyond = 6 - before
        with pytest.raises(
            errors.SecurityError, match=f"{before} results .*, and {beyond} more would exceed the 5"
        ):
            shown.add(beyond, 5)
        shown.add(more, 5)
        left = 5 - before - more
        with pytest.raises(errors.SecurityError):
            shown.add(left + 1, 5)
        if left:
            shown.add(left, 5)
    assert Shown(tmp_path / "other.json").add(5, 5) is None  # type: ignore[func-returns-value]


def test_bounds_of_a_file_are_one_for_each_output() -> None:
    sharing = Sharing((1.0, 2.0), 20, 7)
    assert Sharing.from_data(sharing.to_data(), 2) == sharing
    for outputs in (1, 3):
        with pytest.raises(errors.FormatError, match=f"2 noise bounds, and the model has {outputs}"):
            Sharing.from_data(sharing.to_data(), outputs)
