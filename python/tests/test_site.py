"""The texts of the site's pages, by tools/site_pages.py: links, lists, files and tables of results."""

import json
from pathlib import Path

import pytest

from site_pages import Library, TableError, outside_of_code, widened_lists, with_tables

from .refusals import refuse

ROOT = Path(__file__).parents[2]

PAGE = """# A page

[program](../examples/a.py), [root](../README.md#top), [other](guide/b.md), [here](#part), [web](https://a.example/x.md)

`[code](missing.md)`, `[code](../README.md)` and

```
[code](missing.md)
```
"""


NOTEBOOK = [
    {"cell_type": "markdown", "source": ["# Book\n", "\n", "[up](../README.md)"]},
    {
        "cell_type": "code",
        "source": ["print(1)\n", "x"],
        "outputs": [
            {"output_type": "stream", "text": ["1\n"]},
            {"output_type": "execute_result", "data": {"text/html": ["<b>x</b>"], "text/plain": ["x"]}},
        ],
    },
]


@pytest.fixture
def root(tmp_path):
    """A small repository."""
    files = {
        "README.md": "# Root\n\n[a page](docs/a.md), [all](examples)\n",
        "docs/a.md": PAGE,
        "docs/guide/b.md": "# B\n\n[up](../a.md), [folder](../decisions)\n",
        "docs/decisions/c.md": "# Why\n",
        "examples/a.py": 'print("```")\n',
        "examples/_hidden.py": "",
        "examples/n.ipynb": json.dumps({"cells": NOTEBOOK}),
        "examples/data.json": json.dumps({"rows": [{"name": "a|b", "us": 12.345, "at": {"n": 4096}}]}),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def library(root):
    pages = [path.relative_to(root / "docs").as_posix() for path in (root / "docs").rglob("*.md")]
    return Library(root, dict(zip(pages, pages, strict=True)))


def test_files_outside_of_the_pages_have_pages(root):
    found = library(root)
    assert found.collect() == []
    assert set(found.others) == {
        "decisions/index.md",
        "repository/README.md",
        "repository/examples/index.md",
        "repository/examples/a.py.md",
        "repository/examples/n.ipynb.md",
        "repository/examples/data.json",
    }
    assert found.page("repository/examples/a.py.md").startswith("# examples/a.py\n\n````python\n")
    assert "[c.md](./c.md): Why" in found.page("decisions/index.md")
    assert "[n.ipynb](./n.ipynb): Book" in found.page("repository/examples/index.md")


def test_notebooks_show_their_cells_and_results(root):
    found = library(root)
    found.collect()
    uri = "repository/examples/n.ipynb.md"
    text = found.page(uri)
    parts = ["# Book", "```python\nprint(1)\nx\n```", "```text\n1\n```", "<b>x</b>"]
    assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)
    assert "[up](../README.md)" in found.with_links(text, uri)


def test_links_lead_to_these_pages(root):
    found = library(root)
    found.collect()
    text = found.with_links(PAGE, "a.md")
    for link in (
        "repository/examples/a.py.md)",
        "repository/README.md#top)",
        "(guide/b.md)",
        "(#part)",
        "(https:",
    ):
        assert link in text
    # Examples of links stay.
    assert text.count("[code](missing.md)") == 2
    assert "`[code](../README.md)`" in text
    assert "(../decisions/index.md)" in found.with_links("[folder](../decisions)", "guide/b.md")
    uri = "repository/README.md"
    assert "[a page](../a.md), [all](examples/index.md)" in found.with_links(found.page(uri), uri)
    uri = "repository/examples/index.md"
    assert "(a.py.md)" in found.with_links(found.page(uri), uri)


@pytest.mark.parametrize("link", ["missing.md", "../examples/b.py", "../../elsewhere", "./a.txt#part"])
@pytest.mark.parametrize("page", ["docs/a.md", "docs/guide/b.md", "README.md"])
def test_a_link_to_nothing_is_an_error(root, page, link):
    with (root / page).open("a") as file:
        file.write(f"\n[one]({link})\n")
    (error,) = library(root).collect()
    assert str(error).startswith(f"{page} links to {link}, ")


def test_every_link_of_the_repository_leads_somewhere():
    found = library(ROOT)
    assert found.collect() == []
    assert "repository/README.md" in found.others


def test_home_begins_with_the_readme():
    text = library(ROOT).home("# Documentation\n\nThe pages.\n")
    assert text.startswith("# Hemera\n")
    assert [part in text for part in ("hm.compile(", "](results.md#", "## Install", "](docs/")] == [
        1,
        1,
        0,
        0,
    ]
    assert text.endswith("\n\n## Documentation\n\nThe pages.\n")


def test_lists_in_lists_are_indented_for_python_markdown():
    text = "1. a\n   - b\n     more\n\n```\n  code\n```\n"
    assert widened_lists(text) == "1. a\n    - b\n     more\n\n```\n  code\n```\n"


def test_fences_end_where_they_began():
    seen = []

    def note(run):
        seen.append(run)
        return run

    text = "a\n````md\n```\nb\n```\n````\nc\n~~~\nd\n~~~\n"
    assert (outside_of_code(text, note), [each for each in seen if each]) == (text, ["a\n", "c\n"])


def test_tables_have_the_values_of_the_file(root):
    options = {
        "file": "examples/data.json",
        "rows": "rows",
        "columns": {"name": "name", "us": "us", "N": "at.n"},
    }
    text = with_tables(f"before\n\n<!-- table {json.dumps(options)} -->\n", root)
    assert text == "before\n\n| name | us | N |\n| -- | -- | -- |\n| a\\|b | 12.3 | 4,096 |\n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"file": "examples/none.json"}, "does not exist"),
        ({"rows": "lines"}, "has no value 'lines'"),
        ({"columns": {"ms": "ms"}}, "has no value 'ms'"),
        ({"where": {"name": "c"}}, "has no rows"),
    ],
)
def test_tables_of_nothing_are_errors(root, change, message):
    options = {"file": "examples/data.json", "rows": "rows", "columns": {"us": "us"}, **change}
    refuse((lambda: with_tables(f"<!-- table {json.dumps(options)} -->", root), TableError, message))


def test_every_table_of_the_pages_can_be_made():
    made = 0
    for path in (ROOT / "docs").rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        made += with_tables(text, ROOT) != text
    assert made
