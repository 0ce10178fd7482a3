"""Stage 3: the secret key, and keys for the server."""

import workload

work = workload.parse()
work.make_folders()
work.method.make_keys(work)
