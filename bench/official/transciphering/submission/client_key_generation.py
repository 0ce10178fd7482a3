"""Stage 4: the secret key, and keys for the server."""

import workload

work = workload.parse()
client = work.new_client()
client.save_keys(work.keys / "keys.bin")
client.secret_key.save(work.secret / "secret_key.bin")
