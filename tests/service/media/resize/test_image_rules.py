"""Rules of two-tower models: sizes from headers alone, keys that tell rules apart, and the cost of a resize."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from service.media.error_location import ErrorLocation
from service.media.image.header import DecodeLimits
from service.media.image.image_file import open_image
from service.media.item import Patches
from service.media.key import source_digest
from service.media.resize.image_rule import PixelRule
from service.media.resize.resize import Framing, frame
from service.media.resize.tower_rule import NaflexRule, SquareRule
from tests.builders import image_bytes

CROP = SquareRule(side=32, edge=40, is_squashed=False, resample=3)
SQUASH = SquareRule(side=32, edge=32, is_squashed=True, resample=3)
NAFLEX = NaflexRule(patch_size=16, max_num_patches=256, resample=2)


def png(width: int, height: int) -> bytes:
    return image_bytes(Image.new("RGB", (width, height), (9, 99, 199)))


@pytest.mark.parametrize(
    ("height", "width", "resized"),
    [(40, 40, (40, 40)), (100, 37, (108, 40)), (37, 100, (40, 108)), (1, 3, (40, 120)), (3, 1, (120, 40))],
)
def test_the_shorter_side_gets_the_edge_and_the_longer_is_cut_to_an_integer(
    height: int, width: int, resized: tuple[int, int]
) -> None:
    seen = CROP.plan(height, width, ErrorLocation())
    assert (seen.size, seen.framing) == ((32, 32), Framing((resized,)))
    assert SQUASH.plan(height, width, ErrorLocation()).framing == Framing(((32, 32),))


@pytest.mark.parametrize(
    ("height", "width", "size"),
    [(64, 64, (256, 256)), (1000, 500, (352, 176)), (3, 1, (304, 112)), (1, 200, (16, 3200))],
)
def test_as_many_patches_as_may_be_in_the_images_shape(height: int, width: int, size: tuple[int, int]) -> None:
    seen = NAFLEX.plan(height, width, ErrorLocation())
    assert seen.size == size
    assert size[0] * size[1] <= NAFLEX.max_pixels
    assert NAFLEX.patches.num_tokens(NAFLEX.patches.grid_thw(*size)) == 1


def test_every_number_of_a_rule_is_part_of_the_key() -> None:
    rules = [
        CROP,
        SQUASH,
        NAFLEX,
        PixelRule(),
        replace(CROP, side=24),
        replace(CROP, edge=48),
        replace(CROP, resample=2),
        replace(CROP, is_squashed=True),
        replace(NAFLEX, patch_size=14),
        replace(NAFLEX, max_num_patches=255),
        replace(NAFLEX, resample=3),
    ]
    assert len({source_digest(b"file", rule) for rule in rules}) == len(rules)


def test_memory_of_the_resize_counts_as_memory_of_the_decode() -> None:
    plain = open_image(png(400, 2), DecodeLimits(), PixelRule(min_pixels=1))
    item = open_image(png(400, 2), DecodeLimits(), CROP)
    assert plain.decode_cost[0] == plain.header.num_decode_bytes
    assert item.framing == Framing(((40, 8000),))
    assert item.decode_cost[0] - item.header.num_decode_bytes == 40 * 8000 * 7
    assert (item.num_tokens, item.grid_thw, item.num_slot_bytes) == (1, (1, 1, 1), 32 * 32 * 3)


def test_a_side_that_is_too_short_lies_amid_black() -> None:
    white = Image.new("RGB", (3, 8), (255, 255, 255))
    pixels = frame(white, Framing(((8, 3),), 0), (4, 6))
    assert pixels.shape == (4, 6, 3)
    assert pixels[..., 0].tolist() == [[0, 0, 255, 255, 255, 0]] * 4


def test_what_is_left_over_is_taken_from_both_ends() -> None:
    ramp = Image.fromarray(np.repeat(np.arange(9, dtype=np.uint8)[:, None, None] * 10, 3, axis=2).repeat(4, axis=1))
    pixels = frame(ramp, Framing(((9, 4),), 0), (4, 4))
    assert pixels[:, 0, 0].tolist() == [20, 30, 40, 50]


def test_grids_of_whole_images_and_of_merged_patches() -> None:
    assert Patches(224, None).num_tokens((1, 1, 1)) == 1
    assert Patches(16, None).num_tokens((1, 12, 20)) == 1
    assert Patches().num_tokens((1, 4, 6)) == 6
    assert Patches(14, 1).num_tokens((1, 3, 5)) == 15
