"""Objects as tables of names and values, for notebooks (`_repr_html_`).

Imported at its first use: `import hemera` does not need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

_CELL = "text-align: left"


def table(title: str, facts: Mapping[str, object], report: str = "") -> str:
    """An HTML table with a line for each fact. All texts are escaped.

    Args:
        title: the caption.
        facts: values by name; None is left out.
        report: lines of text, shown when a reader opens them; "": none.
    """
    rows = "".join(
        f'<tr><th scope="row" style="{_CELL}">{escape(name)}</th>'
        f'<td style="{_CELL}">{escape(_shown(value))}</td></tr>'
        for name, value in facts.items()
        if value is not None
    )
    lines = f"<details><summary>report</summary><pre>{escape(report)}</pre></details>" if report else ""
    caption = f'<caption style="text-align: left"><b>{escape(title)}</b></caption>'
    return f'<div class="hemera-object"><table>{caption}<tbody>{rows}</tbody></table>{lines}</div>'


def _shown(value: object) -> str:
    """A value for people: thousands apart, four digits of fractions."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
