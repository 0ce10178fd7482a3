"""A request of a client: bytes in, multiply, rotate, bytes out, beside its library on the CPU."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from hemera import _machine, _options
from hemera.bench.timing import alternate
from hemera.errors import Error
from hemera.interop import seal

__all__ = ["add_arguments", "run"]

# The wheel's SCHEME_TYPE names BFV and CKKS only; SEAL 4 numbers its schemes 1, 2 and 3.
_SCHEMES = {"bfv": 1, "ckks": 2, "bgv": 3}
_SCALE = 2.0**40
_PLAIN_MODULUS = 786433  # prime, 1 modulo 2 N for N up to 2^17
# Bits of the primes, of which SEAL allows so many at 128-bit security; at 2^16 it has no table.
_BITS = {
    8192: [60, 40, 40, 60],
    16384: [60, *[40] * 7, 60],
    32768: [60, *[40] * 18, 60],
    65536: [60, *[40] * 18, 60],
}
# Which errors count as right.
_TOLERANCE = 2.0**-12
PARTS = ("load", "multiply", "rotate", "dump", "request")


class SealClient:
    """SEAL as the tenseal wheel ships it, with a ciphertext in a file and what its user would do to it."""

    def __init__(self, scheme: str, degree: int, folder: Path) -> None:
        try:
            import tenseal.sealapi as library
        except ImportError as error:
            raise Error("a request of SEAL needs the tenseal package: pip install 'hemera[bench]'") from error
        self._library, self.folder = library, folder
        self.ckks = scheme == "ckks"
        parms = library.EncryptionParameters(_SCHEMES[scheme])
        parms.set_poly_modulus_degree(degree)
        parms.set_coeff_modulus(library.CoeffModulus.Create(degree, _BITS[degree]))
        if not self.ckks:
            parms.set_plain_modulus(_PLAIN_MODULUS)
        secure = library.SEC_LEVEL_TYPE.TC128 if degree <= 32768 else library.SEC_LEVEL_TYPE.NONE
        self._context = library.SEALContext(parms, True, secure)
        if not self._context.parameters_set():
            raise Error(f"SEAL refuses its parameters: {self._context.parameters_error_message()}")
        generator = library.KeyGenerator(self._context)
        public, self._relin, self._galois = library.PublicKey(), library.RelinKeys(), library.GaloisKeys()
        generator.create_public_key(public)
        generator.create_relin_keys(self._relin)
        generator.create_galois_keys([3], self._galois)
        self._decryptor = library.Decryptor(self._context, generator.secret_key())
        self._evaluator = library.Evaluator(self._context)
        self._encoder = (library.CKKSEncoder if self.ckks else library.BatchEncoder)(self._context)
        random = np.random.default_rng(degree)
        plain, x = library.Plaintext(), library.Ciphertext()
        if self.ckks:
            values = random.uniform(-1, 1, degree // 2)
            self._encoder.encode(values.tolist(), _SCALE, plain)
            self.wanted = np.roll(values**2, -1)
        else:
            integers = random.integers(0, _PLAIN_MODULUS, degree)
            self._encoder.encode(integers.tolist(), plain)
            squares = integers * integers % _PLAIN_MODULUS
            self.wanted = np.roll(squares.reshape(2, -1), -1, axis=1).ravel()
        library.Encryptor(self._context, public).encrypt(plain, x)
        for name, thing in (("parms", parms), ("relin", self._relin), ("galois", self._galois), ("x", x)):
            thing.save(str(folder / name))

    def load(self) -> Any:
        x = self._library.Ciphertext()
        x.load(self._context, str(self.folder / "x"))
        return x

    def multiply(self, x: Any) -> Any:
        result = self._library.Ciphertext()
        self._evaluator.square(x, result)
        self._evaluator.relinearize_inplace(result, self._relin)
        if self.ckks:
            self._evaluator.rescale_to_next_inplace(result)
        return result

    def rotate(self, x: Any) -> Any:
        result = self._library.Ciphertext()
        turn = self._evaluator.rotate_vector if self.ckks else self._evaluator.rotate_rows
        turn(x, 1, self._galois, result)
        return result

    def dump(self, x: Any) -> None:
        x.save(str(self.folder / "y"))

    def is_right(self, data: bytes) -> bool:
        """Whether the bytes of an answer decrypt to what the request asked for."""
        path = self.folder / "answer"
        path.write_bytes(data)
        x, plain = self._library.Ciphertext(), self._library.Plaintext()
        x.load(self._context, str(path))
        self._decryptor.decrypt(x, plain)
        if self.ckks:
            return bool(np.abs(np.array(self._encoder.decode_double(plain)) - self.wanted).max() < _TOLERANCE)
        return np.array_equal(self._encoder.decode_uint64(plain), self.wanted)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    parser.add_argument("--scheme", choices=sorted(_SCHEMES), action="append", help="only this (repeatable)")
    parser.add_argument("--n", type=int, choices=_BITS, action="append", help="only this degree (repeatable)")
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="about how long to time a part (default 2)"
    )
    parser.add_argument("--json", metavar="FILE", help='write JSON to FILE ("-": standard output) instead')
    _options.add_machine(parser)


def run(options: argparse.Namespace) -> int:
    """Run the suite; 1 if any answer was wrong."""
    rows = []
    for scheme in options.scheme or sorted(_SCHEMES):
        for degree in options.n or _BITS:
            with tempfile.TemporaryDirectory() as folder:
                rows += list(_rows(scheme, degree, Path(folder), options))
    if options.json:
        _options.write_json(options.json, {**_machine.describe(options.threads), "rows": rows})
    else:
        Console().print(_table(rows))
    return 0 if all(row["checked"] for row in rows) else 1


def _rows(scheme: str, degree: int, folder: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    client = SealClient(scheme, degree, folder)
    session = seal.Session(
        folder / "parms",
        scale=_SCALE if client.ckks else None,
        device=options.device,
        threads=options.threads,
    )
    session.load_keys(relinearization=folder / "relin", galois=folder / "galois")
    context = session.context

    def finished(value: Any) -> Any:
        context.synchronize()
        return value

    def load() -> Any:
        return finished(session.load_ciphertext((folder / "x").read_bytes()))

    def multiply(x: Any) -> Any:
        return finished((x * x).rescale() if client.ckks else x * x)

    def rotate(x: Any) -> Any:
        return finished(x.rotate(1))

    def dump(x: Any) -> bytes:
        data = session.dump_ciphertext(x)
        assert isinstance(data, bytes)
        (folder / "y").write_bytes(data)
        return data

    x, theirs = load(), client.load()
    product, their_product = multiply(x), client.multiply(theirs)
    turned, their_turned = rotate(product), client.rotate(their_product)
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "load": (load, client.load),
        "multiply": (lambda: multiply(x), lambda: client.multiply(theirs)),
        "rotate": (lambda: rotate(product), lambda: client.rotate(their_product)),
        "dump": (lambda: dump(turned), lambda: client.dump(their_turned)),
        "request": (
            lambda: dump(rotate(multiply(load()))),
            lambda: client.dump(client.rotate(client.multiply(client.load()))),
        ),
    }
    right = client.is_right(dump(turned))
    for part in PARTS:
        ours_seconds, their_seconds, ratio = alternate(*pairs[part], options.seconds)
        yield {
            "library": "SEAL",
            "scheme": scheme,
            "n": degree,
            "primes": len(_BITS[degree]),
            "part": part,
            "device": context.device,
            "hemera_ms": round(ours_seconds * 1e3, 3),
            "library_ms": round(their_seconds * 1e3, 3),
            "ratio": round(ratio, 3),
            "bytes_in": (folder / "x").stat().st_size,
            "bytes_out": (folder / "y").stat().st_size,
            "checked": right,
        }


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="A request: bytes in, multiply, rotate, bytes out (milliseconds, median)")
    for heading in ("scheme", "N", "primes", "part", "device"):
        table.add_column(heading)
    for heading in ("Hemera", "SEAL", "SEAL / Hemera"):
        table.add_column(heading, justify="right")
    table.add_column("right")
    for row in rows:
        table.add_row(
            row["scheme"].upper(),
            str(row["n"]),
            str(row["primes"]),
            row["part"],
            row["device"],
            f"{row['hemera_ms']:.2f}",
            f"{row['library_ms']:.2f}",
            f"{row['ratio']:.2f}",
            "yes" if row["checked"] else "NO",
        )
    return table
