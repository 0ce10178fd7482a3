"""Rotation of a client's secret key: another takes its place, and a switching key brings ciphertexts to it.

The switching key is an encryption of the old secret under the new one (key switching of Brakerski and
Vaikuntanathan, FOCS 2011), as evaluation keys are of other secrets. Whoever has the old secret and the
switching key can read no ciphertext of the new one, by the assumption that is made for all evaluation keys.
Whoever has the new secret and the switching key can read those of the old one: that is its purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hemera._files import locked, write_atomically
from hemera.errors import FileError, MismatchError, ParameterError, SecurityError
from hemera.inputs.source import Source, model_of, named
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.keys import SwitchingKey
from hemera.package.interface import Interface
from hemera.package.local_model import LocalModel, secret_key_file
from hemera.parameters import require_security


def rotate(local: LocalModel, path: Path, *, security: int | None = 128) -> None:
    """Make another secret key in place of the folder's, which is deleted, and write the switching key from
    the old one. All models of these parameters in the folder have the new key. Clients that are open keep
    the old one, and end with errors where the server has the evaluation keys of the new one.

    Args:
        local: a model's side with a folder.
        path: a new file for the switching key. It is written before the secret key changes; who loses it
            loses what was encrypted under the old key.
        security: bits (128, 192, 256) that the switching key must have; None: any.

    Raises:
        ParameterError: for a model without a folder.
        SecurityError: for a switching key of less security.
        FileError: where there is a file of this name already, or one can not be written. The secret key is
            then as it was.
    """
    if local.folder is None:
        raise ParameterError("a secret key without a folder is in memory alone: take a new one")
    context = local.context
    place = secret_key_file(local.folder, context.params, lambda: local.secret_key)
    with locked(local.folder / ".lock", wait=True):
        old, new = context.load(place), context.generate_secret_key()
        switching = context.generate_switching_key(old, new)
        require_security(switching.security, security, "the switching key has")
        try:
            write_atomically(path, bytes(switching), replace=False)
        except FileExistsError:
            raise FileError(
                f"there is a file {path}: name a new one, or what it brings over is lost"
            ) from None
        new.save(place)


def reencrypted(
    interface: Interface, key: Source, files: Mapping[str, bytes], *, device: str = "cpu"
) -> dict[str, bytes]:
    """Ciphertexts of requests or answers under the old secret key of a rotation, as such of the new one. No
    secret key is needed: whoever keeps the files can do it.

    Args:
        interface: of the model whose files they are.
        key: the file of `rotate`.
        files: by name, with the digest of their model or without.

    Raises:
        MismatchError: for a key, or files, of other kinds or parameters.
        SecurityError: for results that are shown to others: their noise is for the errors of one computation.
    """
    if interface.sharing is not None:
        raise SecurityError(
            f"results of {interface.name!r} are shown to others, with noise that hides their errors, and a "
            "switch adds to these: decrypt them before the key is rotated"
        )
    context = Context(interface.params, device)
    switching = context.load(key)
    if not isinstance(switching, SwitchingKey):
        raise MismatchError(
            f"a switching key is needed, the file of a rotation, not a {type(switching).__name__}"
        )

    def moved(name: str, data: bytes) -> bytes:
        digest, file = model_of(data)
        x = context.load(file)
        if not isinstance(x, Ciphertext):
            raise MismatchError(f"{name} is a {type(x).__name__} and no ciphertext")
        again = bytes(x.evaluator.reencrypt(x, switching))
        return again if digest is None else named(again, digest)

    return {name: moved(name, data) for name, data in files.items()}
