"""Requests for scores that are wrong are refused with the item's place, and bad items among good ones have errors."""

from typing import Any

import pytest

from tests.conftest import LiveServer, image, image_part, text_part
from tests.journey.conftest import JSON, Refusal, assert_refused
from tests.journey.test_per_item import BROKEN, NO_IMAGE

GOOD = ["a door", {"content": [image_part(image(21)), text_part("a gate")]}]
BAD = [
    ({"content": [image_part(NO_IMAGE)]}, "media_undecodable", ".content[0].image_url"),
    ({"content": [text_part("a"), image_part(BROKEN)]}, "media_undecodable", ".content[1].image_url"),
    ({"image": "https://example.com/a.png"}, "media_source_refused", ".image"),
    ({"content": [{"type": "image_url", "uuid": "nobody-knows"}]}, "cache_miss", ".content[0]"),
]

pytestmark = pytest.mark.usefixtures("no_server_fault")


def no(name: str, path: str, body: dict[str, Any], code: str, *place: Any, words: str = "") -> Any:
    status = 422 if code == "media_undecodable" else 400
    return pytest.param(Refusal(name, path, body, status, code, *place, words=tuple(words.split("|"))), id=name)


REFUSALS = [
    no("no query", "/v1/rerank", {"documents": ["a"]}, "invalid_request", "query"),
    no("no documents", "/v2/rerank", {"query": "a"}, "invalid_request", "documents"),
    no("too many", "/v1/rerank", {"query": "a", "documents": ["a"] * 2049}, "too_many_inputs", "documents"),
    no("two at once", "/v2/rerank", {"query": {"text": "a", "content": "b"}, "documents": ["a"]},
       "conflicting_input", "query", words="`text` and `content`"),
    no("a typo", "/v1/rerank", {"query": "a", "documents": ["a"], "topn": 3}, "unknown_field", "topn",
       words="`top_n`"),
    no("rank fields", "/v1/rerank", {"query": "a", "documents": ["a"], "rank_fields": ["text", "title"]},
       "invalid_request", "rank_fields[1]"),
    no("both words for one thing", "/v1/rerank",
       {"query": "a", "documents": ["a"], "raw_scores": True, "use_activation": True},
       "conflicting_input", "use_activation"),
    no("neither form", "/rerank", {"query": "a"}, "missing_input", "documents", words="`texts`"),
    no("both forms", "/rerank", {"query": "a", "documents": ["a"], "texts": ["a"]}, "conflicting_input", "texts"),
    no("TEI's word", "/rerank", {"query": "a", "documents": ["a"], "truncate": True}, "invalid_request", "truncate"),
    no("errors in a list", "/rerank", {"query": "a", "texts": ["a"], "on_error": "per_item"},
       "invalid_request", "on_error"),
    no("two ways to cut", "/rerank", {"query": "a", "texts": ["a"], "truncate": True, "truncate_prompt_tokens": 9},
       "conflicting_input", "truncate"),
    no("NIM's word", "/v1/ranking", {"query": "a", "documents": ["a"]}, "unknown_field", "documents"),
    no("no passages", "/v1/ranking", {"query": {"text": "a"}}, "invalid_request", "passages"),
    no("a passage with nothing", "/v1/ranking", {"query": "a", "passages": ["a", {}]},
       "missing_input", "passages[1]", 1),
    no("a passage that is too long", "/v1/ranking", {"query": "a", "passages": ["a", "a " * 9000], "truncate": "NONE"},
       "context_length_exceeded", "passages[1]", 1),
    no("uncut on another route", "/v1/rerank", {"query": "a", "passages": ["a"], "truncate": "NONE"},
       "invalid_request", "truncate", words="/v1/ranking"),
    no("no pair", "/score", {}, "missing_input", "queries", words="`text_1`|`data_1`"),
    no("half a pair", "/score", {"text_1": "a"}, "missing_input", "text_2"),
    no("two pairs", "/score", {"text_1": "a", "data_1": "a", "text_2": "b"}, "conflicting_input", "data_1"),
    no("halves of two", "/score", {"text_1": "a", "documents": "a"}, "conflicting_input", "documents"),
    no("2 and 3", "/v1/score", {"text_1": ["a"] * 2, "text_2": ["b"] * 3}, "invalid_request", "text_1", words="1 or 3"),
    no("the second query", "/score", {"queries": ["a", BAD[0][0]], "documents": GOOD},
       BAD[0][1], "queries[1].content[0].image_url", 1),
    no("one bad query", "/score", {"queries": [BAD[1][0]], "documents": GOOD},
       BAD[1][1], "queries[0].content[1].image_url"),
]  # fmt: skip
"""What stands at a place for any item, any list or any field is asked in `test_twins.py`."""


