"""Functions of encrypted values: a risk score by a sigmoid, and whether and how far it is above a limit."""

import numpy as np

import hemera as hm

# What a function costs is known before there are parameters: levels, and how far it is from the real one.
sigmoid = hm.circuits.sigmoid((-8, 8), bits=12)
above = hm.circuits.compare(gap=0.05, bits=12)
softplus = hm.approximate(lambda x: np.log1p(np.exp(x)), (-8, 8), 15)
relu = hm.circuits.relu(bits=8)
excess = hm.circuits.function(lambda risk, limit: relu(risk - limit) * (2 - limit), [(0, 1), (0, 1)])
for function in (sigmoid, above, softplus, excess):
    print(f"{function.name}: depth {function.depth}, error 2^{np.log2(function.error):.1f}")

params = hm.ckks.Parameters.for_circuit(depth=sigmoid.depth + above.depth, slots=512)
plan = sigmoid.plan(params)
print(plan.report())

# The client.
context = hm.Context(params)
secret_key = context.generate_secret_key()
server = context.bind(context.generate_keys(secret_key))
scores = np.random.default_rng(7).uniform(-8, 8, 512)
limits = np.full(512, 0.75)
x, limit = server.encrypt(scores), server.encrypt(limits)

# The server: each call plans for the level that the ciphertext has.
risk = sigmoid(x)
alarm = above(risk, limit)
costs = softplus(x)
surplus = excess(risk, limit)
powers = x.polyval(np.diag([0, 1 / 8, 1 / 8**2, 1 / 8**3])[1:])  # three polynomials of x at once

# The client again.
expected = 1 / (1 + np.exp(-scores))
shown = context.decrypt(risk, secret_key)
print(hm.ckks.precision(shown, expected))
assert np.abs(shown - expected).max() < 2**-11

certain = np.abs(expected - 0.75) > 0.051
alarms = context.decrypt(alarm, secret_key)
print("alarms:", int((alarms > 0.5).sum()), "of", len(alarms))
assert np.array_equal(alarms[certain] > 0.5, expected[certain] > 0.75)

amount = context.decrypt(surplus, secret_key)
assert np.abs(amount - 1.25 * np.maximum(expected - 0.75, 0)).max() < 2**-7

assert np.abs(context.decrypt(costs, secret_key) - softplus(scores)).max() < 1e-4
expected = (scores / 8) ** np.arange(1, 4)[:, None]
assert np.abs(context.decrypt(powers, secret_key) - expected).max() < 1e-4
