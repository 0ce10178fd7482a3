"""From two sentences to numbers of words: by the model's tokenizer, or, of a random model, by a stand-in."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

__all__ = ["Words", "to_words"]

_PAD, _FIRST, _END = 0, 1, 2
_SPECIAL = 3

Words = dict[str, Any]
"""`words` and `types`: numbers, as many as the network has tokens; `real`: how many are no padding."""


def to_words(model: Path, tokens: int, vocabulary: int, first: str, second: str) -> Words:
    """The words of a pair, as BERT takes them: [CLS] first [SEP] second [SEP], and padding.

    Args:
        model: the folder of the model. If it has a folder "tokenizer", that is the one of the package
            transformers.
        tokens, vocabulary: of the network.
        first, second: the sentences.
    """
    if (model / "tokenizer").is_dir():
        from transformers import AutoTokenizer

        found = AutoTokenizer.from_pretrained(model / "tokenizer")(
            first, second, max_length=tokens, padding="max_length", truncation=True
        )
        real = sum(found["attention_mask"])
        return {"words": found["input_ids"], "types": found["token_type_ids"], "real": real}
    parts = [[_number(word, vocabulary) for word in each.split()] for each in (first, second)]
    while sum(map(len, parts)) > tokens - 3:
        max(parts, key=len).pop()
    words = [_FIRST, *parts[0], _END, *parts[1], _END]
    types = [0] * (len(parts[0]) + 2) + [1] * (len(parts[1]) + 1)
    more = [_PAD] * (tokens - len(words))
    return {"words": words + more, "types": types + more, "real": len(words)}


def _number(word: str, vocabulary: int) -> int:
    """A number that is the same in each process."""
    return _SPECIAL + zlib.crc32(word.encode()) % (vocabulary - _SPECIAL)
