"""`/score` in vLLM's form, and `/rerank` in TEI's: the same scores as `/v1/rerank`, in other shapes."""

from typing import Any

import numpy as np
import pytest

from tests.conftest import LiveServer, image, image_part, text_part

QUERIES = ["something to ride", "a way in"]
TEXTS = ["a green door", "a red bicycle"]
NAMES = [("queries", "documents"), ("text_1", "text_2"), ("data_1", "data_2")]


def data(server: LiveServer, path: str = "/score", **body: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.ask(path, body).json()["data"]
    assert [one["index"] for one in found] == list(range(len(found)))
    return found


def scores(server: LiveServer, **body: Any) -> list[float]:
    return [one["score"] for one in data(server, **body)]


def reranked(server: LiveServer, query: Any, documents: list[Any]) -> list[float]:
    found = server.ask("/v1/rerank", {"query": query, "documents": documents}).json()["results"]
    return [one["relevance_score"] for one in sorted(found, key=lambda one: one["index"])]


@pytest.mark.parametrize(("queries", "documents"), NAMES)
@pytest.mark.parametrize("path", ["/score", "/v1/score"])
def test_one_query_is_scored_against_many(server: LiveServer, path: str, queries: str, documents: str) -> None:
    for query in (QUERIES[0], [QUERIES[0]], {"content": [text_part(QUERIES[0])]}):
        found = data(server, path, **{queries: query, documents: TEXTS})
        np.testing.assert_allclose(
            [one["score"] for one in found], reranked(server, QUERIES[0], TEXTS), rtol=0, atol=1e-6
        )
        assert {one["object"] for one in found} == {"score"}


def test_as_many_queries_as_documents_are_pairs(server: LiveServer) -> None:
    want = [reranked(server, query, [text])[0] for query, text in zip(QUERIES, TEXTS, strict=True)]
    np.testing.assert_allclose(scores(server, text_1=QUERIES, text_2=TEXTS), want, rtol=0, atol=1e-6)
    np.testing.assert_allclose(scores(server, text_1=QUERIES[0], text_2=TEXTS[0]), want[:1], rtol=0, atol=1e-6)


def test_pictures_go_where_texts_go(server: LiveServer) -> None:
    documents = [{"content": [image_part(image(11)), text_part("a door")]}, {"image": image(12)}]
    queries = [{"content": [image_part(image(13))]}, "a gate"]
    want = [reranked(server, query, [one])[0] for query, one in zip(queries, documents, strict=True)]
    np.testing.assert_allclose(scores(server, data_1=queries, data_2=documents), want, rtol=0, atol=1e-6)


def test_the_answer_has_vllms_fields(server: LiveServer) -> None:
    answer = server.ask("/score", {"model": "builtin", "text_1": QUERIES[0], "text_2": TEXTS, "use_activation": True})
    body = answer.json()
    assert body["id"] == f"score-{answer.headers['x-request-id']}"
    assert (body["object"], body["model"], body["usage"]["num_inputs"]) == ("list", "builtin", 2)
    assert body["usage"]["prompt_tokens"] == body["usage"]["total_tokens"] > 0


def test_teis_form_is_answered_by_a_list(server: LiveServer) -> None:
    want = reranked(server, QUERIES[0], TEXTS)
    asked = {"query": QUERIES[0], "texts": TEXTS, "raw_scores": False, "return_text": True, "truncate": False}
    for direction in ("Right", "right", "Left"):
        ranks = server.ask("/rerank", asked | {"truncation_direction": direction}).json()
        assert [one["score"] for one in ranks] == sorted(want, reverse=True)
        assert all(want[one["index"]] == one["score"] and TEXTS[one["index"]] == one["text"] for one in ranks)
    bare = server.ask("/rerank", {"query": QUERIES[0], "texts": TEXTS}).json()
    assert [set(one) for one in bare] == [{"index", "score"}] * 2
    assert len(server.ask("/rerank", {"query": QUERIES[0], "texts": TEXTS, "top_n": 1}).json()) == 1


def test_teis_form_cuts_unless_it_may_not(server: LiveServer) -> None:
    long = "word " * 20_000
    assert len(server.ask("/rerank", {"query": "a", "texts": [long]}).json()) == 1
    error = server.http.post("/rerank", json={"query": "a", "texts": ["b", long], "truncate": False}).json()["error"]
    assert (error["code"], error["param"], error["index"]) == ("context_length_exceeded", "texts[1]", 1)
