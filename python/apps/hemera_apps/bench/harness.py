"""The folders of an instance, and seconds of steps, as harnesses of the official suite have them."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if sys.version_info >= (3, 11):
    from typing import Self
else:
    from typing_extensions import Self

if TYPE_CHECKING:
    import hemera as hm  # which stages that only read results do not wait for

T = TypeVar("T")
_SIZES = ("single", "small", "medium", "large")


@dataclass(frozen=True)
class Instance:
    """An instance of a workload, in the harness' folders."""

    name: str
    """"single", "small", "medium" or "large"."""
    root: Path = Path()

    @classmethod
    def parse(cls) -> Self:
        """The instance that the harness asks for, by the number of its size."""
        parser = argparse.ArgumentParser()
        parser.add_argument("size", type=int, choices=range(len(_SIZES)))
        return cls(_SIZES[parser.parse_args().size])

    @property
    def size(self) -> int:
        """The number of its size, from 0 on."""
        return _SIZES.index(self.name)

    @property
    def data(self) -> Path:
        """The harness' inputs."""
        return self.root / "datasets" / self.name

    @property
    def io(self) -> Path:
        return self.root / "io" / self.name

    @property
    def keys(self) -> Path:
        """The server's keys."""
        return self.io / "public_keys"

    @property
    def secret(self) -> Path:
        """The client's alone."""
        return self.io / "secret_key"

    @property
    def up(self) -> Path:
        return self.io / "ciphertexts_upload"

    @property
    def down(self) -> Path:
        return self.io / "ciphertexts_download"

    @property
    def device(self) -> str:
        """The server's device."""
        return os.environ.get("HEMERA_DEVICE", "auto")


class Steps:
    """Seconds of the server's steps, each added up over the parts of the instance."""

    def __init__(self, *contexts: hm.Context) -> None:
        self.contexts = list(contexts)
        self._began = time.perf_counter()
        self._seconds: dict[str, float] = {}

    def _wait(self) -> None:
        """Until all devices have done their work."""
        for context in self.contexts:
            context.synchronize()

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """The time of the block, until the device has done its work."""
        self._wait()
        begin = time.perf_counter()
        yield
        self._wait()
        self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - begin

    def compute(self, run: Callable[[], T]) -> T:
        """The result of `run`. With HEMERA_REPEATS=n also the median of n more runs is kept: they find
        everything warm, as in a server that runs for longer than one request."""
        with self.of("Encrypted computation"):
            result = run()
        again = []
        for _ in range(int(os.environ.get("HEMERA_REPEATS", "0"))):
            self._wait()
            begin = time.perf_counter()
            run()
            self._wait()
            again.append(time.perf_counter() - begin)
        if again:
            name = "Repeated computation"
            self._seconds[name] = self._seconds.get(name, 0.0) + statistics.median(again)
        return result

    def save(self, path: Path) -> None:
        """As the harnesses of other workloads of the suite read them."""
        total = {**self._seconds, "Total": time.perf_counter() - self._began}
        steps = {name: round(seconds, 5) for name, seconds in total.items()}
        path.write_text(json.dumps(steps))
        print("         [server]", ", ".join(f"{name}: {seconds} s" for name, seconds in steps.items()))
