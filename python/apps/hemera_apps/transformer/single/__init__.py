"""A block of BERT on one encrypted input: the tokens' features lie side by side in few ciphertexts."""
