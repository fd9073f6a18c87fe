"""Two-tower models over HTTP: texts and images on every route, against transformers' own vectors."""

from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
from transformers import AutoModel, AutoTokenizer

from tests.conftest import TOLERANCE, LiveServer, data_uri, image_part, text_part
from tests.models.two_tower.captions import CAPTIONS, LONG
from tests.models.two_tower.checkpoints import RECIPES, make_checkpoint
from tests.models.two_tower.conftest import Reference
from tests.models.two_tower.images import IMAGES

V1, V2 = "/v1/embeddings", "/v2/embed"
SHOWN = ("wide", "tall", "tiny", "rgba", "gray", "gray with alpha", "palette", "jpeg")
URLS = [data_uri(IMAGES[name], "jpeg" if name == "jpeg" else "png") for name in SHOWN]


class Towers:
    """A server, and the reference of what it serves."""

    def __init__(self, server: LiveServer, reference: Reference) -> None:
        self.server = server
        self.texts = reference.texts(CAPTIONS)
        self.images = reference.images([IMAGES[name] for name in SHOWN])
        self.cut = reference.texts([LONG])


@pytest.fixture(scope="module", params=["clip", "siglip2-naflex"])
def towers(
    request: pytest.FixtureRequest,
    start_server: Callable[..., LiveServer],
    tmp_path_factory: pytest.TempPathFactory,
) -> Towers:
    name = request.param
    folder = make_checkpoint(name, tmp_path_factory.mktemp(name) / name)
    recipe = RECIPES[name]
    processor, tokenizer = recipe.processor.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    reference = Reference(recipe, tokenizer, processor, AutoModel.from_pretrained(folder).eval())
    server = start_server("--model", str(folder), "--decode-isolation", "processes").wait_until_ready()
    return Towers(server, reference)


def cohere(server: LiveServer, **body: Any) -> np.ndarray:
    return np.array(server.ask(V2, body).json()["embeddings"]["float"])


def refused(server: LiveServer, path: str, **body: Any) -> dict[str, Any]:
    answer: httpx.Response = server.http.post(path, json=body)
    assert answer.status_code == 400, answer.text
    error: dict[str, Any] = answer.json()["error"]
    return error


def test_texts_on_both_routes(towers: Towers) -> None:
    server, texts = towers.server, list(CAPTIONS)
    assert np.abs(server.vectors({"input": texts}) - towers.texts).max() <= TOLERANCE
    for input_type in ("search_query", "search_document", "classification", "clustering"):
        assert np.abs(cohere(server, texts=texts, input_type=input_type) - towers.texts).max() <= TOLERANCE
    items = [{"content": [text_part(text)]} for text in texts]
    assert np.abs(server.vectors({"inputs": items}) - towers.texts).max() <= TOLERANCE


def test_images_on_both_routes(towers: Towers) -> None:
    server = towers.server
    items = [{"content": [image_part(url)]} for url in URLS]
    messages = [[{"role": "user", "content": [image_part(url)]}] for url in URLS]
    for body in ({"inputs": items}, {"messages": messages}):
        assert np.abs(server.vectors(body) - towers.images).max() <= TOLERANCE
    one = server.vectors({"messages": messages[0]})
    assert np.abs(one - towers.images[:1]).max() <= TOLERANCE
    for body in ({"images": URLS, "input_type": "image"}, {"inputs": items, "input_type": "search_document"}):
        assert np.abs(cohere(server, **body) - towers.images).max() <= TOLERANCE


def test_texts_and_images_in_one_request_are_items_of_their_own(towers: Towers) -> None:
    items = [{"content": [text_part(CAPTIONS[0])]}, {"content": [image_part(URLS[0])]}]
    want = np.stack([towers.texts[0], towers.images[0]])
    assert np.abs(towers.server.vectors({"inputs": items}) - want).max() <= TOLERANCE


def test_a_repeated_image_is_encoded_once(towers: Towers) -> None:
    server, url = towers.server, data_uri(IMAGES["large"])
    before = server.metric("cenote_vision_encodes_total"), server.metric("cenote_pictures_decoded_total")
    first, second = (server.ask(V2, {"images": [url, url], "input_type": "image"}) for _ in range(2))
    assert first.json()["embeddings"] == second.json()["embeddings"]
    assert second.headers["x-encoder-cache"] == "hit=2, miss=0"
    after = server.metric("cenote_vision_encodes_total"), server.metric("cenote_pictures_decoded_total")
    assert (after[0] - before[0], after[1] - before[1]) == (1, 1)


