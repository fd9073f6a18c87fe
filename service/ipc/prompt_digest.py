"""The digest of a prompt: what the result cache, coalescing and the quarantine know it by."""

from hashlib import blake2b

import msgspec

from service.ipc.messages import Request
from service.outputs.ask import needs

HASH_BYTES = 32
MAX_PLAIN_BYTES = 96
"""Prompts of 8 to some 30 tokens are their own digest: a hash takes as long as all else that is done for it."""

encode = msgspec.msgpack.Encoder().encode
"""Three times faster than an array of the numbers, and no two values have the same bytes: each says its length."""


def prompt_digest(request: Request, *, salt: str = "") -> bytes:
    """At most 96 bytes, the same for two requests exactly when the model would do the same for both.

    The plan of its tokens counts, keys, places and grids of media in order, and what of a forward is needed; id, slots
    and output format do not. `salt` keeps tenants apart.
    """
    media = request.media and [(one.key, one.offset, one.num_tokens, one.grid_thw, one.dtype) for one in request.media]
    plain = encode((salt, needs(request.asks), request.plan, media))
    if HASH_BYTES < len(plain) <= MAX_PLAIN_BYTES:  # so none is another's hash
        return plain
    return blake2b(plain, digest_size=HASH_BYTES).digest()
