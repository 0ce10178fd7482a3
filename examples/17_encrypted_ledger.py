"""A ledger of encrypted cents: payments that an account can not cover are refused, unseen by the server."""

# Hidden from the server: balances, amounts, and which payments went through.
# Known to it: how many accounts and payments there are, and the operations.
# The client has the secret key.

import numpy as np

import hemera as hm

ACCOUNTS, ROUNDS = 64, 3
random = np.random.default_rng(16)
balances = random.integers(0, 500_00, ACCOUNTS, dtype=np.uint32)  # cents
balances[:2] = 0, 100_000_00
payments = random.integers(0, 300_00, (ROUNDS, ACCOUNTS), dtype=np.uint32)
fees = np.array(
    [0, 10, 25, 25, 50, 50, 75, 75, 100, 100, 100, 150, 150, 150, 150, 200], np.uint32
)  # by class
classes = random.integers(0, 16, ACCOUNTS, dtype=np.uint8)

# The client. "test-exact" is for tests, with a small ring: it is not secure. The default, "n16-exact", is.
client = hm.integers.Context(bits=32, preset="test-exact")
print(client.report())

# The server has the client's keys, which can not decrypt.
server = hm.integers.Context(bits=32, preset="test-exact", keys=client.keys)
held = server.encrypt(balances)  # the client's ciphertexts would come by themselves
fee = hm.integers.Table(fees)[server.encrypt(classes)]
refused = None
for payment in payments:
    amount = server.encrypt(payment) + fee
    short = held < amount
    held = hm.integers.where(short, held, held - amount)
    count = short.sum()
    refused = count if refused is None else refused + count
assert refused is not None
total = held.sum()

# The client again.
expected, expected_refused = balances.copy(), 0
for payment in payments:
    amounts = payment + fees[classes]
    covered = expected >= amounts
    expected_refused += int((~covered).sum())
    expected = np.where(covered, expected - amounts, expected)
found = client.decrypt(held)
print("refused payments:", client.decrypt(refused), "of", payments.size)
print("first balances:", found[:4], "total:", client.decrypt(total))
print(f"wrong with a probability of 2^{held.failure_log2:.0f}; digits are within 2^{np.log2(held.error):.0f}")
assert np.array_equal(found, expected)
assert client.decrypt(refused) == expected_refused
assert client.decrypt(total) == expected.sum(dtype=np.uint32)
