"""The pages of the site, as text: what tools/site_hooks.py does to them, without MkDocs.

A page in docs/ links to files as a viewer of the repository finds them: to pages, to programs and results
outside of docs/, and to folders. The site has a page for each of these files (`Library`). So it holds the
targets of all links, and a link to nothing is an error.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

__all__ = ["BrokenLinkError", "Library", "TableError", "outside_of_code", "widened_lists", "with_tables"]

FENCE = re.compile(r"^ *(`{3,}|~{3,})")
INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
# [text](target) and ![text](target), without spaces in the target.
LINK = re.compile(r"(?P<before>\]\()(?P<target>[^()\s]+)(?P<after>\))")
TABLE = re.compile(r"^<!-- table (?P<options>\{.*?\}) -->$", re.MULTILINE | re.DOTALL)
LANGUAGES = {
    ".py": "python",
    ".cff": "yaml",
    ".cpp": "cpp",
    ".hpp": "cpp",
    ".h": "c",
    ".c": "c",
    ".mjs": "javascript",
    ".go": "go",
    ".R": "r",
    ".rs": "rust",
    ".java": "java",
    ".service": "ini",
    ".conf": "nginx",
    ".yaml": "yaml",
    ".cu": "cuda",
    ".txt": "text",
    "": "text",
}
"""How files outside of docs/ are shown, by their suffix."""
RAW = {".json", ".jsonl", ".svg"}
"""Suffixes of files that the site holds as they are."""
HIDDEN = {"__pycache__"}
ORIGIN = {
    "gpu": "{}",
    "processor": "{}",
    "backend": "{}",
    "date": "{}",
    "commit": "commit `{}`",
    "tenseal": "TenSEAL {}",
    "orion": "Orion {}",
    "seal": "SEAL {}",
}
"""Facts about rows, and how the line before a table has them."""


class BrokenLinkError(ValueError):
    """A link to a file that does not exist, or that the site can not show."""


class TableError(ValueError):
    """A table of results that can not be made: a file, row or column that does not exist."""


def outside_of_code(text: str, change: Callable[[str], str]) -> str:
    """The text with `change` applied to each run of lines that is not in a fenced block."""
    done: list[str] = []
    run: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        found = FENCE.match(line)
        if fence:
            done.append(line)
            if found and found[1].startswith(fence) and line.strip() == found[1]:
                fence = ""
        elif found:
            done.extend([change("".join(run)), line])
            run, fence = [], found[1]
        else:
            run.append(line)
    return "".join([*done, change("".join(run))])


def _outside_of_inline_code(text: str, change: Callable[[str], str]) -> str:
    done, start = [], 0
    for found in INLINE_CODE.finditer(text):
        done.extend([change(text[start : found.start()]), found.group()])
        start = found.end()
    return "".join([*done, change(text[start:])])


def widened_lists(text: str) -> str:
    """The text with lists in lists, which mdformat indents by 2 or 3 spaces, indented by 4: Python-Markdown
    asks for as many."""
    return outside_of_code(text, lambda run: re.sub(r"^ {2,3}(?=\S)", "    ", run, flags=re.MULTILINE))


@dataclass
class Library:
    """The files that pages of docs/ link to, directly or through other such files.

    Args:
        root: the repository.
        pages: the pages in docs/, as paths relative to it.
    """

    root: Path
    pages: Mapping[str, str]
    others: dict[str, Path] = field(default_factory=dict)
    """Files and folders without a page in docs/: the URI of the page that the site has of each."""

    @property
    def docs(self) -> Path:
        return self.root / "docs"

    def target(self, page: Path, link: str) -> tuple[Path, str] | None:
        """The file that a link of a page names, and the part of it; None if it leads out or stays.

        Raises:
            BrokenLinkError: if the file does not exist or lies outside of the repository.
        """
        if re.match(r"[a-z][a-z0-9+.-]*:", link) or link.startswith("#"):
            return None
        path, _, part = link.partition("#")
        found = Path(os.path.normpath(page.parent / unquote(path)))
        if not found.exists():
            raise BrokenLinkError(f"{page.relative_to(self.root)} links to {link}, which does not exist")
        if not found.is_relative_to(self.root):
            raise BrokenLinkError(f"{page.relative_to(self.root)} links to {link}, outside of the repository")
        return found, part

    def uri(self, path: Path) -> str:
        """The source of the site's page of a file or folder, relative to docs/.

        Raises:
            BrokenLinkError: if the site can not show such a file.
        """
        if path.is_dir():
            for name in ("README.md", "index.md"):
                if (path / name).exists():
                    return self.uri(path / name)
            return self._inside(path) + "/index.md"
        inside = self._inside(path)
        if path.suffix == ".md" or path.suffix in RAW or path.is_relative_to(self.docs):
            return inside
        if path.suffix in LANGUAGES or path.suffix == ".ipynb":
            return inside + ".md"
        raise BrokenLinkError(
            f"the site shows no files as {path.relative_to(self.root)}: see tools/site_pages.py"
        )

    def _inside(self, path: Path) -> str:
        if path.is_relative_to(self.docs):
            return path.relative_to(self.docs).as_posix()
        return "repository/" + path.relative_to(self.root).as_posix()

    def collect(self) -> list[BrokenLinkError]:
        """Fill `others`; returns what is wrong with links, in order of pages."""
        broken: list[BrokenLinkError] = []
        waiting = [self.docs / page for page in sorted(self.pages)]
        while waiting:
            page = waiting.pop(0)
            base = page / "index.md" if page.is_dir() else page
            for link in self.links(page):
                try:
                    found = self.target(base, link)
                    uri = found and self.uri(found[0])
                except BrokenLinkError as error:
                    broken.append(error)
                    continue
                if found and uri not in self.others and not (self.docs / str(uri)).exists():
                    self.others[str(uri)] = found[0]
                    waiting.append(found[0])
        return broken

    def links(self, path: Path) -> list[str]:
        """The links of the site's page of a file or folder."""
        found: list[str] = []

        def note(text: str) -> str:
            found.extend(each["target"] for each in LINK.finditer(text))
            return text

        if path.is_dir() or path.suffix in {".md", ".ipynb"}:
            outside_of_code(self.text(path), lambda run: _outside_of_inline_code(run, note))
        return found

    def page(self, uri: str) -> str:
        """The text of the site's page of one of `others`, with links of the repository."""
        return self.text(self.others[uri])

    def text(self, path: Path) -> str:
        """A file or folder as a page, with links of the repository."""
        if path.is_dir():
            return listing(path)
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            return text
        name = path.relative_to(self.root).as_posix()
        if path.suffix == ".ipynb":
            return notebook(name, text)
        fence = "`" * max(3, 1 + max((len(each) for each in re.findall("`+", text)), default=0))
        return f"# {name}\n\n{fence}{LANGUAGES[path.suffix]}\n{text.rstrip()}\n{fence}\n"

    def source(self, uri: str) -> Path:
        """The file or folder that the site's page shows."""
        path = self.others.get(uri, self.docs / uri)
        # Links of a folder's list are relative to the folder.
        return path / "index.md" if path.is_dir() else path

    def home(self, text: str) -> str:
        """The page of pages, docs/README.md, below the README's first part."""
        pitch = (self.root / "README.md").read_text(encoding="utf-8").partition("\n## ")[0]
        return pitch.replace("](docs/", "](") + "\n\n#" + text

    def with_links(self, text: str, uri: str) -> str:
        """The text of a page with links to the site's own pages."""
        page, here = self.source(uri), PurePosixPath(uri).parent

        def changed(match: re.Match[str]) -> str:
            try:
                found = self.target(page, match["target"])
                wanted = found and self.uri(found[0])
            except BrokenLinkError:  # `collect` has reported it
                return match.group()
            if found is None or wanted is None:
                return match.group()
            part = f"#{found[1]}" if found[1] else ""
            return f"{match['before']}{os.path.relpath(wanted, here)}{part}{match['after']}"

        def change(run: str) -> str:
            return _outside_of_inline_code(run, lambda part: LINK.sub(changed, part))

        return outside_of_code(text, change)


