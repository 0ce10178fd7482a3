"""Users' objects: contexts, keys, plaintexts, ciphertexts and the evaluators that compute with them."""
