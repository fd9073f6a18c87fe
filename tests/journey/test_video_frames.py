"""Videos as lists of frames, over HTTP: pairs are images of the cache, and what is wrong is told by its place."""

from itertools import count
from typing import Any

import numpy as np
import pytest

from tests.conftest import Gained, LiveServer, frames_part, image, image_part, text_part
from tests.journey.conftest import Refusal, assert_refused, v1

seeds = count(70_000)
"""Each test draws frames that no other test has sent."""

COLORS, SHAPES = "Represent the colors of the video.", "Represent the shapes of the video."


def frames(number: int, **size: int) -> list[str]:
    return [image(next(seeds), **size) for _ in range(number)]


def ask(server: LiveServer, *parts: dict[str, Any], **fields: Any) -> np.ndarray:
    return server.vectors({"inputs": [{"content": list(parts)}], **fields})[0]


def test_a_pair_is_the_same_in_another_video_and_at_another_time(server: LiveServer) -> None:
    a, b, c, d = frames(4)
    alone = ask(server, frames_part([a, b]))
    gained = Gained(server)
    ask(server, frames_part([c, d, a, b]))
    assert gained("vision_encodes_total") == 1
    assert np.abs(ask(server, frames_part([a, b], fps=0.5)) - alone).max() > 1e-4  # the prompt says when
    assert np.array_equal(ask(server, frames_part([a, b], fps=2.0)), alone)  # what the reference assumes
    assert gained("vision_encodes_total") == 1
    assert np.abs(ask(server, frames_part([b, a])) - alone).max() > 1e-4
    assert gained("vision_encodes_total") == 2


def test_a_frame_is_no_image_of_the_cache_and_an_image_no_frame(server: LiveServer) -> None:
    (url,) = frames(1, width=512, height=512)
    ask(server, image_part(url))
    gained = Gained(server)
    ask(server, frames_part([url]))
    assert gained("vision_encodes_total") == 1


def test_the_cache_changes_no_vector(server: LiveServer, bare_server: LiveServer) -> None:
    part = frames_part(frames(3))
    ask(server, part, instruction=SHAPES)
    assert np.array_equal(ask(server, part), ask(bare_server, part))


def test_videos_come_before_images_and_texts_wherever_they_stand(server: LiveServer) -> None:
    video, still, text = frames_part(frames(2)), image_part(image(next(seeds))), text_part("a boat")
    assert np.array_equal(ask(server, text, still, video), ask(server, video, still, text))


def test_the_last_of_an_odd_number_is_seen_twice(server: LiveServer) -> None:
    a, b, c = frames(3)
    assert np.array_equal(ask(server, frames_part([a, b, c])), ask(server, frames_part([a, b, c, c])))
    assert np.array_equal(ask(server, frames_part([a])), ask(server, frames_part([a, a])))


def test_of_65_frames_64_are_seen_and_the_other_is_not_read(server: LiveServer) -> None:
    urls = frames(3, width=64, height=64)
    listed = [urls[i % 3] for i in range(63)] + ["this is no image", urls[0]]
    seen = [*listed[:63], listed[64]]
    assert np.array_equal(ask(server, frames_part(listed)), ask(server, frames_part(seen)))
    timed = ask(server, frames_part(listed, fps=2.0))  # who says how fast it is has the true times
    assert np.abs(timed - ask(server, frames_part(seen))).max() > 1e-6


def test_vllms_comma_separated_form_is_a_list_of_frames(server: LiveServer) -> None:
    urls = frames(3)
    joined = "data:video/jpeg;base64," + ",".join(url.partition(",")[2] for url in urls)
    want = ask(server, frames_part(urls))
    assert np.array_equal(ask(server, {"type": "video_url", "video_url": {"url": joined}}), want)
    assert np.array_equal(ask(server, {"type": "video_url", "video_url": joined}), want)
    fewer = ask(server, {"type": "video_url", "video_url": joined, "max_frames": 2})
    assert np.array_equal(fewer, ask(server, frames_part([urls[0], urls[2]])))


def test_tokens_are_counted_and_coheres_units_have_no_image(server: LiveServer) -> None:
    part = frames_part(frames(2, width=384, height=352))
    body = {"inputs": [{"content": [part]}]}
    usage = server.ask("/v1/embeddings", body).json()["usage"]
    assert usage["image_tokens"] == 384 * 384 // 1024  # the first resize makes 352 a multiple of 64
    assert server.ask("/tokenize", body).json()["count"] == usage["prompt_tokens"]
    answer = server.ask("/v2/embed", body | {"input_type": "search_document"}).json()
    assert "images" not in answer
    assert answer["meta"]["billed_units"]["image_tokens"] == usage["image_tokens"]


