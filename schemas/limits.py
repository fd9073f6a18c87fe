"""The numbers that bound a request's shape, each in one place.

They stand in the wire types (`Meta(max_length=...)`), hence in `openapi.json`, hence in the error messages. Limits that
depend on the model (tokens, pixels, dimensions) or on the server (bytes) live elsewhere.
"""

MAX_INPUTS = 2048
"""Items of one request: texts, images, conversations. Clients such as the Vercel AI SDK send batches of this size."""

MAX_PARTS_PER_INPUT = 32
"""Content parts of one message or one item of `inputs`."""

MAX_EMBEDDING_TYPES = 6
"""Number formats of one Cohere request: each that there is, once."""

MAX_PRIORITY = 999
"""The largest `priority` that Cohere's clients may send."""

MAX_INT32 = 2**31 - 1
"""The largest count a request may name. The document says `format: int32`, and tokenizers count in 32 bits."""
