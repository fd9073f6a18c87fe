"""Which API a path belongs to, and what a path that leads nowhere was probably meant to be.

In: the path of a request. Out: the family, which decides the shape of its errors, and a hint for clients whose base URL
is wrong. Knows no request and no handler.

Source: shared/reference/ecosystem.md 2.2 and 2.3: clients expect base URLs with and without `/v1`.
"""

import re
from typing import Literal

Family = Literal["openai", "cohere"]
"""Whose clients call a path, and so whose error body they can read."""

FAMILIES: dict[str, Family] = {
    "/v1/embeddings": "openai",
    "/v1/embeddings/stream": "openai",
    "/v1/models": "openai",
    "/v2/embed": "cohere",
    "/v1/embed": "cohere",
    "/v1/tokenize": "cohere",
    "/v1/detokenize": "cohere",
    "/v1/check-api-key": "cohere",
    "/tokenize": "openai",
    "/detokenize": "openai",
}
"""The routes that clients of others call, each with its family. Of two with the same ending, the first is the hint."""

_OTHER_NAMES = {
    "/pooling": "did you mean /v1/embeddings? It takes the same body",
    "/invocations": "did you mean /v1/embeddings? It takes the same body",
    "/v2/embeddings": "did you mean /v2/embed? Or /v1/embeddings for an OpenAI client, whose base URL ends in /v1",
}
"""What other servers call routes of ours: vLLM, whose bodies are the same, and a mixture of OpenAI's and Cohere's."""

_ADVICE: dict[Family, str] = {
    "openai": "the base URL of an OpenAI client is this server's address with /v1 after it",
    "cohere": "the base URL of @ai-sdk/cohere is this server's address with /v2 after it, that of Cohere's own clients "
    "the address alone",
}
_TOO_MUCH = "leave out what stands before that path in the base URL"
_UNVERSIONED = "this path has no version before it"
_VERSION = re.compile(r"\A(?:/v[12])+(?=/|\Z)")


def family_of(path: str) -> Family:
    """The family that a path belongs to, also when it leads nowhere.

    A wrong base URL puts something before a known path, so the end of the path decides; `/v2/` is Cohere's alone.
    """
    path = path.rstrip("/")
    for known, family in FAMILIES.items():
        if path.endswith(known):
            return family
    if path.startswith("/v2/"):
        return "cohere"
    meant = _meant_by_end(path)
    return FAMILIES[meant] if meant else "openai"


def hint(path: str) -> str | None:
    """What to tell a client whose path leads nowhere: the route it meant, and the right base URL.

    Args:
        path: a path that has no route.

    Returns:
        A sentence that names a route of ours and nothing of the path; None when no route is near.
    """
    path = path.rstrip("/")
    if (said := _OTHER_NAMES.get(path)) is not None:
        return said
    if (whole := next((known for known in FAMILIES if path.endswith(known)), None)) is not None:
        return f"did you mean {whole}? {_TOO_MUCH if _VERSION.match(whole) else _UNVERSIONED}"
    if (meant := _meant_by_end(path)) is None:
        return None
    return f"did you mean {meant}? {_ADVICE[FAMILIES[meant]] if _VERSION.match(meant) else _UNVERSIONED}"


def _meant_by_end(path: str) -> str | None:
    end = _VERSION.sub("", path)
    return next((known for known in FAMILIES if end == _VERSION.sub("", known)), None)