@pytest.mark.parametrize("refusal", REFUSALS)
def test_what_is_wrong_is_refused_with_its_place(server: LiveServer, refusal: Refusal) -> None:
    assert_refused(server.http.post(refusal.path, content=refusal.raw, headers=JSON), refusal)


@pytest.mark.parametrize(("bad", "code", "end"), BAD)
def test_the_first_bad_document_fails_the_request(server: LiveServer, bad: Any, code: str, end: str) -> None:
    for path in ("/v1/rerank", "/v2/rerank", "/rerank"):
        answer = server.http.post(path, json={"query": "a", "documents": [*GOOD, bad]})
        error = answer.json()["error"]
        assert (error["code"], error["param"], error["index"]) == (code, f"documents[2]{end}", 2)


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_good_documents_are_scored_and_bad_ones_have_an_error_and_no_score(server: LiveServer, path: str) -> None:
    documents = [GOOD[0], *(bad for bad, _, _ in BAD), GOOD[1]]
    body = server.ask(path, {"query": "a", "documents": documents, "on_error": "per_item", "top_n": 9}).json()
    want = server.ask(path, {"query": "a", "documents": GOOD}).json()["results"]
    got = {one["index"]: one["relevance_score"] for one in body["results"]}
    assert got == pytest.approx({5 * one["index"]: one["relevance_score"] for one in want}, abs=1e-6)
    assert [(one["index"], one["code"], one["param"]) for one in body["errors"]] == [
        (i, code, f"documents[{i}]{end}") for i, (_, code, end) in enumerate(BAD, 1)
    ]
    assert "errors" not in server.ask(path, {"query": "a", "documents": GOOD, "on_error": "per_item"}).json()


def test_a_pair_without_a_score_keeps_its_place(server: LiveServer) -> None:
    bad = BAD[0][0]
    asked = {"queries": ["a", bad, "b"], "documents": ["c", "d", bad], "on_error": "per_item"}
    data = server.ask("/score", asked).json()["data"]
    assert [one["score"] is None for one in data] == [False, True, True]
    assert [(one["error"]["param"], one["error"]["index"]) for one in data[1:]] == [
        ("queries[1].content[0].image_url", 1),
        ("documents[2].content[0].image_url", 2),
    ]


def test_a_bad_query_fails_the_request_whatever_happens_to_items(server: LiveServer) -> None:
    for bad, code, end in BAD:
        answer = server.http.post("/v1/rerank", json={"query": bad, "documents": GOOD, "on_error": "per_item"})
        error = answer.json()["error"]
        assert (error["code"], error["param"], error["index"]) == (code, f"query{end}", None)


def test_a_broken_text_fails_by_itself(server: LiveServer) -> None:
    half = b'{"content": [{"type": "text", "text": "\\ud800"}]}'
    raw = b'{"query": "a", "on_error": "per_item", "documents": ["ok", "\\ud800", %s]}' % half
    body = server.http.post("/v1/rerank", content=raw, headers=JSON).json()
    assert [one["index"] for one in body["results"]] == [0]
    assert [one["param"] for one in body["errors"]] == ["documents[1]", "documents[2].content[0].text"]
    refused = server.http.post("/v1/rerank", content=raw.replace(b'"a"', b'"\\ud800"'), headers=JSON).json()["error"]
    assert (refused["param"], refused["index"]) == ("query", None)


def test_unknown_fields_are_passed_over_where_the_server_says_so(bare_server: LiveServer) -> None:
    bare_server.ask("/v1/rerank", {"query": "a", "documents": [{"text": "a", "title": "b"}], "return_spans": 1})
