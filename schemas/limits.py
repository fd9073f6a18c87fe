"""The numbers that bound a request's shape.

The wire types use them (`Meta(max_length=...)`), and so do `openapi.json` and the error messages. Limits that depend on
the model (tokens, pixels, dimensions) or on the server (bytes) are elsewhere.
"""

MAX_INPUTS = 2048
"""Items of one request: texts, images, conversations. Clients such as the Vercel AI SDK send batches of this size."""

MAX_TOKEN_IDS = 1 << 17
"""Token ids of one array: far more than a model reads, and bounded."""

MAX_PARTS_PER_INPUT = 32
"""Content parts of one message or one item of `inputs`."""

MAX_FRAMES = 1024
"""Frames of one video that is sent as images. A model reads fewer; the rest are skipped unread."""

MIN_FPS = 0.001
"""Lowest frame rate of a video."""

MAX_FPS = 1000
"""Highest frame rate of a video."""

MAX_VIDEO_TIME_S = 360_000
"""The latest time in a video, seconds: a hundred hours."""

MAX_EMBEDDING_TYPES = 14
"""Number formats of one Cohere request: each that a model supports, once."""

MAX_PRIORITY = 999
"""The largest `priority` that Cohere's clients may send."""

MAX_INT32 = 2**31 - 1
"""The largest count a request may name. The document says `format: int32`, and tokenizers count in 32 bits."""

MAX_UUID_CHARS = 128
"""The longest name that a client may give to an image."""

MAX_GRID_NUMBERS = 3 * 1024
"""Numbers of one `image_grid_thw`: three for each image of a stacked tensor."""

MAX_IMAGES = 64
"""Images of one `/v1/image_embeds` request: an answer holds megabytes for each."""

MAX_LINE_ID_CHARS = 256
"""The longest `id` of a line of `/v1/embeddings/stream`."""
