"""Checks that a wheel of hemera has the notices of the works that are compiled in, and a bill of materials
(CycloneDX) with a version of each: tools/check_wheel.py WHEEL"""

import json
import re
import sys
import zipfile

COMPILED_IN = {
    "openssl": "OpenSSL (libcrypto)",
    "zstd": "Zstandard",
    "zlib": "zlib",
    "xxHash": "xxHash",
    "nlohmann_json": "JSON for Modern C++",
    "boost": "Boost.Multiprecision and what it includes",
    "nanobind": "nanobind",
    "robin-map": "robin-map, in nanobind",
}
"""The components of the bill, with their headings in the notices."""


def faults(wheel: zipfile.ZipFile) -> list[str]:
    """What a wheel lacks; none: []."""
    names = {re.sub(r"^[^/]*\.dist-info/", "", name): name for name in wheel.namelist()}
    absent = [
        name
        for name in ("licenses/LICENSE", "licenses/THIRD-PARTY-NOTICES", "sboms/hemera.cdx.json")
        if name not in names
    ]
    if absent:
        return [f"no {name}" for name in absent]
    bill = json.loads(wheel.read(names["sboms/hemera.cdx.json"]))
    notices = wheel.read(names["licenses/THIRD-PARTY-NOTICES"]).decode()
    found = {each["name"]: each for each in bill["components"]}
    told = (
        [f"the bill has {sorted(found)}, not {sorted(COMPILED_IN)}"] if set(found) != set(COMPILED_IN) else []
    )
    for name, each in found.items():
        if not re.fullmatch(r"\d+(\.\d+)+", each["version"]):
            told.append(f"{name} has the version {each['version']!r}")
        licence = each["licenses"][0]["license"]["id"]
        heading = re.escape(COMPILED_IN.get(name, name))
        if not re.search(
            rf"^{heading}\nhttps://\S+\nSPDX-License-Identifier: {licence}\n", notices, re.MULTILINE
        ):
            told.append(f"no notice of {name} with the licence {licence}")
    return told


if __name__ == "__main__":
    with zipfile.ZipFile(sys.argv[1]) as file:
        print("\n".join(faults(file)) or "the wheel has its notices and its bill of materials")
        sys.exit(bool(faults(file)))
