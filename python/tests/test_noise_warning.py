"""One warning when a circuit has spent the guaranteed noise budget of BFV or BGV."""

import contextlib
import contextvars
import warnings
from contextlib import contextmanager

import pytest

import hemera as hm
from hemera import _noise_warning as given


@contextmanager
def recorded():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def spend(x):
    """Products until the guaranteed budget is spent."""
    while x.guaranteed_noise_budget > 0:
        x = x * x
    return x


@pytest.fixture
def fresh(integers):
    return integers.ev.encrypt(integers.values(2, 16))


def test_it_is_said_once_where_it_happens(integers, fresh):
    with recorded() as found:
        spent = spend(fresh)
    assert [each.category for each in found] == [hm.errors.NoiseWarning]
    assert found[0].filename == __file__
    assert str(found[0].message).startswith("multiply: the guaranteed noise budget")
    assert "for_circuit(depth=" in str(found[0].message)
    # What follows from it is no news.
    with recorded() as found:
        spent + 1, -spent, spent * fresh, fresh - spent, spent[0].rotate(1), hm.stack([spent, spent]) + 1
        spent.copy().square(), integers.ev.bind(spent).reshape(-1) + 1, spent.to("cpu") + 1
        hm.add_many([fresh, spent])
        spent += fresh
        spent *= 2
    assert found == []


def test_a_part_that_is_spent_is_no_news(integers, fresh):
    # Spent by sums: parts must have one level and one correction factor.
    spent = integers.ev.encrypt(integers.values(2, 16))
    with recorded() as found:
        while spent.guaranteed_noise_budget > 0:
            spent += spent
    assert len(found) == 1
    with recorded() as found:
        for parts in ([spent, fresh], [fresh, spent]):
            hm.stack(parts) + 1, hm.concatenate(parts) + 1
    assert found == []


def test_files_keep_it(integers, fresh, tmp_path):
    with recorded():
        spent = spend(fresh)
    spent.save(tmp_path / "spent")
    of_parts = [integers.ev.load(bytes(part)) for part in spent]
    with recorded() as found:
        for loaded in (
            integers.ctx.load(bytes(spent)),
            integers.ev.load(tmp_path / "spent"),
            hm.stack(of_parts),
        ):
            loaded + 1, loaded[0] - fresh[0], fresh * loaded.to(integers.ev)
    assert found == []
    described = hm.inspect(tmp_path / "spent")
    assert (described.version, described.fields["guaranteed noise budget"]) == (4, "spent")
    # Files of others say nothing of it, in the version that they had.
    described = hm.inspect(bytes(fresh))
    assert described.version == 1
    assert "guaranteed noise budget" not in described.fields


def all_warnings():
    """The kinds of warnings that are given here."""
    with recorded() as found:
        given.warn_of_spent_budget("add")
        given.warn_of_interval("sqrt", 0, 1)
        given.warn_of_bootstrap()
        given.warn_of_rows("rows")
        given.warn_of_precision("digits")
    return [each.category.__name__[:-7] for each in found]


RANGES = ["Range", "Range", "Range"]


def test_what_is_known_is_silent_and_what_was_known_around_it_stays_so():
    """Blocks within blocks, of either kind, also where an error ends them."""
    for outer, inner, outside, inside in (
        (given.budgets_are_known, given.budgets_are_known, [*RANGES, "Precision"], [*RANGES, "Precision"]),
        (given.ranges_are_known, given.ranges_are_known, ["Noise", "Precision"], ["Noise", "Precision"]),
        (given.budgets_are_known, given.ranges_are_known, [*RANGES, "Precision"], ["Precision"]),
        (given.ranges_are_known, given.budgets_are_known, ["Noise", "Precision"], ["Precision"]),
    ):
        with outer():
            with contextlib.suppress(KeyError), inner():
                assert all_warnings() == inside
                raise KeyError
            assert all_warnings() == outside
        assert all_warnings() == ["Noise", *RANGES, "Precision"]


def test_warnings_that_are_kept_come_once_and_in_order():
    kept = {}

    def work():
        given.keep_warnings(kept)
        for _ in range(2):
            assert all_warnings() == []

    context = contextvars.copy_context()
    context.run(work)
    assert [category.__name__[:-7] for _, category in kept] == ["Noise", *RANGES, "Precision"]
    with recorded() as found:
        given.give_warnings(kept)
    assert [(str(each.message), each.category) for each in found] == list(kept)
    assert {each.filename for each in found} == {__file__}
