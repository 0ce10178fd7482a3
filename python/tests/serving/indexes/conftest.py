"""A server with one index."""

import pytest

from hemera import search
from hemera.serving.home import Home

from .index_cases import VECTORS


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with the file `rows.index` of exact inner products."""
    folder = tmp_path_factory.mktemp("files")
    search.Index(VECTORS, "dot", exact=True).save(folder / "rows.index")
    return folder


@pytest.fixture
def home(tmp_path, files):
    """A server's folder with the index."""
    made = Home(tmp_path / "home")
    assert made.add_index(files / "rows.index") == "rows"
    return made
