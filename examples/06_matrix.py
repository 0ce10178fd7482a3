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
