"""Parts of video files and frames with times: sampled as the reference does, cached as the whole file is."""

import base64
import io
from itertools import count
from typing import Any

import numpy as np
import pytest
from PIL import Image

from service.media.video.video_rule import VideoRule
from service.workers.video_reader import read_frames
from tests.conftest import Gained, LiveServer, frames_part, image, inputs
from tests.journey.conftest import refusal
from tests.journey.test_video_files import PARAM
from tests.video_file import video, video_part

heights = count(1120, 32)
"""Each test draws a video that no other test has sent."""
FPS, NUM_FRAMES = 10, 120


def new_video(num_frames: int = NUM_FRAMES, width: int = 64) -> tuple[bytes, tuple[int, int]]:
    size = (next(heights) % 320 + 64, width)
    return video(num_frames, fps=FPS, size=size), size


def png(pixels: np.ndarray) -> str:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def served_rule(server: LiveServer) -> VideoRule:
    card = server.http.get("/v1/models/builtin").json()
    rule = VideoRule(
        max_frames=card["max_video_frames"],
        min_frames=card["min_video_frames"],
        fps=card["video_fps"],
        min_frame_pixels=card["min_video_frame_pixels"],
        max_frame_pixels=card["max_video_frame_pixels"],
        total_file_pixels=card["max_video_pixels"],
    )
    assert card["video_size_factor"] == rule.size_factor
    return rule


def timed_part(encoded: bytes, frames: list[int], size: tuple[int, int], **changes: Any) -> dict[str, Any]:
    """The frames of a file that a server takes, as a client cuts them out."""
    pixels = read_frames(encoded, "mp4", frames, size, max_pixels=10**7)
    each = [{"url": png(one), "time_s": i / FPS} for i, one in zip(frames, pixels, strict=True)]
    return {"type": "video_frames", "frames": each, **changes}


def test_a_part_has_the_frames_between_its_times_and_the_whole_files_timestamps(server: LiveServer) -> None:
    encoded, size = new_video()
    part = server.vectors(inputs(video_part(encoded, start_s=3, end_s=9)))
    taken = [30, 42, 54, 66, 78, 90]  # 61 frames of 6.1 s, one a second, both ends among them
    np.testing.assert_array_equal(part, server.vectors(inputs(timed_part(encoded, taken, size))))
    alone = inputs(timed_part(encoded, taken, size))
    for frame in alone["inputs"][0]["content"][0]["frames"]:
        frame["time_s"] -= 3.0
    assert np.abs(part - server.vectors(alone)).max() > 1e-4  # the prompt says when in the file
    whole = server.vectors(inputs(video_part(encoded)))
    assert np.array_equal(whole, server.vectors(inputs(video_part(encoded, start_s=0, end_s=1000))))
    assert np.abs(whole - part).max() > 1e-4


def test_frames_with_times_are_a_files_at_its_own_size_too(server: LiveServer) -> None:
    """A list without times would go through sides that are multiples of 64."""
    encoded, size = new_video(width=96)
    seen = served_rule(server).frame_size(*size, 4, of_file=True)
    assert seen[0] % 64 or seen[1] % 64
    there = server.vectors(inputs(video_part(encoded, end_s=2.9)))
    for sent in (size, seen):
        np.testing.assert_array_equal(there, server.vectors(inputs(timed_part(encoded, [0, 10, 19, 29], sent))))
    untimed = timed_part(encoded, [0, 10, 19, 29], size, fps=1)
    for frame in untimed["frames"]:
        del frame["time_s"]
    assert np.abs(there - server.vectors(inputs(untimed))).max() > 1e-4


def test_a_pair_of_another_part_of_the_whole_file_or_of_sent_frames_is_encoded_once(server: LiveServer) -> None:
    encoded, size = new_video(40)
    gained = Gained(server)
    server.vectors(inputs(video_part(encoded)))  # 0, 13, 26, 39
    assert gained("vision_encodes_total") == 2
    server.vectors(inputs(video_part(encoded, end_s=1.3, max_frames=2)))  # 0, 13
    server.vectors(inputs(video_part(encoded, start_s=2.6, end_s=3.9, max_frames=2)))
    server.vectors(inputs(timed_part(encoded, [26, 39], size)))
    assert gained("vision_encodes_total") == 2
    server.vectors(inputs(video_part(encoded, start_s=1.3, end_s=2.6, max_frames=2)))  # 13, 26 is another pair
    assert gained("vision_encodes_total") == 3


