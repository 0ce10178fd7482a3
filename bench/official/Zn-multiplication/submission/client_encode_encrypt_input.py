"""Stage 4: both operands, encrypted."""

import workload

work = workload.parse()
work.method.encrypt(work, *work.operands())
