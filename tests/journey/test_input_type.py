"""`input_type`, `truncate` and `truncation` of `/v1/embeddings`: bodies as Voyage's and NVIDIA's clients send them."""

import json

import httpx
import numpy as np
import pytest

from tests.conftest import LiveServer, from_base64

LONG = "red " * 9000
QUERY = "Retrieve images or text relevant to the user's query."


def stream(server: LiveServer, query: str, *lines: dict) -> httpx.Response:
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    headers = {"content-type": "application/x-ndjson"}
    return server.http.post(f"/v1/embeddings/stream?{query}", content=body, headers=headers)


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("search_query", "search_query"),
        ("query", "search_query"),
        ("document", "search_document"),
        ("passage", "search_document"),
        ("clustering", "clustering"),
    ],
)
def test_a_name_picks_the_instruction_that_v2_picks(server: LiveServer, name: str, same: str) -> None:
    ours = server.vectors({"input": ["a red circle"], "input_type": name})
    for one in (name, same):
        v2 = server.ask("/v2/embed", {"texts": ["a red circle"], "input_type": one}).json()["embeddings"]["float"]
        np.testing.assert_array_equal(ours, np.array(v2, "<f4"))


def test_query_and_passage_differ(server: LiveServer) -> None:
    query, passage = (server.vectors({"input": "a red circle", "input_type": t}) for t in ("query", "passage"))
    assert np.abs(query - passage).max() > 1e-3


def test_own_words_win_over_the_name(server: LiveServer) -> None:
    own = {"instruction": "Represent the colors of the image."}
    system = {"role": "system", "content": own["instruction"]}
    turn = {"role": "user", "content": "a red circle"}
    want = server.vectors({"input": "a red circle", **own})
    for body in ({"input": "a red circle", **own}, {"messages": [system, turn]}):
        np.testing.assert_array_equal(server.vectors({**body, "input_type": "query"}), want)
    mixed = server.vectors({"messages": [[system, turn], [turn]], "input_type": "query"})
    np.testing.assert_allclose(mixed[0], want[0], atol=1e-6)
    np.testing.assert_allclose(mixed[1], server.vectors({"input": "a red circle", "input_type": "query"})[0], atol=1e-6)


def test_an_unknown_name_is_refused_with_those_that_are_known(server: LiveServer) -> None:
    error = server.refusal("/v1/embeddings", {"input": "a", "input_type": "queries"})
    assert (error["code"], error["param"]) == ("invalid_request", "input_type")
    for name in ("query", "document", "passage", "search_query"):
        assert name in error["message"]


def test_the_card_lists_every_name(server: LiveServer) -> None:
    (card, *_) = server.http.get("/v1/models").json()["data"]
    assert card["input_types"]["query"] == card["input_types"]["search_query"] == QUERY
    assert card["input_types"]["passage"] == card["input_types"]["document"] == card["input_types"]["search_document"]


def test_the_body_of_voyages_client(server: LiveServer) -> None:
    body = {"input": ["a red circle"], "model": "builtin", "input_type": "query", "truncation": True,
            "output_dtype": None, "output_dimension": None, "encoding_format": "base64"}  # fmt: skip
    answer = server.ask("/v1/embeddings", body).json()
    want = server.vectors({"input": ["a red circle"], "instruction": QUERY})
    np.testing.assert_array_equal(from_base64(answer["data"][0]["embedding"]), want[0])
    for field, value, meant in (("output_dimension", 64, "dimensions"), ("output_dtype", "int8", "embed_dtype")):
        error = server.refusal("/v1/embeddings", body | {field: value})
        assert (error["code"], error["param"]) == ("unknown_field", field)
        assert f"did you mean `{meant}`?" in error["message"]


@pytest.mark.parametrize("cut", [{"truncate": "END"}, {"truncation": True}, {"truncate": "START"}])
def test_a_long_text_is_cut_as_voyage_and_nvidia_cut_it(server: LiveServer, cut: dict) -> None:
    answer = server.ask("/v1/embeddings", {"input": [LONG], "input_type": "passage", **cut}).json()
    assert answer["data"][0]["truncated"] is True
    assert answer["usage"]["prompt_tokens"] == server.http.get("/v1/models").json()["data"][0]["max_tokens"]
    cohere = server.ask("/v2/embed", {"texts": ["a", LONG], "truncate": "END"}).json()
    assert cohere["meta"]["truncated_inputs"] == [1]


@pytest.mark.parametrize("cut", [{"truncate": "NONE"}, {"truncation": False}, {}])
def test_a_long_text_is_an_error_where_nothing_may_be_cut(server: LiveServer, cut: dict) -> None:
    error = server.refusal("/v1/embeddings", {"input": ["a", LONG], "input_type": "passage", **cut})
    assert (error["code"], error["index"]) == ("context_length_exceeded", 1)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"truncate": "END", "truncate_prompt_tokens": 8}, "truncate_prompt_tokens"),
        ({"truncation": True, "truncate": "END"}, "truncation"),
        ({"truncate": "END", "truncation_side": "left"}, "truncation_side"),
    ],
)
def test_two_ways_to_cut_are_one_too_many(server: LiveServer, fields: dict, param: str) -> None:
    error = server.refusal("/v1/embeddings", {"input": "a", **fields})
    assert (error["code"], error["param"]) == ("conflicting_input", param)


def test_the_stream_takes_it_for_all_lines_and_for_one(server: LiveServer) -> None:
    lines = [{"input": "a red circle"}, {"input": "a red circle", "input_type": "passage"},
             {"input": "a", "input_type": "x"}]  # fmt: skip
    answer = stream(server, "input_type=query", *lines)
    got = {one["index"]: one for one in map(json.loads, answer.text.splitlines()) if one["type"] != "end"}
    for index, name in ((0, "query"), (1, "passage")):
        want = server.vectors({"input": "a red circle", "input_type": name})
        np.testing.assert_allclose(np.array([got[index]["embedding"]], "<f4"), want, atol=1e-6)
    assert (got[2]["error"]["code"], got[2]["error"]["param"]) == ("invalid_request", "input_type")
    answer = stream(server, "input_type=x", *lines)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "input_type")


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v2/embed", "/v1/embed", "/tokenize"])
def test_an_unknown_field_that_is_null_is_absent(server: LiveServer, path: str) -> None:
    field = "texts" if "embed" in path and path != "/v1/embeddings" else "input"
    server.ask(path, {field: ["a"], "logprobs": None, "y": None})
    error = server.refusal(path, {field: ["a"], "logprobs": None, "y": 1})
    assert (error["code"], error["param"]) == ("unknown_field", "y")


@pytest.mark.parametrize(
    "fields",
    [
        *({name: 64} for name in ("output_dimension", "dimension")),
        *({name: "int8"} for name in ("output_dtype", "embedding_types", "encoding")),
    ],
)
def test_a_lenient_server_refuses_what_would_change_the_numbers(bare_server: LiveServer, fields: dict) -> None:
    (name,) = fields
    error = bare_server.refusal("/v1/embeddings", {"input": "a", "x": 1, **fields})
    assert (error["code"], error["param"]) == ("unknown_field", name)
    bare_server.ask("/v1/embeddings", {"input": "a", "x": 1, name: None})
    answer = stream(bare_server, f"{name}={fields[name]}")
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, name)
