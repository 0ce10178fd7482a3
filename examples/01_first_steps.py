"""First steps: encrypt, compute, decrypt, with real numbers (CKKS) and with integers (BFV)."""

import numpy as np

import hemera as hm

# Parameters for two multiplications one after the other, and what they are.
params = hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=8)
print(params.describe())

# The owner of the data makes a context, a secret key, and keys that evaluate but can not decrypt.
context = hm.Context(params)
print("computing on", context.description)
secret_key = context.generate_secret_key()
evaluator = context.bind(context.generate_keys(secret_key, rotations=[1], sum_slots=8))

# A ciphertext is an array: a batch of three here, each with eight slots.
data = np.linspace(-1, 1, 24).reshape(3, 8)
x = evaluator.encrypt(data)
print(x)

y = 3 * x * x - x / 2 + 0.5  # slot by slot; products are relinearized and rescaled when it is time
z = y.rotate(1)  # slot i of the result is slot i + 1
expected = np.roll(3 * data**2 - data / 2 + 0.5, -1, axis=1)
print("CKKS:", hm.ckks.precision(context.decrypt(z, secret_key), expected))
print(
    "sums over the slots:",
    context.decrypt(x.sum(), secret_key)[:, 0].round(4),
    "=",
    data.sum(axis=1).round(4),
)

# BFV computes exactly, modulo the plaintext modulus t.
params_of_integers = hm.bfv.Parameters.for_circuit(depth=1, plain_bits=20)
context = hm.Context(params_of_integers)
secret_key = context.generate_secret_key()
evaluator = context.bind(context.generate_keys(secret_key))
a = evaluator.encrypt([1, 2, 3, 4])
b = evaluator.encrypt([10, 20, 30, 40])
print("BFV: ", context.decrypt(a * b - 5, secret_key), "modulo", params_of_integers.plain_modulus)
