"""Linear layers on 4,096 encrypted inputs at once, at one byte a weight and without any key."""

import time

import numpy as np

import hemera as hm

# A network of 64 features, 32 hidden units and 10 scores. Its activation is the square.
random = np.random.default_rng(19)
first, second = random.normal(0, 1 / 8, (32, 64)), random.normal(0, 1 / 6, (10, 32))
bias = random.normal(0, 1 / 8, (32, 1))
inputs = random.uniform(-1, 1, (64, 4096))

params = hm.ckks.Parameters.for_circuit(depth=3, slots=4096)
context = hm.Context(params)
secret_key = context.generate_secret_key()
server = context.bind(context.generate_keys(secret_key))

# A feature is a row, an input is a column: 64 ciphertexts of 4,096 slots.
x = hm.EncryptedMatrix.encrypt(inputs, server)
print(x)

# Plans keep the rounded weights, and tell what rounding costs.
hidden_layer = hm.circuits.PlainMatrixProduct(first, params, bits=16)
print(hidden_layer.report())

start = time.perf_counter()
hidden = hidden_layer(x) + bias
scores = second @ (hidden * hidden)  # an array is planned at the level where it is needed
seconds = time.perf_counter() - start
print(f"4,096 inputs in {seconds:.1f} s, {1e6 * seconds / 4096:.0f} us each")

found = scores.decrypt(secret_key)
expected = second @ (first @ inputs + bias) ** 2
print("largest error:", f"{np.abs(found - expected).max():.1e}")
assert np.abs(found - expected).max() < 2e-3

# Few inputs share ciphertexts with many features: 64 features of 64 inputs are one ciphertext.
few = inputs[:, :64]
layer = hm.circuits.PackedRowsProduct(first, params, vectors=64)
owner = context.bind(context.generate_keys(secret_key, plan=layer))
packed = owner.encrypt(layer.pack(few))
product = layer.unpack(context.decrypt(layer(packed), secret_key))
print(f"{few.shape[0]} x {few.shape[1]} values are in {packed.shape[0]} ciphertext")
assert np.abs(product - first @ few).max() < 1e-3

# Integers are exact: weights and counts modulo t, with BFV or BGV.
exact = hm.Context(hm.bfv.Parameters.for_circuit(depth=1, slots=4096))
key = exact.generate_secret_key()
counts = random.integers(0, 100, (8, 4096))
prices = random.integers(1, 50, (3, 8))
totals = prices @ hm.EncryptedMatrix.encrypt(counts, exact.bind(exact.generate_keys(key)))
assert (totals.decrypt(key) == prices @ counts).all()
print("3 x 4,096 totals are exact")
