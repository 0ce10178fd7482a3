"""Semantic search: the nearest of many embeddings to a query that the server never sees."""

# Hidden from the server: the query, its scores, and which documents were near.
# Known to it: the documents and their embeddings, which are its own, and when somebody asks.
# The client has the secret key.

import os
import time

import numpy as np

import hemera as hm

# 100,000 documents: HEMERA_DOCUMENTS=100000. As many topics as a library may have shelves.
DOCUMENTS, DIMS, TOPICS = int(os.environ.get("HEMERA_DOCUMENTS", "6000")), 128, 50
random = np.random.default_rng(19)
topics = random.normal(size=(TOPICS, DIMS))
topic_of = random.integers(0, TOPICS, DOCUMENTS)
# Stand-ins for a model's embeddings: near the topic's direction.
embeddings = (topics[topic_of] + 0.8 * random.normal(size=(DOCUMENTS, DIMS))).astype(np.float32)

# The server. Its clients get the settings, 300 bytes.
index = hm.search.Index(embeddings, metric="cosine")
print(index)
print(
    f"errors of cosines: {index.expected_error.quantization:.1e} of int8, "
    f"{index.expected_error.noise:.1e} of encryption"
)

# The client.
client = hm.search.Client(bytes(index.settings))
wanted = 7
x = topics[wanted] + 0.3 * random.normal(size=DIMS)
query = client.query(x)
print(f"the client sends keys of {len(client.keys) / 1e3:.0f} KB once, and a query of {len(query)} bytes")

# The server again.
keys = index.load_keys(client.keys)
start = time.perf_counter()
answer = index.query(query, keys)
seconds = time.perf_counter() - start
print(f"the server answers in {seconds:.2f} s, {len(answer) / 1e3:.0f} KB")

# The client again.
scores, ids = client.decrypt(answer, k=5)
for score, row in zip(scores, ids, strict=True):
    print(f"document {row:6d}, topic {topic_of[row]:2d}: {score:.4f}")

# Documents come and go.
index.remove(ids[:1])
added = index.add(x[None], ids=[1_000_000])
again, found = client.decrypt(index.query(client.query(x), keys), k=2)
print("after one was removed and one added:", found.tolist(), again.round(3).tolist())

# Embeddings that the server may not see either: their owner encrypts them.
private = embeddings[:500]
owner = hm.search.Client.owning(private, metric="cosine")
vault = hm.search.Index(owner.encrypt(private))
best, rows = owner.decrypt(vault.query(owner.query(x), owner.keys), k=3)
print(vault, "finds", rows.tolist())

# NumPy as the judge.
normalized = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
expected = normalized @ (x / np.linalg.norm(x))
assert set(topic_of[ids]) == {wanted}
assert np.abs(scores - expected[ids]).max() < 6 * index.expected_error.quantization
assert found.tolist() == [1_000_000, ids[1]]
assert np.abs(best - expected[rows]).max() < 6 * vault.expected_error.noise
