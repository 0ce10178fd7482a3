"""Boosted trees on encrypted samples: the server keeps its model, and the client its samples."""

# Hidden from the server: samples, scores, classes, and the secret key. Hidden from the client: which bins a
# node separates, leaf scores, and scores of single trees. Not hidden: from the client the number of trees,
# their depth, the bins of the features and which feature each node compares; from the server how many
# samples there are; and who asks often enough rebuilds a model from its scores, encrypted or not.

import numpy as np
from sklearn.datasets import load_wine  # type: ignore[import-untyped]
from sklearn.ensemble import GradientBoostingClassifier  # type: ignore[import-untyped]

from hemera_apps.trees import Client, Quantiser, Server, predicted, read_model

data, kinds = load_wine(return_X_y=True)
order = np.random.default_rng(11).permutation(len(data))
train, asked = order[:118], order[118:]

# The server trains in the clear, on features in four bins. A model of xgboost or LightGBM reads the same way,
# also from a file: read_model("model.json").
quantiser = Quantiser.of_quantiles(data[train], bins=4)
trained = GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0)
trained.fit(quantiser.bins(data[train]), kinds[train])
model = quantiser.of_values(read_model(trained))
server = Server(model, quantiser, samples=len(asked))
print(server.params)

# The client learns the bins and which feature each node compares; not with what, and no leaf.
client = Client(server.offer)
server.accept(client.keys())

# Bytes there, bytes back: 60 samples in one answer.
request = client.request(data[asked])
response = server.score(request)
scores = client.scores(response, len(asked))
print(f"request of {len(request) / 2**20:.1f} MiB, answer of {len(response) / 2**10:.0f} KiB")
print("operations:", {name: count for name, count in server.operations.items() if count})

# Exactly the integer scores, and within rounding of the model's.
print("scores of the first wine:", scores[0] / client.scale, "in the clear", model.scores(data[asked])[0])
assert np.array_equal(scores, server.model.scores(quantiser.bins(data[asked])))
assert np.abs(scores / client.scale - trained.decision_function(quantiser.bins(data[asked]))).max() < 1e-3
print(f"accuracy: {np.mean(predicted(scores, 3) == kinds[asked]):.0%}")