def test_a_text_beside_an_image_is_refused_before_anything_is_decoded(towers: Towers) -> None:
    server, url = towers.server, data_uri(IMAGES["cmyk"], "jpeg")
    mixed = {"content": [text_part("a cat"), image_part(url)]}
    before = server.metric("cenote_pictures_decoded_total")
    for path in (V1, V2):
        error = refused(server, path, inputs=[{"content": [text_part("a cat")]}, mixed])
        assert (error["code"], error["index"], error["param"]) == ("unsupported_modality", 1, "inputs[1]")
        assert "two items" in error["message"]
        error = refused(server, path, inputs=[{"content": [image_part(url), image_part(url)]}])
        assert (error["code"], error["index"]) == ("conflicting_input", 0)
        assert "2 images" in error["message"]
    assert server.metric("cenote_pictures_decoded_total") == before


def test_a_mixed_item_fails_alone_where_that_is_asked_for(towers: Towers) -> None:
    mixed = {"content": [text_part("a cat"), image_part(URLS[0])]}
    body = {"inputs": [mixed, {"content": [image_part(URLS[0])]}], "on_error": "per_item"}
    bad, good = towers.server.ask(V1, body).json()["data"]
    assert bad["error"]["code"] == "unsupported_modality"
    assert np.abs(np.array(good["embedding"]) - towers.images[0]).max() <= TOLERANCE


def test_instructions_and_other_turns_are_refused_by_name(towers: Towers) -> None:
    server = towers.server
    for path in (V1, V2):
        error = refused(server, path, inputs=[{"content": [text_part("a cat")]}], instruction="Find images.")
        assert (error["code"], error["param"]) == ("invalid_request", "instruction")
    system = [{"role": "system", "content": "Find images."}, {"role": "user", "content": "a cat"}]
    assert "system message" in refused(server, V1, messages=system)["message"]
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    assert "3 turns" in refused(server, V1, messages=turns)["message"]


def test_a_long_text_is_refused_or_cut(towers: Towers) -> None:
    server = towers.server
    error = refused(server, V1, input=LONG)
    assert error["code"] == "context_length_exceeded"
    answer = server.ask(V2, {"texts": [LONG], "input_type": "search_document", "truncate": "END"}).json()
    assert answer["meta"]["truncated_inputs"] == [0]
    assert np.abs(np.array(answer["embeddings"]["float"]) - towers.cut).max() <= TOLERANCE


def test_features_of_an_image_are_its_vector_and_come_back(towers: Towers) -> None:
    server = towers.server
    entries = server.ask("/v1/image_embeds", {"images": [image_part(url) for url in URLS]}).json()["data"]
    assert {tuple(entry["shape"]) for entry in entries} == {(1, towers.images.shape[1])}
    before = server.metric("cenote_vision_encodes_total")
    items = [{"content": [{key: value for key, value in entry["part"].items() if key != "uuid"}]} for entry in entries]
    assert np.abs(server.vectors({"inputs": items}) - towers.images).max() <= TOLERANCE
    assert server.metric("cenote_vision_encodes_total") == before


def test_the_plan_says_what_it_takes(towers: Towers) -> None:
    card = towers.server.http.get("/v1/models").json()["data"][0]
    assert (card["modalities"], card["default_instruction"]) == (["text", "image"], None)
    assert card["image_embeds_width"] == card["dimensions"] == towers.texts.shape[1]
    assert set(card["input_types"].values()) == {""}
    assert (card["takes_instructions"], card["mixes_modalities"]) == (False, False)


def test_tokens_of_texts_and_images(towers: Towers) -> None:
    items = [{"content": [text_part("a cat")]}, {"content": [image_part(URLS[0])]}]
    text, image = towers.server.ask("/tokenize", {"inputs": items}).json()["data"]
    assert (image["count"], image["image_tokens"], text["image_tokens"]) == (1, 1, 0)


def test_a_video_is_refused_by_what_the_model_takes(towers: Towers) -> None:
    video = {"type": "video_frames", "frames": [{"url": URLS[0]}, {"url": URLS[0]}]}
    for path in (V1, V2):
        error = refused(towers.server, path, inputs=[{"content": [video]}])
        assert (error["code"], error["index"]) == ("unsupported_modality", 0)
