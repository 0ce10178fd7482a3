"""The paper's circuit of trees with SEAL from the tenseal wheel: a process for each core, since calls hold
Python's lock."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import Error
from hemera_apps.bench.seal_api import SCHEMES, accepted, seal_api
from hemera_apps.trees.paper import PaperModel


class SealTrees:
    """Keys, model and encrypted samples in one process."""

    def __init__(
        self,
        degree: int,
        plain_modulus: int,
        model: PaperModel,
        rotations: list[int],
        planes: NDArray[np.int64],
    ) -> None:
        """`planes` are slots of shape (6, samples, N)."""
        seal = seal_api()
        self._seal = seal
        parameters = seal.EncryptionParameters(SCHEMES["bfv"])
        parameters.set_poly_modulus_degree(degree)
        parameters.set_coeff_modulus(seal.CoeffModulus.BFVDefault(degree, seal.SEC_LEVEL_TYPE.TC128))
        parameters.set_plain_modulus(plain_modulus)
        context = accepted(seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.TC128))
        generator = seal.KeyGenerator(context)
        public, self._relin, self._galois = seal.PublicKey(), seal.RelinKeys(), seal.GaloisKeys()
        generator.create_public_key(public)
        generator.create_relin_keys(self._relin)
        generator.create_galois_keys([pow(3, step, 2 * degree) for step in rotations], self._galois)
        self._rotations = rotations
        self._encoder = seal.BatchEncoder(context)
        self._decryptor = seal.Decryptor(context, generator.secret_key())
        self._evaluator = seal.Evaluator(context)
        encryptor = seal.Encryptor(context, public)

        def encrypted(values: NDArray[np.int64]) -> Any:
            result = seal.Ciphertext()
            encryptor.encrypt(self._encoded(values), result)
            return result

        self._ones, self._encrypted_ones = self._encoded(model.ones), encrypted(model.ones)
        self._y = [self._encoded(y) for y in model.y]
        self._y_minus_one = [self._encoded(y - 1) for y in model.y]
        self._left, self._across = self._encoded(model.left), self._encoded(model.across)
        self._right, self._last = self._encoded(model.right), self._encoded(model.last)
        self._samples = [[encrypted(plane) for plane in planes[:, s]] for s in range(planes.shape[1])]

    def run(self, count: int) -> float:
        """The seconds of `count` evaluations, of one sample after the other, round and round."""
        begin = time.perf_counter()
        for index in range(count):
            self._evaluate(self._samples[index % len(self._samples)])
        return time.perf_counter() - begin

    def slots(self) -> NDArray[np.int64]:
        """The decrypted answers of all samples, shape (samples, N)."""
        found = []
        for planes in self._samples:
            plain = self._seal.Plaintext()
            self._decryptor.decrypt(self._evaluate(planes), plain)
            found.append(np.asarray(self._encoder.decode_int64(plain), dtype=np.int64))
        return np.stack(found)

    def _encoded(self, values: NDArray[np.int64]) -> Any:
        plain = self._seal.Plaintext()
        self._encoder.encode(values.tolist(), plain)
        return plain

    def _evaluate(self, planes: list[Any]) -> Any:
        ev, ciphertext = self._evaluator, self._seal.Ciphertext
        z1, z2, z3 = (self._compare(node, planes[2 * node], planes[2 * node + 1]) for node in range(3))
        near, result = ciphertext(), ciphertext()
        ev.multiply_plain(z2, self._left, near)
        ev.relinearize_inplace(near, self._relin)
        ev.add_plain_inplace(near, self._across)
        ev.multiply(near, z1, result)
        far = ciphertext()
        ev.sub(z1, self._encrypted_ones, far)
        ev.multiply_plain_inplace(far, self._right)
        ev.relinearize_inplace(far, self._relin)
        ev.multiply_inplace(far, z3)
        ev.add_inplace(result, far)
        ev.relinearize_inplace(result, self._relin)
        ev.add_plain_inplace(result, self._last)
        for steps in self._rotations:
            turned = ciphertext()
            ev.rotate_rows(result, steps, self._galois, turned)
            ev.add_inplace(result, turned)
        return result

    def _compare(self, node: int, x0: Any, x2: Any) -> Any:
        ev, ciphertext = self._evaluator, self._seal.Ciphertext
        apart, chosen, z = ciphertext(), ciphertext(), ciphertext()
        ev.sub(self._encrypted_ones, x0, apart)
        ev.multiply_plain(x2, self._y_minus_one[node], chosen)
        ev.relinearize_inplace(chosen, self._relin)
        ev.sub_plain_inplace(chosen, self._y[node])
        ev.multiply(apart, chosen, z)
        ev.relinearize_inplace(z, self._relin)
        ev.add_plain_inplace(z, self._ones)
        return z


class SealWorkers:
    """As many processes of `SealTrees` as cores are used, with the same samples and keys of their own."""

    def __init__(self, count: int, *arguments: Any) -> None:
        # Not forked: a lock that a thread of a library holds in the parent would stay locked in the child.
        spawn = multiprocessing.get_context("spawn")
        self._connections: list[Connection] = []
        self._processes = []
        for _ in range(count):
            here, there = spawn.Pipe()
            process = spawn.Process(target=_serve, args=(there, arguments), daemon=True)
            process.start()
            there.close()
            self._connections.append(here)
            self._processes.append(process)
        self._answers()

    def __enter__(self) -> SealWorkers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._connections:
            connection.close()
        for process in self._processes:
            process.join()

    def run(self, samples: int) -> float:
        """The seconds until all processes have evaluated their share of `samples`."""
        shares = [len(range(at, samples, len(self._connections))) for at in range(len(self._connections))]
        begin = time.perf_counter()
        for connection, share in zip(self._connections, shares, strict=True):
            connection.send(share)
        self._answers()
        return time.perf_counter() - begin

    def slots(self) -> NDArray[np.int64]:
        """The decrypted answers of all samples, by the first process."""
        self._connections[0].send(None)
        answer: NDArray[np.int64] = self._answer(self._connections[0])
        return answer

    def _answers(self) -> None:
        for connection in self._connections:
            self._answer(connection)

    def _answer(self, connection: Connection) -> Any:
        try:
            answer = connection.recv()
        except EOFError:
            raise Error("a process of SEAL ended before it answered") from None
        if isinstance(answer, str):
            raise Error(answer)
        return answer


def _serve(connection: Connection, arguments: tuple[Any, ...]) -> None:
    """Answer orders until the other side closes: a number of samples with the seconds, None with the
    slots."""
    try:
        side = SealTrees(*arguments)
    except Error as error:
        connection.send(str(error))
        return
    connection.send(0.0)
    while True:
        try:
            asked = connection.recv()
        except EOFError:
            return
        connection.send(side.slots() if asked is None else side.run(asked))
