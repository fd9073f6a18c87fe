"""A client's own names for images: scoped to it, bound to the content first seen, and asked for when not known."""

import base64
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.conftest import CHECKPOINT, LiveServer, data_uri, image, image_part, text_part


def named(uuid: str, url: str | None = None) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url} if url else None, "uuid": uuid}


def item(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"content": list(parts)}


def refused(server: LiveServer, body: dict[str, Any], path: str = "/v1/embeddings", **headers: str) -> dict[str, Any]:
    answer = server.http.post(path, json=body, headers=headers)
    error: dict[str, Any] = answer.json()["error"] | {"status": answer.status_code}
    return error


def test_a_name_alone_stands_for_the_image_that_it_came_with(server: LiveServer) -> None:
    want = server.vectors({"inputs": [item(named("u-1", image(201)), text_part("x"))]})
    again = server.ask("/v1/embeddings", {"inputs": [item(named("u-1"), text_part("x"))], "encoding_format": "base64"})
    assert again.headers["x-encoder-cache"] == "hit=1, miss=0"
    np.testing.assert_array_equal(server.vectors({"inputs": [item(named("u-1"), text_part("x"))]}), want)
    by_other_part = {"type": "image_embeds", "image_embeds": None, "uuid": "u-1"}
    np.testing.assert_array_equal(server.vectors({"inputs": [item(by_other_part, text_part("x"))]}), want)


def test_a_name_works_without_the_key_of_the_content_and_in_messages_and_on_coheres_route(server: LiveServer) -> None:
    want = server.vectors({"inputs": [item(named("u-2", image(202)))]})[0]
    part = {"type": "image_url", "uuid": "u-2"}
    np.testing.assert_array_equal(server.vectors({"messages": [{"role": "user", "content": [part]}]})[0], want)
    cohere = server.ask("/v2/embed", {"inputs": [item(part)]}).json()["embeddings"]["float"][0]
    np.testing.assert_allclose(cohere, want, rtol=0, atol=1e-7)


def test_within_a_request_one_upload_serves_many_instructions(bare_server: LiveServer) -> None:
    url = image(203)
    system = [{"role": "system", "content": f"Represent aspect {i}."} for i in range(4)]
    parts = [named("u-3", url)] + [named("u-3")] * 3
    mine = [[system[i], {"role": "user", "content": [parts[i]]}] for i in range(4)]
    full = [[system[i], {"role": "user", "content": [image_part(url)]}] for i in range(4)]
    got, want = bare_server.vectors({"messages": mine}), bare_server.vectors({"messages": full})
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5)


def test_unknown_names_are_all_listed_with_their_places(server: LiveServer) -> None:
    server.vectors({"inputs": [item(named("u-4", image(204)))]})
    inputs = [item(named("gone-1")), item(named("u-4")), item(text_part("x"), named("gone-2"), named("gone-1"))]
    error = refused(server, {"inputs": inputs})
    assert (error["status"], error["code"], error["index"]) == (400, "cache_miss", 0)
    assert error["missing"] == [
        {"uuid": "gone-1", "param": "inputs[0].content[0]", "index": 0},
        {"uuid": "gone-2", "param": "inputs[2].content[1]", "index": 2},
        {"uuid": "gone-1", "param": "inputs[2].content[2]", "index": 2},
    ]
    assert all(place["param"] in error["message"] for place in error["missing"])
    cohere = refused(server, {"inputs": inputs}, "/v2/embed")
    assert (cohere["status"], cohere["missing"]) == (400, error["missing"])


def test_with_per_item_each_input_lists_its_own_missing_names(server: LiveServer) -> None:
    inputs = [item(named("gone-1")), item(text_part("x")), item(named("gone-2"), named("gone-3"))]
    data = server.ask("/v1/embeddings", {"inputs": inputs, "on_error": "per_item"}).json()["data"]
    assert [[m["uuid"] for m in d["error"]["missing"]] if "error" in d else None for d in data] == [
        ["gone-1"],
        None,
        ["gone-2", "gone-3"],
    ]


