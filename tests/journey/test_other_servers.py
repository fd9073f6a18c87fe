"""Routes of Ollama, vLLM's `/pooling` and Azure: their answers, their errors, the vectors of `/v1/embeddings`."""

from typing import Any

import numpy as np
import pytest

from tests.conftest import LiveServer, image, image_part

TEXTS = ["a green door", "", "a red bicycle"]
AZURE = "/openai/deployments/builtin/embeddings?api-version=2024-10-21"


def plain(server: LiveServer, **body: Any) -> list[Any]:
    return [one["embedding"] for one in server.ask("/v1/embeddings", body).json()["data"]]


def test_ollamas_answer_has_the_vectors_bit_for_bit(keeping: LiveServer) -> None:
    answer = keeping.ask("/api/embed", {"model": "builtin:latest", "input": TEXTS, "keep_alive": "5m"}).json()
    assert answer["embeddings"] == plain(keeping, input=TEXTS)
    assert answer["model"] == "builtin:latest"
    assert (answer["prompt_eval_count"] > 0, answer["total_duration"] > 0, answer["load_duration"]) == (True, True, 0)
    one = keeping.ask("/api/embed", {"input": TEXTS[0], "dimensions": 64}).json()["embeddings"]
    assert one == plain(keeping, input=TEXTS[0], dimensions=64)
    older = keeping.ask("/api/embeddings", {"model": "builtin", "prompt": TEXTS[0], "keep_alive": 300}).json()
    assert older == {"embedding": plain(keeping, input=TEXTS[0])[0]}


def test_ollamas_items_may_be_media(keeping: LiveServer) -> None:
    same = plain(keeping, inputs=[{"content": [image_part(image(31))]}, {"content": "a door"}])
    for items in ([{"image": image(31)}, {"text": "a door"}], [image(31), "a door"]):
        assert keeping.ask("/api/embed", {"input": items}).json()["embeddings"] == same


def test_ollama_cuts_long_texts_unless_told_otherwise(server: LiveServer) -> None:
    long = "b " * 20_000
    for more, same in (({}, {"truncate": "END"}), ({"options": {"num_ctx": 64}}, {"truncate_prompt_tokens": 64})):
        got = server.ask("/api/embed", {"input": long} | more).json()["embeddings"]
        np.testing.assert_allclose(got, server.vectors({"input": long} | same), rtol=0, atol=1e-6)
    answer = server.http.post("/api/embed", json={"input": ["a", long], "truncate": False})
    assert (answer.status_code, answer.json()["detail"]["code"]) == (400, "context_length_exceeded")
    assert isinstance(answer.json()["error"], str)


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/api/embed", {}, "input"),
        ("/api/embed", {"input": "a", "option": {}}, "option"),
        ("/api/embed", {"input": "a", "options": {"num_ctx": "many"}}, "options.num_ctx"),
        ("/api/embed", {"input": [{"text": "a"}, {}]}, "input[1]"),
        ("/api/embed", {"input": "a", "dimensions": 5}, "dimensions"),
        ("/api/embeddings", {}, "prompt"),
        ("/api/embeddings", {"prompt": "data:image/png;base64,bm8="}, "prompt"),
    ],
)
def test_ollamas_error_is_a_sentence_that_names_the_field(
    server: LiveServer, path: str, body: dict[str, Any], param: str
) -> None:
    answer = server.http.post(path, json=body)
    assert answer.is_client_error
    assert answer.json()["detail"]["param"] == param
    assert answer.json()["error"] == answer.json()["detail"]["message"]
    assert f"`{param}`" in answer.json()["error"]


@pytest.mark.parametrize(
    "body",
    [
        {"input": TEXTS, "task": "embed"},
        {"input": TEXTS, "use_activation": True, "priority": 0, "cache_salt": "a"},
        {"input": [[{"role": "user", "content": text}] for text in TEXTS]},
    ],
)
def test_poolings_vectors_are_the_same(keeping: LiveServer, body: dict[str, Any]) -> None:
    answer = keeping.ask("/pooling", body).json()
    assert [one["data"] for one in answer["data"]] == plain(keeping, input=TEXTS)
    assert {one["object"] for one in answer["data"]} == {"pooling"}
    assert answer["id"].startswith("pool-")
    base64 = keeping.ask("/pooling", body | {"encoding_format": "base64"}).json()["data"]
    assert [one["data"] for one in base64] == plain(keeping, input=TEXTS, encoding_format="base64")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": "a", "task": "token_embed"}, "task"),
        ({"input": "a", "task": "classify"}, "task"),
        ({"input": "a", "on_error": "per_item"}, "on_error"),
        ({"input": "a", "embed_dtype": "float16"}, "embed_dtype"),
        ({"input": "a", "mm_processor_kwargs": {"min_pixels": 4}}, "mm_processor_kwargs"),
    ],
)
def test_pooling_refuses_what_it_does_not_have(server: LiveServer, body: dict[str, Any], param: str) -> None:
    error = server.refusal("/pooling", body)
    assert error["param"] == param
    assert f"`{param}`" in error["message"]


def test_azures_path_names_the_model(keeping: LiveServer) -> None:
    answer = keeping.ask(AZURE, {"input": TEXTS, "model": "another"}).json()
    assert answer["model"] == "builtin"
    assert [one["embedding"] for one in answer["data"]] == plain(keeping, input=TEXTS)
    error = keeping.refusal("/openai/deployments/nobody/embeddings", {"input": "a"}, 404)
    assert (error["code"], error["param"]) == ("model_not_found", "model")
    body = {"input": [{"text": "a"}, {"image": image(31)}], "task": "retrieval.passage"}
    assert keeping.ask(AZURE, body).json()["data"] == keeping.ask("/v1/embeddings", body).json()["data"]


def test_a_body_without_a_media_type_is_json_unless_a_page_sends_it(server: LiveServer) -> None:
    for path, body in (("/v1/embeddings", b'{"input": "a"}'), ("/api/embed", b'{"input": "a"}')):
        assert server.http.post(path, content=body).status_code == 200
        assert server.http.post(path, content=body, headers={"origin": "http://x.example"}).status_code in (403, 415)
    assert server.http.post("/v1/embeddings", content=b"input=a").json()["error"]["code"] == "invalid_json"


def test_voyages_rerank_has_voyages_answer(keeping: LiveServer) -> None:
    body = {"query": "something to ride", "documents": TEXTS}
    own = keeping.ask("/v1/rerank", body | {"top_n": 2, "return_documents": True}).json()["results"]
    theirs = keeping.ask("/v1/rerank", body | {"top_k": 2, "truncation": True, "return_documents": True}).json()
    assert [(one["index"], one["relevance_score"], one["document"]) for one in theirs["data"]] == [
        (one["index"], one["relevance_score"], one["document"]["text"]) for one in own
    ]
    assert theirs["usage"]["total_tokens"] > 0
    long = body | {"documents": ["b " * 20_000], "truncation": False}
    assert keeping.refusal("/v1/rerank", long)["code"] == "context_length_exceeded"


def test_a_document_may_have_a_text_and_an_image_together(keeping: LiveServer) -> None:
    parts = {"content": [image_part(image(31)), {"type": "text", "text": "a door"}]}
    for path, key in (("/v1/rerank", "documents"), ("/rerank", "texts")):
        got, want = (
            keeping.ask(path, {"query": "a door", key: [one]}).json()
            for one in ({"text": "a door", "image": image(31)}, parts)
        )
        scores = [one if isinstance(one, list) else one["results"] for one in (got, want)]
        assert scores[0] == scores[1]
