"""The digest of a prompt: what the result cache, coalescing and the quarantine know it by."""

from hashlib import blake2b

import msgspec

from service.ipc.messages import OutputSpec, Request

HASH_BYTES = 32
MAX_PLAIN_BYTES = 96
"""Prompts of 8 to some 30 tokens are their own digest: a hash takes as long as all else that is done for it."""

encode = msgspec.msgpack.Encoder().encode
"""Three times faster than an array of the numbers, and no two values have the same bytes: each says its length."""


def prompt_digest(request: Request, *, salt: str = "") -> bytes:
    """At most 96 bytes, the same for two requests exactly when the model would do the same for both.

    Tokens count, those that are hidden, dropped, looked up or pooled together, keys, places and grids of media in
    order, and whether a dense vector, more, or features are asked for; id, slots and output format do not. `salt` keeps
    tenants apart.
    """
    output = request.output
    asked = output.needs_tokens if isinstance(output, OutputSpec) else None
    media = request.media and [(one.key, one.offset, one.num_tokens, one.grid_thw, one.dtype) for one in request.media]
    of_side = request.num_hidden, request.dropped, request.is_looked_up, request.spans
    plain = encode((salt, asked, request.token_ids, *of_side, media))
    if HASH_BYTES < len(plain) <= MAX_PLAIN_BYTES:  # so none is another's hash
        return plain
    return blake2b(plain, digest_size=HASH_BYTES).digest()
