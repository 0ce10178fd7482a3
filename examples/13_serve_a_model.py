"""A server of models and its clients: clients keep their rows and secret keys, the server its weights."""

# Hidden from the server: the rows, the results, and every secret key. It sees which client asks for which
# model, when, and for about how many rows. Hidden from clients: the weights, and everything of other clients.
# They see the model's interface: parameters, the rotations that it does, and here means and deviations of the
# features; and who asks often enough learns a linear model from its answers. TLS (--tls-certificate) hides
# the rest from those between.

import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from sklearn.datasets import load_breast_cancer  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

import hemera as hm

folder = Path(tempfile.mkdtemp())
home = folder / "home"  # all that the server has: models, hashes of tokens, evaluation keys


def hemera(*words: object) -> str:
    """What `hemera WORDS...` prints."""
    command = [sys.executable, "-m", "hemera", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


# The operator trains a model, packages it, and lets two clients in.
table, labels = load_breast_cancer(return_X_y=True)
trained = make_pipeline(StandardScaler(), LogisticRegression()).fit(table[:400], labels[:400])
packaged = hm.compile(trained, name="tumours", calibrate=table[:400], method="predict_proba")
packaged.save(folder / "tumours.hemera-model")
hemera("serve", home, "--add-model", folder / "tumours.hemera-model")
tokens = {name: hemera("serve", home, "--add-client", name) for name in ("alice", "bob")}

# `hemera serve HOME` is a program of its own. Its log is lines of JSON on standard error.
server = subprocess.Popen(
    [sys.executable, "-m", "hemera", "serve", str(home), "--port", "0"], stderr=subprocess.PIPE, text=True
)
assert server.stderr is not None
for line in server.stderr:
    event = json.loads(line)
    if event["event"] == "listening":
        url = f"http://127.0.0.1:{event['port']}"
    if event["event"] == "ready":
        break

try:
    # A client, in five lines. The first prediction makes a secret key, which stays in its folder, and uploads
    # evaluation keys; after that only ciphertexts travel.
    with hm.Client(url, token=tokens["alice"], folder=folder / "alice") as client:
        found = client.predict("tumours", table[400:])
        print("models:", [model["name"] for model in client.models()])
    print(f"probabilities of {len(found)} tumours, the first: {found[0, 1]:.4f}")
    expected = trained.predict_proba(table[400:])
    print(f"largest difference from the clear model: {abs(found - expected).max():.0e}")
    assert abs(found - expected).max() < 1e-4

    # Another client has another secret key, and its own evaluation keys on the server.
    with hm.Client(url, token=tokens["bob"]) as client:
        assert abs(client.predict("tumours", table[400:420]) - expected[:20]).max() < 1e-4
        print(f"evaluation keys of {len(client.local('tumours').generate_keys()) / 2**20:.1f} MiB")

    # A wrong token opens nothing, and a secret key is refused before it is on the server's disk.
    try:
        hm.Client(url, token="alice.guessed").models()
    except hm.Error as error:
        print("refused:", str(error).split(",")[0])
    (secret_key,) = (folder / "alice").glob("secret-*.hemera")
    request = urllib.request.Request(
        f"{url}/v1/models/tumours/keys",
        data=secret_key.read_bytes(),
        method="PUT",
        headers={"Authorization": f"Bearer {tokens['alice']}"},
    )
    try:
        urllib.request.urlopen(request)
    except urllib.error.HTTPError as refused:
        print("refused:", refused.code, json.load(refused)["error"]["code"])

    with urllib.request.urlopen(f"{url}/metrics") as metrics:
        counted = [line for line in metrics.read().decode().splitlines() if "hemera_requests_total{" in line]
    print(*counted, sep="\n")
finally:
    server.terminate()
    server.communicate()
print("the server stopped with", server.returncode)
