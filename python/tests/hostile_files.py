"""Damaged files and messages for all that Python parses: systematic ones for tests, random ones for fuzzing
(`python -m tests.hostile_files SECONDS`, in the folder python/).

Checksums are right, so that damage comes to the parsers behind them.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import itertools
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

import hemera as hm
from hemera import _core, search, serving
from hemera.compat import tenseal
from hemera.compat.tenseal.messages import read_message, write_message
from hemera.inputs.source import read_bytes
from hemera.integers import files as integers_files
from hemera.trees.read import read_model

from .limited_memory import MIB, limit_growth
from .search.threshold_cases import in_small_rings

BEGIN = 24
"""Where a header begins: after a magic of 16 bytes, and its length."""
INFINITY, NOT_A_NUMBER = "1e999", "NaN"
"""Texts in JSON that are no strings."""
VALUES: list[Any] = [
    *(0, -1, 1, 3, 10**400, 1 << 31, (1 << 62) - 1, 1 << 62, 1 << 63),
    *(0.0, 5e-324, 1e-300, 1e-160, 1e160, 1e300, 1e308, -1.0, 0.5),
    *(True, None, "", "x", [], {}, [0], [["x"]], {"a": 1}),
]
NUMBERS: list[Any] = [
    *(0, 1, 3, 1 << 31, (1 << 64) - 1, float("nan"), float("inf"), -1.0, 5e-324, 1e-300, 1e308),
    *(b"", b"x", bytes(8), b"\x80" * 11),
]
WORDS = [bytes(8), b"\xff" * 8, b"\x7f" * 8, np.array([np.inf]).tobytes(), np.array([1e-310]).tobytes()]
"""Eight bytes of a body: NaN, an infinite number and others."""


@dataclass(frozen=True)
class Target:
    """Something that parses bytes."""

    data: bytes
    """Right ones."""
    read: Callable[[bytes], object]
    form: Literal["header", "message", "text"] = "header"
    """A header of JSON and a body; a message of Protocol Buffers; JSON alone."""
    nested: tuple[int, ...] = ()
    """Fields of a message that are messages."""

    def damaged(self) -> Iterator[tuple[str, bytes]]:
        """Each field with each of the values, or missing, by a name."""
        if self.form == "text":
            # A fifth of them: each value comes to some fields, and each field gets some values.
            return itertools.islice(_texts(json.loads(self.data), most=1), 0, None, 5)
        return _headers(self.data) if self.form == "header" else _messages(self.data, self.nested)

    def random(self, random: np.random.Generator) -> bytes:
        """Bytes with damage at random places, mostly near the beginning."""
        if self.form != "header":
            return _struck(self.data, random)
        length = int.from_bytes(self.data[16:BEGIN], "little")
        head, body = self.data[BEGIN : BEGIN + length], self.data[BEGIN + length : -32]
        if random.random() < 0.5:
            return signed(self.data[:16], head, _struck(body, random))
        return signed(self.data[:16], _struck(head, random), body)


def outcome(target: Target, data: bytes) -> str:
    """ "read", or the name of an error of Hemera's. Raises whatever else is raised."""
    try:
        target.read(data)
    except hm.errors.Error as error:
        return type(error).__name__
    return "read"


def signed(magic: bytes, head: bytes, body: bytes) -> bytes:
    """A file with a right checksum."""
    begin = magic + len(head).to_bytes(8, "little") + head
    if b'"parts"' in head:  # answers have one of their own
        try:
            whole = np.frombuffer(begin + body, np.uint8)
            parts = json.loads(head)["parts"]
            return begin + body + _core.digest_of_pieces(whole, [len(begin), *parts])
        except (ArithmeticError, LookupError, TypeError, ValueError):
            pass
    return begin + body + hashlib.sha256(begin + body).digest()


