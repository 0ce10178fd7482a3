"""Encrypted matrices times encrypted vectors and each other: a server sees neither the model nor the data."""

import numpy as np

import hemera as hm

# Twelve features of a customer, and a model of five scores: both encrypted under one key.
random = np.random.default_rng(9)
model = random.normal(0, 1 / 4, (5, 12))
customer = random.uniform(-1, 1, 12)

params = hm.ckks.Parameters.for_circuit(depth=2, slots=256)
scores = hm.circuits.MatrixVectorProduct(params, *model.shape)
square = hm.circuits.MatrixProduct(params, 16, packed=True)
print(scores.report())
print(square.report())

context = hm.Context(params)
secret_key = context.generate_secret_key()
server = context.bind(context.generate_keys(secret_key, plan=[scores, square]))

# The matrix is encrypted as a batch of its diagonals, the vector as it is.
encrypted_model = server.encrypt(scores.pack(model))
found = context.decrypt(scores(encrypted_model, server.encrypt(customer)), secret_key)
print("scores:", np.round(found, 3))
assert np.abs(found - model @ customer).max() < 1e-5

# How the features of sixteen customers go together: X^T X, each factor in one ciphertext.
customers = random.uniform(-1, 1, (16, 12))
left = server.encrypt(square.pack(customers.T, "left"))
right = server.encrypt(square.pack(customers, "right"))
gram = context.decrypt(square(left, right), secret_key).reshape(16, 16)[:12, :12]
print("variance of the first feature:", round(float(gram[0, 0]) / 16, 4))
assert np.abs(gram - customers.T @ customers).max() < 1e-4
