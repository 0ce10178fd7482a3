"""A server of indexes and its clients: tenants search one database, and their queries take one pass."""

# Hidden from the server: queries, scores, and which rows were near; of an encrypted index also its rows.
# Known to it: which client asks, when, and for how many queries.
# A client learns the scores of all rows. It sees nothing of other clients.

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import hemera as hm

ROWS, DIMS = 5000, 64
random = np.random.default_rng(22)
embeddings = random.normal(size=(ROWS, DIMS)).astype(np.float32)
folder = Path(tempfile.mkdtemp())
home = folder / "home"  # all that the server has: indexes, hashes of tokens, keys that can not decrypt


def hemera(*words: object) -> str:
    """What `hemera WORDS...` prints."""
    command = [sys.executable, "-m", "hemera", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


# The operator: an index of rows in the clear, and one whose rows only their owner can read.
hm.search.Index(embeddings, metric="cosine").save(folder / "documents.hemera-index")
owner = hm.search.Client.owning(embeddings[:1000], metric="cosine")
hm.search.Index(owner.encrypt(embeddings[:1000])).save(folder / "vault.hemera-index")
owner.secret_key.save(folder / "owner.key")
for name in ("documents", "vault"):
    hemera("serve", home, "--add-index", folder / f"{name}.hemera-index")
tokens = {name: hemera("serve", home, "--add-client", name) for name in ("alice", "bob")}

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

normalized = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
x = random.normal(size=(4, DIMS))
expected = (x / np.linalg.norm(x, axis=1, keepdims=True)) @ normalized.T

try:
    # A client, in five lines. The first query makes a secret key, which stays here, and uploads keys.
    with hm.Client(url, token=tokens["alice"], folder=folder / "alice") as client:
        scores, ids = client.index("documents").query(x, k=10)
        print("indexes:", [each["name"] for each in client.indexes()])

        # Its owner searches the encrypted index.
        best, rows = client.index("vault", secret_key=folder / "owner.key").query(x[0], k=3)
        print("in the vault:", rows.tolist())

        # Most of the server's work can be done before the queries come.
        print(client.index("documents").prepare(2), "queries are prepared")
        with hm.Client(url, token=tokens["bob"]) as other, ThreadPoolExecutor(2) as pool:
            asked = [pool.submit(each.index("documents").query, x[1], 5) for each in (client, other)]
            both = [each.result()[1].tolist() for each in asked]
    print("two tenants:", both[0] == both[1])

    # NumPy as the judge.
    for row in range(4):
        order = np.argsort(-expected[row])[:10]
        assert len(set(order) & set(ids[row])) >= 9, (order, ids[row])  # ties within the rounding to int8
        assert np.abs(scores[row] - expected[row][ids[row]]).max() < 0.01
    print(f"largest error: {np.abs(scores - np.take_along_axis(expected, ids, axis=1)).max():.0e}")
    assert rows[0] == np.argmax(expected[0, :1000])
    assert both[0][0] == np.argmax(expected[1])

    # A wrong token opens nothing.
    try:
        with hm.Client(url, token="alice.guessed") as client:
            client.index("documents")
    except hm.Error as error:
        print("refused:", str(error).split(",")[0])
finally:
    server.terminate()
    server.communicate()
print("the server stopped with", server.returncode)
