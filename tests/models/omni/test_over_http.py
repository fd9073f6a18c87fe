"""EmbeddingGemma 2 after a live server: all kinds on both routes, encoded once under many prompts, its plan."""

import base64
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

from service.prompt.detect import load_profile
from tests.builders import image_bytes
from tests.conftest import TOLERANCE, LiveServer, data_uri, image_part, text_part
from tests.models.omni.cases import CASES
from tests.models.omni.checkpoints import DOCUMENT, QUERY, make_checkpoint
from tests.models.omni.media import Film, drawn, for_reference, sound
from tests.models.omni.reference import Reference

pytestmark = pytest.mark.slow

V1, V2 = "/v1/embeddings", "/v2/embed"
ENCODES, HITS = "cenote_vision_encodes_total", "cenote_encoder_cache_hits_total"


class Live:
    """A server of the checkpoint, and its reference."""

    def __init__(self, folder: Any, server: LiveServer) -> None:
        self.server, self.profile, self.reference = server, load_profile(folder), Reference(folder)

    def want(self, *cases: list[Any], prefix: str = "", length: int = 0) -> np.ndarray:
        found = [[for_reference(part, self.profile) for part in case] for case in cases]
        return self.reference(*found, prefix=prefix, length=length)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, start_server: Callable[..., LiveServer]) -> Live:
    folder = make_checkpoint(tmp_path_factory.mktemp("omni") / "embeddinggemma-2-small")
    return Live(folder, start_server("--model", str(folder)).wait_until_ready())


def part(one: Any, *, by_url: bool = False) -> dict[str, Any]:
    """A part of a request."""
    if isinstance(one, str):
        return text_part(one)
    if isinstance(one, Image.Image):
        return image_part(data_uri(image_bytes(one)))
    if isinstance(one, Film) and not one.encoded:
        return {"type": "video_frames", "frames": [{"url": data_uri(image_bytes(frame))} for frame in one.frames]}
    encoded = base64.b64encode(one.encoded if isinstance(one, Film) else one).decode()
    if isinstance(one, Film):
        return {"type": "video_url", "video_url": {"url": f"data:video/mp4;base64,{encoded}"}}
    if by_url:
        return {"type": "audio_url", "audio_url": {"url": f"data:audio/wav;base64,{encoded}"}}
    return {"type": "input_audio", "input_audio": {"data": encoded, "format": "wav"}}


def body(*cases: list[Any], by_url: bool = False, **fields: Any) -> dict[str, Any]:
    return {"inputs": [{"content": [part(one, by_url=by_url) for one in case]} for case in cases], **fields}


def test_items_of_all_kinds_have_the_references_vectors_on_both_routes(live: Live) -> None:
    cases = [case for case in CASES.values() if case != [""]]
    want = live.want(*cases)
    for by_url in (False, True):
        assert np.abs(live.server.vectors(body(*cases, by_url=by_url)) - want).max() <= TOLERANCE
    answer = live.server.ask(V2, body(*cases, embedding_types=["float"])).json()
    assert np.abs(np.array(answer["embeddings"]["float"]) - want).max() <= TOLERANCE
    alone = [live.server.vectors(body(case))[0] for case in cases]
    assert np.abs(np.stack(alone) - want).max() <= TOLERANCE


def test_prompts_and_lengths_are_asked_for_as_of_any_model(live: Live) -> None:
    cases = [[drawn(100, 60, 5)], [sound(0.7, 210)], ["a red circle"]]
    asked = live.server.vectors(body(*cases, input_type="search_query", dimensions=128))
    assert np.abs(asked - live.want(*cases, prefix=QUERY, length=128)).max() <= TOLERANCE
    own = live.server.vectors(body(*cases, instruction="title: Red | text: "))
    assert np.abs(own - live.want(*cases, prefix="title: Red | text: ")).max() <= TOLERANCE
    refused = live.server.http.post(V1, json=body(*cases, dimensions=100))
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "invalid_dimensions"


def test_parts_are_read_as_they_are_written_in_either_order(live: Live) -> None:
    image, note = drawn(90, 130, 6), sound(0.4, 260)
    cases = [["first ", image, " then ", note], [note, image, "first  then "]]
    want = live.want(*cases)
    assert np.abs(want[0] - want[1]).max() > 100 * TOLERANCE
    for order in ({}, {"part_order": "as_written"}, {"part_order": "reference"}):
        assert np.abs(live.server.vectors(body(*cases, **order)) - want).max() <= TOLERANCE
    messages = [{"role": "system", "content": DOCUMENT}, {"role": "user", "content": [part(one) for one in cases[0]]}]
    assert np.abs(live.server.vectors({"messages": messages}) - live.want(cases[0], prefix=DOCUMENT)).max() <= TOLERANCE


def test_a_medium_under_many_prompts_is_encoded_once(live: Live) -> None:
    media = [[drawn(111, 77, 7)], [sound(1.3, 370)], [Film((drawn(96, 96, 8), drawn(96, 96, 9)))]]
    server = live.server
    before = server.metric(ENCODES), server.metric(HITS)
    for prefix in (QUERY, DOCUMENT, "task: clustering | query: "):
        got = server.vectors(body(*media, instruction=prefix))
        assert np.abs(got - live.want(*media, prefix=prefix)).max() <= TOLERANCE
    assert (server.metric(ENCODES) - before[0], server.metric(HITS) - before[1]) == (4, 8)
    usage = server.ask(V1, body(*media, instruction="again: ")).json()["usage"]
    assert (usage["encoder_cache_hits"], usage["encoder_cache_misses"]) == (4, 0)
    counted = [usage["prompt_tokens_details"][f"{kind}_tokens"] for kind in ("image", "video", "audio")]
    assert counted == [10 * 6, 2 * 8 * 8, 33]


def test_its_plan_is_in_the_list_of_models(live: Live) -> None:
    (card,) = live.server.http.get("/v1/models").json()["data"]
    said = {"modalities": ["text", "image", "video", "audio"], "prompt_format": "embeddinggemma-2", "pooling": "mean"}
    said |= {"mixes_modalities": True, "audio_rate_hz": 16_000, "max_video_frames": 32, "max_tokens": 8192}
    assert {key: card[key] for key in said} == said
    assert card["matryoshka_dimensions"] == [128, 160]


def test_audio_without_a_whole_frame_is_refused(live: Live) -> None:
    answer = live.server.http.post(V1, json=body(["a"], [sound(160 / 16_000)]))
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"] == "media_undecodable"
    assert "160 samples; more than 160 are needed at 16000 Hz" in error["message"]


def test_scores_compare_texts_with_media(live: Live) -> None:
    image, note = drawn(70, 140, 10), sound(0.9, 440)
    documents = [{"content": [part(image)]}, {"content": [part(note), text_part(" a song")]}]
    answer = live.server.ask("/v1/score", {"queries": ["a photo"], "documents": documents})
    scores = np.array([one["score"] for one in answer.json()["data"]])
    query = live.want(["a photo"], prefix=QUERY)[0]
    assert np.abs(scores - live.want([image], [note, " a song"], prefix=DOCUMENT) @ query).max() <= TOLERANCE
