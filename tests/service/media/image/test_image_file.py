"""An image before it is decoded: size, tokens, and both keys, of which everything that decides the pixels is part."""

from pathlib import Path

import pytest
from PIL import Image

from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.image.decode import load_pixels
from service.media.image.header import DecodeLimits
from service.media.image.image_file import open_image
from service.media.item import ImageReadOptions
from service.media.key import content_key, file_digest, source_digest
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


def test_an_image_can_be_read_in_another_way(media: Path) -> None:
    encoded = (media / "rgba.png").read_bytes()
    black = open_image(encoded, LIMITS, RULE, options=ImageReadOptions((0, 0, 0)))
    assert open_image(encoded, LIMITS, RULE).read_as(ImageReadOptions((0, 0, 0)), RULE) == black
    assert black.read_as(ImageReadOptions((0, 0, 0)), RULE) is black


def test_bytes_and_a_view_of_the_same_pixels_share_a_key() -> None:
    pixels = bytes(range(2 * 4 * 3))
    assert content_key(memoryview(pixels), (2, 4), b"m") == content_key(pixels, (2, 4), b"m")


def test_pixels_of_another_size_are_a_fault_of_ours() -> None:
    with pytest.raises(ValueError, match="13 bytes"):
        content_key(bytes(13), (2, 2), b"m")


def test_keys_do_not_change_between_releases_unnoticed() -> None:
    assert file_digest(b"file").hex()[:16] == "65e845e358118357"
    assert source_digest(b"file", RULE).hex()[:16] == "2749038c8ab71325"
    assert content_key(bytes(range(12)), (2, 2), b"model", tenant_salt=b"salt").hex()[:16] == "ba8bf7c24f509120"
