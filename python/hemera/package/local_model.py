"""The client's side of a packaged model: keys, encryption and decryption."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera._files import locked
from hemera.errors import FormatError, MismatchError
from hemera.inputs.arguments import Progress
from hemera.inputs.source import named, opened
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.keys import SecretKey
from hemera.package.interface import Interface
from hemera.package.sharing import Shown
from hemera.package.specs import InputSpec
from hemera.parameters import Parameters, check_security, require_security


class LocalModel:
    """The client's side of one model: its context, the secret key, and what goes into requests.

    Args:
        interface: the server's description of the model, `Interface.from_dict`.
        folder: where the secret key is kept, for its owner alone; None: in memory only. Processes that begin
            with one new folder at the same time get the same key.
        device: where to encrypt and decrypt.
        security: bits (128, 192, 256) that the parameters must have, which the server chose; None: any.
        before: the side of the model that this one replaces under its name. With the same parameters its
            secret key stays, and what was shown under it counts.
        digest: of the model. Files of answers that name another one are refused.

    Raises:
        FileError, FormatError: when the folder's key can not be read.
        SecurityError: for parameters, or levels of inputs, of less security.
    """

    def __init__(
        self,
        interface: Interface,
        *,
        folder: Path | None = None,
        device: str = "cpu",
        security: int | None = 128,
        before: LocalModel | None = None,
        digest: str | None = None,
    ) -> None:
        check_security(security)
        _require_secure(interface, security)
        self.interface = interface
        self.digest = digest
        self.folder = folder
        self._security = security
        if before is not None and before.interface.params == interface.params:
            self.context: Context = before.context
            self.secret_key: SecretKey = before.secret_key
            self._shown: Shown = before._shown
            return
        self.context = Context(interface.params, device)
        self.secret_key = self._secret_key()
        self._shown = Shown(None if folder is None else folder / f"shown-{_place(interface.params)}.json")

    def __reduce__(self) -> NoReturn:
        raise no_pickle(self)

    def _secret_key(self) -> SecretKey:
        if self.folder is None:
            return self.context.generate_secret_key()
        path = secret_key_file(self.folder, self.interface.params, self.context.generate_secret_key)
        found = self.context.load(path)
        if not isinstance(found, SecretKey):
            raise MismatchError(f"{path} is no secret key")
        return found

    def generate_keys(self, progress: Progress = None) -> bytes:
        """The file of evaluation keys, which goes to the server. `progress` is that of
        `Context.generate_keys`. Raises as `write_keys`."""
        pieces = list[bytes]()

        def told(done: int, count: int) -> None:
            if progress is not None:
                progress("keys", done, count)

        self.write_keys(pieces.append, told)
        return b"".join(pieces)

    def write_keys(self, write: Callable[[bytes], None], told: Callable[[int, int], None]) -> None:
        """Give the file of evaluation keys to a function, piece after piece. One key is made, packed, written
        and let go, before the next is made.

        Args:
            write: takes the next bytes.
            told: called with the number of keys that are written, and of all.

        Raises:
            SecurityError: before any is made, where a key is over a modulus of less security than is asked
                for: levels of circuits are no part of the parameters' own class.
        """
        needs, secret = self.interface.keys.all_needs(self.context), self.secret_key._native
        told(0, len(needs))
        _core.write_needed_keys(
            secret,
            needs,
            self.interface.keys.public_key,
            self._security or 0,
            write,
            lambda done: told(done, len(needs)),
        )

    def encode(self, rows: Any) -> tuple[list[NDArray[Any]], bool]:
        """The arrays to encrypt, each with a first axis of evaluations, and whether there was none."""
        arrays = self.interface.encode(rows)
        spec = self.interface.inputs[0]
        single = arrays[0].ndim == len(spec.shape) + 1
        return [array[np.newaxis] if single else array for array in arrays], single

    def encrypt(self, arrays: Sequence[NDArray[Any]], *, names_model: bool = False) -> dict[str, bytes]:
        """The files of one request, by input.

        Args:
            arrays: what `encode` gives.
            names_model: whether the files name the model, if its digest is known: then another one does not
                compute them. Hemera 0.2 does not read such files.
        """
        files = {
            spec.name: bytes(self._encrypt(array, spec))
            for spec, array in zip(self.interface.inputs, arrays, strict=True)
        }
        if not names_model or self.digest is None:
            return files
        return {name: named(data, self.digest) for name, data in files.items()}

    def _encrypt(self, array: NDArray[Any], spec: InputSpec) -> Ciphertext:
        return self.context.encrypt(self.context.encode(array, level=spec.level), self.secret_key)

    def decrypt(self, files: Mapping[str, bytes]) -> list[NDArray[Any]]:
        """The decrypted outputs of an answer, in the model's order.

        Raises:
            MismatchError: for an answer that names another model.
            SecurityError: where more would be shown to others than the noise is for.
        """
        files, digests = opened(files)
        require_model(digests, self.digest, "the answer is", self.interface.name)
        wanted = [spec.name for spec in self.interface.outputs]
        if len(wanted) == 1 and len(files) == 1:
            files = {wanted[0]: next(iter(files.values()))}
        if set(files) != set(wanted):
            raise FormatError(f"the answer has {', '.join(files)}, and the outputs are {', '.join(wanted)}")
        outputs = [self.context.load(files[name]) for name in wanted]
        return self.interface.decrypt(self.context, outputs, self.secret_key, self._shown)

    def decode(self, arrays: Sequence[NDArray[Any]], single: bool, rows: int | None) -> Any:
        """The results of decrypted outputs with a first axis of evaluations."""
        return self.interface.decode([array[0] if single else array for array in arrays], rows)


def require_model(digests: Set[str], digest: str | None, what: str, name: str) -> None:
    """MismatchError where files name another model than the one of this digest; None: it is not known."""
    others = sorted(digests - {digest})
    if others and digest is not None:
        raise MismatchError(
            f"{what} of the model with the digest {others[0]}, and {name!r} has {digest}: encrypt, compute "
            "and decrypt by the description of one model"
        )


def _require_secure(interface: Interface, security: int | None) -> None:
    params = interface.params
    what = f"the server's model {interface.name!r} has"
    require_security(params.security, security, f"{what} parameters of")
    for spec in interface.inputs:
        # Levels of circuits have larger moduli than the parameters' class of security is for.
        if spec.level is not None and params.level_bits(spec.level) > params.log_modulus:
            require_security("below 128", security, f"{what} an input at level {spec.level}, of")


def secret_key_file(folder: Path, params: Parameters, make: Callable[[], SecretKey]) -> Path:
    """The file of the secret key for these parameters in a folder, where all processes find the same one.

    Args:
        make: a key, where there is none.

    Raises:
        FileError: when it can not be written.
    """
    path = folder / f"secret-{_place(params)}.hemera"
    with locked(folder / ".lock", wait=True):  # or two processes would each make a key
        if not path.exists():
            make().save(path)
    return path


def _place(params: Parameters) -> str:
    """The part of names of files of one secret key."""
    return params.fingerprint[:16]


def no_pickle(held: object) -> TypeError:
    """The error of an object with a secret key where it is pickled."""
    return TypeError(
        f"a {type(held).__name__} does not pickle: it holds a secret key, and pickles travel. Make one in "
        "each process: those with the same folder= share the key"
    )
