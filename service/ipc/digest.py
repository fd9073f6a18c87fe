"""A request's content as 16 bytes: what it holds and what it wants, and not who sent it or when."""

import hashlib
from array import array

from service.ipc.messages import Request


def request_digest(request: Request) -> bytes:
    """The same for two requests exactly when the model would do the same for both.

    Args:
        request: its token ids, pictures and wanted output count; its id and its slots do not.
    """
    digest = hashlib.blake2b(array("q", request.token_ids).tobytes(), digest_size=16)
    for media in request.media:
        digest.update(repr((media.offset, media.grid_thw, media.dtype)).encode() + media.key)
    digest.update(repr(request.output).encode())
    return digest.digest()
