"""A matrix times encrypted vectors: a small neural network's first layer on a server that sees nothing."""

import numpy as np

import hemera as hm

# 64 features of eight patients, and a layer of 16 units with a square as its activation.
random = np.random.default_rng(6)
features = random.uniform(-1, 1, (8, 64))
weights = random.normal(0, 1 / 8, (16, 64))
bias = random.uniform(-1, 1, 16)

params = hm.ckks.Parameters.for_circuit(depth=2, slots=64)
layer = hm.circuits.LinearTransform(weights, params)
print(layer.report())

# The client: keys of that matrix's rotations, and nothing more.
context = hm.Context(params)
secret_key = context.generate_secret_key()
keys = context.generate_keys(secret_key, plan=layer)

# The server.
server = context.bind(keys)
x = server.encrypt(features)
y = layer(x) + bias
activated = (y * y).shrink()

# The client again.
shown = context.decrypt(activated, secret_key)
expected = (features @ weights.T + bias) ** 2
print("activations of the first patient:", np.round(shown[0, :4], 4))
print(hm.ckks.precision(shown, expected))
assert np.abs(shown - expected).max() < 1e-4

# The plan alone answers before anything is encrypted.
assert np.allclose(layer.evaluate_clear(features), features @ weights.T)

# A sparse matrix is given by its diagonals: a convolution of 3 x 3 on images of 8 x 8, row by row, has nine.
kernel = random.normal(0, 1 / 3, (3, 3))
row, column = np.divmod(np.arange(64), 8)
diagonals = {}
for down in (-1, 0, 1):
    for right in (-1, 0, 1):
        inside = (row + down >= 0) & (row + down < 8) & (column + right >= 0) & (column + right < 8)
        diagonals[8 * down + right] = np.where(inside, kernel[1 + down, 1 + right], 0)
convolution = hm.circuits.LinearTransform.from_diagonals(diagonals, params, slots=64)
server = context.bind(context.generate_keys(secret_key, plan=convolution))
shown = context.decrypt(convolution(server.encrypt(features)), secret_key)

padded = np.pad(features.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
expected = np.einsum("irckl,kl->irc", windows, kernel).reshape(-1, 64)
print("convolution:", convolution.report().splitlines()[0], hm.ckks.precision(shown, expected))
assert np.abs(shown - expected).max() < 1e-4
