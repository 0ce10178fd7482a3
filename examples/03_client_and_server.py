"""A client and a server that share nothing but files: the server prices orders with secret prices."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import hemera as hm

ORDERS = np.array([[2, 0, 1, 5], [0, 3, 0, 1], [4, 4, 4, 4]])  # of four goods, by three customers
PRICES = np.array([120, 80, 35, 10])


def client_asks(folder: Path) -> None:
    """Makes keys and encrypts the orders. The secret key stays here, in a file for its owner alone."""
    params = hm.bgv.Parameters.for_circuit(depth=2, plain_bits=24)
    context = hm.Context(params)
    secret_key = context.generate_secret_key()
    secret_key.save(folder / "secret.hemera")
    params.save(folder / "parameters.hemera")
    # Four values add up by rotations of 1 and 2.
    context.generate_keys(secret_key, public_key=False, relinearization=False, rotations=[1, 2]).save(
        folder / "keys.hemera"
    )
    context.encrypt(ORDERS, secret_key).save(folder / "request.hemera")


def server_answers(folder: Path) -> None:
    """Computes the totals without reading an order."""
    context = hm.Context(hm.load_parameters(folder / "parameters.hemera"))
    evaluator = context.bind(context.load(folder / "keys.hemera"))
    orders = evaluator.load(folder / "request.hemera")
    total = orders * PRICES
    total += total.rotate(1)
    total += total.rotate(2)
    # Other slots hold partial sums, which would tell about the prices: keep the first one only.
    (total * np.array([1, 0, 0, 0])).shrink().save(folder / "response.hemera")


def client_reads(folder: Path) -> np.ndarray:
    """Decrypts the total of each order."""
    context = hm.Context(hm.load_parameters(folder / "parameters.hemera"))
    secret_key = context.load(folder / "secret.hemera")
    return context.decrypt(context.load(folder / "response.hemera"), secret_key)[:, 0]


with TemporaryDirectory() as name:
    folder = Path(name)
    client_asks(folder)
    server_answers(folder)
    totals = client_reads(folder)
    print(hm.inspect(folder / "response.hemera"))
    for file in sorted(folder.iterdir()):
        print(f"{file.name:20} {file.stat().st_size:9} bytes")
print("totals:", totals)
assert (totals == ORDERS @ PRICES).all()
