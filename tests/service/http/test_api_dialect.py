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
        ("/v2/embeddings", "cohere"),
        ("/tokenize", "openai"),
        ("/v1/tokenize", "cohere"),
        ("/", "openai"),
        ("/elsewhere", "openai"),
    ],
)
def test_the_end_of_a_path_decides_its_family(path: str, family: str) -> None:
    assert dialect_of(path) == family


@pytest.mark.parametrize("path", ["/pooling", "/invocations", "/pooling/"])
def test_vllms_other_routes_get_a_hint_to_ours(path: str) -> None:
    assert hint(path) == "did you mean /v1/embeddings? It takes the same body"


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/", "/v1/embedding", "/v1/chat/completions", "/favicon.ico", "/v10/models"]
)
def test_a_path_that_is_near_nothing_gets_no_hint(path: str) -> None:
    assert hint(path) is None


def test_every_path_with_a_family_is_a_route() -> None:
    assert set(DIALECTS) <= {path for handler in ROUTE_HANDLERS for path in handler.paths}
