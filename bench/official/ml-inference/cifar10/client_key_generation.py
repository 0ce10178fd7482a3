"""Stage 2: the secret key, and keys for the server."""

import workload

import hemera as hm

work = workload.Workload.parse()
work.make_folders()
interface = work.interface()
ctx = hm.Context(interface.params, "cpu")
secret_key = ctx.generate_secret_key()
secret_key.save(work.secret / "secret_key.bin")
interface.generate_keys(ctx, secret_key).save(work.keys / "keys.bin")
