"""docs/compile.md: its programs run, and its tables have the functions that there are."""

import functools
import re
from pathlib import Path

import numpy as np
import pytest

from hemera.arrays.numpy_functions import COMPUTING, MOVING
from hemera.arrays.numpy_ufuncs import UFUNCS

PAGE = (Path(__file__).parents[3] / "docs" / "compile.md").read_text(encoding="utf-8")


def test_tables_have_all_functions_and_no_others():
    section = PAGE.partition("\n## NumPy's functions\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`np\..*?) \|", section, re.MULTILINE)
    rows += re.findall(r"^\*\*Shapes\*\*.*$", section, re.MULTILINE)
    told = [name for row in rows for name in re.findall(r"`np\.([\w.]+)`", row)]
    known = [functools.reduce(getattr, name.split("."), np) for name in told]
    assert set(known) == {*MOVING, *COMPUTING, *UFUNCS}
    assert len(set(known)) == len(known)


@pytest.fixture(scope="module")
def shown():
    """The names of the page's programs, which are run one after the other, and all that was printed."""
    programs = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    printed = []
    names = {"print": printed.append, "printed": printed}
    for at, program in enumerate(programs):
        exec(compile(program, f"compile.md, program {at + 1}", "exec"), names)
    return names


def test_programs_have_numpy_s_results(shown):
    report, study, agreement, survey, spread, large_report, large, *_ = shown["printed"]
    exact, mean, exact_agreement = shown["printed"][-3:]
    assert "operation" in report
    ages, answers = shown["ages"], shown["answers"]
    z = (ages - ages.mean()) / 30
    for name, wanted in {"mean": ages.mean(), "spread": (z**2).mean(), "skew": (z**3).mean()}.items():
        assert study[name] == pytest.approx(wanted, abs=120 * 2**-16)
    assert "(100000,) in 4" in large_report
    many = shown["many"]
    assert large == pytest.approx({"mean": many.mean(), "var": many.var()}, abs=0.01)
    assert "10 samples" in str(agreement)
    heights = np.random.default_rng(4).normal(170, 8, 400)
    assert spread == pytest.approx(((heights - heights.mean()) ** 2).mean() / 100, abs=2**-12)
    assert shown["spread"] == pytest.approx(spread, abs=2**-12)
    counts = np.bincount(answers, minlength=6)[1:]
    np.testing.assert_allclose(survey["counts"], counts, atol=100 * 2**-15)
    np.testing.assert_array_equal(exact["counts"], counts)
    assert (exact["sum"], exact["high"]) == (answers.sum(), (answers > 3).sum())
    assert mean == answers.mean()
    assert "exactly equal" in str(exact_agreement)
    assert survey["high"] == pytest.approx((answers > 3).mean(), abs=2**-15)


def test_sequences_have_numpy_s_attention(shown):
    plan, sentences = shown["attended"], shown["sentences"]
    assert plan.layout == "sequences"
    wanted = np.stack([shown["attention"](each) for each in sentences])
    np.testing.assert_allclose(plan.evaluate_clear(sentences), wanted, atol=2.0**-8)
