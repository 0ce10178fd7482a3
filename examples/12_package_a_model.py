"""A model as one file: of a Python function, scikit-learn's, boosted trees; and what clients see of it."""

# In the file: the program and its weights, which are the server's. What clients get of it,
# `package.describe()`, has none: parameters, the form of inputs and outputs, and the keys to make, which
# tell which rotations are done; of linear models the ranges of the features, of trees the bins
# and which feature each node compares. Example 13 tells what a server and its clients see of each other.

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine  # type: ignore[import-untyped]
from sklearn.ensemble import GradientBoostingClassifier  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

import hemera as hm
from hemera.serving import InputSpec, Interface, Package, Symbol, export

# Any function of encrypted vectors: it is called once, with values that note what is done to them.
random = np.random.default_rng(12)
first, second = random.normal(size=(8, 16)) / 4, random.normal(size=(16, 3)) / 4
tanh = hm.approximate(np.tanh, (-4, 4), 15)


def network(x: Symbol) -> Symbol:
    """Two layers."""
    return tanh(x @ first) @ second


package = export(
    network, inputs=InputSpec("x", 8, 16, low=-1, high=1), name="network", outputs={"output": (3, "softmax")}
)
path = Path(tempfile.mkdtemp()) / "network.hemera-model"
package.save(path)
print(package)
print(f"a file of {path.stat().st_size / 1024:.0f} KiB")

# What depends on the data is an error that says so.
try:
    export(lambda x: x if x > 0 else -x, inputs=8, name="absolute value")
except TypeError as error:
    print("refused:", str(error).split(":")[0])

# The server has the file, and tells clients its interface: parameters and keys, no weights.
server = Package.load(path)
told = server.describe()
print("keys:", told["keys"])

# The client makes exactly the keys that the model needs. They and its ciphertexts travel as bytes.
interface = Interface.from_dict(told)
ctx = hm.Context(interface.params)
secret_key = ctx.generate_secret_key()
keys = bytes(interface.generate_keys(ctx, secret_key))
rows = random.uniform(-1, 1, (5, 8))
request = [bytes(ctx.encrypt(values, secret_key)) for values in interface.encode(rows)]

# The server checks the keys once, and runs requests.
home = hm.Context(server.params)
client_keys = home.load(keys)
server.check(home, client_keys)
model = server.prepare(home)
results = model.run(model.bind(client_keys), [home.load(data) for data in request])
answer = [bytes(y) for y in results]

probabilities = interface.decode([ctx.decrypt(ctx.load(data), secret_key) for data in answer], len(rows))
logits = np.tanh(rows @ first) @ second
expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
print(f"largest error of a probability: {np.abs(probabilities - expected).max():.0e}")
assert np.abs(probabilities - server.evaluate_clear(rows)).max() < 1e-4

# Compiled: a logistic model with its scaler, many rows in a ciphertext; and boosted trees, exactly.
table, labels = load_breast_cancer(return_X_y=True)
tumours = hm.compile(
    make_pipeline(StandardScaler(), LogisticRegression()).fit(table, labels),
    name="tumours",
    calibrate=table,  # rows of which the package takes the range of each feature
).package
print(tumours)
wines, kinds = load_wine(return_X_y=True)
boosted = GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0).fit(wines, kinds)
trees = hm.compile(boosted, name="wines").package
print(trees)
assert np.array_equal(trees.evaluate_clear(wines), boosted.predict(wines))
