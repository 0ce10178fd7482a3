"""Stage 7: the records, encrypted by hm.integers, of blocks that are encrypted by AES."""

import aes
import workload

import hemera as hm

work = workload.parse()
server, steps = work.server()
with steps.of("Reading"):
    keys = server.load(work.up / "round_keys.bin")
    blocks = work.blocks()
    first = None if work.is_single_block else work.hexadecimal("aes_iv.hex")


def records() -> hm.integers.Integers:
    given = workload.bits_of(blocks, server)
    if first is None:
        bits = aes.crypted(given, keys, aes.Inverse)
    else:
        stream = workload.bits_of(aes.counters(first, len(blocks)), server)
        bits = aes.crypted(stream, keys, aes.Forward) ^ given
    return workload.records_of(bits, len(blocks))


found = steps.compute(records)
with steps.of("Writing"):
    found.save(work.aes_down / "records.bin")
work.report(steps, "aes")
