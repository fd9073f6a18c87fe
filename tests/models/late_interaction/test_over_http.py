"""ColQwen2 through a live server: its vectors in fields of their own, what is refused, what is bounded."""

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from PIL import Image

from schemas.endpoints.embed import EmbedResponse
from tests.builders import image_bytes
from tests.conftest import TOLERANCE, LiveServer, data_uri, image_part, text_part
from tests.models.late_interaction.reference import ColQwen2Reference
from tests.models.vlm.images import EXACT, LARGE, SMALL, TALL, image

QUERIES = ["Which lighthouse stands on a cliff?", "", "Wo steht der Leuchtturm?"]
PAGES = [SMALL, TALL, LARGE]
MAX_BYTES = 400_000
"""About 780 vectors of 128 numbers in float32."""


@pytest.fixture(scope="module")
def late(folder: Path, start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    server = start_server("--model", str(folder), "--max-features-bytes", str(MAX_BYTES)).wait_until_ready()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def reference(folder: Path) -> ColQwen2Reference:
    return ColQwen2Reference(folder)


def uri(image: Image.Image) -> str:
    return data_uri(image_bytes(image))


def embeddings(server: LiveServer, body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = server.ask("/v2/embed", body).json()["embeddings"]
    return found


def vectors(server: LiveServer, **body: object) -> list[np.ndarray]:
    """`[tokens, 128]` for each input, in the default type."""
    found = embeddings(server, body)
    assert list(found) == ["multi_float"]
    return [np.array(one, "<f4") for one in found["multi_float"]]


def difference(got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> float:
    assert [one.shape for one in got] == [one.shape for one in want]
    return max(float(np.abs(one - other).max()) for one, other in zip(got, want, strict=True))


def refusal(server: LiveServer, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = server.http.post(path, json=body)
    error: dict[str, Any] = answer.json()["error"]
    return error | {"status": answer.status_code}


def test_queries_and_pages_have_the_references_vectors_and_scores(
    late: LiveServer, reference: ColQwen2Reference
) -> None:
    queries = vectors(late, texts=QUERIES, input_type="search_query")
    pages = vectors(late, images=[uri(page) for page in PAGES], input_type="search_document")
    want_queries, want_pages = reference.queries(QUERIES), reference.pages(PAGES)
    assert difference(queries, want_queries) <= TOLERANCE
    assert difference(pages, want_pages) <= TOLERANCE
    scores, want = reference.scores(queries, pages), reference.scores(want_queries, want_pages)
    assert np.abs(scores - want).max() <= TOLERANCE
    assert np.array_equal(scores.argsort(axis=1), want.argsort(axis=1))


def test_items_of_both_kinds_stand_in_one_request(late: LiveServer, reference: ColQwen2Reference) -> None:
    items = [{"content": [text_part(QUERIES[0])]}, {"content": [image_part(uri(EXACT))]}]
    assert difference(vectors(late, inputs=items), [reference(QUERIES[0]), reference(EXACT)]) <= TOLERANCE


def test_every_type_holds_the_same_vectors(late: LiveServer) -> None:
    kinds = [f"multi_{kind}" for kind in ("float", "base64", "int8", "uint8", "binary", "ubinary")]
    found = embeddings(late, {"texts": QUERIES, "embedding_types": kinds})
    assert set(found) == set(kinds)
    for index, rows in enumerate(found["multi_float"]):
        want = np.array(rows, "<f4")
        raw = np.frombuffer(base64.b64decode(found["multi_base64"][index]), "<f4").reshape(-1, 128)
        assert np.array_equal(raw, want)
        bits = np.array(found["multi_ubinary"][index], np.uint8)
        assert np.array_equal(np.unpackbits(bits, axis=1), want >= 0)
        assert np.array_equal(np.array(found["multi_binary"][index]), bits.astype(int) - 128)
        levels = np.clip(np.floor((want + 4 / 128**0.5) / (8 / 128**0.5 / 255)), 0, 255)
        assert np.abs(np.array(found["multi_uint8"][index]) - levels).max() <= 1  # a level's edge may round either way
        assert np.array_equal(np.array(found["multi_int8"][index]), np.array(found["multi_uint8"][index]) - 128)


def test_a_page_that_comes_twice_is_encoded_once_and_counts_its_tokens(
    late: LiveServer, reference: ColQwen2Reference
) -> None:
    page, before = image(91, 140, 90), late.metric("cenote_vision_encodes_total")
    for _ in range(2):
        answer = late.ask("/v2/embed", {"images": [uri(page), uri(page)]}).json()
        got = [np.array(one, "<f4") for one in answer["embeddings"]["multi_float"]]
        assert difference(got, [reference(page)] * 2) <= TOLERANCE
        assert answer["meta"]["tokens"]["input_tokens"] == sum(map(len, got))
    assert late.metric("cenote_vision_encodes_total") == before + 1


def test_features_go_in_again_and_the_tower_rests(late: LiveServer, reference: ColQwen2Reference) -> None:
    page = image(92, 190, 110)
    (entry,) = late.ask("/v1/image_embeds", {"images": [image_part(uri(page))]}).json()["data"]
    before = late.metric("cenote_vision_encodes_total")
    assert difference(vectors(late, inputs=[{"content": [entry["part"]]}]), [reference(page)]) <= TOLERANCE
    assert late.metric("cenote_vision_encodes_total") == before


def test_an_answer_that_would_be_too_large_is_refused_before_an_image_is_seen(late: LiveServer) -> None:
    before = late.metric("cenote_vision_encodes_total")
    pages = [uri(image(100 + seed, 700, 560)) for seed in range(8)]
    error = refusal(late, "/v2/embed", {"images": pages})
    assert (error["status"], error["code"], error["param"]) == (400, "too_many_inputs", "images")
    assert f"one answer may hold {MAX_BYTES}" in error["message"]
    assert late.metric("cenote_vision_encodes_total") == before
    bits = embeddings(late, {"images": pages, "embedding_types": ["multi_ubinary"]})["multi_ubinary"]
    assert sum(map(len, bits)) * 512 > MAX_BYTES


def test_a_large_answer_comes_in_pieces_and_is_valid(late: LiveServer, reference: ColQwen2Reference) -> None:
    pages = [image(200 + seed, 700, 560) for seed in range(4)]
    with late.http.stream("POST", "/v2/embed", json={"images": [uri(page) for page in pages]}) as answer:
        pieces = list(answer.iter_raw())
    assert answer.headers["transfer-encoding"] == "chunked"
    assert len(pieces) > 2
    rows = json.loads(b"".join(pieces))["embeddings"]["multi_float"]
    assert difference([np.array(one, "<f4") for one in rows], reference.pages(pages)) <= TOLERANCE
    kinds = {"embedding_types": ["multi_base64"]}
    whole = late.ask("/v2/embed", {"images": [uri(page) for page in pages]} | kinds)
    assert int(whole.headers["content-length"]) == len(whole.content)


def test_a_bad_item_has_an_empty_list_and_the_others_their_vectors(
    late: LiveServer, reference: ColQwen2Reference
) -> None:
    items = [{"content": [text_part(QUERIES[0])]}, {"content": [text_part("a"), image_part(uri(SMALL))]}]
    asked = {"inputs": items, "on_error": "per_item", "embedding_types": ["multi_float", "multi_base64"]}
    answer = late.ask("/v2/embed", asked).json()
    first, failed = answer["embeddings"]["multi_float"]
    assert difference([np.array(first, "<f4")], [reference(QUERIES[0])]) <= TOLERANCE
    assert (failed, answer["embeddings"]["multi_base64"][1]) == ([], "")
    (error,) = answer["errors"]
    assert (error["index"], error["code"]) == (1, "unsupported_modality")


@pytest.mark.parametrize("kind", ["float", "base64", "ubinary"])
def test_a_model_of_several_vectors_refuses_types_of_one(late: LiveServer, kind: str) -> None:
    error = refusal(late, "/v2/embed", {"texts": ["x"], "embedding_types": ["multi_float", kind]})
    assert (error["status"], error["param"]) == (400, "embedding_types[1]")
    assert f"got {kind}" in error["message"]
    assert "multi_float, multi_int8" in error["message"]


def test_a_model_of_one_vector_refuses_types_of_several(builtin: LiveServer) -> None:
    error = refusal(builtin, "/v2/embed", {"texts": ["x"], "embedding_types": ["float", "multi_float"]})
    assert (error["status"], error["param"]) == (400, "embedding_types[1]")
    assert "got multi_float" in error["message"]


@pytest.mark.parametrize(("path", "body"), [("/v1/embeddings", {"input": "x"}), ("/v1/embed", {"texts": ["x"]})])
def test_a_route_without_place_for_several_vectors_names_the_one_that_has(
    late: LiveServer, path: str, body: dict[str, Any]
) -> None:
    error = refusal(late, path, body)
    assert (error["status"], error["code"], error["param"]) == (400, "invalid_request", "model")
    assert "`/v2/embed`" in error["message"]


def test_coheres_older_route_gives_them_by_name(late: LiveServer) -> None:
    body = {"texts": QUERIES, "embedding_types": ["multi_float"]}
    older = late.ask("/v1/embed", body).json()["embeddings"]
    assert older == embeddings(late, body)


def test_shorter_vectors_and_instructions_are_refused(late: LiveServer) -> None:
    shorter = refusal(late, "/v2/embed", {"texts": ["x"], "output_dimension": 64})
    assert (shorter["status"], shorter["code"]) == (400, "invalid_dimensions")
    instructed = refusal(late, "/v2/embed", {"texts": ["x"], "instruction": "Find pages."})
    assert (instructed["status"], instructed["param"]) == (400, "instruction")


def test_a_video_is_refused_by_what_the_model_reads(late: LiveServer) -> None:
    part = {"type": "video_frames", "frames": [{"url": uri(SMALL)}] * 2}
    error = refusal(late, "/v2/embed", {"inputs": [{"content": [part]}]})
    assert (error["status"], error["code"]) == (400, "unsupported_modality")


def test_no_vectors_are_kept_and_the_same_query_has_the_same_ones(late: LiveServer) -> None:
    first, again = (vectors(late, texts=QUERIES) for _ in range(2))
    assert difference(first, again) == 0
    assert late.metric("cenote_result_cache_entries") == 0


def test_the_models_card_says_so(late: LiveServer) -> None:
    card = late.http.get("/v1/models").json()["data"][0]
    assert (card["pooling"], card["dimensions"], card["matryoshka_dimensions"]) == ("multi_vector", 128, [128])
    assert (card["max_vectors_per_input"], card["max_tokens"]) == (32768, 32768)
    assert (card["prompt_format"], card["modalities"]) == ("colqwen2", ["text", "image"])


def test_the_answer_is_what_the_document_says(late: LiveServer) -> None:
    answer = late.ask("/v2/embed", {"texts": ["x"], "embedding_types": ["multi_float", "multi_ubinary"]})
    read = msgspec.json.decode(answer.content, type=EmbedResponse)
    assert read.embeddings.multi_float
    assert len(read.embeddings.multi_float[0]) == len(read.embeddings.multi_ubinary[0] or [])
