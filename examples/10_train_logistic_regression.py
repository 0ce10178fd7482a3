"""Training on encrypted samples: a server learns a model from loans that it can not read, nor the model."""

# Hidden from the server: samples, labels, weights at all times, losses, and the secret key. Public: the
# number of features and samples a mini-batch, how many mini-batches and iterations, learning rates, the
# sigmoid's polynomial, the parameters. Nothing shows that the server did what it says, and weights tell of
# the samples that they were learned from: the bank keeps them, and decrypted values of CKKS, to itself.

import numpy as np

import hemera as hm
from hemera_apps import logistic_regression as logistic

# The bank. Made-up applications, of which one part is held out.
table = logistic.loan_applications(rows=400, seed=10)
training, held_out = table.split(0.25, seed=0)
preparation = logistic.Preparation.of(training.features)

# Both sides agree on the algorithm, its numbers and the parameters: all of that is public.
settings = logistic.Settings(
    features=len(table.columns),
    batch=32,
    iterations=10,
    rates=(logistic.suggest_rate(preparation, training),),
)
params = hm.ckks.Parameters.for_bootstrapping("test-40")
print(f'"test-40" is a small ring for trying things out: security {params.security}. "n16-40" is secure.')
plan = logistic.TrainingPlan(params, settings)
print(plan.report())

# The bank encrypts its mini-batches, and keeps the secret key.
client = logistic.Client(plan)
keys = bytes(client.keys())
batches = logistic.make_batches(settings, preparation, training, seed=0)
sent = [bytes(client.encrypt(batch)) for batch in batches]
print(f"sent: keys of {len(keys) >> 20} MiB, {len(sent)} mini-batches of {len(sent[0]) >> 10} KiB")

# The server has bytes alone. The weights stay encrypted, bootstrapped whenever no level is left.
server = logistic.Server(plan, hm.Context(params), keys)
for batch in sent:
    server.add_batch(batch)
for _ in server.train(bytes(client.start())):
    pass
answer = bytes(server.weights())

# The bank again: the same as training in the clear by the same formulas.
weights = client.decrypt(answer)[0]
clear = list(logistic.train_clear(settings, batches))[-1][0]
print(
    f"after {settings.iterations} iterations, {plan.bootstraps} bootstraps: largest difference of a weight "
    f"{np.abs(weights - clear).max():.1e}"
)
assert np.abs(weights - clear).max() < 1e-4

quality = logistic.quality(preparation.apply(held_out.features, settings.width) @ weights, held_out.labels)
print(
    f"accuracy {quality.accuracy:.0%}, area under the curve {quality.auc:.3f}; a fifth of the labels is noise"
)
assert quality.accuracy > 0.6
