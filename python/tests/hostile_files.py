"""What Python parses of strangers, as targets of tests and of fuzzing
(`python -m tests.hostile_files SECONDS`, in the folder python/)."""

import contextlib
import hashlib
import logging
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import hemera as hm
from hemera import search
from hemera.compat import tenseal
from hemera.inputs.source import read_bytes
from hemera.integers import files as integers_files
from hemera.search.answers import Scores
from hemera.search.index import settings_of

from .hostile_damage import Target, outcome
from .hostile_models import models
from .limited_memory import MIB, limit_growth
from .search.threshold_cases import in_small_rings


def targets(folder):
    """All targets, by name. Encrypted comparisons are in small rings: read within `in_small_rings`."""
    return {**_indexes(folder), **_search_messages(), **_tenseal(), **_others(), **models(folder)}


ROWS = np.random.default_rng(3).normal(size=(5, 4)).astype(np.float32)
PAYLOADS = np.arange(10.0).reshape(5, 2)
NAMES = [5, 3, 2, 8, 9]


def _indexes(folder):
    margin = 2.0**-4
    owner, comparing = (
        search.Client.owning(ROWS, "l2"),
        search.Client.owning(ROWS, answers=search.Threshold(margin=margin)),
    )
    made = {
        "index": search.Index(ROWS, "l2", ids=NAMES),
        "exact index": search.Index((ROWS * 20).astype(np.int8), "dot", exact=True),
        "encrypted index": search.Index(owner.encrypt(ROWS, ids=NAMES)),
        "threshold index": search.Index(
            ROWS, "l2", answers=search.Threshold(margin=margin), payloads=PAYLOADS
        ),
        "encrypted threshold index": search.Index(comparing.encrypt(ROWS)),
        "top index": search.Index(ROWS, answers=search.Top(margin=margin), payloads=PAYLOADS),
    }

    def used(data):
        index = search.Index.load(data)
        settings_of(data)
        _ = index.expected_error, index.settings.program.key_bytes, repr(index)
        index.answer_bytes(1)
        if len(index):
            index.remove(index.ids[:1])

    found = {}
    for name, index in made.items():
        index.save(folder / "index")
        found[name] = Target(read_bytes(folder / "index"), used)
        found[f"settings of the {name}"] = Target(
            bytes(index.settings), lambda data: _used_settings(search.Settings.load(data))
        )
    return found


def _used_settings(settings):
    """Uses settings as a client uses those of a server."""
    _ = settings.digest, settings.params
    if settings.owner or settings.dims > 64:
        return
    if isinstance(settings.answers, Scores):
        number = np.int64 if settings.answers.exact else np.float64
        search.Client(settings).query(np.ones(settings.dims, number))
    elif isinstance(settings.answers, search.Top):
        search.Client(settings).query(np.ones(settings.dims), k=1)
    else:
        with contextlib.suppress(hm.errors.RangeError):  # of a bound beside which scores are none
            search.Client(settings).query(np.ones(settings.dims), 0.5)


def _search_messages():
    index = search.Index(ROWS, "l2", ids=NAMES)
    client = search.Client(index.settings)
    keys = index.load_keys(client.keys)
    owner = search.Client.owning(ROWS, "l2")
    rows = owner.encrypt(ROWS, ids=NAMES)
    vault = search.Index(rows)
    comparing = search.Index(ROWS, answers=search.Threshold(margin=2.0**-4), payloads=PAYLOADS)
    asking = search.Client(comparing.settings)
    loaded = comparing.load_keys(asking.keys)
    compared = asking.query(ROWS[0], 0.5, "payloads")
    threshold_owner = search.Client.owning(ROWS, answers=search.Threshold(margin=2.0**-4))

    def reader(own):
        def read(data):
            waiting = dict(own._waiting)
            try:
                own.decrypt(data)
            finally:
                own._waiting.update(waiting)

        return read

    return {
        "query": Target(client.query(ROWS[0]), lambda data: index.query(data, keys)),
        "preparation": Target(client.prepare(2), lambda data: index.prepare(data, keys)),
        "rows": Target(rows, search.Index),
        "answer": Target(index.query(client.query(ROWS[0]), keys), reader(client)),
        "encrypted answer": Target(vault.query(owner.query(ROWS[0]), owner.keys), reader(owner)),
        "answer to a clear query": Target(vault.query(ROWS[0]), reader(owner)),
        "threshold query": Target(compared, lambda data: comparing.query(data, loaded)),
        "threshold answer": Target(comparing.query(compared, loaded), reader(asking)),
        "threshold rows": Target(threshold_owner.encrypt(ROWS, ids=NAMES), search.Index),
    }


def _tenseal():
    context = tenseal.context(tenseal.SCHEME_TYPE.CKKS, 2048, coeff_mod_bit_sizes=[27, 27])
    context.global_scale = 2.0**20
    exact = tenseal.context(tenseal.SCHEME_TYPE.BFV, 4096, 1032193)
    small = {"save_galois_keys": False, "save_relin_keys": False}

    def read_with(kind):
        def read(data):
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


def _others():
    header = integers_files.Header(8, "uint8", [2, 3], 1e-8, -130.0)
    return {
        "integers": Target(integers_files.write(header, bytes(100)), integers_files.read),
        "integers for inspect": Target(integers_files.write(header, bytes(100)), hm.inspect),
    }


# --- Fuzzing. ---


def main(seconds):
    """Read random damage for these seconds. Files that are neither read nor refused are kept, and fail."""
    warnings.simplefilter("ignore")
    logging.disable()  # of the parser of multipart bodies
    folder = Path(__file__).parents[2] / "build" / "fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(time.time_ns())
    failures = {}
    counts = {}
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
