"""The API dialect of a path, and a hint where it has no route.

The dialect decides the shape of errors. The hint is for clients whose base URL is wrong: some expect one with `/v1` and
some without (docs/notes/ecosystem.md).
"""

import re
from typing import Literal

Dialect = Literal["openai", "cohere", "ollama"]
"""The API whose clients call a path, and whose error body they can read."""

DIALECTS: dict[str, Dialect] = {
    "/api/embed": "ollama",
    "/api/embeddings": "ollama",
    "/v1/embeddings": "openai",
    "/v1/embeddings/stream": "openai",
    "/v1/models": "openai",
    "/v2/embed": "cohere",
    "/v1/embed": "cohere",
    "/v2/rerank": "cohere",
    "/v1/rerank": "cohere",
    "/rerank": "cohere",
    "/embed": "cohere",
    "/embed_sparse": "cohere",
    "/v1/ranking": "openai",
    "/v1/score": "openai",
    "/score": "openai",
    "/v1/tokenize": "cohere",
    "/v1/detokenize": "cohere",
    "/v1/check-api-key": "cohere",
    "/tokenize": "openai",
    "/detokenize": "openai",
    "/pooling": "openai",
}
"""Routes of other servers' APIs, each with its dialect. Of two with the same ending, the first is the hint."""

_OTHER_NAMES = {
    "/invocations": "did you mean /v1/embeddings? It takes the same body",
    "/v2/embeddings": "did you mean /v2/embed? Or /v1/embeddings for an OpenAI client, whose base URL ends in /v1",
}
"""Other paths for routes of ours: SageMaker's, whose bodies are the same, and a mixture of OpenAI's and Cohere's."""

_OTHER_ROUTES = (
    (
        re.compile(r"/(chat|completions?|responses|messages|generate)\b"),
        "this server generates no text; /v1/embeddings gives vectors, /v1/rerank scores",
    ),
    (
        re.compile(r"\A/(v1/)?(retrieval|predict|classify)\b"),
        "did you mean /v1/rerank? It scores documents against a query, and /v1/ranking takes NIM's `passages`",
    ),
    (
        re.compile(r"\A/openai\b"),
        "did you mean /openai/deployments/{model}/embeddings, or /v1/embeddings with the base URL up to /v1?",
    ),
    (
        re.compile(r"\A/api\b"),
        "did you mean /api/embed? Of Ollama's routes only those for embeddings are here; /v1/models lists the models",
    ),
)
"""Beginnings of other servers' routes, and what there is here."""

_ADVICE: dict[Dialect, str] = {
    "openai": "the base URL of an OpenAI client is this server's address with /v1 after it",
    "ollama": "the base URL of an Ollama client is this server's address alone",
    "cohere": "the base URL of @ai-sdk/cohere is this server's address with /v2 after it, that of Cohere's own clients "
    "the address alone",
}
_TOO_MUCH = "leave out what stands before that path in the base URL"
_UNVERSIONED = "this path has no version before it"
_VERSION = re.compile(r"\A(?:/v[12])+(?=/|\Z)")


def dialect_of(path: str) -> Dialect:
    """The dialect of a path, also of one that has no route.

    A wrong base URL puts something before a known path, so the end of the path decides; `/v2/` is Cohere's alone.
    """
    path = path.rstrip("/")
    for known, dialect in DIALECTS.items():
        if path.endswith(known):
            return dialect
    if path.startswith("/v2/"):
        return "cohere"
    meant = _meant_by_end(path)
    return DIALECTS[meant] if meant else "openai"


def hint(path: str) -> str | None:
    """The route that a path without one probably meant, and the right base URL, as a sentence that repeats no path.

    None where no route is near.
    """
    path = path.rstrip("/")
    if (said := _OTHER_NAMES.get(path)) is not None:
        return said
    if (whole := next((known for known in DIALECTS if path.endswith(known)), None)) is not None:
        return f"did you mean {whole}? {_TOO_MUCH if _VERSION.match(whole) else _UNVERSIONED}"
    if (meant := _meant_by_end(path)) is None:
        return next((said for begin, said in _OTHER_ROUTES if begin.search(path)), None)
    return f"did you mean {meant}? {_ADVICE[DIALECTS[meant]] if _VERSION.match(meant) else _UNVERSIONED}"


def _meant_by_end(path: str) -> str | None:
    end = _VERSION.sub("", path)
    return next((known for known in DIALECTS if end == _VERSION.sub("", known)), None)
