"""The parsers of hostile_files.py under Atheris, which looks for inputs that reach new lines of Python:
`python -m tests.fuzz_parsers [OPTION OF LIBFUZZER...] CORPUS`, in the folder python/ (tools/fuzz-python).

An input is the number of a parser, a byte, and what it parses. Checksums of changed files are made right.
"""

import logging
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["hemera"]):
    import hemera  # noqa: F401

    from .hostile_damage import BEGIN, outcome, signed
    from .hostile_files import targets
    from .search.threshold_cases import in_small_rings

_LONGEST = 1 << 14
"""Bytes of a file from which it is left to random damage (hostile_files.py): keys and ciphertexts."""


def changed(target, data, seed):
    """Other bytes for a parser: of a file with a header, another header or another body."""
    length = int.from_bytes(data[16:BEGIN], "little")
    if target.form != "header" or len(data) < BEGIN + length + 32:
        return bytes(atheris.Mutate(data, _LONGEST))
    head, body = data[BEGIN : BEGIN + length], data[BEGIN + length : -32]
    if seed % 4:
        return signed(data[:16], bytes(atheris.Mutate(head, _LONGEST)), body)
    return signed(data[:16], head, bytes(atheris.Mutate(body, _LONGEST)))


def main():
    """Fuzz until libFuzzer's options say so. What is neither read nor an error of Hemera's ends it."""
    warnings.simplefilter("ignore")
    logging.disable()  # of the parser of multipart bodies
    with in_small_rings(), tempfile.TemporaryDirectory() as folder:
        known = [each for each in targets(Path(folder)).values() if len(each.data) < _LONGEST]
        corpus = Path(sys.argv[-1])
        corpus.mkdir(parents=True, exist_ok=True)
        for number, target in enumerate(known):
            (corpus / f"right-{number}").write_bytes(bytes([number]) + target.data)

        def chosen(data):
            number = data[0] % len(known) if data else 0
            return number, known[number]

        def mutate(data, most, seed):
            number, target = chosen(data)
            return (bytes([number]) + changed(target, data[1:] or target.data, seed))[:most]

        def read(data):
            outcome(chosen(data)[1], data[1:])

        atheris.Setup(sys.argv, read, custom_mutator=mutate)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
