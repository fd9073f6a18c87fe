"""A checkpoint's tokenizer, as its own configuration wants it."""
