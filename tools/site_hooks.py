"""MkDocs' hooks of the site: files outside of docs/, tables of results, formulas and drawings.

MkDocs calls these functions (mkdocs.yml, `hooks`); tools/site_pages.py has the work on texts.
"""

from __future__ import annotations

import html
import logging
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

from site_pages import RAW, Library, TableError, widened_lists, with_tables

# Records of this logger are counted: with --strict a warning is an error.
LOG = logging.getLogger("mkdocs.hooks.site")
FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<formula>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
IMAGE = re.compile(
    r'(?:<p>)?<img alt="(?P<name>[^"]*)" src="(?:\.\./)*drawings/(?P<file>[\w-]+\.svg)" */?>(?:</p>)?'
)

# Parts of a page that a browser loads by itself; links that readers follow are none.
LOADED = re.compile(r'<(?:script|img|iframe|source|link)\b[^>]*\b(?:src|href)="((?:https?:)?//[^"]*)"')

libraries: dict[str, Library] = {}
"""The files of each site that this process makes, by its configuration's file."""


def _library(config: Any) -> Library:
    return libraries[config["config_file_path"]]


def on_files(files: Any, *, config: Any) -> Any:
    """Add a page for each file outside of docs/ that pages link to."""
    pages = {file.src_uri: file.src_uri for file in files if file.is_documentation_page()}
    library = Library(Path(config["config_file_path"]).resolve().parent, pages)
    libraries[config["config_file_path"]] = library
    for error in library.collect():
        LOG.warning("%s", error)
    added = Files([*files])
    for uri, path in library.others.items():
        if path.suffix in RAW:
            added.append(File.generated(config, uri, abs_src_path=str(path)))
        else:
            added.append(File.generated(config, uri, content=library.page(uri)))
    return added


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Lists, links and tables, before the page becomes HTML. Searches leave out decisions."""
    del files
    library = _library(config)
    uri = page.file.src_uri
    if uri.startswith("decisions/"):
        page.meta["search"] = {"exclude": True}
    own = library.home(markdown) if uri == "README.md" else markdown
    text = library.with_links(widened_lists(own), uri)
    try:
        return with_tables(text, library.root)
    except TableError as error:
        LOG.warning("%s: %s", uri, error)
        return text


def on_page_content(content: str, *, page: Any, config: Any, files: Any) -> str:
    """Formulas as MathML, which browsers show by themselves; drawings inside, in the colours of the page."""
    del page, files
    library = _library(config)

    def formula(match: re.Match[str]) -> str:
        text = html.unescape(match["formula"])
        if match["tag"] == "span":
            return str(convert(text))
        return f'<div class="formula">{convert(text, "block")}</div>'

    def drawing(match: re.Match[str]) -> str:
        svg = (library.docs / "drawings" / match["file"]).read_text(encoding="utf-8")
        return f'<figure class="drawing">{svg[svg.index("<svg") :]}</figure>'

    return IMAGE.sub(drawing, FORMULA.sub(formula, content))


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    """Report what a browser would load from the network."""
    own = config["site_url"]  # `tools/site serve` sets one
    for address in LOADED.findall(output):
        if not own or not address.startswith(own):
            LOG.warning("%s loads %s: the site takes nothing from the network", page.file.src_uri, address)
    return output
