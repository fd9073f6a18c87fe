"""An image before it is decoded: size, tokens, and both keys."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.image.decode import load_pixels
from service.media.image.header import DecodeLimits
from service.media.image.image_file import open_image
from service.media.item import ImageReadOptions
from service.media.resize.image_rule import PixelRule
from tests.builders import image_bytes

LIMITS, RULE = DecodeLimits(), PixelRule()


def test_an_item_knows_its_size_grid_and_tokens_from_the_header() -> None:
    item = open_image(image_bytes(Image.new("RGB", (1920, 1080))), LIMITS, RULE, ErrorLocation("images[0]", 4))
    assert item.size == (992, 1792)
    assert item.grid_thw == (1, 62, 112)
    assert item.num_tokens == 1736
    assert item.num_slot_bytes == 992 * 1792 * 3
    assert (item.header.format, item.header.width, item.header.height) == ("PNG", 1920, 1080)
    assert len(item.digest) == 32


def test_opening_decodes_nothing() -> None:
    encoded = image_bytes(Image.effect_noise((320, 320), 50))
    damaged = encoded[: len(encoded) // 2]
    item = open_image(damaged, LIMITS, RULE, ErrorLocation("images[3]", 3))
    assert item.size == (320, 320)
    with pytest.raises(MediaError) as caught:
        load_pixels(item)
    assert (caught.value.code, caught.value.param, caught.value.index) == ("media_undecodable", "images[3]", 3)


def test_the_place_in_a_request_does_not_make_another_item(media: Path) -> None:
    encoded = (media / "tiny.png").read_bytes()
    first, second = (open_image(encoded, LIMITS, RULE, ErrorLocation(f"images[{i}]", i)) for i in (1, 2))
    assert first == second
    assert open_image(encoded, LIMITS, RULE) != open_image(encoded, LIMITS, PixelRule(max_pixels=8192))


def test_another_background_is_another_image_of_the_same_name(media: Path) -> None:
    encoded = (media / "rgba.png").read_bytes()
    plain = open_image(encoded, LIMITS, RULE)
    black = open_image(encoded, LIMITS, RULE, options=ImageReadOptions((0, 0, 0)))
    assert plain.digest != black.digest
    assert plain.identity == black.identity
    assert plain.read_as(ImageReadOptions((0, 0, 0)), RULE) == black
    assert black.read_as(ImageReadOptions((0, 0, 0)), RULE) is black
    assert not np.array_equal(load_pixels(plain), load_pixels(black))


def test_a_tenants_salt_is_part_of_both_keys(media: Path) -> None:
    encoded = (media / "tiny.png").read_bytes()
    items = [open_image(encoded, LIMITS, RULE, salt=salt) for salt in (b"", b"a", b"b")]
    slot = memoryview(load_pixels(items[0])).cast("B")
    assert len({item.digest for item in items}) == 3
    assert len({item.key(slot, b"model") for item in items}) == 3
    assert len({item.identity for item in items}) == 1


def test_pixels_equal_the_references_pipeline(media: Path) -> None:
    with Image.open(media / "wide.png") as image:
        item = open_image((media / "wide.png").read_bytes(), LIMITS, RULE)
        height, width = item.size
        assert np.array_equal(load_pixels(item), np.asarray(image.convert("RGB").resize((width, height))))
