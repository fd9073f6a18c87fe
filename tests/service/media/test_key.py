"""Digests and content keys: everything that decides the pixels is part of them."""

import itertools
from dataclasses import replace

import pytest
from PIL import Image

from service.media.image.decode import load_pixels
from service.media.image.header import DecodeLimits
from service.media.image.image_file import open_image
from service.media.key import content_key, file_digest, source_digest
from service.media.resize.image_rule import PixelRule
from tests.builders import image_bytes

RULE = PixelRule()


def test_every_number_of_the_rule_is_part_of_the_digest() -> None:
    rules = [
        RULE,
        replace(RULE, factor=28),
        replace(RULE, min_pixels=1),
        replace(RULE, max_pixels=1),
        replace(RULE, max_aspect=1),
    ]
    assert len({source_digest(b"file", rule) for rule in rules}) == len(rules)
    assert source_digest(b"file", RULE) == source_digest(b"file", PixelRule())


def test_the_shape_is_part_of_the_key() -> None:
    pixels = bytes(30 * 150 * 3)
    assert content_key(pixels, (30, 150), b"m") != content_key(pixels, (150, 30), b"m")


def test_parts_do_not_run_together() -> None:
    pixels = bytes(3)
    names = ["", "a", "b", "ab", "ba"]
    keys = {
        content_key(pixels, (1, 1), model.encode(), tenant_salt=salt.encode())
        for model, salt in itertools.product(names, names)
    }
    assert len(keys) == 25


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