def listing(folder: Path) -> str:
    """A page with a link to each file and folder of a folder."""
    found = sorted(
        each
        for each in folder.iterdir()
        if not each.name.startswith((".", "_")) and each.name not in HIDDEN
        if each.is_dir() or each.suffix in {".md", ".ipynb", *RAW, *LANGUAGES}
    )
    lines = [f"- [{each.name}{'/' * each.is_dir()}](./{each.name}){_title(each)}" for each in found]
    return "\n".join([f"# {folder.name}", "", *lines, ""])


def _title(path: Path) -> str:
    """The title of a page or notebook, or the first sentence of a program, after a colon."""
    if path.suffix not in {".md", ".ipynb", ".py"}:
        return ""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "".join(json.loads(text)["cells"][0]["source"])
    found = re.match(r'(?:# |""")(.+?)(?:"""|\.(?: |$)|:?$)', text, re.MULTILINE)
    return f": {found[1]}" if found else ""


def notebook(name: str, text: str) -> str:
    """A page of a notebook: its cells in order, and the results that it holds as text or HTML."""
    parts: list[str] = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            html = "".join(data.get("text/html", ()))
            plain = "".join(output.get("text", data.get("text/plain", ())))
            parts.append(
                f'<div class="result">\n{html}\n</div>' if html else f"```text\n{plain.rstrip()}\n```"
            )
    return "\n\n".join([*parts, f"The notebook: `{name}`.", ""])


