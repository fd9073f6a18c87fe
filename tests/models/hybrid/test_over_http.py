"""BGE-M3 through a live server: three kinds in one request, each alone, and what is bounded."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from schemas.endpoints.embed import EmbedResponse
from tests.conftest import TOLERANCE, LiveServer
from tests.models.hybrid.checkpoints import Reference, Vectors, bge_m3
from tests.models.text.texts import TEXTS

MAX_BYTES = 60_000
FEW = list(TEXTS[:10])
KINDS = ["float", "sparse", "multi_float"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bge_m3(tmp_path_factory.mktemp("m3") / "bge-m3-small")


@pytest.fixture(scope="module")
def server(folder: Path, start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    limits = ("--max-features-bytes", str(MAX_BYTES), "--result-cache-bytes", str(1 << 20))
    server = start_server("--model", str(folder), *limits).wait_until_ready()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def want(folder: Path) -> list[Vectors]:
    return Reference(folder).all(FEW)


def check(found: dict[str, Any], want: list[Vectors], kinds: list[str]) -> None:
    assert set(found) == set(kinds)
    for index, (dense, sparse, tokens) in enumerate(want):
        if "float" in kinds:
            assert np.abs(np.array(found["float"][index]) - dense.numpy()).max() <= TOLERANCE
        if "multi_float" in kinds:
            assert np.abs(np.array(found["multi_float"][index]) - tokens.numpy()).max() <= TOLERANCE
        if "sparse" in kinds:
            one = found["sparse"][index]
            assert one["indices"] == sorted(sparse)
            assert np.abs(np.array(one["values"]) - [sparse[i] for i in one["indices"]]).max(initial=0) <= TOLERANCE


@pytest.mark.parametrize("kinds", [KINDS, ["sparse"], ["multi_float"], ["float"], ["sparse", "float"]])
def test_all_kinds_and_each_alone_are_the_references(server: LiveServer, want: list[Vectors], kinds: list[str]) -> None:
    for _ in range(2):  # the second answer may come from a cache, but of no other kind
        answer = server.ask("/v2/embed", {"texts": FEW, "embedding_types": kinds})
        msgspec.json.decode(answer.content, type=EmbedResponse)
        check(answer.json()["embeddings"], want, kinds)


def test_routes_of_one_kind_give_it(server: LiveServer, want: list[Vectors]) -> None:
    data = server.ask("/v1/embeddings", {"input": FEW}).json()["data"]
    check({"float": [one["embedding"] for one in data]}, want, ["float"])
    check(server.ask("/v2/embed", {"texts": FEW}).json()["embeddings"], want, ["float"])
    pairs = server.ask("/embed_sparse", {"inputs": FEW}).json()
    found = [{"indices": [one["index"] for one in row], "values": [one["value"] for one in row]} for row in pairs]
    check({"sparse": found}, want, ["sparse"])
    scores = server.ask("/v1/rerank", {"query": FEW[0], "documents": FEW[:2]}).json()["results"]
    assert abs(scores[0]["relevance_score"] - 1) <= TOLERANCE


def test_other_formats_of_token_vectors_stand_beside_those_of_the_dense_one(server: LiveServer) -> None:
    kinds = ["float", "int8", "multi_ubinary", "multi_float"]
    found = server.ask("/v2/embed", {"texts": FEW, "embedding_types": kinds}).json()["embeddings"]
    for rows, bits in zip(found["multi_float"], found["multi_ubinary"], strict=True):
        assert np.array_equal(np.unpackbits(np.array(bits, np.uint8), axis=1), np.array(rows) >= 0)
    assert [len(one) for one in found["int8"]] == [len(one) for one in found["float"]]


def test_its_card_lists_all_three(server: LiveServer) -> None:
    card = server.http.get("/v1/models").json()["data"][0]
    assert (card["outputs"], card["scoring"]) == (["dense", "sparse", "multi"], "cosine")
    assert card["max_vectors_per_input"] == card["max_tokens"]


def test_a_bad_text_leaves_its_place_empty_in_every_kind(server: LiveServer, want: list[Vectors]) -> None:
    body = {"texts": [FEW[0], "x " * 900], "truncate": "NONE", "on_error": "per_item", "embedding_types": KINDS}
    answer = server.ask("/v2/embed", body).json()
    check({kind: rows[:1] for kind, rows in answer["embeddings"].items()}, want[:1], KINDS)
    failed = {kind: rows[1] for kind, rows in answer["embeddings"].items()}
    assert failed == {"float": [], "sparse": {"indices": [], "values": []}, "multi_float": []}


def test_token_vectors_that_are_too_many_are_refused_before_the_model_runs(server: LiveServer) -> None:
    answer = server.http.post("/v2/embed", json={"texts": list(TEXTS), "embedding_types": ["multi_float"]})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "too_many_inputs"
    server.ask("/v2/embed", {"texts": list(TEXTS)})
    assert server.metric("cenote_answer_bytes") == 0