def _struck(data: bytes, random: np.random.Generator) -> bytes:
    changed = bytearray(data or b"?")
    for _ in range(int(random.integers(1, 4))):
        near = min(len(changed), 400) if random.random() < 0.7 else len(changed)
        at = int(random.integers(near))
        if random.random() < 0.5:
            changed[at] = int(random.integers(256))
        else:
            at = at // 8 * 8
            changed[at : at + 8] = WORDS[random.integers(len(WORDS))]
    return bytes(changed[: random.integers(len(changed))] if random.random() < 0.1 else changed)


def _headers(data: bytes) -> Iterator[tuple[str, bytes]]:
    length = int.from_bytes(data[16:BEGIN], "little")
    header, body = json.loads(data[BEGIN : BEGIN + length]), data[BEGIN + length : -32]
    for name, text in _texts(header):
        yield name, signed(data[:16], text, body)
    head = data[BEGIN : BEGIN + length]
    for at in range(0, min(len(body), 64), 8):
        for word in WORDS:
            yield f"body {at}", signed(data[:16], head, body[:at] + word + body[at + 8 :])


def _texts(data: Any, most: int = 1000) -> Iterator[tuple[str, bytes]]:
    """JSON with each field changed, of lists the first ones."""
    for path in _places(data, most):
        for value in [*VALUES, INFINITY, NOT_A_NUMBER, ...]:
            changed = copy.deepcopy(data)
            inner = changed
            for key in path[:-1]:
                inner = inner[key]
            if value is ...:
                del inner[path[-1]]
            else:
                inner[path[-1]] = copy.deepcopy(value)
            text = json.dumps(changed, separators=(",", ":"))
            for number in (INFINITY, NOT_A_NUMBER):
                text = text.replace(f'"{number}"', number)
            yield f"{path} = {value!r:.20}", text.encode()


