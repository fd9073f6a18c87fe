"""A checkpoint's tokenizer, as its own configuration wants it.

Files that lack something, contradict each other, or ask for what is not supported are a `CheckpointError`.
"""