def test_a_name_keeps_its_first_content_and_another_is_a_conflict(server: LiveServer) -> None:
    want = server.vectors({"inputs": [item(named("u-5", image(205)))]})
    error = refused(server, {"inputs": [item(text_part("x")), item(named("u-5", image(206)))]})
    assert (error["status"], error["code"], error["index"]) == (409, "uuid_conflict", 1)
    assert error["param"] == "inputs[1].content[0].uuid"
    np.testing.assert_array_equal(server.vectors({"inputs": [item(named("u-5", image(205)))]}), want)
    np.testing.assert_array_equal(server.vectors({"inputs": [item(named("u-5"))]}), want)


def test_one_name_with_two_contents_in_one_request_is_a_conflict(server: LiveServer) -> None:
    inputs = [item(named("u-6", image(207))), item(named("u-6", image(208)))]
    assert refused(server, {"inputs": inputs})["code"] == "uuid_conflict"
    assert refused(server, {"inputs": [item(named("u-6"))]})["code"] == "cache_miss"  # nothing was bound


def test_a_name_belongs_to_the_credentials_that_gave_it(server: LiveServer) -> None:
    body = {"inputs": [item(named("u-7", image(209)))]}
    server.http.post("/v1/embeddings", json=body, headers={"authorization": "Bearer one"}).raise_for_status()
    alone = {"inputs": [item(named("u-7"))]}
    assert server.http.post("/v1/embeddings", json=alone, headers={"authorization": "Bearer one"}).status_code == 200
    for headers in ({}, {"authorization": "Bearer two"}):
        assert refused(server, alone, **headers)["code"] == "cache_miss"
    other = {"inputs": [item(named("u-7", image(210)))]}
    assert server.http.post("/v1/embeddings", json=other, headers={"authorization": "Bearer two"}).status_code == 200


@pytest.mark.parametrize("broken", [image(211).partition(",")[2][:-60], base64.b64encode(b"nothing").decode()])
def test_an_image_that_failed_keeps_no_name(server: LiveServer, broken: str) -> None:
    bad = server.http.post("/v1/embeddings", json={"inputs": [item(named("u-8", broken))]})
    assert bad.status_code == 422
    assert refused(server, {"inputs": [item(named("u-8"))]})["code"] == "cache_miss"


def test_a_part_with_neither_content_nor_name_says_what_it_needs(server: LiveServer) -> None:
    error = refused(server, {"inputs": [item({"type": "image_url"})]})
    assert (error["status"], error["param"], error["index"]) == (400, "inputs[0].content[0].image_url", 0)
    assert "uuid" in error["message"]


def test_what_the_engine_forgot_is_read_again_and_never_a_miss(bare_server: LiveServer) -> None:
    """This server keeps no features at all: a name alone is enough all the same."""
    want = bare_server.vectors({"inputs": [item(named("u-9", image(212)))]})
    np.testing.assert_array_equal(bare_server.vectors({"inputs": [item(named("u-9"))]}), want)


@pytest.mark.slow
def test_the_store_never_outgrows_its_cap(start_server: Callable[..., LiveServer]) -> None:
    one = base64.b64decode(image(0, 256, 256).partition(",")[2])
    cap = 3 * len(one) + len(one) // 2
    server = start_server("--model", str(CHECKPOINT), "--media-store-bytes", str(cap)).wait_until_ready()
    for seed in range(8):
        server.vectors({"inputs": [item(named(f"k-{seed}", image(seed, 256, 256)))]})
        assert server.metric("cenote_uuid_store_bytes") <= cap
    assert server.metric("cenote_uuid_store_bytes") > 0
    assert refused(server, {"inputs": [item(named("k-0"))]})["code"] == "cache_miss"
    server.vectors({"inputs": [item(named("k-7"))]})
    large = data_uri(one + bytes(cap))  # bytes after an image's end are ignored by the decoder and kept by the store
    server.vectors({"inputs": [item(named("k-large", large))]})
    assert refused(server, {"inputs": [item(named("k-large"))]})["code"] == "cache_miss"
    assert server.metric("cenote_uuid_store_bytes") <= cap
