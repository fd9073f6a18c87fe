"""The digest of a prompt: 32 bytes of all that decides its raw vector, and nothing else."""

import hashlib

import msgspec

from service.ipc.messages import OutputSpec, Request

encode = msgspec.msgpack.Encoder().encode
"""Three times faster than an array of the numbers, and no two values have the same bytes: each says its length."""


def prompt_digest(request: Request, *, salt: str = "") -> bytes:
    """BLAKE2b, the same for two requests exactly when the model would do the same for both.

    Token ids count, keys, places and grids of media in order, and whether a vector or features are asked for; id, slots
    and output format do not. `salt` keeps tenants apart; it is empty where all count as one.
    """
    media = [(one.key, one.offset, one.num_tokens, one.grid_thw, one.dtype) for one in request.media]
    wants_vector = isinstance(request.output, OutputSpec)
    return hashlib.blake2b(encode((salt, wants_vector, request.token_ids, media)), digest_size=32).digest()
