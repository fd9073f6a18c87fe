"""A wrong route is answered in the words of its API, and HEAD is GET without the body."""

import openai
import pytest

from tests.conftest import LiveServer
from tests.journey.conftest import GOOD, JSON, Refusal, assert_refused

PATHS = ("/v1/embeddings", "/v1/embed", "/v2/embed", "/tokenize", "/detokenize")
OPENAI = "OpenAI client is this server's address with /v1 after it"
TOO_MUCH = "leave out what stands before that path in the base URL"
READ = ("/", "/docs", "/health", "/livez", "/metrics", "/openapi.json", "/readyz", "/v1/models", "/v1/models/builtin")


@pytest.mark.parametrize("path", PATHS)
def test_every_family_has_its_own_shape_for_405_and_415(server: LiveServer, path: str) -> None:
    plain = {"content-type": "text/plain"}
    said = ("text/plain", "application/json")
    refused = Refusal("text", path, GOOD, 415, "unsupported_media_type", words=said, headers=plain)
    assert_refused(server.http.post(path, content=refused.raw, headers=plain), refused)
    wrong = Refusal(
        "put", path, GOOD, 405, "method_not_allowed", words=("takes no PUT; it takes POST", "/openapi.json")
    )
    answer = server.http.put(path, content=wrong.raw, headers=JSON)
    assert_refused(answer, wrong)
    assert "POST" in answer.headers["allow"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        *((path, (f"did you mean /v1{path}", OPENAI)) for path in ("/embeddings", "/models")),
        *((path, ("did you mean /v1/embeddings", TOO_MUCH))
          for path in ("/v1/v1/embeddings", "/v2/v1/embeddings/", "/openai/v1/embeddings")),
        *((path, ("did you mean /v2/embed", TOO_MUCH)) for path in ("/v1/v2/embed", "/v2/embed/v2/embed")),
        *((f"/v1/v1/{name}", (f"did you mean /v1/{name}", TOO_MUCH)) for name in ("embed", "rerank", "check-api-key")),
        *((f"/api/{name}", (f"did you mean /{name}", "no version")) for name in ("rerank", "tokenize")),
        ("/check-api-key", ("did you mean /v1/check-api-key", "@ai-sdk/cohere", "/v2 after it", "address alone")),
        ("/v2/embeddings", ("did you mean /v2/embed", "/v1/embeddings for an OpenAI client")),
        ("/elsewhere", ("/openapi.json",)),
    ],
)  # fmt: skip
def test_a_wrong_base_url_gets_a_hint(server: LiveServer, path: str, words: tuple[str, ...]) -> None:
    refused = Refusal("base URL", path, GOOD, 404, "route_not_found", words=words)
    assert_refused(server.http.post(path, content=refused.raw, headers=JSON), refused)


def test_a_client_with_the_servers_root_as_base_url_reads_the_hint(server: LiveServer) -> None:
    client = openai.OpenAI(base_url=server.url, api_key="any")
    with pytest.raises(openai.NotFoundError, match="did you mean /v1/embeddings"):
        client.embeddings.create(model="builtin", input="x")


@pytest.mark.parametrize("path", READ)
def test_head_is_get_without_the_body(server: LiveServer, path: str) -> None:
    head, get = server.http.head(path), server.http.get(path)
    assert (head.status_code, head.content) == (get.status_code, b"")
    varies = {"date", "x-request-id", "x-total-time"} | ({"content-length"} if path == "/metrics" else set())
    assert set(head.headers) == set(get.headers)
    assert {k: v for k, v in head.headers.items() if k not in varies} == {
        k: v for k, v in get.headers.items() if k not in varies
    }
    assert int(head.headers["content-length"]) > 0


def test_head_of_what_cannot_be_read_is_refused_without_a_body(server: LiveServer) -> None:
    assert [
        (server.http.head(path).status_code, server.http.head(path).content) for path in ("/v1/embeddings", "/no")
    ] == [
        (405, b""),
        (404, b""),
    ]


def test_a_route_that_takes_get_allows_head(server: LiveServer) -> None:
    for answer in (server.http.post("/v1/models"), server.http.options("/v1/models")):
        assert {"GET", "HEAD"} <= set(answer.headers["allow"].split(", "))
    assert "HEAD" not in server.http.get("/v1/embeddings").headers["allow"]
