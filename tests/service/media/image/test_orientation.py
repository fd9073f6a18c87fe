"""Orientation is applied only when asked for, once, and is never an error."""

import numpy as np
import pytest
from PIL import Image

from service.media.image.decode import load_pixels
from service.media.image.header import DecodeLimits
from service.media.image.image_file import ImageFile, open_image
from service.media.read_options import ImageReadOptions
from service.media.resize.image_rule import PixelRule
from tests.builders import image_bytes

UPRIGHT = ImageReadOptions(upright=True)
SAME_SIZE = PixelRule(min_pixels=1)
NOISE = np.random.default_rng(3).integers(0, 256, (64, 96, 3), dtype=np.uint8)
ARRAYS = {
    1: NOISE,
    2: NOISE[:, ::-1],
    3: NOISE[::-1, ::-1],
    4: NOISE[::-1],
    5: NOISE.transpose(1, 0, 2),
    6: np.rot90(NOISE, -1),
    7: NOISE[::-1, ::-1].transpose(1, 0, 2),
    8: np.rot90(NOISE),
}
"""The picture that a viewer shows, for each orientation of the stored image."""


def exif(value: int, form: int = 3, count: int = 1, order: str = "little") -> bytes:
    tag = b"".join(number.to_bytes(size, order) for number, size in ((0x0112, 2), (form, 2), (count, 4), (value, 2)))
    start = b"II*\0" + (8).to_bytes(4, "little") if order == "little" else b"MM\0*" + (8).to_bytes(4, "big")
    return b"Exif\0\0" + start + (1).to_bytes(2, order) + tag + bytes(2) + bytes(4)


def encoded(kind: str, data: bytes) -> bytes:
    return image_bytes(Image.fromarray(NOISE), kind, exif=data, **({"lossless": True} if kind == "WEBP" else {}))


def opened(kind: str, data: bytes, options: ImageReadOptions = UPRIGHT) -> ImageFile:
    return open_image(encoded(kind, data), DecodeLimits(), SAME_SIZE, options=options)


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("orientation", ARRAYS)
def test_each_orientation_gives_the_pixels_that_a_viewer_shows(kind: str, order: str, orientation: int) -> None:
    item = opened(kind, exif(orientation, order=order))
    assert item.size == ARRAYS[orientation].shape[:2]
    assert np.array_equal(load_pixels(item), ARRAYS[orientation])


@pytest.mark.parametrize("orientation", ARRAYS)
def test_a_jpeg_turned_by_its_tag_is_the_stored_one_turned(orientation: int) -> None:
    stored = load_pixels(opened("JPEG", exif(1)))
    assert np.array_equal(
        load_pixels(opened("JPEG", exif(orientation))),
        np.asarray(Image.fromarray(stored)) if orientation == 1 else np.asarray(turned(stored, orientation)),
    )


def turned(pixels: np.ndarray, orientation: int) -> np.ndarray:
    indexes = np.arange(NOISE.size).reshape(NOISE.shape)
    places = {
        2: indexes[:, ::-1],
        3: indexes[::-1, ::-1],
        4: indexes[::-1],
        5: indexes.transpose(1, 0, 2),
        6: np.rot90(indexes, -1),
        7: indexes[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90(indexes),
    }
    return pixels.reshape(-1)[places[orientation]]


def test_without_being_asked_for_the_tag_changes_neither_size_nor_pixels() -> None:
    item = opened("PNG", exif(6), ImageReadOptions())
    assert item.size == (64, 96)
    assert np.array_equal(load_pixels(item), NOISE)
    assert item.digest != opened("PNG", exif(6)).digest


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize(
    "data",
    [
        exif(99),
        exif(0),
        exif(6, form=4),
        exif(6, count=2),
        exif(6)[:17],
        b"Exif\0\0XXXX" + bytes(20),
        b"Exif\0\0II*\0" + (8).to_bytes(4, "little") + b"\xff\xff" + bytes(40),
        b"Exif\0\0II*\0\xff\xff\xff\xff" + bytes(20),
    ],
)
def test_damaged_exif_means_as_stored(kind: str, data: bytes) -> None:
    item = opened(kind, data)
    assert item.header.orientation == 1
    assert load_pixels(item).shape == NOISE.shape
