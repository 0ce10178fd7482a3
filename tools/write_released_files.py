"""Writes a file of every kind as this version of Hemera writes it: tools/write_released_files.py VERSION

They go to tests/vectors/releases/VERSION, once, before the release. Beside them, `values.json` has the values
that they hold, as NumPy, Python's integers and scikit-learn compute them. python/tests/test_released_files.py
holds every later version to them. A folder that is there is never written to again.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import hemera as hm
from hemera.errors import NoiseWarning
from released_models import DEGREE, MODELS, drawn

RELEASES = Path(__file__).resolve().parents[1] / "tests" / "vectors" / "releases"
PLAIN_MODULUS = 12289
SCHEMES = ("ckks", "bfv", "bgv")


def as_json(values: Any) -> Any:
    """Arrays as lists, complex ones as {"real", "imaginary"}."""
    if isinstance(values, dict):
        return {name: as_json(each) for name, each in values.items()}
    if isinstance(values, (list, tuple)):
        return [as_json(each) for each in values]
    array = np.asarray(values)
    if array.dtype.kind == "c":
        return {"real": array.real.tolist(), "imaginary": array.imag.tolist()}
    return array.tolist()


def write_json(path: Path, data: dict[str, Any]) -> None:
    """A line for each entry: small changes are small to read."""
    rows = [f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}" for name, value in data.items()]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n")


# --- Parameters, messages and keys. ---


def parameters_of(scheme: str) -> hm.Parameters:
    """A small ring of two levels: the files are small, and not secure."""
    if scheme == "ckks":
        return hm.ckks.Parameters.from_bits(
            degree=DEGREE, prime_bits=[40, 30], special_bits=[40], scale_bits=30, security=None
        )
    of = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}[scheme]
    return of.from_bits(
        degree=DEGREE, plain_modulus=PLAIN_MODULUS, prime_bits=[36, 36], special_bits=[36], security=None
    )


class Objects:
    """The files of one scheme in a folder, and the values of messages."""

    def __init__(self, folder: Path, scheme: str) -> None:
        self._folder = folder
        self._files: dict[str, Any] = {}
        folder.mkdir(parents=True)
        params = parameters_of(scheme)
        ctx = hm.Context(params, "cpu", threads=1)
        sk, other = ctx.generate_secret_key(), ctx.generate_secret_key()
        ckks = scheme == "ckks"
        keys = ctx.generate_keys(sk, rotations=[1], conjugation=ckks, swap_rows=not ckks)
        self._write("parameters", params)
        self._write("secret-key", sk)
        self._write("other-secret-key", other)
        self._write("evaluation-keys", keys)
        self._write("encryption-key", keys.public_only())
        self._write("switching-key", ctx.generate_switching_key(sk, other))
        ev = ctx.bind(keys, relinearization="lazy")
        slots = params.max_slots
        one, batch = drawn(scheme, slots, seed=1)[:16], drawn(scheme, 2, 16, seed=2)
        self._write("plaintext", ctx.encode(one), one)
        self._write("ciphertext", ev.encrypt(one), one)
        self._write("seeded-ciphertext", ctx.encrypt(batch, sk), batch)
        # Random residues do not get shorter; those of zeros and of constants do.
        x = ev.encrypt(one)
        self._write("compressed-ciphertext", x - x, 0 * one, compression=3)
        product = ev.encrypt(one) * ev.encrypt(batch[0])
        self._write("ciphertext-of-three-components", product, one * batch[0])
        (self._ckks if ckks else self._integers)(ctx, sk, ev, one)
        write_json(folder / "values.json", self._files)

    def _write(self, name: str, thing: Any, values: Any = None, *, compression: int = 0) -> None:
        path = self._folder / f"{name}.hemera"
        if compression:
            thing.save(path, compression=compression)
        else:
            thing.save(path)
        found = hm.inspect(path)
        self._files[path.name] = {
            "kind": found.kind,
            "version": found.version,
            **({} if values is None else {"values": as_json(values)}),
        }

    def _ckks(self, ctx: hm.Context, sk: hm.SecretKey, ev: hm.Evaluator, one: Any) -> None:
        del ev
        self._write("compressed-plaintext", ctx.encode([0.5]), [0.5], compression=9)
        self._write("declared-plaintext", ctx.encode(one, largest=2.0), one)
        self._write("declared-ciphertext", ctx.encrypt(ctx.encode(one, largest=2.0), sk), one)
        self._write("filled-ciphertext", ctx.encrypt(one[:11], sk), one[:11])
        complex_values = one + 1j * one[::-1]
        self._write("complex-ciphertext", ctx.encrypt(complex_values, sk), complex_values)
        self._write("lower-ciphertext", ctx.encrypt(ctx.encode(one, level=0), sk), one)
        self._write(
            "declared-parameters", hm.ckks.Parameters.for_circuit(1, slots=16, largest=1000.0, security=None)
        )

    def _integers(self, ctx: hm.Context, sk: hm.SecretKey, ev: hm.Evaluator, one: Any) -> None:
        coefficients = np.arange(-20, 20)
        polynomial = ctx.encode(coefficients, encoding="coefficients")
        self._write("coefficients", polynomial, coefficients)
        self._write("compressed-plaintext", polynomial, coefficients, compression=9)
        self._write("level-plaintext", ctx.encode(one, level=1), one)
        turned = ev.load(bytes(ctx.encrypt(one, sk))).rotate(1)
        self._write("rotated-ciphertext", turned, np.append(one[1:], 0))
        # The guaranteed budget is a bound, which is spent some bits before the values are wrong.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoiseWarning)
            spent, values = (ev.encrypt(one) * ev.encrypt(one)).relinearize(), one * one
            while spent.guaranteed_noise_budget:
                spent, values = spent * 2, centred(values * 2)
        self._write("spent-ciphertext", spent, values)


def centred(values: Any) -> Any:
    """Residues modulo t around 0, as decryption gives them."""
    half = PLAIN_MODULUS // 2
    return (values + half) % PLAIN_MODULUS - half


# --- Encrypted integers. ---


def write_integers(folder: Path) -> None:
    """Integers and booleans with a secret key, and the values that NumPy computes."""
    folder.mkdir(parents=True)
    ints = hm.integers.Context(16, preset="test-exact", device="cpu")
    ints.params.save(folder / "parameters.hemera")
    ints.secret_key.save(folder / "secret-key.hemera")
    a = np.random.default_rng(1).integers(-(2**15), 2**15, (3, 40), np.int16)
    x = ints.encrypt(a)
    made = {"integers": (x * 3 - 7, a * np.int16(3) - np.int16(7)), "booleans": (x < 100, a < 100)}
    values = {}
    for name, (held, expected) in made.items():
        held.shrink().save(folder / f"{name}.hemera")
        values[f"{name}.hemera"] = {"type": str(expected.dtype), "values": expected.tolist()}
    write_json(folder / "values.json", values)


def write(folder: Path) -> None:
    """All files of a release into a folder that is not there yet. FileExistsError otherwise."""
    folder.mkdir(parents=True)
    for scheme in SCHEMES:
        Objects(folder / scheme, scheme)
    write_integers(folder / "integers")
    values = {}
    (folder / "models").mkdir()
    for name, make in MODELS.items():
        made = make()
        path = folder / "models" / f"{name}.hemera-model"
        made.package.save(path)
        rows, results = as_json(made.rows), as_json(made.results)
        values[path.name] = {"bits": made.bits, "rows": rows, "results": results}
        print(f"{path.stat().st_size:8d} {path.name}")
    write_json(folder / "models" / "values.json", values)


def main(arguments: list[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description="Write a release's files, once.")
    parser.add_argument("version")
    parser.add_argument("--releases", type=Path, default=RELEASES, help="the folder of all releases")
    options = parser.parse_args(arguments)
    if options.version != hm.__version__:
        print(f"this is Hemera {hm.__version__}, not {options.version}", file=sys.stderr)
        return 1
    try:
        write(options.releases / options.version)
    except FileExistsError:
        print(
            f"{options.releases / options.version} is there: released files stay as they are", file=sys.stderr
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
