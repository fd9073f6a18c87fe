"""A path tells whose error body its clients read, and a path that leads nowhere is told where it meant to go."""

import pytest

from service.http.api_dialect import DIALECTS, dialect_of, hint
from service.http.route_table import ROUTE_HANDLERS


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("/v1/embeddings", "openai"),
        ("/v1/models/any/name", "openai"),
        ("/v2/v1/embeddings", "openai"),
        ("/v1/embed", "cohere"),
        ("/v2/embed", "cohere"),
        ("/v2/embed/", "cohere"),
        ("/v1/v2/embed", "cohere"),
        ("/v1/v1/embed", "cohere"),
        ("/v2/rerank", "cohere"),
        ("/embed", "cohere"),
        ("/api/embed", "ollama"),
        ("/api/embeddings", "ollama"),
        ("/pooling", "openai"),
        ("/openai/deployments/x/embeddings", "openai"),
        ("/v2/embeddings", "cohere"),
        ("/tokenize", "openai"),
        ("/v1/tokenize", "cohere"),
        ("/", "openai"),
        ("/elsewhere", "openai"),
    ],
)
def test_the_end_of_a_path_decides_its_family(path: str, family: str) -> None:
    assert dialect_of(path) == family


@pytest.mark.parametrize("path", ["/invocations", "/invocations/"])
def test_vllms_other_route_gets_a_hint_to_ours(path: str) -> None:
    assert hint(path) == "did you mean /v1/embeddings? It takes the same body"


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/openai", "/openai/deployments/{model}/embeddings"),
        ("/openai/deployments/x/chat/completions", "/v1/embeddings"),
        ("/openai/models", "/v1"),
        ("/api", "/api/embed"),
        ("/api/tags", "/v1/models"),
        ("/api/chat", "/v1/embeddings"),
        ("/api/generate", "/v1/embeddings"),
        ("/predict", "/v1/rerank"),
        ("/ranking", "/v1/ranking"),
        ("/v1/pooling", "/pooling"),
        ("/v1/chat/completions", "generates no text"),
        ("/v1/completions", "generates no text"),
        ("/v1/responses", "generates no text"),
    ],
)
def test_other_servers_routes_get_a_hint_that_names_ours(path: str, named: str) -> None:
    said = hint(path)
    assert said is not None
    assert named in said


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/", "/v1/embedding", "/favicon.ico", "/v10/models", "/apiary", "/openair"]
)
def test_a_path_that_is_near_nothing_gets_no_hint(path: str) -> None:
    assert hint(path) is None


def test_every_path_with_a_family_is_a_route() -> None:
    assert set(DIALECTS) <= {path for handler in ROUTE_HANDLERS for path in handler.paths}
