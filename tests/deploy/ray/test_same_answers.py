"""Whoever asks the cluster gets what `cenote serve` answers: the vectors, the counts, and every error word for word."""

import base64
from typing import Any

import httpx
import numpy as np
import pytest

from tests.conftest import LiveServer, from_base64, image, image_part, text_part
from tests.deploy.ray.cluster import Cluster

TOLERANCE = 1e-6
IMAGE, OTHER = image(1), image(2, 128, 96)
BROKEN = "data:image/png;base64," + base64.b64encode(base64.b64decode(IMAGE.partition(",")[2])[:90]).decode()
"""A header that is well, and nothing behind it: only the embedder, which decodes, can tell."""

BODIES: dict[str, dict[str, Any]] = {
    "a text": {"input": "a red bicycle against a wall"},
    "texts": {"input": [f"text number {number}" for number in range(150)]},
    "an image": {"inputs": [{"content": [image_part(IMAGE)]}]},
    "an image under an instruction": {
        "instruction": "Represent the colors of the image.",
        "inputs": [{"content": [image_part(IMAGE)]}],
    },
    "images and texts in one input": {
        "inputs": [
            {"content": [image_part(IMAGE), image_part(OTHER), text_part("two")]},
            {"content": [text_part("one")]},
            {"content": [image_part(OTHER)]},
        ],
        "dimensions": 64,
    },
    "one input of three is broken": {
        "inputs": [{"content": [image_part(url)]} for url in (IMAGE, BROKEN, OTHER)],
        "on_error": "per_item",
    },
}
WRONG: dict[str, dict[str, Any]] = {
    "no input": {},
    "an unknown field": {"input": "a", "colour": "red"},
    "a length that is not offered": {"input": "a", "dimensions": 7},
    "another model": {"input": "a", "model": "gpt-5"},
    "an image that cannot be decoded": {"inputs": [{"content": [image_part(url)]} for url in (IMAGE, BROKEN)]},
    "two of them, of which the first is named": {
        "inputs": [{"content": [image_part(url)]} for url in (OTHER, BROKEN, image(9)[:-200], IMAGE)]
    },
    "an image that nobody fetches": {"inputs": [{"content": [image_part("https://a.example/b.png")]}]},
    "an unknown uuid": {"inputs": [{"content": [{"type": "image_url", "uuid": "never-sent"}]}]},
}


def without_ids(answer: httpx.Response) -> Any:
    """The body, but for what is new each time, and vectors as numbers."""
    body = answer.json()
    for name in ("id", "created"):
        body.pop(name, None)
    for error in (body.get("error"), *(one.get("error") for one in body.get("data", []))):
        if error:
            error.pop("request_id")
    return body


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_vectors_and_counts_are_those_of_a_plain_server(
    body: dict[str, Any], cluster: Cluster, plain: LiveServer
) -> None:
    asked = body | {"encoding_format": "base64"}
    ours, theirs = (without_ids(server.http.post("/v1/embeddings", json=asked)) for server in (cluster, plain))
    mine, wanted = ([one.pop("embedding") for one in answer["data"]] for answer in (ours, theirs))
    for usage in (ours["usage"], theirs["usage"]):
        usage |= dict.fromkeys(("encoder_cache_hits", "encoder_cache_misses"), 0)  # caches differ
        usage["prompt_tokens_details"]["cached_tokens"] = 0
    assert ours == theirs
    for one, other in zip(mine, wanted, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(from_base64(one), from_base64(other), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG.keys())
def test_an_error_is_word_for_word_that_of_a_plain_server(
    body: dict[str, Any], cluster: Cluster, plain: LiveServer
) -> None:
    ours, theirs = (server.http.post("/v1/embeddings", json=body) for server in (cluster, plain))
    assert ours.status_code == theirs.status_code >= 400
    assert without_ids(ours) == without_ids(theirs)
    assert ours.headers["content-type"] == theirs.headers["content-type"]


def test_a_deadline_gives_the_same_error_as_without_ray(cluster: Cluster, plain: LiveServer) -> None:
    body = {"input": [f"{number} " * 200 for number in range(64)]}
    headers = {"x-request-timeout": "0.02"}
    ours, theirs = (server.http.post("/v1/embeddings", json=body, headers=headers) for server in (cluster, plain))
    assert (ours.status_code, without_ids(ours)) == (theirs.status_code, without_ids(theirs))
    assert ours.status_code == 504


def test_features_come_out_and_go_in_again(cluster: Cluster, plain: LiveServer) -> None:
    part = cluster.ask({"images": [image_part(IMAGE)]}, "/v1/image_embeds").json()["data"][0]
    part = part.get("content", part.get("part", part))
    again = {"inputs": [{"content": [part]}], "encoding_format": "base64"}
    direct = {"inputs": [{"content": [image_part(IMAGE)]}], "encoding_format": "base64"}
    ours = from_base64(cluster.ask(again).json()["data"][0]["embedding"])
    theirs = from_base64(plain.ask("/v1/embeddings", direct).json()["data"][0]["embedding"])
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)  # features cross as float16


def test_the_card_of_the_model_is_that_of_a_plain_server(cluster: Cluster, plain: LiveServer) -> None:
    ours, theirs = (server.http.get("/v1/models/builtin").json() for server in (cluster, plain))
    assert ours | {"created": 0} == theirs | {"created": 0}


def test_an_answer_has_one_request_id_which_is_the_clients(cluster: Cluster) -> None:
    answer = cluster.http.post("/v1/embeddings", json={"input": 7}, headers={"x-request-id": "mine-1"})
    assert answer.headers.get_list("x-request-id") == ["mine-1"]
    assert answer.json()["error"]["request_id"] == "mine-1"
