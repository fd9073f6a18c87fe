"""An input refused in one place is refused in all places of its kind, with the same code and the field's own path.

Places are where texts, contents, scored items and lists of them stand in the bodies of all routes; beside them stand
the fields that several routes have.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import LiveServer, image, image_part, text_part
from tests.journey.test_per_item import BROKEN

pytestmark = pytest.mark.usefixtures("no_server_fault")

V1, V2, STREAM = "/v1/embeddings", "/v2/embed", "/v1/embeddings/stream"


@dataclass(frozen=True)
class Place:
    """A place in the body of a route.

    Attributes:
        path: of the route.
        param: the place, as an error names it.
        body: with a value there.
    """

    path: str
    param: str
    body: Callable[[Any], dict[str, Any]]

    def inner(self, suffix: str, around: Callable[[Any], Any]) -> "Place":
        """A place below this one."""
        return Place(self.path, self.param + suffix, lambda value: self.body(around(value)))


def scored(path: str, queries: str, documents: str, *, several: bool) -> tuple[Place, Place]:
    """Both sides of a request for scores: lists, or the only item of one."""
    query = Place(path, queries, lambda value: {queries: value, documents: ["a"]})
    if not several:
        return query, Place(path, documents, lambda value: {queries: "a", documents: value})
    return query, Place(path, f"{documents}[0]", lambda value: {queries: "a", documents: [value]})


SCORED = [
    *scored("/v1/rerank", "query", "documents", several=True),
    *scored("/v2/rerank", "query", "documents", several=True),
    *scored("/rerank", "query", "documents", several=True),
    *scored("/rerank", "query", "texts", several=True),
    *scored("/v1/ranking", "query", "passages", several=True),
    *(
        place
        for one, other in (("queries", "documents"), ("text_1", "text_2"), ("data_1", "data_2"))
        for path, several in (("/score", True), ("/v1/score", False))
        for place in scored(path, one, other, several=several)
    ),
]
"""A query or a document."""

TEXTS = [
    Place(V1, "input", lambda value: {"input": value}),
    Place(V1, "input[1]", lambda value: {"input": ["a", value]}),
    Place(V2, "texts[0]", lambda value: {"texts": [value]}),
    Place("/v1/embed", "texts[1]", lambda value: {"texts": ["a", value]}),
    Place("/embed", "inputs[0]", lambda value: {"inputs": [value]}),
    Place("/tokenize", "input[0]", lambda value: {"input": [value]}),
    Place("/tokenize", "prompt", lambda value: {"prompt": value}),
    Place("/v1/tokenize", "text", lambda value: {"text": value}),
    Place(STREAM, "input", lambda value: {"input": value}),
    *(one.inner(".text", lambda value: {"text": value}) for one in SCORED),
]

CONTENTS = [
    Place(V1, "inputs[0].content", lambda value: {"inputs": [{"content": value}]}),
    Place(V1, "messages[0].content", lambda value: {"messages": [{"role": "user", "content": value}]}),
    Place(V1, "messages[0][0].content", lambda value: {"messages": [[{"role": "user", "content": value}]]}),
    Place(V2, "inputs[0].content", lambda value: {"inputs": [{"content": value}]}),
    Place("/tokenize", "inputs[0].content", lambda value: {"inputs": [{"content": value}]}),
    Place("/tokenize", "messages[0].content", lambda value: {"messages": [{"role": "user", "content": value}]}),
    Place(STREAM, "content", lambda value: {"content": value}),
    Place(STREAM, "messages[0].content", lambda value: {"messages": [{"role": "user", "content": value}]}),
    *(one.inner(".content", lambda value: {"content": value}) for one in SCORED),
]

LISTS = [
    Place(V1, "input", lambda value: {"input": value}),
    Place(V1, "inputs", lambda value: {"inputs": value}),
    Place(V1, "messages", lambda value: {"messages": value}),
    Place(V2, "texts", lambda value: {"texts": value}),
    Place(V2, "images", lambda value: {"images": value}),
    Place(V2, "inputs", lambda value: {"inputs": value}),
    Place("/v1/embed", "texts", lambda value: {"texts": value}),
    Place("/v1/embed", "images", lambda value: {"images": value}),
    Place("/embed", "inputs", lambda value: {"inputs": value}),
    Place("/tokenize", "input", lambda value: {"input": value}),
    Place("/tokenize", "inputs", lambda value: {"inputs": value}),
    Place("/v1/image_embeds", "images", lambda value: {"images": value}),
    *(Place(path, "documents", lambda value: {"query": "a", "documents": value}) for path in ("/v1/rerank", "/rerank")),
    Place("/v2/rerank", "documents", lambda value: {"query": "a", "documents": value}),
    Place("/rerank", "texts", lambda value: {"query": "a", "texts": value}),
    Place("/v1/ranking", "passages", lambda value: {"query": "a", "passages": value}),
    *(
        Place(path, names[side], lambda value, names=names, side=side: {names[side]: value, names[1 - side]: "a"})
        for path in ("/score", "/v1/score")
        for names in (("queries", "documents"), ("text_1", "text_2"), ("data_1", "data_2"))
        for side in (0, 1)
    ),
]

Said = tuple[Any, str, str]
"""A value, the code of its refusal, and what of its place is at fault."""

URI, NO_IMAGE = image(31), "data:image/png;base64,bm8="
BAD_TEXTS: list[Said] = [
    *((value, "invalid_request", "") for value in (1.5, True, {}, {"a": 1}, "\ud83d", "a\udc00")),
]

BAD_CONTENTS: list[Said] = [
    ([], "empty_input", ""),
    *((value, "invalid_request", "") for value in (5, True, {}, "\ud83d", URI)),
    *(([value], "invalid_request", "[0]") for value in (None, 5, "a", [], ["a"])),
    ([{}], "invalid_request", "[0].type"),
    ([{"type": 1}], "invalid_request", "[0].type"),
    ([{"type": "nope"}], "invalid_request", "[0].type"),
    ([{"type": "text"}], "invalid_request", "[0].text"),
    ([{"type": "text", "text": None}], "invalid_request", "[0].text"),
    *(([text_part("a"), text_part(bad)], "invalid_request", "[1].text") for bad in ("\ud83d", URI)),
    ([{"type": "text", "text": "a", "nope": 1}], "unknown_field", "[0].nope"),
    ([{"type": "text", "text": "a"}] * 33, "too_many_inputs", ""),
    ([{"type": "image_url"}], "invalid_request", "[0].image_url"),
    ([{"type": "image_url", "uuid": ""}], "invalid_request", "[0].uuid"),
    ([{"type": "image_url", "uuid": "nobody-knows"}], "cache_miss", "[0]"),
    ([image_part("")], "media_undecodable", "[0].image_url"),
    ([image_part("bm8=")], "media_undecodable", "[0].image_url"),
    ([image_part("https://example.com/a.png")], "media_source_refused", "[0].image_url"),
    ([{"type": "image_embeds"}], "invalid_request", "[0].image_embeds"),
    ([{"type": "video_url"}], "invalid_request", "[0].video_url"),
    ([{"type": "file"}], "invalid_request", "[0].file"),
]

BAD_ITEMS: list[Said] = [
    *((value, "invalid_request", "") for value in (5, 1.5, True)),
    *((value, "missing_input", "") for value in ({}, {"text": None}, {"content": None, "image": None})),
    ({"text": "a", "content": "b"}, "conflicting_input", ""),
    ({"text": "a", "image": "b"}, "media_undecodable", ".image"),
    ({"nope": 1}, "unknown_field", ".nope"),
    ({"image": 5}, "invalid_request", ".image"),
    ({"image": ""}, "media_undecodable", ".image"),
    ({"image": BROKEN}, "media_undecodable", ".image"),
    ("\ud83d", "invalid_request", ""),
    (BROKEN, "media_undecodable", ""),
]

BAD_LISTS: list[Said] = [
    ([], "empty_input", ""),
    *((value, "invalid_request", "") for value in (5, 1.5, True)),
    *(([value], "invalid_request", "[0]") for value in (None, True, 1.5)),
]


def fault_of(server: LiveServer, place: Place, said: Said) -> str | None:
    """Find the fault of a refusal; None where there is none."""
    value, code, suffix = said
    kind = "application/x-ndjson" if place.path == STREAM else "application/json"
    raw = json.dumps(place.body(value)).encode()
    answer = server.http.post(place.path, content=raw, headers={"content-type": kind})
    error = json.loads(answer.text.splitlines()[0]).get("error") or {}
    got, want = (error.get("code"), error.get("param")), (code, place.param + suffix)
    is_right = got == want and f"`{want[1]}`" in error["message"] and len(error["message"]) < 600
    return None if is_right else f"{place.path} {ascii(value)[:80]}: expected {want}, got {got}: {error.get('message')}"


@pytest.mark.parametrize(
    ("places", "bad"),
    [
        (TEXTS, BAD_TEXTS),
        ([one for one in TEXTS if one.path != "/v1/tokenize"], [(NO_IMAGE, "media_undecodable", "")]),  # of text
        (CONTENTS, BAD_CONTENTS),
        (SCORED, BAD_ITEMS),
        (LISTS, BAD_LISTS),
    ],
    ids=["texts", "texts that are media", "contents", "scored items", "lists"],
)
def test_a_place_refuses_what_its_twins_refuse(server: LiveServer, places: list[Place], bad: list[Said]) -> None:
    faults = [fault_of(server, place, said) for said in bad for place in places]
    assert [fault for fault in faults if fault is not None] == []


GOOD: Mapping[str, dict[str, Any]] = {
    V1: {"input": ["a"]},
    V2: {"texts": ["a"]},
    "/v1/embed": {"texts": ["a"]},
    "/embed": {"inputs": ["a"]},
    "/tokenize": {"input": ["a"]},
    "/detokenize": {"tokens": [5]},
    "/v1/tokenize": {"text": "a"},
    "/v1/detokenize": {"tokens": [5]},
    "/v1/image_embeds": {"images": [image_part(image(1))]},
    "/v1/rerank": {"query": "a", "documents": ["b"]},
    "/v2/rerank": {"query": "a", "documents": ["b"]},
    "/rerank": {"query": "a", "texts": ["b"]},
    "/v1/ranking": {"query": "a", "passages": ["b"]},
    "/score": {"queries": "a", "documents": ["b"]},
    "/v1/score": {"text_1": "a", "text_2": "b"},
}

NO_COLORS = ("", "red", "#fff", "#gggggg", "ff0000", "#ff0000\n", "#FF00000", 7)
BAD_FIELDS: list[tuple[str, Any, str]] = [
    *(("model", value, "model_not_found") for value in ("", "nope", "a b")),
    ("model", 5, "invalid_request"),
    *(("instruction", value, "invalid_request") for value in (5, ["a"], "\ud83d")),
    *(("dimensions", value, "invalid_request") for value in (0, -1, "64", 64.5)),
    ("dimensions", 99_999, "invalid_dimensions"),
    *(("output_dimension", value, "invalid_request") for value in (0, "64")),
    *(("input_type", value, "invalid_request") for value in ("", "nope", 5)),
    *(("prompt_name", value, "invalid_request") for value in ("", "nope", 5)),
    *(("truncate_prompt_tokens", value, "invalid_request") for value in (0, -2, "1", 99_999)),
    *(("max_tokens", value, "invalid_request") for value in (0, "1")),
    *(("max_tokens_per_doc", value, "invalid_request") for value in (0, -1, "1")),
    *(("max_tokens_per_query", value, "invalid_request") for value in (0, -1, "1")),
    *(("truncation_side", value, "invalid_request") for value in ("", "nope", 5)),
    *(("truncate", value, "invalid_request") for value in ("", "nope", 5)),
    *(("embed_dtype", value, "invalid_request") for value in ("", "nope", 5)),
    *(("endianness", value, "invalid_request") for value in ("", "middle", 5)),
    *(("encoding_format", value, "invalid_request") for value in ("", "nope", 5)),
    *(("embedding_types", value, "invalid_request") for value in ([], "float", 5)),
    *(("image_background", value, "invalid_request") for value in NO_COLORS),
    *(("on_error", value, "invalid_request") for value in ("", "nope", True)),
    *(("part_order", value, "invalid_request") for value in ("", "nope", 5)),
    *(("normalize", value, "invalid_request") for value in (0, "true")),
    *(("top_n", value, "invalid_request") for value in (0, -1, "1")),
    *(("return_documents", value, "invalid_request") for value in (0, "true")),
    *(("priority", value, "invalid_request") for value in (-1, 1000, "1")),
    *(("user", value, "invalid_request") for value in (5, ["a"])),
    ("nope", 1, "unknown_field"),
]


@pytest.mark.parametrize("path", GOOD)
def test_a_field_is_refused_with_its_name_wherever_it_stands(server: LiveServer, path: str) -> None:
    assert server.http.post(path, json=GOOD[path]).status_code == 200
    faults = []
    for name, value, code in BAD_FIELDS:
        place = Place(path, name, lambda value, name=name: GOOD[path] | {name: value})
        fault = fault_of(server, place, (value, code, ""))
        if fault is not None and fault_of(server, place, (value, "unknown_field", "")) is not None:
            faults.append(fault)
    assert faults == []


@pytest.mark.parametrize("documents", ["documents", "text_2", "data_2"])
def test_a_broken_text_is_its_items_own_under_every_name(server: LiveServer, documents: str) -> None:
    queries = {"documents": "queries", "text_2": "text_1", "data_2": "data_1"}[documents]
    raw = json.dumps({queries: "a", documents: ["b", "\ud83d"], "on_error": "per_item"}).encode()
    answer = server.http.post("/score", content=raw, headers={"content-type": "application/json"})
    good, bad = answer.json()["data"]
    assert good["score"] is not None
    assert (bad["score"], bad["error"]["param"], bad["error"]["index"]) == (None, f"{documents}[1]", 1)


def test_an_empty_name_of_a_model_is_called_so(server: LiveServer) -> None:
    error = server.http.post(V1, json={"input": "a", "model": ""}).json()["error"]
    assert "got an empty string" in error["message"]
