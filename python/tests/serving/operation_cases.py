"""Operations of programs, and a client of a program."""

import numpy as np

import hemera as hm
from hemera import serving
from hemera.program.stored_arrays import StoredArray

SLOTS = 32
RNG = np.random.default_rng(5)
MATRIX = RNG.uniform(-1, 1, (SLOTS, SLOTS)) / 8
WIDE = RNG.uniform(-1, 1, SLOTS)
TANH = hm.circuits.tanh((-2, 2), bits=8)
GATE = hm.circuits.function(lambda x, y: TANH(x - y) * y + 0.5 * x, [(-1, 1), (-1, 1)])
CKKS = {
    "sum of two": lambda x, y: x + y,
    "difference": lambda x, y: x - y,
    "negative": lambda x, _: -x,
    "product": lambda x, y: x * y,
    "square": lambda x, _: x.square(),
    "product with itself": lambda x, _: x * x,
    "power": lambda x, _: x**3,
    "plus number": lambda x, _: 0.25 + x + 1,
    "number minus": lambda x, _: 1 - x,
    "array minus": lambda x, _: WIDE - x,
    "times integer": lambda x, _: 3 * x,
    "times number": lambda x, _: x * 0.3,
    "divided": lambda x, _: x / 4,
    "divided by array": lambda x, _: x / (2 + WIDE),
    "plus array": lambda x, _: x + WIDE,
    "minus one value": lambda x, _: x - WIDE[:1],
    "times array": lambda x, _: WIDE * x,
    "times one value": lambda x, _: x * WIDE[:1],
    "times complex array": lambda x, _: (x * (WIDE * 1j)) * (np.ones(SLOTS) * -1j),
    "rotated": lambda x, _: x.rotate(3) + x.rotate(-1),
    "rotated product": lambda x, y: (x * y).rotate(2) + x,
    "conjugate": lambda x, _: x.conjugate(),
    "sum of slots": lambda x, y: (x * y).sum(),
    "inner sum": lambda x, _: x.inner_sum(8, stride=2),
    "matrix": lambda x, _: x @ MATRIX,
    "matrix of a product": lambda x, y: (x * y) @ MATRIX[:, :5],
    "matrix beside rotations of other levels": lambda x, y: x.sum() * 0.01 + (x * y).rotate(3) @ MATRIX,
    "matrices of several levels": lambda x, _: ((x @ np.eye(SLOTS, k=1)) @ MATRIX) @ np.eye(SLOTS, k=5),
    # Matrices that are alike but for one thing: level, values, orientation, shape, keys.
    "one matrix at two levels": lambda x, _: ((x @ MATRIX) ** 2 @ MATRIX) + (x @ MATRIX),
    "one matrix of two values": lambda x, y: (x @ MATRIX) - (y @ MATRIX),
    "one matrix and its transpose": lambda x, _: (x @ MATRIX) + (x @ MATRIX.T) * 2,
    "one matrix from both sides": lambda x, _: (x @ MATRIX) - (MATRIX @ x),
    "one matrix and a part": lambda x, _: (x @ MATRIX) + 2 * (x @ MATRIX[:, :-1]),
    "one matrix but for one number": lambda x, _: (x @ MATRIX) * 3 - x @ (MATRIX + np.eye(SLOTS, k=31)),
    "one matrix with few keys and with many": lambda x, _: (
        x.matmul(MATRIX, fewest_keys=True) - 2 * (x @ MATRIX)
    ),
    "matrix with few keys": lambda x, _: x.matmul(MATRIX, fewest_keys=True),
    "matrix from the left": lambda x, _: MATRIX[:3] @ x,
    "polynomial": lambda x, _: x.polyval([0.5, 0.25, 0, -0.1]),
    "polynomial for each slot": lambda x, _: x.polyval(RNG.uniform(size=(3, SLOTS)), per_slot=True),
    "chebyshev": lambda x, _: hm.approximate(np.tanh, (-1, 1), 7)(x),
    "sigmoid": lambda x, _: hm.circuits.sigmoid((-1, 1), bits=12)(x),
    "two intervals": lambda x, _: hm.circuits.exp((-1, 1), bits=10)(x),
    "larger": lambda x, y: hm.circuits.maximum(bits=3)(x, y),
    "compared": lambda x, y: hm.circuits.compare(gap=0.5, bits=3)(x, y),
    "rectified": lambda x, _: hm.circuits.relu(bits=5)(x),
    "absolute": lambda x, _: hm.circuits.abs(bits=4)(x),
    "leaky": lambda x, _: hm.circuits.leaky_relu(0.1, (-2, 2), bits=4)(x),
    "silu": lambda x, _: hm.circuits.silu((-1, 1), bits=10)(x),
    "softplus": lambda x, _: hm.circuits.softplus((-1, 1), bits=10)(x),
    "quotient": lambda x, y: hm.circuits.divide((-1, 1), (1, 3), bits=8)(x, y + 2),
    "composed": lambda x, y: GATE(x, y),
    "softmax": lambda x, _: hm.circuits.softmax(SLOTS, (-1, 1), bits=6)(x),
    "argmax": lambda x, _: hm.circuits.argmax(SLOTS, gap=0.5, bits=1)(x),
    "dot": lambda x, y: serving.dot([x, y], [y, x]),
    "dot with arrays": lambda x, y: serving.dot([x, y], [WIDE, MATRIX[0]]),
    "several steps": lambda x, y: ((x * y + 0.5) * WIDE).rotate(1) * x + y * 0.5,
}


class Client:
    """Keys for exactly one package, which it knows by what a server tells of it."""

    def __init__(self, package):
        self.package = serving.Package.load(bytes(package))
        for node in self.package.program.nodes:  # none keeps what a file has in the place of an array
            assert not any(isinstance(value, StoredArray) for value in vars(node.operation).values())
        self.interface = serving.Interface.from_dict(self.package.describe())
        self.ctx = hm.Context(self.interface.params, "cpu")
        self.sk = self.ctx.generate_secret_key()
        self.keys = self.interface.generate_keys(self.ctx, self.sk)
        self.package.check(self.ctx, self.keys)
        self.prepared = self.package.prepare(self.ctx)

    def encrypt(self, rows):
        return [self.ctx.encrypt(values, self.sk) for values in self.interface.encode(rows)]

    def decrypt(self, results, rows=None):
        return self.interface.decode([self.ctx.decrypt(y, self.sk) for y in results], rows)

    def run(self, rows):
        return self.decrypt(self.prepared.run(self.keys, self.encrypt(rows)))
