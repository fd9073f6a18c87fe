"""Two models on two fronts: each request finds its own, and each is told what is served for what it wants."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import CHECKPOINT, TOLERANCE, LiveServer, image, image_part, until
from tests.several_models import ASKED, OFFICIAL, TEXTS, write_tables
from tests.stream_client import NDJSON

RERANK = ("/v1/rerank", "/v2/rerank", "/rerank")


@pytest.fixture(scope="module")
def both(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    server = start_server(*write_tables(tmp_path_factory.mktemp("tables")), "--fronts", "2").wait_until_ready()
    yield server
    assert server.stop() == 0


def scores(server: LiveServer, path: str = "/v1/rerank", **more: Any) -> np.ndarray:
    results = server.ask(path, ASKED | more).json()["results"]
    return np.array([one["relevance_score"] for one in sorted(results, key=lambda one: one["index"])])


def refused(server: LiveServer, path: str, body: dict[str, Any], status: int = 400) -> dict[str, Any]:
    answer = server.http.post(path, json=body)
    assert answer.status_code == status, answer.text
    error: dict[str, Any] = answer.json().get("error") or answer.json()
    return error


def test_each_model_answers_as_it_does_by_itself(both: LiveServer, server: LiveServer) -> None:
    for name in ("search", None):
        want = server.vectors({"input": TEXTS})
        np.testing.assert_allclose(both.vectors({"input": TEXTS, "model": name}), want, rtol=0, atol=1e-6)
    for path in RERANK:
        for name in ("rank", None):
            np.testing.assert_allclose(scores(both, path, model=name), OFFICIAL, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(scores(both, model="search"), scores(server), rtol=0, atol=1e-6)


def test_an_answer_names_the_model_that_gave_it(both: LiveServer) -> None:
    assert both.ask("/v1/embeddings", {"input": "x"}).json()["model"] == "search"
    assert both.ask("/v1/rerank", ASKED).json()["model"] == "rank"
    for alias in ("search-embed", CHECKPOINT.name):  # the folder's name is that of the first which has it
        assert both.ask("/v1/embeddings", {"input": "x", "model": alias}).json()["model"] == alias


def test_every_model_is_listed_with_what_it_is_for(both: LiveServer) -> None:
    cards = {card["id"]: card for card in both.http.get("/v1/models").json()["data"]}
    assert (cards["search"]["endpoints"], cards["rank"]["endpoints"]) == (["embed", "rerank"], ["rerank"])
    assert both.http.get("/v1/models/rank").json() == cards["rank"]
    assert cards["search"]["fingerprint"] != cards["rank"]["fingerprint"]
    assert cards["search"]["aliases"] == [CHECKPOINT.name, "search-embed"]
    assert cards["rank"]["aliases"] == ["rank-rerank"]
    health = both.http.get("/readyz").json()
    assert health == {
        "status": "ok",
        "detail": None,
        "models": [{"name": name, "status": "ok", "detail": None} for name in ("search", "rank")],
    }


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"input": "x"}),
        ("/v2/embed", {"texts": ["x"], "input_type": "search_query"}),
        ("/v1/embeddings/stream?model=rank", {}),
    ],
)
def test_a_model_of_the_wrong_kind_is_refused_with_the_right_one(
    both: LiveServer, path: str, body: dict[str, Any]
) -> None:
    if "stream" in path:
        answer = both.http.post(path, content=b'{"input": "x"}\n', headers=NDJSON)
        assert answer.status_code == 400, answer.text
        error = answer.json()["error"]
    else:
        error = refused(both, path, body | {"model": "rank"})
        error = error if "message" in error else error["error"]
    assert "rank is a reranker" in error["message"]
    assert error["message"].endswith("served here for it: search")


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/rerank"])
def test_an_unknown_name_is_refused_with_all_that_are_known(both: LiveServer, path: str) -> None:
    error = refused(both, path, {"model": "other", **({"input": "x"} if "embed" in path else ASKED)}, 404)
    assert "got 'other'" in error["message"]
    assert "search" in error["message"]
    assert "rank" in error["message"]


def test_features_and_prompts_are_the_embedders_where_no_model_is_named(both: LiveServer, server: LiveServer) -> None:
    body = {"images": [image_part(image(1))]}
    own, theirs = (one.ask("/v1/image_embeds", body).json()["data"][0] for one in (both, server))
    assert own["part"]["image_embeds"] == theirs["part"]["image_embeds"]
    assert both.ask("/tokenize", {"input": "x"}).json() == server.ask("/tokenize", {"input": "x"}).json()


def test_a_name_for_an_image_is_of_one_model(both: LiveServer) -> None:
    named = {"type": "image_url", "uuid": "cat"}
    both.ask("/v1/embeddings", {"inputs": [{"content": [image_part(image(2)) | {"uuid": "cat"}]}]})
    both.ask("/v1/embeddings", {"inputs": [{"content": [named]}]})
    body = {"query": "x", "documents": [{"content": [named]}], "model": "rank"}
    assert refused(both, "/v1/rerank", body)["code"] == "cache_miss"
    both.ask("/v1/rerank", body | {"documents": [{"content": [image_part(image(3)) | {"uuid": "cat"}]}]})
    both.ask("/v1/rerank", body)


@pytest.fixture(scope="module")
def twins(start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    """The same checkpoint twice."""
    flags = ("--fronts", "2", "--model", f"one={CHECKPOINT}", "--model", f"two={CHECKPOINT}")
    server = start_server(*flags).wait_until_ready()
    yield server
    assert server.stop() == 0
    assert not list(Path("/dev/shm").glob(f"cenote-towers-{server.process.pid}"))


@pytest.mark.slow
def test_two_embedders_want_a_name(twins: LiveServer) -> None:
    server = twins
    error = refused(server, "/v1/embeddings", {"input": "x"})
    assert error["message"].endswith("expected one of one, two")
    vectors = [server.vectors({"input": "x", "model": name}) for name in ("one", "two", CHECKPOINT.name)]
    assert len({row.tobytes() for row in vectors}) == 1
    assert server.engine_pid("one") != server.engine_pid("two")


@pytest.mark.slow
def test_an_image_is_encoded_once_for_models_with_one_tower(twins: LiveServer) -> None:
    assert "one and two have the same vision tower" in twins.log.read_text()
    body = {"inputs": [{"content": [image_part(image(77))]}]}
    before = twins.metric("cenote_vision_encodes_total")
    first = twins.vectors(body | {"model": "one"})
    until(lambda: twins.metric("cenote_encoder_cache_tier_entries", model="one", tier="disk") > 0, "the features' file")
    second = twins.vectors(body | {"model": "two"})
    assert first.tobytes() == second.tobytes()
    assert twins.metric("cenote_vision_encodes_total") == before + 1
    part = twins.ask("/v1/image_embeds", {"images": [image_part(image(77))], "model": "one"}).json()["data"][0]["part"]
    third = twins.vectors({"inputs": [{"content": [part]}], "model": "two"})
    np.testing.assert_allclose(third, second, rtol=0, atol=1e-6)


def test_models_with_other_weights_share_nothing(both: LiveServer) -> None:
    assert "the same vision tower" not in both.log.read_text()


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_ends_the_start_for_all(start_server: Callable[..., LiveServer]) -> None:
    server = start_server("--model", f"search={CHECKPOINT}", "--model", "rank=builtin", "--device", "cuda:7")
    assert server.ended() == 1
