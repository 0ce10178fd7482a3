"""Search that shows a client which rows are near, and not the scores of all: encrypted thresholds."""

# Hidden from the server: the query, the threshold, all scores, and which rows match.
# Hidden from a client that keeps to the protocol: the scores of rows.
# Known to the server: its rows, in the clear here, and whether masks, numbers or payloads are asked for.
# The client has the secret key.

import time

import numpy as np

import hemera as hm

DOCUMENTS, DIMS, TOPICS = 500, 32, 10
random = np.random.default_rng(19)
topics = random.normal(size=(TOPICS, DIMS))
topic_of = random.integers(0, TOPICS, DOCUMENTS)
embeddings = topics[topic_of] + 0.4 * random.normal(size=(DOCUMENTS, DIMS))
prices = random.integers(1, 500, (DOCUMENTS, 1))

# The server.
index = hm.search.Index(
    embeddings, answers=hm.search.Threshold(margin=2**-6), metric="cosine", payloads=prices
)
print(index, index.settings.params)

# The client.
client = hm.search.Client(bytes(index.settings))
x = topics[7] + 0.1 * random.normal(size=DIMS)
keys = index.load_keys(client.keys)
print(f"keys of {len(client.keys) / 1e6:.0f} MB, once")

# Which documents have a cosine above 0.7, and what they cost.
start = time.perf_counter()
answer = index.query(client.query(x, 0.7, "payloads"), keys)
print(f"the server answers in {time.perf_counter() - start:.2f} s, {len(answer) / 1e6:.1f} MB")
found = client.decrypt(answer)
assert found.payloads is not None
print(f"{len(found)} documents; the payload of document {found.ids[0]}: {found.payloads[0, 0]:.2f}")

# How many there are above each of several thresholds, and nothing else.
thresholds = [0.1, 0.3, 0.5, 0.6, 0.7, 0.8]
counts = client.decrypt(index.query(client.query(x, thresholds, "count"), keys))
print("rows above thresholds:", counts.round(1).tolist())

# The nearest rows, by counts that narrow a threshold. The k-th row's near neighbours come along.
nearest = client.top(x, 3, lambda query: index.query(query, keys))
print("the nearest 3, and others as near as the margin:", nearest.ids.tolist())

# Rows that the server may not see either.
owner = hm.search.Client.owning(embeddings, answers=hm.search.Threshold(margin=2**-4))
vault = hm.search.Index(owner.encrypt(embeddings))
hidden = owner.decrypt(vault.query(owner.query(x, 0.7), owner.keys))
print(vault, "finds", len(hidden))

# NumPy as the judge.
scores = embeddings @ x / np.linalg.norm(embeddings, axis=1) / np.linalg.norm(x)
for matches in (found, hidden):
    assert np.isin(np.flatnonzero(scores > 0.7 + 2**-4), matches.ids).all()
    assert (scores[matches.ids] > 0.7 - 2**-4).all()
is_sure = ~np.isin(found.ids, found.doubtful)
assert np.abs(found.payloads - prices[found.ids])[is_sure].max() < 0.1
assert np.isin(np.argsort(-scores)[:3], nearest.ids).all()
