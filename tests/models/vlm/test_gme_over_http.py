"""GME-Qwen2-VL through a live server: both routes, one encode under two instructions, features back in."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import TOLERANCE, LiveServer, text_part
from tests.models.vlm.checkpoints import qwen2_vl
from tests.models.vlm.images import CLEAR, LARGE, SMALL, WIDE, image
from tests.models.vlm.references import GmeScript
from tests.models.vlm.sent import body, part, v2
from tests.models.vlm.served import Case

pytestmark = pytest.mark.slow

CASES: dict[str, Case] = {
    "text": ("a red circle above a blue square", [], None),
    "text under an instruction": ("a red circle", [], "Find an image that matches the given text."),
    "image": ("", [SMALL], None),
    "image over the limit": ("", [LARGE], None),
    "transparent image": ("", [CLEAR], None),
    "image and text": ("What is this?", [WIDE], "Represent the question."),
    "two images": ("both", [SMALL, WIDE], None),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return qwen2_vl(tmp_path_factory.mktemp("vlm") / "checkpoint", cenote={"family": "gme_qwen2_vl"})


@pytest.fixture(scope="module")
def gme(folder: Path, start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    server = start_server("--model", str(folder)).wait_until_ready()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def script(folder: Path) -> GmeScript:
    return GmeScript(folder)


@pytest.mark.parametrize("name", CASES)
def test_both_routes_give_the_scripts_vector(gme: LiveServer, script: GmeScript, name: str) -> None:
    want = script(*CASES[name])
    for got in (gme.vectors(body(CASES[name]))[0], v2(gme, body(CASES[name]))):
        assert np.abs(got - want).max() <= TOLERANCE


def test_a_search_query_has_the_model_cards_instruction(gme: LiveServer, script: GmeScript) -> None:
    answer = gme.ask("/v2/embed", {"texts": ["a dog"], "input_type": "search_query", "embedding_types": ["float"]})
    want = script("a dog", [], "Find an image that matches the given text.")
    assert np.abs(np.array(answer.json()["embeddings"]["float"][0], "<f4") - want).max() <= TOLERANCE


def test_an_image_under_two_instructions_is_encoded_once(gme: LiveServer, script: GmeScript) -> None:
    shown, before = image(77, 140, 90), gme.metric("cenote_vision_encodes_total")
    for instruction in ("Represent the colors.", "Represent the shapes."):
        got = gme.vectors(body(("", [shown], instruction)))[0]
        assert np.abs(got - script("", [shown], instruction)).max() <= TOLERANCE
    assert gme.metric("cenote_vision_encodes_total") == before + 1


def test_features_come_out_and_go_in_again_and_the_tower_rests(gme: LiveServer, script: GmeScript) -> None:
    shown = image(78, 190, 110)
    (entry,) = gme.ask("/v1/image_embeds", {"images": [part(shown)]}).json()["data"]
    before = gme.metric("cenote_vision_encodes_total")
    asked = {"inputs": [{"content": [entry["part"], text_part("What is this?")]}]}
    assert np.abs(gme.vectors(asked)[0] - script("What is this?", [shown], None)).max() <= TOLERANCE
    assert gme.metric("cenote_vision_encodes_total") == before


def test_features_outlive_the_server_on_disk(
    folder: Path, tmp_path: Path, start_server: Callable[..., LiveServer]
) -> None:
    asked, encodes, vectors = body(("", [image(79, 120, 80)], None)), [], []
    for _ in range(2):
        server = start_server("--model", str(folder), "--disk-cache", str(tmp_path / "features")).wait_until_ready()
        before = server.metric("cenote_vision_encodes_total")
        vectors.append(server.vectors(asked)[0])
        encodes.append(server.metric("cenote_vision_encodes_total") - before)
        server.stop()
    assert encodes == [1, 0]
    assert np.array_equal(vectors[0], vectors[1])


def test_the_models_card_says_what_it_resolved_to(gme: LiveServer) -> None:
    card = gme.http.get("/v1/models").json()["data"][0]
    assert (card["prompt_format"], card["pooling"], card["max_tokens"]) == ("gme-qwen2-vl", "last_token", 1800)
    assert (card["min_pixels"], card["max_pixels"], card["image_embeds_width"]) == (3136, 1_003_520, 64)
    assert (card["dimensions"], card["modalities"]) == (64, ["text", "image"])
