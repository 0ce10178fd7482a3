"""Stage 5: the products."""

import workload

work = workload.parse()
work.method.multiply(work)
