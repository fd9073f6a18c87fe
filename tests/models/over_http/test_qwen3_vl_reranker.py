"""Qwen3-VL-Reranker through a live server: the official scores on every route, with no flag and no template."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import TOLERANCE, LiveServer, data_uri, frames_part, image, image_part, text_part
from tests.models.over_http.models import NOT_OF_RERANKERS
from tests.models.over_http.running import is_said, refusal

pytestmark = pytest.mark.slow

ORACLE = Path(__file__).parents[1] / "reranker" / "oracle"
ALL = {case["name"]: case for case in json.loads((ORACLE / "oracle.json").read_text())}
CASES = [case for name, case in ALL.items() if name not in ("special_words", "nothing_in_it")]
LOGITS = [case for case in CASES if case["name"] in ("instruction", "mixed")]


@pytest.fixture(scope="module")
def reranker(start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    flags = ("--model", str(ORACLE / "checkpoint"), "--family", "qwen3_vl_reranker")
    server = start_server(*flags, "--engine-stuck-s", "120").wait_until_ready()  # 10,000 tokens in one thread
    yield server
    server.stop()


def uri(name: str) -> str:
    return data_uri((ORACLE / "media" / name).read_bytes(), {".png": "png", ".jpg": "jpeg"}[Path(name).suffix])


def item(side: dict[str, Any]) -> dict[str, Any]:
    """A side of a case as content parts."""
    images = side.get("image", [])
    parts = [frames_part([uri(name) for name in names]) for names in side.get("video", [])]
    parts += [image_part(uri(name)) for name in (images if isinstance(images, list) else [images])]
    return {"content": parts + ([text_part(side["text"])] if "text" in side else [])}


def asked(case: dict[str, Any], query: str = "query") -> dict[str, Any]:
    how = {"instruction": case["instruction"]} if "instruction" in case else {}
    return {query: item(case["query"]), "documents": [item(one) for one in case["documents"]], **how}


def in_order(results: list[dict[str, Any]]) -> list[float]:
    falling = [one["relevance_score"] for one in results]
    assert falling == sorted(falling, reverse=True)
    return [one["relevance_score"] for one in sorted(results, key=lambda one: one["index"])]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_every_route_has_the_official_scores(reranker: LiveServer, case: dict[str, Any]) -> None:
    for path in ("/v1/rerank", "/v2/rerank", "/rerank"):
        got = in_order(reranker.ask(path, asked(case)).json()["results"])
        np.testing.assert_allclose(got, case["scores"], rtol=0, atol=TOLERANCE)
    data = reranker.ask("/score", asked(case, "queries")).json()["data"]
    np.testing.assert_allclose([one["score"] for one in data], case["scores"], rtol=0, atol=TOLERANCE)
    body = asked(case)
    ranks = reranker.ask("/rerank", {"texts": body.pop("documents"), **body}).json()
    np.testing.assert_allclose([one["score"] for one in ranks], sorted(got, reverse=True), rtol=0, atol=1e-6)


def test_an_item_with_nothing_in_it_is_an_error_here_as_on_every_route(reranker: LiveServer) -> None:
    """The official script has a word for it; `test_qwen3_vl_reranker.py` holds the template against that."""
    case = ALL["nothing_in_it"]
    for path, query in (("/v1/rerank", "query"), ("/v2/rerank", "query"), ("/rerank", "query"), ("/score", "queries")):
        error = reranker.http.post(path, json=asked(case, query)).json()["error"]
        assert error["code"] == "empty_input"
        assert error["param"].endswith(".content")


@pytest.mark.parametrize("case", LOGITS, ids=lambda case: case["name"])
def test_raw_scores_are_the_official_logits(reranker: LiveServer, case: dict[str, Any]) -> None:
    for raw in ({"raw_scores": True}, {"use_activation": False}):
        got = in_order(reranker.ask("/v1/rerank", asked(case) | raw).json()["results"])
        np.testing.assert_allclose(got, case["logits"], rtol=0, atol=TOLERANCE)
    body = asked(case)
    if "instruction" not in body:
        nim = {"query": body["query"], "passages": body["documents"], "truncate": "END"}
        rankings = reranker.ask("/v1/ranking", nim).json()["rankings"]
        found = [one["logit"] for one in sorted(rankings, key=lambda one: one["index"])]
        np.testing.assert_allclose(found, case["logits"], rtol=0, atol=TOLERANCE)


def test_pairs_are_scored_each_with_its_own_query(reranker: LiveServer) -> None:
    cases = [case for case in CASES if "instruction" not in case]
    body = {
        "queries": [item(case["query"]) for case in cases],
        "documents": [item(case["documents"][0]) for case in cases],
    }
    data = reranker.ask("/score", body).json()["data"]
    want = [case["scores"][0] for case in cases]
    np.testing.assert_allclose([one["score"] for one in data], want, rtol=0, atol=TOLERANCE)


def test_a_page_is_encoded_once_for_all_queries_and_duplicates_run_once(reranker: LiveServer) -> None:
    before = reranker.metric("cenote_vision_encodes_total")
    documents = [{"content": [image_part(image(401)), text_part("a")]}] * 3 + [{"image": image(401)}]
    for query in ("one", "another", {"image": image(402)}):
        usage = reranker.ask("/v1/rerank", {"query": query, "documents": documents}).json()["usage"]
        assert usage["prompt_tokens_details"]["cached_tokens"] >= usage["prompt_tokens"] // 3
    assert reranker.metric("cenote_vision_encodes_total") == before + 2


def test_another_query_on_known_pages_runs_no_vision_tower(reranker: LiveServer) -> None:
    pages = [{"image": image(420 + n)} for n in range(32)]
    counters = ("cenote_vision_encodes_total", "cenote_pictures_decoded_total", "cenote_encoder_cache_hits_total")
    reranker.ask("/v1/rerank", {"query": "the first query", "documents": pages})
    before = [reranker.metric(name) for name in counters]
    results = reranker.ask("/v2/rerank", {"query": "another query", "documents": pages}).json()["results"]
    num_encoded, num_decoded, num_hits = (reranker.metric(n) - b for n, b in zip(counters, before, strict=True))
    assert (num_encoded, num_decoded, num_hits) == (0, 0, 32)
    alone = [reranker.ask("/score", {"queries": "another query", "documents": [page]}).json() for page in pages[:3]]
    want = [one["data"][0]["score"] for one in alone]
    assert in_order(results)[:3] == pytest.approx(want, abs=TOLERANCE)


def test_features_stand_in_for_a_page(reranker: LiveServer) -> None:
    part = reranker.ask("/v1/image_embeds", {"images": [image_part(image(403))]}).json()["data"][0]["part"]
    documents = [{"content": [part]}, {"content": [image_part(image(403))]}]
    first, second = in_order(reranker.ask("/v1/rerank", {"query": "a", "documents": documents}).json()["results"])
    assert first == pytest.approx(second, abs=TOLERANCE)


def test_one_bad_page_leaves_the_others_their_scores(reranker: LiveServer) -> None:
    broken = data_uri(base64.b64decode(image(404).partition(",")[2])[:-40])
    body = {"query": "a", "documents": ["b", {"image": broken}, "c"], "on_error": "per_item"}
    answer = reranker.ask("/v1/rerank", body).json()
    want = in_order(reranker.ask("/v1/rerank", {"query": "a", "documents": ["b", "c"]}).json()["results"])
    assert in_order(answer["results"]) == pytest.approx(want, abs=1e-6)
    assert [(one["index"], one["param"]) for one in answer["errors"]] == [(1, "documents[1].image")]
    refused = reranker.http.post("/v1/rerank", json=body | {"query": {"image": broken}}).json()["error"]
    assert (refused["param"], refused["index"]) == ("query.image", None)


def test_what_it_does_not_give_is_refused_by_name_and_clients_learn_what_it_does(reranker: LiveServer) -> None:
    for path, body, *said in (*NOT_OF_RERANKERS, ("/embed", {"inputs": "x"}, "", "", "is a reranker")):
        assert is_said(refusal(reranker, path, body), *said), path
    headers = {"content-type": "application/x-ndjson"}
    answer = reranker.http.post("/v1/embeddings/stream", content=b'{"input": "x"}\n', headers=headers)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "model")
    card = reranker.http.get("/v1/models").json()["data"][0]
    assert (card["scoring"], card["endpoints"]) == ("sigmoid", ["rerank"])
    assert reranker.http.get("/info").json()["model_type"] == {"reranker": {"num_labels": 1}}
