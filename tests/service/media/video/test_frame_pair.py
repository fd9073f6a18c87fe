"""Frames of a list become pairs of one size; no two different pairs share a key, and none is an image's."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.image.decode import decode_rgb, load_pixels
from service.media.image.header import DecodeLimits
from service.media.image.image_file import open_image
from service.media.item import QWEN3_VL, ImageReadOptions, Size
from service.media.key import content_key, pair_key
from service.media.resize.antialias import resize_antialiased
from service.media.resize.image_rule import PixelRule
from service.media.video.frame_list import open_frames
from service.media.video.frame_pair import FramePair
from service.media.video.video_file import OpenVideo, VideoFile, VideoInfo, video_frame_pairs
from service.media.video.video_rule import VideoRule
from tests.builders import image_bytes

RULE = VideoRule()


def png(seed: int, width: int = 100, height: int = 80, mode: str = "RGB") -> bytes:
    bands = len(mode)
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, bands), dtype=np.uint8)
    return image_bytes(Image.fromarray(pixels, mode))


def paired(*encoded: bytes, options: ImageReadOptions = ImageReadOptions(), salt: bytes = b"") -> tuple[FramePair, ...]:  # noqa: B008
    blames = [ErrorLocation(f"frames[{i}].url", 0) for i in range(len(encoded))]
    return open_frames(list(encoded), blames, DecodeLimits(), RULE, options=options, salt=salt)


def test_frames_are_paired_in_order_and_the_last_of_an_odd_number_twice() -> None:
    a, b, c = (png(seed) for seed in range(3))
    first, second = paired(a, b, c)
    assert [one.encoded for one in (first.first, first.second, second.first, second.second)] == [a, b, c, c]
    assert second.first == second.second
    assert tuple(one.location.param for one in (first, first.first, first.second, second.second)) == (
        "frames[0].url",
        "frames[0].url",
        "frames[1].url",
        "frames[2].url",
    )


def test_a_pair_is_one_image_of_two_frames() -> None:
    (pair,) = paired(png(0), png(1))
    assert pair.first.size == pair.second.size == (320, 448)  # 128 x 192 first, then 131,072 pixels at least
    assert pair.grid_thw == (1, 20, 28)
    assert (pair.kind, pair.num_tokens, pair.num_slot_bytes) == ("video", 140, 2 * 320 * 448 * 3)
    assert pair.num_stored_bytes == len(pair.first.encoded) + len(pair.second.encoded)


def test_a_frame_is_resized_twice_by_pillow_and_then_as_torch_does() -> None:
    (pair,) = paired(png(0), png(1))
    whole = decode_rgb(pair.second.encoded, pair.second.header)
    first = np.asarray(whole.resize((192, 128), Image.Resampling.BICUBIC))
    assert np.array_equal(load_pixels(pair.second), resize_antialiased(first, (320, 448)))


def test_frames_of_other_sizes_are_refused_by_their_place_and_sizes_that_resize_alike_are_not() -> None:
    paired(png(0, 100, 80), png(1, 110, 70))  # both 192 x 128 after the first resize
    with pytest.raises(MediaError, match="100 x 200 pixels, and the first one of its video is 100 x 80") as caught:
        paired(png(0), png(1), png(2, 100, 200))
    assert caught.value.param == "frames[2].url"


def test_a_shape_that_no_frame_can_have_is_refused() -> None:
    """It passes the ratio of images, and a share of the video's pixels leaves its short side nothing."""
    wide = png(0, 16_384, 90)
    with pytest.raises(MediaError, match="16384 x 90"):
        paired(*[wide] * 64)


def test_level_two_keys_depend_on_order_size_options_and_tenant() -> None:
    a, b = png(0, mode="RGBA"), png(1, mode="RGBA")
    keys = [
        paired(a, b)[0].digest,
        paired(b, a)[0].digest,
        paired(a, a)[0].digest,
        paired(a, b, options=ImageReadOptions((0, 0, 0)))[0].digest,
        paired(a, b, salt=b"tenant")[0].digest,
        paired(*[a, b] * 32)[0].digest,  # the same size all the same: a small video has room
        open_image(a, DecodeLimits(), PixelRule()).digest,
    ]
    assert keys[5] == keys[0]
    assert len({*keys}) == len(keys) - 1
    large = png(2, 1024, 1024), png(3, 1024, 1024)
    assert paired(*large)[0].digest != paired(*large * 32)[0].digest  # seen smaller among 64


@pytest.mark.parametrize("size", [(32, 64), (64, 32)])
def test_level_one_keys_of_a_pair_and_an_image_of_its_bytes_differ(size: Size) -> None:
    pixels = memoryview(bytes(2 * 32 * 64 * 3))
    height, width = size
    keys = {
        pair_key(pixels, size, b"model"),
        pair_key(pixels, size, b"other"),
        pair_key(pixels, size, b"model", tenant_salt=b"t"),
        pair_key(pixels, (width, height), b"model"),
        content_key(pixels, (2 * height, width), b"model"),
        content_key(pixels, (height, 2 * width), b"model"),
    }
    assert len(keys) == 6
    with pytest.raises(ValueError, match="two frames"):
        pair_key(pixels, (64, 64), b"model")


def test_keys_of_a_files_pairs_depend_on_frames_size_file_and_tenant() -> None:
    info = VideoInfo(width=96, height=64, num_frames=9, fps=3.0)
    clip = VideoFile(OpenVideo(b"file", "mp4", info, b"1" * 32), (320, 480), QWEN3_VL)
    others = [
        replace(clip, size=(480, 320)),
        replace(clip, salt=b"tenant"),
        replace(clip, file=OpenVideo(b"file", "mp4", info, b"2" * 32)),
    ]
    pairs = video_frame_pairs(clip, [0, 1, 2, 8], ErrorLocation("video_url", 0))
    first = [video_frame_pairs(other, [0, 1], ErrorLocation())[0] for other in others]
    assert [pair.frames for pair in pairs] == [(0, 1), (2, 8)]
    assert pairs[0].grid_thw == (1, 20, 30)
    assert len({pair.digest for pair in (*pairs, *first)}) == 5
    assert video_frame_pairs(clip, [0, 1], ErrorLocation())[0].digest == pairs[0].digest
