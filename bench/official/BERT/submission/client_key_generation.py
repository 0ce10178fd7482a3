"""Stage 2: the secret key, and keys for the server, of the network's sizes alone."""

import workload

import hemera as hm

work = workload.Workload.parse()
work.make_folders()
ctx = hm.Context(work.circuit.params, "cpu")
secret_key = ctx.generate_secret_key()
secret_key.save(work.secret / "secret_key.bin")
work.circuit.generate_keys(ctx, secret_key).save(work.keys / "keys.bin")
