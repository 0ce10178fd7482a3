"""Writes docs/results.md: tables that others publish, beside rows of bench/results.

    python tools/write_results.py [--check]

bench/published.json names the tables: their source, the file of our rows, the command that repeats it, and
for each row where it is in the file. With --check nothing is written, and the exit status is 1 if the page is
another one than these files make.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = Path("docs", "results.md")
TABLES = Path("bench", "published.json")
OTHERS = Path("python", "apps", "hemera_apps", "bench", "others.json")
_TITLE = "# Results beside others'"
_INTRODUCTION = (
    "Tables that others publish, or that their own benchmarks print, with Hemera's row beside each figure. "
    "The page is made by `tools/write_results.py` of [published.json](../bench/published.json) and of the "
    "committed results; a figure without a command that repeats it is left out. "
    "[measurements/results.md](measurements/results.md) has more rows of ours, and "
    "[measurements](measurements/README.md) say how they were measured, and what bounds them."
)


def value_of(row: Any, key: str) -> Any:
    """A value by its keys, joined by dots: "a.0" is the first one of a list."""
    for part in key.split("."):
        row = row[int(part)] if isinstance(row, list) else row[part]
    return row


def row_of(rows: Sequence[Any], where: Mapping[str, Any]) -> Any:
    """The first row with these values; a list of two numbers is a range.

    Raises:
        LookupError: if there is none.
    """

    found = _rows_of(rows, where)
    if not found:
        raise LookupError(f"no row has {where}")
    return found[0]


def _rows_of(rows: Sequence[Any], where: Mapping[str, Any]) -> list[Any]:
    def fits(row: Any, key: str, wanted: Any) -> bool:
        found = row.get(key)
        if isinstance(wanted, list):
            return found is not None and bool(wanted[0] <= found <= wanted[1])
        return bool(found == wanted)

    return [row for row in rows if all(fits(row, key, wanted) for key, wanted in where.items())]


def number(value: float) -> str:
    """A figure of three digits."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def entries_of(table: Mapping[str, Any], rows: Sequence[Any], root: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a table: those it lists, those of all our rows, or those of other libraries' sets."""
    if table.get("entries") == "all":
        for row in rows:
            yield {"what": f"`{value_of(row, table['what'])}`", "row": row, "theirs": table["theirs"]}
    elif "others" in table:
        for entry in json.loads((root / OTHERS).read_text(encoding="utf-8"))["sets"]:
            match, times = entry["match"], entry["microseconds"]
            if match["scheme"].endswith(")"):  # one of two algorithms of the same set
                continue
            for operation in table["others"]:
                theirs = {name: times[name][operation] for name in times if operation in times[name]}
                theirs.pop("goal", None)
                where = {**match, "operation": operation, "mode": "eager", "batch": 1}
                if theirs and (found := _rows_of(rows, where)):
                    row = found[0]
                    yield {"what": _set_of(row), "row": row, "theirs": theirs}
    else:
        for entry in table["entries"]:
            row = row_of(rows, entry["where"]) if entry["where"] else rows[0]
            theirs = {name: _resolved(each, rows, table) for name, each in entry["theirs"].items()}
            yield {**entry, "row": row, "theirs": theirs}


def _resolved(theirs: Any, rows: Sequence[Any], table: Mapping[str, Any]) -> Any:
    """A figure of others; one that stands in another row of the same file is looked up there."""
    if not isinstance(theirs, dict):
        return theirs
    value: float = table.get("factor", 1) * value_of(row_of(rows, theirs["where"]), table["value"])
    return value


def _set_of(row: Mapping[str, Any]) -> str:
    operation = row["operation"].replace("_", " ")
    return (
        f"{row['scheme'].upper()}, N = 2^{row['n'].bit_length() - 1}, log Q {row['log_q']:.0f}, "
        f"{row['limbs']} + {row['special']} primes, {row['arithmetic']}: {operation}"
    )


def _figure(theirs: Any, row: Any, unit_factor: float) -> str:
    """A figure of others: a number, a number with a note, or the key of a value in our row."""
    if isinstance(theirs, str):
        return number(unit_factor * value_of(row, theirs))
    if isinstance(theirs, list):
        value, note = theirs
        return f"{number(value)} ({note})" if note else number(value)
    return number(theirs)


def _shown(value: float) -> str:
    """A figure that may be an error, of one digit if it is below 1/10."""
    return number(value) if value == 0 or value >= 0.1 else f"{value:.0e}"


def section(table: Mapping[str, Any], root: Path) -> str:
    """One table, with its source and its command."""
    data = json.loads((root / table["file"]).read_text(encoding="utf-8"))
    listed = [data] if table["rows"] is None else data
    rows = data[table["rows"]] if table["rows"] else listed
    factor = table.get("factor", 1)
    found = list(entries_of(table, rows, root))
    names = list(dict.fromkeys(name for entry in found for name in entry["theirs"]))
    bits = table.get("bits", [])
    security = table.get("security", True) and any(entry["row"].get("security") for entry in found)
    more: Mapping[str, str] = table.get("more", {})
    head = ["", f"Hemera, {table['unit']}", *names, *more, *(["bits"] if bits else [])]
    head += ["security"] * security
    lines = [head, ["--"] * len(head)]
    for entry in found:
        row = entry["row"]
        cells = [entry["what"], number(factor * value_of(row, entry.get("value", table["value"])))]
        theirs = entry["theirs"]
        cells += [_figure(theirs[name], row, factor) if name in theirs else "" for name in names]
        cells += [_shown(value_of(row, key)) for key in more.values()]
        if bits:
            cells.append(" / ".join(f"{value_of(row, key):.1f}" for key in bits))
        if security:
            cells.append(str(row.get("security") or ""))
        lines.append(cells)
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    name = Path(table["file"]).name
    ours = f"Hemera: {_origin(table, data, found[0]['row'])}, [{name}](../{table['file']}):"
    parts = [_wrapped(table["source"]), _wrapped(ours), f"```\n{table['command']}\n```", text]
    return "\n\n".join([f"## {table['title']}", *parts])


def _origin(table: Mapping[str, Any], data: Any, row: Mapping[str, Any]) -> str:
    """The card or processor, the date and the commit of our rows."""
    places: list[Mapping[str, Any]] = [row]
    if isinstance(data, dict):
        places += [data, *(data[key] for key in ("made", "machine") if key in data)]
    names = ("commit", "date", "backend", "processor", "gpu")
    facts = {key: str(place[key]) for key in names for place in places if place.get(key)}
    if "commit" in table:
        facts["commit"] = str(data[table["commit"]])
    device = table.get("device") or facts.get("gpu") or f"{facts['processor']}, {facts['backend']}"
    return ", ".join([device, *([facts["date"]] if "date" in facts else []), f"commit `{facts['commit']}`"])


def _wrapped(text: str) -> str:
    """In lines as mdformat has them, which never break the text of a link."""
    whole = re.sub(r"\[[^]]*\]\(", lambda link: link[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(whole, 120, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ")


def page(root: Path) -> str:
    """The whole page."""
    tables = json.loads((root / TABLES).read_text(encoding="utf-8"))["tables"]
    return "\n\n".join([_TITLE, _wrapped(_INTRODUCTION), *(section(table, root) for table in tables)]) + "\n"


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    made, path = page(ROOT), ROOT / PAGE
    if options.check:
        if not path.exists() or path.read_text(encoding="utf-8") != made:
            print(f"{PAGE} is not what {TABLES} and the results make: run tools/write_results.py")
            return 1
        return 0
    path.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
