"""Stage 6: decrypts."""

import workload

work = workload.parse()
work.method.decrypt(work)