def test_a_part_of_a_long_file_is_taken_where_the_whole_is_too_long(server: LiveServer) -> None:
    encoded = video(700, codec="mpeg4", fps=1, size=(64, 64))
    status, code, _, message = refusal(server, inputs(video_part(encoded)))
    assert (status, code) == (413, "media_too_large")
    assert "700.0 s long" in message
    assert server.vectors(inputs(video_part(encoded, start_s=600, end_s=640))).shape == (1, 128)
    status, code, _, message = refusal(server, inputs(video_part(encoded, start_s=10)))
    assert (status, code) == (413, "media_too_large")
    assert "The part of the video is 690.0 s long" in message


ITEM = "inputs[0].content[0]"


@pytest.mark.parametrize(
    ("fields", "param", "words"),
    [
        ({"start_s": 5, "end_s": 5}, f"{ITEM}.end_s", "got 5, expected more than `start_s`, 5"),
        ({"end_s": 0}, f"{ITEM}.end_s", "got 0, expected more than `start_s`, 0"),
        ({"start_s": 12.5}, f"{ITEM}.start_s", "12.5 to 12 s, which hold 0 of the video's frames"),
        ({"start_s": 1.01, "end_s": 1.09}, f"{ITEM}.start_s", "hold 0 of"),
        ({"start_s": 1.0, "end_s": 1.09}, f"{ITEM}.start_s", "hold 1 of the video's frames; at least 2 are needed"),
        ({"end_s": 0.05}, f"{ITEM}.end_s", "it has 120 in 12 s"),
        ({"start_s": -1}, f"{ITEM}.start_s", "0"),
        ({"end_s": 1e9}, f"{ITEM}.end_s", "360000"),
        ({"start_s": "3"}, f"{ITEM}.start_s", "number"),
    ],
)
def test_a_part_that_cannot_be_is_refused_by_its_field(
    server: LiveServer, fields: dict[str, Any], param: str, words: str
) -> None:
    status, code, named, message = refusal(server, inputs(video_part(VIDEO, **fields)))
    assert (status, code, named) == (400, "invalid_request", param)
    assert words in message


VIDEO = video(NUM_FRAMES, fps=FPS)


def test_a_part_that_cannot_be_fails_its_own_input_alone(server: LiveServer) -> None:
    asked = inputs(video_part(VIDEO, start_s=100), video_part(VIDEO, start_s=10), on_error="per_item")
    first, second = server.ask("/v1/embeddings", asked).json()["data"]
    assert (first["embedding"], first["error"]["param"]) == (None, f"{ITEM}.start_s")
    assert second["embedding"] is not None


@pytest.mark.parametrize(
    ("times", "fields", "param", "words"),
    [
        ([1.0, None], {}, "frames[1].time_s", "all have, or none"),
        ([None, 1.0], {}, "frames[0].time_s", "all have, or none"),
        ([2.0, 1.0], {}, "frames[1].time_s", "got 1 s after 2 s"),
        ([1.0, 2.0], {"fps": 1.0}, "fps", "expected one of both"),
    ],
)
def test_times_are_of_all_frames_and_ascend(
    server: LiveServer, times: list[float | None], fields: dict[str, Any], param: str, words: str
) -> None:
    part = frames_part([image(1), image(2)])
    for frame, time_s in zip(part["frames"], times, strict=True):
        frame["time_s"] = time_s
    status, code, named, message = refusal(server, inputs(part | fields))
    assert (status, code, named) == (400, "invalid_request", f"{ITEM}.{param}")
    assert words in message


def test_of_a_list_of_frames_the_client_takes_the_part(server: LiveServer) -> None:
    url = "data:video/jpeg;base64," + ",".join(image(seed).partition(",")[2] for seed in (1, 2))
    for name in ("start_s", "end_s"):
        part = {"type": "video_url", "video_url": url, name: 1}
        status, code, named, message = refusal(server, inputs(part))
        assert (status, code, named) == (400, "invalid_request", f"{ITEM}.{name}")
        assert "send the frames that are wanted" in message


def test_an_odd_number_of_frames_with_times_repeats_the_last(server: LiveServer) -> None:
    encoded, size = new_video(4)
    three = timed_part(encoded, [0, 1, 2], size)
    four = three | {"frames": [*three["frames"], three["frames"][-1]]}
    assert np.array_equal(server.vectors(inputs(three)), server.vectors(inputs(four)))


def test_a_damaged_file_is_refused_whatever_part_is_asked_for(server: LiveServer) -> None:
    status, code, param, message = refusal(server, inputs(video_part(VIDEO[: len(VIDEO) // 2], start_s=1, end_s=2)))
    assert (status, code, param) == (422, "media_undecodable", PARAM)
    assert "damaged" in message
