"""Stage 3: the secret key, and keys for the server."""

from concurrent.futures import ThreadPoolExecutor

import workload

import hemera as hm

work = workload.parse()
planned = ThreadPoolExecutor(1).submit(work.bootstrap)
for folder in (work.keys, work.secret):
    folder.mkdir(parents=True, exist_ok=True)
ctx = hm.Context(work.parameters, "cpu")
secret_key = ctx.generate_secret_key()
secret_key.save(work.secret / "secret_key.bin")
ctx.save_keys(
    work.keys / "keys.bin",
    secret_key,
    public_key=False,
    sum_slots=work.count_only,
    conjugation=not work.count_only,
    galois_level=1,
    plan=planned.result(),
)
