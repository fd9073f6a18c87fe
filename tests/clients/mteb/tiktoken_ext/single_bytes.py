"""An encoding of tiktoken's that needs no download: each byte is a token. MTEB's wrapper counts and cuts by it."""

from typing import Any


def single_bytes() -> dict[str, Any]:
    """Arguments of `tiktoken.Encoding`."""
    ranks = {bytes([value]): value for value in range(256)}
    return {"name": "single_bytes", "pat_str": r"[\s\S]", "mergeable_ranks": ranks, "special_tokens": {}}


ENCODING_CONSTRUCTORS = {"single_bytes": single_bytes}
