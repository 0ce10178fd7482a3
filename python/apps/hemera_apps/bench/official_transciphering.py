"""The workload transciphering of HomomorphicEncryption.org's suite: records under AES, and then under FHE."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import ClassVar

import numpy as np

from hemera.errors import NoiseError
from hemera_apps.bench.official_workloads import Facts, Stage, Workload

_STAGES = (
    "client_preprocess",
    "client_key_generation",
    "client_encode_encrypt",
    "server_preprocess_dataset",
    "server_encrypted_aes_decryption",
    "server_encrypted_compute",
    "client_decrypt_decode_aes_decryption",
    "client_postprocess_aes_decryption",
    "client_decrypt_decode",
    "client_postprocess",
)


class Transciphering(Workload):
    """16-bit records that AES-128 encrypted, one block by itself ("toy") or in counter mode, made ciphertexts
    of FHE under AES' encrypted key; then the largest one, or the inner product of their halves."""

    name = "transciphering"
    folder = "transciphering/submission"
    sizes: ClassVar = {"toy": 8, "small": 128, "medium": 2048, "large": 32_768}
    reference_seconds: ClassVar = {"small maximum": 166.3, "medium maximum": 2150.3}
    """Seconds of both stages of the server, from the repository's measurements (July 2026)."""
    methods = ("maximum", "inner")

    def make_data(self, root: Path, size: str, random: np.random.Generator) -> None:
        folder = root / "datasets" / size
        folder.mkdir(parents=True)
        records = random.integers(0, 2**16, self.sizes[size], np.uint16)
        np.savetxt(folder / "db.txt", records, fmt="%u")
        key, first = random.bytes(16), random.bytes(16)
        (folder / "aes_key.hex").write_text(key.hex())
        aes = runpy.run_path(str(root / "submission" / "aes.py"))
        keys = aes["round_keys"](np.frombuffer(key, np.uint8))
        blocks = np.frombuffer(records.astype(">u2").tobytes(), np.uint8).reshape(-1, 16)
        if size == "toy":
            blocks = aes["encrypted_blocks"](blocks, keys)
        else:
            (folder / "aes_iv.hex").write_text(first.hex())
            blocks = blocks ^ aes["encrypted_blocks"](aes["counters"](first, len(blocks)), keys)
        (folder / "db.hex").write_text(blocks.tobytes().hex())

    def stages(self, size: str) -> list[Stage]:
        return [(name, [str(list(self.sizes).index(size))]) for name in _STAGES]

    def sent(self, root: Path, size: str) -> dict[str, Path]:
        return {**super().sent(root, size), "records": root / "io" / size / "ciphertext_aes_download"}

    def check(self, root: Path, size: str) -> Facts:
        io = root / "io" / size
        records = np.loadtxt(root / "datasets" / size / "db.txt", np.uint16, ndmin=1)
        found = np.loadtxt(io / "result_aes.txt", int, ndmin=1)
        if not np.array_equal(found, records):
            raise NoiseError(f"{self.name}: the records that came are not those that were encrypted")
        half = len(records) // 2
        expected = int(records.max())
        if "Encrypted computation, inner" in json.loads(self.steps(root, size).read_text(encoding="utf-8")):
            expected = int((records[:half] * records[half:]).sum(dtype=np.uint16))
        result = np.loadtxt(io / "result.txt", int, ndmin=1).tolist()
        if result != [expected]:
            raise NoiseError(f"{self.name}: the result is {result}, and not {expected}")
        return {"right": len(records), "result": expected}
