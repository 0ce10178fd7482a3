"""Data sets of ciphertexts through a packaged model, by Ray Data."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hemera._files import write_atomically
from hemera.errors import MismatchError, ParameterError
from hemera.objects.keys import Keys
from hemera.package.package import Package
from hemera.ray.installed import imported

if TYPE_CHECKING:
    from hemera.ray.replica import KeyFiles, ModelFile
    from hemera.serving.settings import Settings


def map_batches(
    model: Package | str | os.PathLike[str],
    dataset: Any,
    *,
    keys: Keys | str | os.PathLike[str],
    storage: str | os.PathLike[str] | None = None,
    replicas: int = 1,
    batch: int = 32,
    device: str = "auto",
    threads: int | None = None,
) -> Any:
    """Evaluate a packaged model on a data set of ciphertexts, one request a row.

    Args:
        model: the packaged model, or its file where all nodes can read it.
        dataset: a `ray.data.Dataset` with a column of bytes for each input, by its name; or, for models of
            one input, the path of a file or a folder, or several, of one ciphertext each. Paths become a
            column "path".
        keys: one client's evaluation keys, or their file where all nodes can read it.
        storage: a folder that all nodes share. Models and keys that are no files yet are written there, once,
            under their SHA-256.
        replicas: processes that compute, each with its own device.
        batch: evaluations that run together, at most.
        device: as of `Context`. A GPU is asked of Ray for each replica unless it is "cpu".
        threads: of the CPU, for each replica.

    Returns:
        A `ray.data.Dataset`, evaluated when it is read: the other columns, and one of bytes for each output.
        The order of rows is that of Ray Data.

    Raises:
        ParameterError: without the extra "ray", and without `storage` for a model or keys that are no files.
        FileError, FormatError: when a file can not be read or is damaged.
        MismatchError: when the data set lacks the column of an input. Rows whose ciphertexts do not fit raise
            Hemera's errors, as causes of Ray's, where the result is read.
    """
    ray = imported()
    from hemera.ray.replica import KeyFiles, ModelFile, digest_of
    from hemera.serving.uploads import library_of

    package = model if isinstance(model, Package) else Package.load(model)
    place = _placed(package, model, storage, "the model")
    path = _placed(keys, keys, storage, "the keys")
    files = {"keys": path}
    key_files = KeyFiles(digest_of(files), library_of(files), {"keys": str(path)})
    names = [part.name for part in package.inputs]
    if not isinstance(dataset, ray.data.Dataset):
        if len(names) > 1:
            raise ParameterError(
                f"{package.name!r} has the inputs {', '.join(names)}: give a data set with a column for each"
            )
        several = dataset if isinstance(dataset, (list, tuple)) else [dataset]
        dataset = ray.data.read_binary_files([os.fspath(each) for each in several], include_paths=True)
        dataset = dataset.rename_columns({"bytes": names[0]})
    on_gpu = device != "cpu" and (device != "auto" or ray.cluster_resources().get("GPU", 0) > 0)
    found = ModelFile(str(place), package.digest)
    return dataset.map_batches(
        Evaluator,
        fn_constructor_args=(package.name, found, key_files, _settings(device, threads, batch)),
        batch_format="pyarrow",
        batch_size=batch,
        compute=ray.data.ActorPoolStrategy(size=replicas),
        zero_copy_batch=True,
        **({"num_gpus": 1} if on_gpu else {"num_cpus": threads or 1}),
    )


def _placed(value: Any, source: Any, storage: Any, what: str) -> Path:
    """The file of a model or of keys: as it is, or in the storage under its SHA-256."""
    if isinstance(source, (str, os.PathLike)):
        return Path(source).absolute()
    if storage is None:
        raise ParameterError(f"give {what} as a file, or storage=, a folder that all nodes share")
    data = bytes(value)
    path = Path(storage).absolute() / hashlib.sha256(data).hexdigest()
    if not path.exists():
        write_atomically(path, data)
    return path


def _settings(device: str, threads: int | None, batch: int) -> Settings:
    from hemera.serving.settings import Settings

    return Settings(device=device, threads=threads, batch=batch, waiting_requests=batch)


def _column(table: Any, name: str) -> list[NDArray[np.uint8]]:
    """The bytes of a column, as they lie in the table."""
    return [np.frombuffer(each.as_buffer(), np.uint8) for each in table.column(name)]


class Evaluator:
    """An actor of Ray Data: a `Replica` that gets its requests in tables.

    Args:
        name: of the model.
        model, keys: where they lie.
        settings: of the replica.
    """

    def __init__(self, name: str, model: ModelFile, keys: KeyFiles, settings: Settings) -> None:
        from hemera.ray.replica import Replica

        self._name, self._keys = name, keys
        self._replica = Replica({name: model}, settings)
        self._inputs = self._replica.inputs(name)

    def __call__(self, table: Any) -> Any:
        """The table with a column for each output in place of those of the inputs."""
        import pyarrow

        missing = [name for name in self._inputs if name not in table.column_names]
        if missing:
            raise MismatchError(
                f"the data set has no column {', '.join(missing)}; it has {', '.join(table.column_names)}"
            )
        columns = [_column(table, name) for name in self._inputs]
        rows = [dict(zip(self._inputs, row, strict=True)) for row in zip(*columns, strict=True)]
        outputs = self._evaluate(rows)
        found = table.drop_columns(self._inputs)
        for name in outputs[0] if outputs else ():
            values = [memoryview(row[name]) for row in outputs]
            found = found.append_column(name, pyarrow.array(values, pyarrow.large_binary()))
        return found

    def _evaluate(self, rows: list[dict[str, NDArray[np.uint8]]]) -> list[Mapping[str, Any]]:
        """The outputs of rows, which wait together and so run as batches."""
        from hemera.client.problems import Refused, error_of

        asked = [self._replica.evaluate(str(at), self._name, self._keys, row) for at, row in enumerate(rows)]
        found = [each.result() for each in asked]
        for at, answered in enumerate(found):
            try:
                answered.require()
            except Refused as refused:
                raise error_of(refused.status, refused.code, f"row {at} of a batch: {refused}") from None
        return [answered.files for answered in found]