def test_images_with_features_are_images_alone(server: LiveServer) -> None:
    answer = server.http.post("/v1/image_embeds", json={"images": [frames_part(frames(2))]})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "images[0].type"
    assert "not for videos" in answer.json()["error"]["message"]


def cut_short(url: str) -> str:
    """A header that is whole, before data that ends."""
    head, _, data = url.partition(",")
    return f"{head},{data[: len(data) * 3 // 4 // 4 * 4]}"


PLACE = "inputs[0].content[0]"
FRAMES = f"{PLACE}.frames"
WIDE, HIGH = image(1, 96, 64), image(2, 64, 96)
BROKEN = cut_short(WIDE)


def of_frames(frame: Any) -> dict[str, Any]:
    return {"type": "video_frames", "frames": [frame]}


def refused(name: str, part: dict[str, Any], code: str, param: str, words: str) -> Refusal:
    status = 422 if code == "media_undecodable" else 400
    return v1(name, {"inputs": [{"content": [part]}]}, status, code, param, 0, words=words)


def refused_url(name: str, url: str, code: str, words: str, **fields: Any) -> Refusal:
    part = {"type": "video_url", "video_url": {"url": url}, **fields}
    return refused(name, part, code, f"{PLACE}.video_url", words)


CASES = [
    refused("no frames", frames_part([]), "empty_input", FRAMES, "at least 1"),
    refused("1025 frames", frames_part([WIDE] * 1025), "too_many_inputs", FRAMES, "at most 1024"),
    refused("no url", of_frames({}), "invalid_request", f"{FRAMES}[0].url", "required"),
    refused("strings", of_frames(WIDE), "invalid_request", f"{FRAMES}[0]", "an object"),
    refused("a field", frames_part([WIDE], uuid="a"), "unknown_field", f"{PLACE}.uuid", "this `type`"),
    refused("fps 0", frames_part([WIDE], fps=0), "invalid_request", f"{PLACE}.fps", "0.001 to 1000|a smaller one"),
    refused("fps 1e9", frames_part([WIDE], fps=1e9), "invalid_request", f"{PLACE}.fps", "0.001 to 1000|a larger one"),
    refused("sizes", frames_part([WIDE, HIGH]), "invalid_request", f"{FRAMES}[1].url", "64 x 96 pixels|one size"),
    refused("no image", frames_part([WIDE, "AAAA"]), "media_undecodable", f"{FRAMES}[1].url", "formats"),
    refused("cut short", frames_part([BROKEN, WIDE]), "media_undecodable", f"{FRAMES}[0].url", "cut short"),
    refused("cut second", frames_part([WIDE, BROKEN]), "media_undecodable", f"{FRAMES}[1].url", "cut short"),
    refused("a path", frames_part(["/etc/passwd"]), "media_source_refused", f"{FRAMES}[0].url", "no path"),
    refused("a URL", frames_part([WIDE, "http://a.example/"]), "media_source_refused", f"{FRAMES}[1].url", "enabled"),
    v1("too long", {"inputs": [{"content": [frames_part([image(3, 1024, 1024)] * 64)] * 2}]},
       400, "context_length_exceeded", "inputs[0]", 0, words="8192 tokens"),
    refused_url("empty list", "data:video/jpeg;base64,", "media_undecodable", "empty"),
    refused_url("a URL in a list", "data:video/jpeg;base64,http://a.example/", "media_source_refused", "path"),
    refused("max_frames", {"type": "video_url", "video_url": "data:video/jpeg;base64,AAAA", "max_frames": 65},
            "invalid_request", f"{PLACE}.max_frames", "got 65|2 to 64"),
    refused("one frame", {"type": "video_url", "video_url": "AAAA", "max_frames": 1},
            "invalid_request", f"{PLACE}.max_frames", "from 2"),
]  # fmt: skip


@pytest.mark.parametrize("refusal", [pytest.param(one, id=one.name) for one in CASES])
def test_errors_name_the_place(server: LiveServer, refusal: Refusal) -> None:
    assert_refused(server.http.post(refusal.path, content=refusal.raw, headers=refusal.headers), refusal)
