from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from service.errors import MediaError
from service.media.header import DecodeLimits
from service.media.item import load_pixels, open_image
from service.media.resize import PixelRule

LIMITS, RULE = DecodeLimits(), PixelRule()


def test_an_item_knows_its_size_grid_and_tokens_from_the_header(encode) -> None:
    item = open_image(encode(Image.new("RGB", (1920, 1080))), LIMITS, RULE, "images[0]", 4)
    assert item.size == (992, 1792)
    assert item.grid_thw == (1, 62, 112)
    assert item.num_tokens == 1736
    assert item.num_slot_bytes == 992 * 1792 * 3
    assert (item.header.format, item.header.width, item.header.height) == ("PNG", 1920, 1080)
    assert len(item.digest) == 32


def test_opening_decodes_nothing(encode) -> None:
    encoded = encode(Image.effect_noise((320, 320), 50))
    damaged = encoded[: len(encoded) // 2]
    item = open_image(damaged, LIMITS, RULE, "images[3]", 3)
    assert item.size == (320, 320)
    with pytest.raises(MediaError) as caught:
        load_pixels(item)
    assert (caught.value.code, caught.value.param, caught.value.index) == ("media_undecodable", "images[3]", 3)


@pytest.mark.parametrize("name", ["rgba.png", "cmyk.jpg", "wide.png", "tiny.png"])
def test_pixels_land_in_the_given_buffer(media: Path, name: str) -> None:
    item = open_image((media / name).read_bytes(), LIMITS, RULE)
    shared = bytearray(item.num_slot_bytes + 20)
    pixels = load_pixels(item, memoryview(shared)[10:-10])
    assert pixels.shape == (*item.size, 3)
    assert bytes(shared[10:-10]) == pixels.tobytes() == load_pixels(item).tobytes()
    assert shared[:10] == shared[-10:] == bytes(10)
    pixels[0, 0, 0] ^= 255
    assert shared[10] == pixels[0, 0, 0]


def test_a_buffer_of_another_size_is_a_fault_of_ours(media: Path) -> None:
    item = open_image((media / "tiny.png").read_bytes(), LIMITS, RULE)
    with pytest.raises(ValueError, match=str(item.num_slot_bytes)):
        load_pixels(item, memoryview(bytearray(item.num_slot_bytes - 1)))


def test_the_place_in_a_request_does_not_make_another_item(media: Path) -> None:
    encoded = (media / "tiny.png").read_bytes()
    assert open_image(encoded, LIMITS, RULE, "a", 1) == open_image(encoded, LIMITS, RULE, "b", 2)
    assert open_image(encoded, LIMITS, RULE) != open_image(encoded, LIMITS, PixelRule(max_pixels=8192))


def test_pixels_equal_the_references_pipeline(media: Path) -> None:
    with Image.open(media / "wide.png") as image:
        item = open_image((media / "wide.png").read_bytes(), LIMITS, RULE)
        height, width = item.size
        assert np.array_equal(load_pixels(item), np.asarray(image.convert("RGB").resize((width, height))))