def _places(data: Any, most: int, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    keys = data if isinstance(data, dict) else range(min(len(data), most)) if isinstance(data, list) else ()
    for key in keys:
        found += _places(data[key], most, (*path, key))
    return found


def _messages(data: bytes, nested: tuple[int, ...]) -> Iterator[tuple[str, bytes]]:
    fields = read_message(data)
    for number in [*fields, 1003]:
        for value in NUMBERS:
            yield f"{number} = {value!r:.20}", write_message({**fields, number: [value]})
        yield f"no {number}", write_message({key: own for key, own in fields.items() if key != number})
    for number in nested:
        inner = fields.get(number, [b""])[-1]
        assert isinstance(inner, bytes)
        for name, changed in _messages(inner, ()):
            yield f"{number}: {name}", write_message({**fields, number: [changed]})


# --- What Python parses. ---


def targets(folder: Path) -> dict[str, Target]:
    """All of them, by name. Encrypted comparisons are in small rings: call it, and read, within
    `in_small_rings`."""
    return {**_indexes(folder), **_search_messages(), **_tenseal(), **_others(), **_models(folder)}


ROWS = np.random.default_rng(3).normal(size=(5, 4)).astype(np.float32)
PAYLOADS = np.arange(10.0).reshape(5, 2)
NAMES = [5, 3, 2, 8, 9]


def _indexes(folder: Path) -> dict[str, Target]:
    margin = 2.0**-4
    owner, comparing = search.Client.owning(ROWS, "l2"), search.ThresholdClient.owning(ROWS, margin=margin)
    made: dict[str, Any] = {
        "index": search.Index(ROWS, "l2", ids=NAMES),
        "exact index": search.Index((ROWS * 20).astype(np.int8), "dot", exact=True),
        "encrypted index": search.EncryptedIndex(owner.encrypt(ROWS, ids=NAMES)),
        "threshold index": search.ThresholdIndex(ROWS, "l2", margin=margin, payloads=PAYLOADS),
        "encrypted threshold index": search.EncryptedThresholdIndex(comparing.encrypt(ROWS)),
        "top index": search.TopIndex(ROWS, margin=margin, payloads=PAYLOADS),
    }

    def used(data: bytes) -> None:
        index = search.load(data)
        hm.search.files.settings_of(data)
        _ = index.expected_error, index.key_bytes, index.queries_at_once, repr(index)
        index.answer_bytes(1)
        if len(index):
            index.remove(index.ids[:1])

    found = {}
    for name, index in made.items():
        index.save(folder / "index")
        found[name] = Target(read_bytes(folder / "index"), used)
        found[f"settings of the {name}"] = Target(
            bytes(index.settings), lambda data, own=index.settings: _used_settings(type(own).load(data))
        )
    return found


def _used_settings(settings: Any) -> None:
    """Uses settings as a client uses those of a server."""
    _ = settings.digest, settings.params
    if settings.owner or settings.dims > 64:
        return
    if type(settings) is search.Settings:
        number = np.int64 if settings.exact else np.float64
        search.Client(settings).query(np.ones(settings.dims, number))
    elif isinstance(settings, search.TopSettings):
        search.TopClient(settings).query(np.ones(settings.dims), 1)
    else:
        with contextlib.suppress(hm.errors.RangeError):  # of a bound beside which scores are none
            search.ThresholdClient(settings).query(np.ones(settings.dims), 0.5)


def _search_messages() -> dict[str, Target]:
    index = search.Index(ROWS, "l2", ids=NAMES)
    client = search.Client(index.settings)
    keys = index.load_keys(client.keys)
    owner = search.Client.owning(ROWS, "l2")
    rows = owner.encrypt(ROWS, ids=NAMES)
    vault = search.EncryptedIndex(rows)
    comparing = search.ThresholdIndex(ROWS, margin=2.0**-4, payloads=PAYLOADS)
    asking = search.ThresholdClient(comparing.settings)
    loaded = comparing.load_keys(asking.keys)
    compared = asking.query(ROWS[0], 0.5, "payloads")
    threshold_owner = search.ThresholdClient.owning(ROWS, margin=2.0**-4)

    def reader(own: Any) -> Callable[[bytes], object]:
        def read(data: bytes) -> None:
            waiting = dict(own._waiting)
            try:
                own.decrypt(data)
            finally:
                own._waiting.update(waiting)

        return read

    return {
        "query": Target(client.query(ROWS[0]), lambda data: index.query(data, keys)),
        "preparation": Target(client.prepare(2), lambda data: index.prepare(data, keys)),
        "rows": Target(rows, search.EncryptedIndex),
        "answer": Target(index.query(client.query(ROWS[0]), keys), reader(client)),
        "encrypted answer": Target(vault.query(owner.query(ROWS[0]), owner.keys), reader(owner)),
        "answer to a clear query": Target(vault.query(ROWS[0]), reader(owner)),
        "threshold query": Target(compared, lambda data: comparing.query(data, loaded)),
        "threshold answer": Target(comparing.query(compared, loaded), reader(asking)),
        "threshold rows": Target(threshold_owner.encrypt(ROWS, ids=NAMES), search.EncryptedThresholdIndex),
    }


def _tenseal() -> dict[str, Target]:
    context = tenseal.context(tenseal.SCHEME_TYPE.CKKS, 2048, coeff_mod_bit_sizes=[27, 27])
    context.global_scale = 2.0**20
    exact = tenseal.context(tenseal.SCHEME_TYPE.BFV, 4096, 1032193)
    small = {"save_galois_keys": False, "save_relin_keys": False}

    def read_with(kind: Any) -> Callable[[bytes], object]:
        def read(data: bytes) -> None:
            loaded = kind.load(context, data)
            _ = loaded.shape, repr(loaded), loaded.decrypt()

        return read

    plain = tenseal.plain_tensor(np.ones((2, 3)))
    return {
        "TenSEAL: context": Target(
            context.serialize(save_secret_key=True, **small), tenseal.Context.load, "message", (2, 3)
        ),
        "TenSEAL: public context": Target(exact.serialize(**small), tenseal.Context.load, "message", (2,)),
        "TenSEAL: vector": Target(
            tenseal.ckks_vector(context, [1.0, 2.0]).serialize(), read_with(tenseal.CKKSVector), "message"
        ),
        "TenSEAL: tensor": Target(
            tenseal.ckks_tensor(context, plain).serialize(), read_with(tenseal.CKKSTensor), "message"
        ),
        "TenSEAL: plain tensor": Target(
            plain.serialize(), lambda data: tenseal.PlainTensor.load(data).tolist(), "message"
        ),
    }


def _others() -> dict[str, Target]:
    header = integers_files.Header(8, "uint8", [2, 3], 1e-8, -130.0)
    package = serving.export(
        lambda x: x.polyval([1, 2.5]) @ np.eye(4) + serving.dot([x], [np.arange(4)]),
        inputs=serving.InputSpec("x", 4, low=-1),
        name="simple",
        security=None,
    )

    def described(data: bytes) -> None:
        loaded = serving.Package.load(data)
        loaded.describe()
        with contextlib.suppress(hm.errors.Error):  # of rows that another encoding refuses
            loaded.evaluate_clear(np.zeros((1, 4)))

    return {
        "integers": Target(integers_files.write(header, bytes(100)), integers_files.read),
        "integers for inspect": Target(integers_files.write(header, bytes(100)), hm.inspect),
        "packaged model": Target(bytes(package), described),
    }


def _models(folder: Path) -> dict[str, Target]:
    """Models of trees, as their libraries write them, and linear ones."""
    linear = {"coefficients": [1.0, 2.0], "intercept": 0.5, "mean": [0, 0], "deviation": [1, 1]}
    stored = Path(__file__).parent / "trees" / "tree_models"
    found: dict[str, Any] = {"linear": {**linear, "low": [-1, -1], "high": [1, 1]}}
    for name, file in (("xgboost", "xgboost-diabetes-1"), ("LightGBM", "lightgbm-diabetes-2")):
        found[name] = json.loads((stored / f"{file}.json").read_bytes())["model"]
    found["LightGBM"] = {**found["LightGBM"], "tree_info": found["LightGBM"]["tree_info"][:1]}
    of_xgboost = found["xgboost"]["learner"]["gradient_booster"]["model"]
    of_xgboost |= {name: of_xgboost[name][:1] for name in ("trees", "tree_info")}

    def reader(read: Callable[[Path], object]) -> Callable[[bytes], object]:
        def of_file(data: bytes) -> None:
            (folder / "model.json").write_bytes(data)
            read(folder / "model.json")

        return of_file

    return {
        f"{name} model": Target(
            json.dumps(model).encode(),
            reader(serving.LinearModel.from_json if name == "linear" else read_model),
            "text",
        )
        for name, model in found.items()
    }


# --- Fuzzing. ---


def main(seconds: float) -> int:
    """Read random damage for so long. What is neither read nor an error of Hemera's is kept as a file, and
    fails."""
    warnings.simplefilter("ignore")
    folder = Path(__file__).parents[2] / "build" / "fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(time.time_ns())
    failures: dict[str, str] = {}
    counts: dict[str, int] = {}
    with in_small_rings():
        known = targets(folder)
        limit_growth(2048 * MIB)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for name, target in known.items():
                data = target.random(random)
                try:
                    found = outcome(target, data)
                    counts[found] = counts.get(found, 0) + 1
                except Exception as error:  # what a fuzzer looks for
                    kept = folder / f"python-{hashlib.sha256(data).hexdigest()[:12]}"
                    kept.write_bytes(data)
                    failures.setdefault(f"{name}: {type(error).__name__}: {error}", str(kept))
    print(f"Fuzzed {len(known)} parsers of Python for {seconds:g} s: {counts}")
    for told, kept in failures.items():
        print(f"{told} ({kept})")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 20.0))
