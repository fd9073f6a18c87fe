"""Digests and content keys: everything that decides the pixels is part of them."""

import pytest
from PIL import Image

from service.media.image.decode import load_pixels
from service.media.image.header import DecodeLimits
from service.media.image.image_file import open_image
from service.media.key import content_key, file_digest, source_digest
from service.media.resize.image_rule import PixelRule
from tests.builders import image_bytes

RULE = PixelRule()


def test_bytes_and_a_view_of_the_same_pixels_share_a_key() -> None:
    pixels = bytes(range(2 * 4 * 3))
    assert content_key(memoryview(pixels), (2, 4), b"m") == content_key(pixels, (2, 4), b"m")


def test_the_same_image_in_another_container_has_another_digest_and_the_same_key() -> None:
    image = Image.effect_noise((64, 96), 90).convert("RGB")
    items = [open_image(image_bytes(image, kind), DecodeLimits(), RULE) for kind in ("PNG", "BMP")]
    assert items[0].digest != items[1].digest
    keys = {content_key(load_pixels(item).tobytes(), item.size, b"m") for item in items}
    assert len(keys) == 1


def test_pixels_of_another_size_are_a_fault_of_ours() -> None:
    with pytest.raises(ValueError, match="13 bytes"):
        content_key(bytes(13), (2, 2), b"m")


def test_keys_do_not_change_between_releases_unnoticed() -> None:
    assert file_digest(b"file").hex()[:16] == "65e845e358118357"
    assert source_digest(b"file", RULE).hex()[:16] == "2749038c8ab71325"
    assert content_key(bytes(range(12)), (2, 2), b"model", tenant_salt=b"salt").hex()[:16] == "ba8bf7c24f509120"
