"""tools/check_size.py: each size counted by hand, and limits that are kept, that can fall, and that rose."""

import ast

import pytest

import check_size as check

from .repositories import commit


def test_lines_by_room():
    texts = {
        "python/hemera/cli.py": "a\n" * 3,
        "python/hemera/compiler/tables/a.py": "a\n" * 401,
        "python/hemera/compiler/b.py": "a\n" * 400,
        "python/apps/tests/test_a.py": "a\n" * 5,
        "src/poly/cuda/a.cu": "a\n" * 7,
        "tests/circuits/a.cpp": "a\n" * 500,
        "docs/a.md": "a\n" * 1000,
        "README.md": "a\n",
    }
    found = check.lines_of(texts)
    assert {name: number for name, number in found.items() if number} == {
        "lines.python/hemera": 3,
        "lines.python/hemera/compiler": 801,
        "lines.python/apps/tests": 5,
        "lines.src/poly": 7,
        "lines.tests/circuits": 500,
        "lines.docs": 1000,
        "lines.top": 1,
        "lines of all product": 811,
        "lines of all tests": 505,
        "product files above 400 lines": 1,
        "tests files above 400 lines": 1,
    }


def test_virtual_functions():
    text = 'virtual ~A();\nvirtual int f() = 0;  // virtual\n"virtual";\n  virtual void g();\n'
    assert check.virtual_functions({"src/poly/a.hpp": text, "include/a.hpp": "", "tests/a.hpp": text}) == 2


def test_public_names():
    texts = {
        "hemera": '__all__ = ["a", "b"]',
        "hemera.search": '__all__: list[str] = ["c"]\nother = ["d"]',
        "hemera.search.base": '__all__ = ["e"]',
        "hemera._html": '__all__ = ["f"]',
    }
    assert check.public_names({name: ast.parse(text) for name, text in texts.items()}) == 3


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x._held", 1),
        ("x._held = y._other", 2),
        ("self._held\ncls._held", 0),
        ("x._native\nx.__dict__", 0),
        ("def f(self):\n    self._held = 1\nx._held", 0),
        ("class A:\n    def _held(self): ...\nx._held", 0),
    ],
)
def test_members_of_other_modules(text, count):
    assert check.foreign_members([ast.parse(text)]) == count


@pytest.mark.parametrize(
    ("name", "size", "told"),
    [
        ("lines.a", 1000, None),
        ("lines.a", 1001, "above the limit"),
        ("lines.a", 851, None),
        ("lines.a", 850, "can fall"),
        ("lines.b", 0, "no limit"),
        ("options", 9, None),
        ("options", 10, "above the limit"),
        ("options", 8, "can fall"),
    ],
)
def test_limits(name, size, told):
    limits = {"lines.a": 1000, "options": 9}
    reports = check.clashes({**limits, name: size}, limits)
    assert len(reports) == (told is not None)
    assert all(told is not None and told in report for report in reports)


@pytest.mark.parametrize(
    ("numbers", "decided", "allowed"),
    [
        ([100, 100], [], None),
        ([100, 50], [], None),
        ([100, 150], [], 100),
        ([100, 150], [150], None),
        ([100, 150], [200], 100),
        ([100, 50, 100], [], 50),
        ([100, 150, 160, 100], [], None),
        ([100, 200, 150], [200], None),
        ([100, 200, 150, 200, 250], [200], 200),
    ],
)
def test_limits_rise_by_decisions(numbers, decided, allowed):
    found = check.raised([{"a": each} for each in numbers], {("a", each) for each in decided})
    assert [text.partition(";")[0] for text in found] == (
        [] if allowed is None else [f"a: the limit rose from {allowed}"]
    )


def test_a_rise_is_told_until_it_is_decided(tmp_path, capsys):
    def told(*arguments):
        status = check.main([*arguments, str(tmp_path)])
        return status, capsys.readouterr().out

    commit(tmp_path, {"python/hemera/a.py": "a\n" * 90, "tools/check_size.py": ""})
    assert told("--write")[0] == 0
    limits = (tmp_path / check.LIMITS).read_text()
    assert '"lines.python/hemera" = 100\n' in limits
    commit(tmp_path, {})
    assert told() == (0, f"check_size: {len(check.read_limits(limits))} sizes, 0 reports\n")

    commit(tmp_path, {"python/hemera/a.py": "a\n" * 130})
    assert "lines.python/hemera: 130, above the limit of 100" in told()[1]
    status, text = told("--write")
    assert status == 1
    assert "must have `lines.python/hemera = 150`" in text
    commit(tmp_path, {"docs/decisions/other.md": "a later commit\n"})
    assert told()[0] == 1
    commit(
        tmp_path,
        {"docs/decisions/a.md": "- `lines.python/hemera = 150` and `lines of all product = 150`: why\n"},
    )
    assert told()[0] == 0

    commit(tmp_path, {"python/hemera/a.py": "a\n"})
    assert "the limit of 150 can fall" not in told()[1]  # two steps
    commit(tmp_path, {"python/hemera/a.py": ""})
    assert "lines.python/hemera: 0; the limit of 150 can fall" in told()[1]
    assert told("--lower")[0] == 0
    assert '"lines.python/hemera" = 0\n' in (tmp_path / check.LIMITS).read_text()


def test_nothing_to_check(tmp_path):
    assert check.main([str(tmp_path)]) == 2
