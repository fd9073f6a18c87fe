"""The second stage over an embedder: cosines of the vectors that `/v1/embeddings` gives, on every route alike."""

from typing import Any

import numpy as np
import pytest

from tests.conftest import LiveServer, frames_part, image, image_part, text_part

QUERY = "something to ride"
TEXTS = ["a green door", "a red bicycle", "", "a horse in a field", "a red bicycle"]
ROUTES = ("/v1/rerank", "/v2/rerank", "/rerank")


def side(server: LiveServer, items: list[dict[str, Any]], **how: Any) -> np.ndarray:
    return server.vectors({"inputs": items, **how}).astype(np.float64)


def cosines(server: LiveServer, query: dict[str, Any], documents: list[dict[str, Any]], **how: Any) -> np.ndarray:
    """From the vectors alone: the query under its instruction, the documents under theirs."""
    one = side(server, [query], **(how or {"input_type": "search_query"}))[0]
    found: np.ndarray = side(server, documents, input_type="search_document") @ one
    return found


def results(server: LiveServer, route: str, **body: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.ask(route, body).json()["results"]
    return found


def scores(server: LiveServer, route: str = "/v1/rerank", **body: Any) -> np.ndarray:
    """Of each document, in the order of the request; the answer has them falling."""
    found = results(server, route, **body)
    falling = [one["relevance_score"] for one in found]
    assert falling == sorted(falling, reverse=True)
    return np.array([one["relevance_score"] for one in sorted(found, key=lambda one: one["index"])])


@pytest.mark.parametrize("route", ROUTES)
def test_scores_are_the_cosines_of_the_vectors(server: LiveServer, route: str) -> None:
    want = cosines(server, {"content": QUERY}, [{"content": text} for text in TEXTS])
    got = scores(server, route, query=QUERY, documents=TEXTS)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)


@pytest.mark.parametrize("route", ROUTES)
def test_pictures_videos_features_and_texts_stand_on_either_side(server: LiveServer, route: str) -> None:
    part = server.ask("/v1/image_embeds", {"images": [image_part(image(1))]}).json()["data"][0]["part"]
    documents = [
        {"content": [image_part(image(1)), text_part("a door")]},
        {"content": [frames_part([image(2, 64, 64), image(3, 64, 64)])]},
        {"content": [part]},
        {"content": "a word"},
    ]
    query = {"content": [image_part(image(4)), text_part("a gate")]}
    got = scores(server, route, query=query, documents=documents)
    np.testing.assert_allclose(got, cosines(server, query, documents), rtol=0, atol=1e-6)


def test_each_form_of_an_item_is_the_same_item(server: LiveServer) -> None:
    forms = ["a door", {"text": "a door"}, {"content": "a door"}, {"content": [text_part("a door")]}]
    for query in forms:
        assert len(set(scores(server, query=query, documents=forms))) == 1
    url = image(5)
    (as_image, as_part) = scores(server, query=QUERY, documents=[{"image": url}, {"content": [image_part(url)]}])
    assert as_image == as_part


def test_equal_scores_keep_the_order_of_the_request_and_top_n_bounds_the_answer(server: LiveServer) -> None:
    whole = results(server, "/v1/rerank", query=QUERY, documents=TEXTS)
    order = [one["index"] for one in whole]
    assert order.index(1) + 1 == order.index(4)
    top = server.ask("/v1/rerank", {"query": QUERY, "documents": TEXTS, "top_n": 2}).json()
    assert top["results"] == whole[:2]
    assert top["usage"]["num_inputs"] == len(TEXTS)
    assert results(server, "/v1/rerank", query=QUERY, documents=TEXTS, top_n=99) == whole


def test_nims_route_gives_the_same_scores_best_first(server: LiveServer) -> None:
    whole = results(server, "/v1/rerank", query=QUERY, documents=TEXTS)
    asked = {"query": {"text": QUERY}, "passages": [{"text": text} for text in TEXTS], "truncate": "END"}
    answer = server.ask("/v1/ranking", asked).json()
    assert [(one["index"], one["logit"]) for one in answer["rankings"]] == [
        (one["index"], one["relevance_score"]) for one in whole
    ]
    assert answer["usage"]["num_inputs"] == len(TEXTS)
    assert server.ask("/v1/ranking", asked | {"top_n": 2}).json()["rankings"] == answer["rankings"][:2]
    assert results(server, "/v1/rerank", **asked, top_n=2) == whole[:2]


