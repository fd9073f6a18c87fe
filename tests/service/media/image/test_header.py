"""Headers of images: what they say, and what is refused by them alone."""

import struct
import time
import warnings
import zlib
from pathlib import Path

import pytest
from PIL import Image

from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.image.header import DecodeLimits, Header, read_header
from service.media.image.orientation import read_orientation
from tests.huge_images import bmp, jpeg, webp

LIMITS = DecodeLimits()


def png_header(width: int, height: int) -> bytes:
    ihdr = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + ihdr + struct.pack(">I", zlib.crc32(ihdr)) + b"\0\0\0\0IDAT"


def gif_header(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0, 0, 0) + b";"


MAKERS = {"PNG": png_header, "GIF": gif_header, "BMP": bmp, "WEBP": webp, "JPEG": jpeg}


def refusal(encoded: bytes, limits: DecodeLimits = LIMITS) -> MediaError:
    with pytest.raises(MediaError) as caught:
        read_header(encoded, limits, ErrorLocation("images[1]", 1))
    assert (caught.value.param, caught.value.index) == ("images[1]", 1)
    return caught.value


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    ("width", "height", "numbers"),
    [
        (60_000, 60_000, ("60000 x 60000", "16384")),
        (10_000, 3_321, ("33210000", "33200000")),
        (1, 201, ("201.0", "200")),
        (201, 1, ("201.0", "200")),
        (16_385, 100, ("16385", "16384")),
    ],
)
def test_what_is_too_large_or_of_an_extreme_shape_is_refused_by_its_header_alone_with_both_numbers(
    kind: str, width: int, height: int, numbers: tuple[str, str]
) -> None:
    began = time.process_time()
    error = refusal(MAKERS[kind](width, height))
    assert time.process_time() - began < 0.05
    assert error.code == "media_too_large"
    assert all(number in error.message for number in numbers)


def test_the_limits_themselves_are_accepted() -> None:
    for size in ((10_000, 3_320), (16_384, 82), (200, 1), (1, 1)):
        assert read_header(png_header(*size), LIMITS) == Header("PNG", *size)


def test_a_long_file_is_refused_with_both_numbers_before_anything_is_read() -> None:
    error = refusal(b"x" * 101, DecodeLimits(max_encoded_bytes=100))
    assert error.code == "media_too_large"
    assert "101 bytes" in error.message
    assert "100" in error.message


def test_pillows_own_limit_neither_interferes_nor_is_changed(media: Path, monkeypatch) -> None:
    before = Image.MAX_IMAGE_PIXELS
    read_header((media / "square.png").read_bytes(), LIMITS)
    assert before == Image.MAX_IMAGE_PIXELS
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_header(png_header(9_000, 3_000), LIMITS).width == 9_000
        assert read_header(jpeg(9_000, 3_000), LIMITS).width == 9_000


def test_a_damaged_header_gives_the_fixed_sentence(media: Path) -> None:
    error = refusal((media / "square.png").read_bytes()[:20])
    assert error.code == "media_undecodable"
    assert error.message.startswith("The image cannot be decoded")
    assert error.__suppress_context__


def exif(form: int = 3, count: int = 1, value: int = 6) -> bytes:
    tag = b"".join(number.to_bytes(size, "little") for number, size in ((0x0112, 2), (form, 2), (count, 4), (value, 2)))
    return b"II*\0" + (8).to_bytes(4, "little") + (1).to_bytes(2, "little") + tag + bytes(6)


@pytest.mark.parametrize(
    "tiff",
    [
        *(exif(value=99), exif(form=4), exif(count=2), exif()[:11], b"XXXX" + bytes(20)),
        b"II*\0" + (8).to_bytes(4, "little") + b"\xff\xff" + bytes(40),
        b"II*\0\xff\xff\xff\xff" + bytes(20),
    ],
)
def test_damaged_exif_means_as_stored(tiff: bytes) -> None:
    assert read_orientation(exif()) == 6
    assert read_orientation(tiff) == 1
