"""Search among many encrypted rows: python bench/search_at_size.py ROWS [DEVICE [RESULTS.json]]. Prints JSON.

Rows of 512 normal numbers, cosines. Batches are made and encrypted by six threads while the index takes them.
The ten best are compared with NumPy's.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from results_file import write_results

T = TypeVar("T")

DIMS, BATCH, AHEAD, REPEATS, BEST = 512, 131_072, 8, 6, 10


def measured(rows: int, device: str) -> dict[str, Any]:
    seconds: dict[str, list[float]] = {}

    def timed(name: str, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        result = work()
        seconds.setdefault(name, []).append(round(time.perf_counter() - start, 5))
        return result

    def batch(number: int) -> NDArray[np.float32]:
        count = min(BATCH, rows - number * BATCH)
        return np.random.default_rng([7, number]).standard_normal((count, DIMS), dtype=np.float32)

    # The query is a row with noise.
    target = rows // 2
    query = batch(target // BATCH)[target % BATCH] + 0.3 * np.random.default_rng(5).normal(size=DIMS)
    owner = hm.search.Client.owning(batch(0), metric="cosine", largest=0.35)

    def made(number: int) -> tuple[bytes, list[tuple[float, int]]]:
        vectors = batch(number)
        ids = np.arange(len(vectors)) + number * BATCH
        cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
        best = np.argsort(-cosines)[:BEST]
        return owner.encrypt(vectors, ids=ids), list(
            zip(cosines[best].tolist(), ids[best].tolist(), strict=True)
        )

    count = -(-rows // BATCH)
    index: Any = None
    expected: list[tuple[float, int]] = []
    sent = 0
    begin = time.perf_counter()
    with ThreadPoolExecutor(6) as pool:
        waiting = [pool.submit(made, number) for number in range(min(AHEAD, count))]
        for number in range(count):
            data, best = waiting.pop(0).result()
            if number + AHEAD < count:
                waiting.append(pool.submit(made, number + AHEAD))
            sent += len(data)
            expected = sorted(expected + best, reverse=True)[:BEST]
            if index is None:
                index = hm.search.Index(data, device=device)
            else:
                index.add(data)
    filled = time.perf_counter() - begin
    index.load_keys(owner.keys)
    for _ in range(REPEATS):
        message = timed("client: query", lambda: owner.query(query))
        answer = timed("answer", lambda: index.query(message, owner.keys))  # noqa: B023, done before the next
        scores, ids = timed("client: decrypt", lambda: owner.decrypt(answer, k=BEST))  # noqa: B023
    best_scores, best_ids = zip(*expected, strict=True)
    return {
        "rows": rows,
        "device": device,
        "seconds": seconds,
        "filled_seconds": round(filled, 1),
        "bytes": {"rows": sent, "query": len(message), "answer": len(answer), "keys": len(owner.keys)},
        "ten_right": ids.tolist() == list(best_ids) == [target, *best_ids[1:]],
        "largest_error": float(np.abs(scores - best_scores).max()),
    }


def main(rows: int, device: str = "cpu", results: str = "") -> None:
    row = measured(rows, device)
    print(json.dumps(row, indent=1))
    if results:
        write_results(results, device, [row])


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:4])
