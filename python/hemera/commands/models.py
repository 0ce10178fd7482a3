"""The models and indexes of a server's folder, and the shares of clients that versions of a model get."""

from __future__ import annotations

import argparse
import collections
from pathlib import Path
from typing import TYPE_CHECKING

from hemera import _options
from hemera.serving.at_home import open_home

if TYPE_CHECKING:
    from hemera.serving.home import Home


def _weight(text: str) -> tuple[str, float]:
    """An argument that is a model with its weight: "tumours@2=10"."""
    model, sign, weight = text.rpartition("=")
    try:
        return model, float(weight if sign else "")
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not MODEL=WEIGHT, like tumours@2=10") from None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("home", metavar="HOME", type=Path, help="folder of the server")
    parser.add_argument(
        "alias", metavar="NAME", nargs="?", help="a name that clients ask for, whose models are set"
    )
    parser.add_argument(
        "weights",
        metavar="MODEL=WEIGHT",
        nargs="*",
        type=_weight,
        help="a model that clients of NAME get, with its share; 0: none (default: NAME stays as it is)",
    )


def run(options: argparse.Namespace) -> int:
    home = open_home(options.home)
    if options.weights:
        home.aliases.put(options.alias, dict(options.weights), home.models()[0])
    for line in _lines(home):
        if options.alias in (None, line.split()[1]):
            print(line)
    return 0


def _lines(home: Home) -> list[str]:
    """A line for each name under which clients get something, and the digests, shares and keys of it."""
    models, damaged = home.models()
    indexes, clashing = home.indexes()
    kept: collections.Counter[str] = collections.Counter()
    sets: collections.Counter[str] = collections.Counter()
    for found in home.key_sets():
        kept[found.model] += found.bytes
        sets[found.model] += 1

    def keys(name: str) -> str:
        plain = name.partition("@")[0]
        return f"keys of {sets[plain]} clients, {_options.size_text(kept[plain])}"

    lines = []
    for alias in sorted({*models, *home.aliases.names()}):
        weights = home.aliases.weights(alias) or {alias: 1.0}
        for model, weight in weights.items():
            share = f"{100 * weight / sum(weights.values()):.3g} %"
            digest = models[model].digest[:16] if model in models else "not there"
            lines.append(f"model   {alias}  {model}  {digest}  {share}  {keys(model)}")
    lines += [f"index   {name}  {path.stat().st_size} bytes  {keys(name)}" for name, path in indexes.items()]
    lines += [f"damaged {name}  {why}" for name, why in {**damaged, **clashing}.items()]
    return lines
