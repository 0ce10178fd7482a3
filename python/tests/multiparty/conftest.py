"""Federations with small rings, whose warning was seen."""

import math
import os
import warnings
from pathlib import Path

import pytest

from hemera import errors
from hemera.multiparty import shared, terms, waiting
from hemera.serving.home import Home

from ..serving.conftest import serving
from .houses import Houses, program_of
from .parties import Parties, Server


@pytest.fixture(autouse=True)
def small_ring(monkeypatch):
    """Behaviour, not security."""
    monkeypatch.setattr(terms, "DEGREE", 1024)
    monkeypatch.setattr(terms, "SECURITY", None)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(waiting, "LONGEST", 0.02)  # seconds between two looks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.SecurityWarning)
        yield


@pytest.fixture(params=["folder", "server"])
def transport(request, tmp_path_factory, monkeypatch):
    """Parties share a folder of the file system, then one of `hemera serve --federation`."""
    if request.param == "folder":
        yield request.param
        return
    home = Home(Path(tmp_path_factory.mktemp("server")) / "home")
    with serving(home, federations=[f"fl{i}" for i in range(300)]) as running:
        _with_fresh_lists(home, monkeypatch)
        monkeypatch.setattr(Parties, "server", Server(home, running.url))
        yield request.param


def _with_fresh_lists(home, monkeypatch):
    """Parties ask for lists again where the server's disk changed, which tests change too, and not before:
    they look hundreds of times."""
    ask = shared.RemoteFiles.list

    def listed(self, folder):
        there = home.federation(self.url.rpartition("/")[2]) / folder
        now = {each.name: each.stat() for each in there.iterdir()} if there.is_dir() else {}
        if vars(self).setdefault("on_disk", {}).get(folder) != now:
            self._lists.pop(folder, None)
        vars(self)["on_disk"][folder] = now
        return ask(self, folder)

    monkeypatch.setattr(shared, "FRESH", math.inf)
    monkeypatch.setattr(shared.RemoteFiles, "list", listed)


@pytest.fixture(scope="session", params=["bfv", "bgv"])
def program(request):
    """A program for groups, compiled once."""
    return program_of(request.param)


@pytest.fixture
def houses(tmp_path, program):
    return Houses(tmp_path, program)
