"""The clients of the benchmark of a request: SEAL, OpenFHE, and files of either."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hemera.errors import Error
from hemera.interop import libraries
from hemera.interop._session import Session
from hemera_apps.bench.seal_api import SCHEMES, accepted, seal_api

LIBRARIES = {library.name.lower(): library for library in libraries()}
"""The libraries by their names on the command line."""

_SCALE = 2.0**40
_PLAIN_MODULUS = 786433  # prime, 1 modulo 2 N for N up to 2^17
# The largest error of a right value.
_TOLERANCE = 2.0**-12

# SEAL: the bits of the primes, as many as it allows at 128-bit security; at 2^16 it has no table.
_SEAL_BITS = {
    8192: [60, 40, 40, 60],
    16384: [60, *[40] * 7, 60],
    32768: [60, *[40] * 18, 60],
    65536: [60, *[40] * 18, 60],
}
# OpenFHE: the largest depth at 128-bit security, and the digits of key switching, that 1.5 and 1.6 take.
_OPENFHE_DEPTHS = {
    "ckks": {8192: (2, 3), 16384: (6, 4), 32768: (14, 3), 65536: (30, 3)},
    "bgv": {8192: (2, 3), 16384: (5, 3), 32768: (11, 3), 65536: (25, 3)},
    "bfv": {8192: (2, 2), 16384: (5, 2), 32768: (13, 3), 65536: (20, 2)},
}
# The bits of CKKS's first prime and of BFV's primes. 1.6 has a special prime more where a digit all but fills
# words of 60 bits, and no room for that at 2^13.
_OPENFHE_BITS = {8192: 55, 16384: 60, 32768: 60, 65536: 60}


@dataclass(frozen=True)
class Case:
    """A library, a scheme and a degree."""

    library: str
    scheme: str
    degree: int

    @property
    def name(self) -> str:
        """The name of the case's folder."""
        return f"{self.library}-{self.scheme}-{self.degree}"

    @property
    def ckks(self) -> bool:
        """Whether values are approximate."""
        return self.scheme == "ckks"

    def values(self) -> NDArray[Any]:
        """The values that the client encrypts."""
        random = np.random.default_rng(self.degree)
        if self.ckks:
            return random.uniform(-1, 1, self.degree // 2)
        return random.integers(0, _PLAIN_MODULUS, self.degree)

    def is_right(self, found: NDArray[Any]) -> bool:
        """Whether these values are the squares, turned left by one."""
        values = self.values()
        if self.ckks:
            return bool(np.abs(found - np.roll(values**2, -1)).max() < _TOLERANCE)
        squares = values * values % _PLAIN_MODULUS
        wanted = np.roll(squares.reshape(2, -1), -1, axis=1).ravel()
        return np.array_equal(found % _PLAIN_MODULUS, wanted)


def open_session(case: Case, context: Path, **options: Any) -> Session[Any]:
    """Hemera's session for a file of the client's context."""
    library = LIBRARIES[case.library]
    if library.takes_scale and case.ckks:
        options["scale"] = _SCALE
    return library.session(context, **options)


class Client(ABC):
    """A client with a ciphertext: the files "context", "relin", "galois" and "x" lie in `folder`."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder = case, folder

    @abstractmethod
    def is_right(self, data: bytes) -> bool:
        """Whether the bytes of an answer decrypt to the right values."""


class LiveClient(Client):
    """A client whose library is installed, and computes the same."""

    rescales: ClassVar[bool]
    """Whether the client rescales products of CKKS; else the library does, before the next product."""

    @abstractmethod
    def load(self) -> Any:
        """The ciphertext in the file "x"."""

    @abstractmethod
    def multiply(self, x: Any) -> Any:
        """The square of a ciphertext."""

    @abstractmethod
    def rotate(self, x: Any) -> Any:
        """A ciphertext with its slots turned left by one."""

    @abstractmethod
    def dump(self, x: Any) -> None:
        """Write a ciphertext to the file "y"."""

    @abstractmethod
    def save_secret(self, path: Path) -> None:
        """The secret key, for `PreparedClient`."""

    def prepare(self, folder: Path) -> None:
        """Write the files of a `PreparedClient` into a new folder of the case."""
        target = folder / self.case.name
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.folder / "context", target / "context")
        self.save_secret(target / "secret")


class SealClient(LiveClient):
    """SEAL from the tenseal wheel."""

    rescales = True

    def __init__(self, case: Case, folder: Path) -> None:
        super().__init__(case, folder)
        library = seal_api("a request of SEAL")
        self._library = library
        parms = library.EncryptionParameters(SCHEMES[case.scheme])
        parms.set_poly_modulus_degree(case.degree)
        parms.set_coeff_modulus(library.CoeffModulus.Create(case.degree, _SEAL_BITS[case.degree]))
        if not case.ckks:
            parms.set_plain_modulus(_PLAIN_MODULUS)
        secure = library.SEC_LEVEL_TYPE.TC128 if case.degree <= 32768 else library.SEC_LEVEL_TYPE.NONE
        self._context = accepted(library.SEALContext(parms, True, secure))
        generator = library.KeyGenerator(self._context)
        public, self._relin, self._galois = library.PublicKey(), library.RelinKeys(), library.GaloisKeys()
        generator.create_public_key(public)
        generator.create_relin_keys(self._relin)
        generator.create_galois_keys([3], self._galois)
        self._secret = generator.secret_key()
        self._decryptor = library.Decryptor(self._context, self._secret)
        self._evaluator = library.Evaluator(self._context)
        self._encoder = (library.CKKSEncoder if case.ckks else library.BatchEncoder)(self._context)
        plain, x = library.Plaintext(), library.Ciphertext()
        values = case.values().tolist()
        if case.ckks:
            self._encoder.encode(values, _SCALE, plain)
        else:
            self._encoder.encode(values, plain)
        library.Encryptor(self._context, public).encrypt(plain, x)
        for name, thing in (("context", parms), ("relin", self._relin), ("galois", self._galois), ("x", x)):
            thing.save(str(folder / name))

    def load(self) -> Any:
        x = self._library.Ciphertext()
        x.load(self._context, str(self.folder / "x"))
        return x

    def multiply(self, x: Any) -> Any:
        result = self._library.Ciphertext()
        self._evaluator.square(x, result)
        self._evaluator.relinearize_inplace(result, self._relin)
        if self.case.ckks:
            self._evaluator.rescale_to_next_inplace(result)
        return result

    def rotate(self, x: Any) -> Any:
        result = self._library.Ciphertext()
        turn = self._evaluator.rotate_vector if self.case.ckks else self._evaluator.rotate_rows
        turn(x, 1, self._galois, result)
        return result

    def dump(self, x: Any) -> None:
        x.save(str(self.folder / "y"))

    def save_secret(self, path: Path) -> None:
        self._secret.save(str(path))

    def is_right(self, data: bytes) -> bool:
        path = self.folder / "answer"
        path.write_bytes(data)
        x, plain = self._library.Ciphertext(), self._library.Plaintext()
        x.load(self._context, str(path))
        self._decryptor.decrypt(x, plain)
        decode = self._encoder.decode_double if self.case.ckks else self._encoder.decode_uint64
        return self.case.is_right(np.array(decode(plain)))


class OpenFheClient(LiveClient):
    """OpenFHE from its wheel: FLEXIBLEAUTO, HYBRID, SerType::BINARY."""

    rescales = False

    def __init__(self, case: Case, folder: Path) -> None:
        super().__init__(case, folder)
        try:
            import openfhe as library
        except ImportError as error:
            raise Error(
                "a request of OpenFHE needs the openfhe package, which has wheels for CPython 3.10 and 3.12"
            ) from error
        self._library = library
        parameters = getattr(library, f"CCParams{case.scheme.upper()}RNS")()
        depth, digits = _OPENFHE_DEPTHS[case.scheme][case.degree]
        parameters.SetSecurityLevel(library.HEStd_128_classic)
        parameters.SetRingDim(case.degree)
        parameters.SetMultiplicativeDepth(depth)
        parameters.SetKeySwitchTechnique(library.HYBRID)
        parameters.SetNumLargeDigits(digits)
        if case.scheme != "bfv":
            parameters.SetScalingTechnique(library.FLEXIBLEAUTO)
        bits = _OPENFHE_BITS[case.degree]
        if case.ckks:
            parameters.SetScalingModSize(40)
            parameters.SetFirstModSize(bits)
        else:
            parameters.SetPlaintextModulus(_PLAIN_MODULUS)
            if case.scheme == "bfv":
                parameters.SetScalingModSize(bits)
        self._context = library.GenCryptoContext(parameters)
        for feature in (library.PKE, library.KEYSWITCH, library.LEVELEDSHE):
            self._context.Enable(feature)
        self._keys = self._context.KeyGen()
        self._context.EvalMultKeyGen(self._keys.secretKey)
        self._context.EvalRotateKeyGen(self._keys.secretKey, [1])
        tag = self._keys.secretKey.GetKeyTag()
        values = case.values()
        if case.ckks:
            plain = self._context.MakeCKKSPackedPlaintext(values.tolist())
        else:
            # OpenFHE takes centred values.
            plain = self._context.MakePackedPlaintext(
                (values - (values > _PLAIN_MODULUS // 2) * _PLAIN_MODULUS).tolist()
            )
        x = self._context.Encrypt(self._keys.publicKey, plain)
        for name, data in (
            ("context", library.Serialize(self._context, library.BINARY)),
            ("relin", library.SerializeEvalMultKeyString(library.BINARY, tag)),
            ("galois", library.SerializeEvalAutomorphismKeyString(library.BINARY, tag)),
            ("x", library.Serialize(x, library.BINARY)),
        ):
            (folder / name).write_bytes(data)

    def load(self) -> Any:
        x, found = self._library.DeserializeCiphertext(str(self.folder / "x"), self._library.BINARY)
        assert found
        return x

    def multiply(self, x: Any) -> Any:
        return self._context.EvalSquare(x)

    def rotate(self, x: Any) -> Any:
        return self._context.EvalRotate(x, 1)

    def dump(self, x: Any) -> None:
        self._library.SerializeToFile(str(self.folder / "y"), x, self._library.BINARY)

    def save_secret(self, path: Path) -> None:
        path.write_bytes(self._library.Serialize(self._keys.secretKey, self._library.BINARY))

    def is_right(self, data: bytes) -> bool:
        x = self._library.DeserializeCiphertextString(data, self._library.BINARY)
        plain = self._context.Decrypt(self._keys.secretKey, x)
        return self.case.is_right(
            np.array(plain.GetRealPackedValue() if self.case.ckks else plain.GetPackedValue())
        )


class PreparedClient(Client):
    """A client from the files of `LiveClient.prepare`, the context and the secret key. Hemera makes all other
    files, in the library's format."""

    def __init__(self, case: Case, prepared: Path, folder: Path) -> None:
        super().__init__(case, folder)
        source = prepared / case.name
        shutil.copyfile(source / "context", folder / "context")
        self._session = open_session(case, folder / "context", device="cpu")
        self._secret = self._session.load_secret_key(source / "secret")
        keys = self._session.context.generate_keys(self._secret, rotations=[1])
        files = self._session.dump_keys(keys)
        x = self._session.context.bind(keys).encrypt(case.values())
        data = self._session.dump_ciphertext(x)
        assert isinstance(data, bytes)
        for name, content in (("relin", files["relinearization"]), ("galois", files["galois"]), ("x", data)):
            (folder / name).write_bytes(content)

    def is_right(self, data: bytes) -> bool:
        x = self._session.load_ciphertext(data)
        values = np.asarray(self._session.context.decrypt(x, self._secret))
        return self.case.is_right(values.real if self.case.ckks else values)


def client_of(case: Case, folder: Path) -> LiveClient:
    """The library itself as the client, with its files in the folder."""
    return CLIENTS[case.library](case, folder)


CLIENTS: dict[str, type[LiveClient]] = {"seal": SealClient, "openfhe": OpenFheClient}
"""The measured ones of `LIBRARIES`."""

CASES = [
    Case(library, scheme, degree)
    for library in CLIENTS
    for scheme in sorted(SCHEMES)
    for degree in _SEAL_BITS
]
