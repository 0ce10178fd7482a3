"""Boosted trees on encrypted samples: the server keeps its model, and the client its samples."""

# Hidden from the server: samples, scores, classes, and the secret key. Hidden from the client: which bins a
# node separates, leaf scores, and scores of single trees. Not hidden: from the client the number of trees,
# their depth, the bins of the features and which feature each node compares; from the server how many
# samples there are; and who asks often enough rebuilds a model from its scores, encrypted or not.

import numpy as np
from sklearn.datasets import load_wine  # type: ignore[import-untyped]
from sklearn.ensemble import GradientBoostingClassifier  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import KBinsDiscretizer  # type: ignore[import-untyped]

import hemera as hm

data, kinds = load_wine(return_X_y=True)
order = np.random.default_rng(11).permutation(len(data))
train, asked = order[:118], order[118:]

# The server trains in the clear, on features in four bins. Models of xgboost and LightGBM are compiled the
# same way, also from a file: hm.compile("model.json").
bins = KBinsDiscretizer(4, encode="ordinal", quantile_method="linear")
boosting = GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0)
trained = make_pipeline(bins, boosting).fit(data[train], kinds[train])
package = hm.compile(trained, samples=len(asked), name="wines").package
print(package.params)

# The client learns the bins and which feature each node compares; not with what, and no leaf.
interface = hm.serving.Interface.from_dict(package.describe())
client = hm.Context(interface.params)
secret_key = client.generate_secret_key()
keys = bytes(interface.generate_keys(client, secret_key))
(planes,) = interface.encode(data[asked])
request = bytes(client.encrypt(planes, secret_key))

# Bytes there, bytes back: 60 samples in one answer. `hemera serve` does this for many clients (example 13).
server = hm.Context(package.params)
model = package.prepare(server)
(answer,) = model.run(model.bind(server.load(keys)), [server.load(request)])
response = bytes(answer)
print(f"request of {len(request) / 2**20:.1f} MiB, answer of {len(response) / 2**10:.0f} KiB")
print(package.cost())

# Scores are exact, so the classes are the model's.
found = interface.decode([client.decrypt(client.load(response), secret_key)], len(asked))
assert np.array_equal(found, trained.predict(data[asked]))
print(f"accuracy: {np.mean(found == kinds[asked]):.0%}")
