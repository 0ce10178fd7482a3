"""Mean, deviation and correlation of a table that the computing side can not read."""

import numpy as np

import hemera as hm

# 1000 people, three measured columns; the last depends on the first.
random = np.random.default_rng(2)
people = 1000
height = random.normal(1.70, 0.10, people)
age = random.uniform(18, 80, people) / 100  # in centuries: CKKS likes values of about 1
weight = 0.7 * height + random.normal(-0.45, 0.08, people)
table = np.stack([height, age, weight])  # (column, person)

slots = 1024
params = hm.ckks.Parameters.for_circuit(depth=3, scale_bits=40, slots=slots)
context = hm.Context(params)
secret_key = context.generate_secret_key()
keys = context.generate_keys(secret_key, public_key=False, sum_slots=slots)

# The owner encrypts a batch of three columns, people in the slots, filled up with zeros.
encrypted = context.encrypt(table, secret_key)

# The computing side.
columns = context.bind(keys).bind(encrypted)
mean = columns.mean()  # in every slot; 24 slots without a person do not count
centred = columns - mean
variance = centred.square().mean()
covariance = (centred[0] * centred[2]).mean()

# The owner again.
means = context.decrypt(mean, secret_key)[:, 0]
deviations = np.sqrt(context.decrypt(variance, secret_key)[:, 0])
correlation = context.decrypt(covariance, secret_key)[0] / (deviations[0] * deviations[2])
for name, found, expected in (
    ("means", means, table.mean(axis=1)),
    ("deviations", deviations, table.std(axis=1)),
    ("correlation of height and weight", correlation, np.corrcoef(height, weight)[0, 1]),
):
    print(f"{name}: {np.round(found, 5)}, in the clear {np.round(expected, 5)}")
    assert np.allclose(found, expected, atol=1e-4)