def test_a_document_that_comes_twice_is_computed_once(server: LiveServer) -> None:
    body = server.ask("/v1/rerank", {"query": "what is new here", "documents": ["never seen before"] * 3}).json()
    details = body["usage"]["prompt_tokens_details"]
    tokens = server.ask("/tokenize", {"input": ["never seen before"], "input_type": "search_document"}).json()["count"]
    assert details["cached_tokens"] == 2 * tokens


def test_documents_are_returned_where_asked(server: LiveServer) -> None:
    documents = ["a door", {"text": "a gate"}, {"content": [text_part("a "), image_part(image(6)), text_part("car")]}]
    for route in ROUTES:
        found = results(server, route, query=QUERY, documents=documents, return_documents=True)
        texts = {one["index"]: one["document"] for one in found}
        assert texts == {0: {"text": "a door"}, 1: {"text": "a gate"}, 2: {"text": "a car"}}
        assert "document" not in results(server, route, query=QUERY, documents=documents)[0]


def test_an_instruction_is_the_querys(server: LiveServer) -> None:
    words = "Represent the colors of the image."
    want = cosines(server, {"content": QUERY}, [{"content": text} for text in TEXTS], instruction=words)
    got = scores(server, query=QUERY, documents=TEXTS, instruction=words)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)
    assert abs(got - scores(server, query=QUERY, documents=TEXTS)).max() > 1e-3


def test_the_answer_counts_what_was_read(server: LiveServer) -> None:
    counts = [
        server.ask("/tokenize", {"input": texts, "input_type": kind}).json()["count"]
        for texts, kind in (([QUERY], "search_query"), (TEXTS, "search_document"))
    ]
    answer = server.ask("/v1/rerank", {"model": "builtin", "query": QUERY, "documents": TEXTS})
    body = answer.json()
    assert body["model"] == "builtin"
    assert body["id"] == f"rerank-{answer.headers['x-request-id']}"
    assert body["usage"]["prompt_tokens"] == body["meta"]["tokens"]["input_tokens"] == sum(counts)
    assert body["meta"]["billed_units"] == {"search_units": 1}
    many = server.ask("/v2/rerank", {"query": QUERY, "documents": ["a"] * 101}).json()["meta"]
    assert (many["billed_units"], many["api_version"]) == ({"search_units": 2}, {"version": "2"})
    assert answer.headers["x-model-fingerprint"]


def test_a_texts_limit_cuts_it_and_no_other(server: LiveServer) -> None:
    long = "a red bicycle against a wall of old stones"
    ids = server.ask("/v1/tokenize", {"text": long, "model": "builtin"}).json()["tokens"]
    short = server.ask("/v1/detokenize", {"tokens": ids[:5], "model": "builtin"}).json()["text"]
    want = scores(server, query=long, documents=[short, "a red"])
    np.testing.assert_array_equal(scores(server, query=long, documents=[long, "a red"], max_tokens_per_doc=5), want)
    want = scores(server, query=short, documents=[long])
    np.testing.assert_array_equal(scores(server, query=long, documents=[long], max_tokens_per_query=5), want)
    parts = {"content": [text_part(long), image_part(image(7))]}
    want = scores(server, query=long, documents=[{"content": [text_part(short), image_part(image(7))]}])
    got = scores(server, query=long, documents=[parts], max_tokens_per_doc=5)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)


def test_what_is_too_long_is_cut_at_the_models_limit(server: LiveServer) -> None:
    text = "word " * 20_000
    assert len(scores(server, query=QUERY, documents=[text, text + "more"])) == 2
    limited = scores(server, query="a", documents=["b " * 99], truncate_prompt_tokens=40)
    other = scores(server, query="a", documents=["b " * 999], truncate_prompt_tokens=40)
    np.testing.assert_array_equal(limited, other)
    ends = [
        scores(server, query="a", documents=[head + " b" * 99], truncate_prompt_tokens=40, truncation_side="left")
        for head in ("c", "d")
    ]
    np.testing.assert_array_equal(*ends)


def test_a_thousand_documents_are_answered_in_order(server: LiveServer) -> None:
    documents = [f"text {i % 40}" for i in range(1000)]
    got = scores(server, query=QUERY, documents=documents)
    want = cosines(server, {"content": QUERY}, [{"content": text} for text in documents[:40]])
    np.testing.assert_allclose(got, np.tile(want, 25), rtol=0, atol=1e-6)


def test_the_models_card_says_what_scores_are(server: LiveServer) -> None:
    card = server.http.get("/v1/models").json()["data"][0]
    assert (card["scoring"], card["endpoints"]) == ("cosine", ["embed", "rerank"])
