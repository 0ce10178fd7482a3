"""Files that other libraries wrote, of which the large ones are kept compressed."""

import gzip
from pathlib import Path

from hemera.interop import openfhe

VECTORS = Path(__file__).parents[3] / "tests" / "vectors"


def read(path):
    """A file, compressed or not."""
    packed = path.with_name(f"{path.name}.gz")
    return gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()


def read_all(folder):
    """The files of a folder by their names."""
    names = {path.name.removesuffix(".gz") for path in folder.iterdir()}
    return {name: read(folder / name) for name in sorted(names)}


class OpenFheFiles:
    """The objects of one context that OpenFHE wrote."""

    def __init__(self, folder):
        self.folder = VECTORS / "openfhe" / folder
        self.session = openfhe.Session(self.bytes_of("cryptocontext.bin"), device="cpu")
        self.secret = self.session.load_secret_key(self.bytes_of("secret_key.bin"))

    def bytes_of(self, name):
        return read(self.folder / name)
