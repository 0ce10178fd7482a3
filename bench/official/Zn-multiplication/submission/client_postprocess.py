"""Stage 7: the products modulo 2^64, as the harness reads them."""

import workload

work = workload.parse()
workload.write_words(work.io / "cleartext_output" / "out.txt", work.method.finish(work))
