"""Stage 10, the second half: the number of matches, or their payloads in lexicographic order."""

from array import array

import instance

work = instance.parse(instance.Instance)
found = work.matches.read_bytes()
if not work.count_only:
    numbers = array("h", found).tolist()
    rows = sorted(numbers[i : i + instance.PAYLOAD] for i in range(0, len(numbers), instance.PAYLOAD))
    found = array("h", [number for row in rows for number in row]).tobytes()
(work.io / "results.bin").write_bytes(found)