def with_tables(text: str, root: Path) -> str:
    """The text with a table in place of each comment `<!-- table {...} -->`, outside of code.

    The options are JSON:

    - `file`: a path in the repository, of JSON,
    - `rows`: the key of its list of rows; "": the file is the list,
    - `columns`: heads of columns, each with the key of its values: "a.b" for a key of a key, "a.0" for the
      first of a list,
    - `where`: values that a row must have, by key; none: all rows.

    The line before a table has the device, date and commit, as far as the file has them.

    Raises:
        TableError: if the file, the list, a column or every row is missing.
    """

    def table(match: re.Match[str]) -> str:
        return results_table(json.loads(match["options"]), root)

    return outside_of_code(text, lambda run: TABLE.sub(table, run))


def results_table(options: Mapping[str, Any], root: Path) -> str:
    """One table, in Markdown."""
    path = root / options["file"]
    if not path.is_file():
        raise TableError(f"{options['file']} does not exist")
    data = json.loads(path.read_text(encoding="utf-8"))
    rows = _value(data, options["rows"], options["file"]) if options["rows"] else data
    where = options.get("where", {})
    chosen = [row for row in rows if all(row.get(key) == wanted for key, wanted in where.items())]
    if not chosen:
        raise TableError(f"{options['file']} has no rows with {where}")
    columns: Mapping[str, str] = options["columns"]
    lines = [list(columns), ["--"] * len(columns)]
    lines += [[_cell(_value(row, key, options["file"])) for key in columns.values()] for row in chosen]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return "\n\n".join(part for part in (_origin(data, chosen[0]), table) if part)


def _origin(data: Any, row: Mapping[str, Any]) -> str:
    """Where, when and of which commit rows were measured."""
    places: list[Mapping[str, Any]] = [row]
    if isinstance(data, dict):
        places += [data, *(data[key] for key in ("made", "machine") if key in data)]
    facts = {key: str(place[key]) for key in ORIGIN for place in places if place.get(key)}
    return ", ".join(name.format(facts[key]) for key, name in ORIGIN.items() if key in facts) + "." * bool(
        facts
    )


def _value(row: Any, key: str, file: str) -> Any:
    found = row
    for part in key.split("."):
        if isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        elif isinstance(found, dict) and part in found:
            found = found[part]
        else:
            raise TableError(f"{file} has no value {key!r} in {str(row)[:100]}")
    return found


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if value == 0 or 1e-3 <= abs(value) < 1e7:
            return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
        return f"{value:.1e}"
    return "" if value is None else str(value).replace("|", "\\|").replace("\n", " ")
