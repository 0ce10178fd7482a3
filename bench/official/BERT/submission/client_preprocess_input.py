"""Stage 5: numbers of words."""

import json

import sentences
import workload

work = workload.Workload.parse()
config = work.config
with work.words.open("w") as file:
    for row in workload.read_lines(work.sentences):
        words = sentences.to_words(
            workload.MODEL, config.shape.tokens, config.vocabulary, row["sentence1"], row["sentence2"]
        )
        file.write(json.dumps({"target_idx": row["target_idx"], **words}) + "\n")
