"""Pixels of each format and mode, and files that cannot be decoded."""

import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.image.decode import decode_rgb
from service.media.image.header import DecodeLimits, read_header
from tests.builders import image_bytes

LIMITS = DecodeLimits()
STILLS = [
    "cmyk.jpg",
    "exif.jpg",
    "gray.png",
    "la.png",
    "palette.gif",
    "photo.webp",
    "real0.jpg",
    "real1.jpg",
    "real2.jpg",
    "rgba.png",
    "ribbon.png",
    "square.png",
    "tiny.png",
    "wide.png",
]


def decode(encoded: bytes) -> Image.Image:
    return decode_rgb(encoded, read_header(encoded, LIMITS), ErrorLocation("image", 7))


def reference(image: Image.Image) -> Image.Image:
    """`to_rgb` of qwen-vl-utils 0.0.14, in other words."""
    if image.mode != "RGBA":
        return image.convert("RGB")
    white = Image.new("RGB", image.size, (255, 255, 255))
    white.paste(image, mask=image.split()[3])
    return white


@pytest.mark.parametrize("name", STILLS)
def test_every_image_of_the_oracle_gets_the_references_colors(media: Path, name: str) -> None:
    with Image.open(media / name) as image:
        expected = np.asarray(reference(image))
    image = decode((media / name).read_bytes())
    assert image.mode == "RGB"
    assert np.array_equal(np.asarray(image), expected)


@pytest.mark.parametrize(
    ("mode", "color", "expected"),
    [
        ("RGBA", (200, 100, 50, 0), (255, 255, 255)),
        ("RGBA", (200, 100, 50, 255), (200, 100, 50)),
        ("RGBA", (0, 0, 0, 128), (127, 127, 127)),
        ("LA", (90, 0), (90, 90, 90)),
        ("L", 90, (90, 90, 90)),
        ("1", 1, (255, 255, 255)),
        ("I;16", 40_000, (255, 255, 255)),
        ("RGB", (1, 2, 3), (1, 2, 3)),
    ],
)
def test_each_mode_has_its_rule(mode: str, color: object, expected: tuple[int, int, int]) -> None:
    image = decode(image_bytes(Image.new(mode, (5, 4), color)))
    assert image.size == (5, 4)
    assert set(image.get_flattened_data()) == {expected}


@pytest.mark.parametrize(
    ("mode", "color", "expected"),
    [
        ("RGBA", (200, 100, 50, 0), (200, 100, 50)),
        ("RGBA", (0, 0, 0, 128), (0, 0, 0)),
        ("LA", (90, 0), (90, 90, 90)),
        ("RGB", (1, 2, 3), (1, 2, 3)),
    ],
)
def test_what_is_stored_shows_in_every_mode_where_that_is_asked_for(
    mode: str, color: object, expected: tuple[int, int, int]
) -> None:
    encoded = image_bytes(Image.new(mode, (5, 4), color))
    image = decode_rgb(encoded, read_header(encoded, DecodeLimits()), background="stored")
    assert set(image.get_flattened_data()) == {expected}


@pytest.mark.filterwarnings("error")
def test_transparent_pixels_of_a_palette_show_their_stored_color_without_a_warning() -> None:
    image = Image.new("P", (3, 3), 1)
    image.putpalette([1, 2, 3, 200, 100, 50])
    for transparency in (1, bytes([10, 0])):
        decoded = decode(image_bytes(image, transparency=transparency))
        assert set(decoded.get_flattened_data()) == {(200, 100, 50)}


def test_the_orientation_tag_is_ignored(media: Path) -> None:
    encoded = (media / "exif.jpg").read_bytes()
    with Image.open(media / "exif.jpg") as image:
        turned = ImageOps.exif_transpose(image)
        assert turned.size == image.size[::-1]
        assert decode(encoded).size == image.size


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP"])
def test_an_animation_gives_its_first_frame(kind: str) -> None:
    frames = [Image.new("RGB", (16, 16), color) for color in ("red", "blue", "green")]
    image = decode(image_bytes(frames[0], kind, save_all=True, append_images=frames[1:], lossless=True))
    assert image.getpixel((8, 8)) in {(255, 0, 0), (254, 0, 0)}


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_a_file_cut_at_any_percent_is_an_error(kind: str) -> None:
    noise = random.Random(5).randbytes(64 * 48 * 3)
    encoded = image_bytes(Image.frombytes("RGB", (64, 48), noise), kind)
    assert decode(encoded).size == (64, 48)
    for percent in range(100):
        with pytest.raises(MediaError) as caught:
            decode(encoded[: len(encoded) * percent // 100])
        assert caught.value.code == "media_undecodable"
        assert (caught.value.param, caught.value.index) in {("image", 7), (None, None)}


@pytest.mark.filterwarnings("error")
def test_damaged_exif_is_not_read_at_all(media: Path) -> None:
    with Image.open(media / "exif.jpg") as image:
        image = image.convert("RGB")
    tag = b"\x12\x01\x03\x00\xff\xff\xff\x7f\x06\x00\x00\x00"  # orientation, two billion values
    broken = b"Exif\0\0II*\0\x08\0\0\0\x01\0" + tag
    assert decode(image_bytes(image, "JPEG", exif=broken)).size == image.size


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
@pytest.mark.filterwarnings("error")
def test_mutated_files_give_an_image_or_our_error_and_write_nothing_to_stderr(kind: str, capfd) -> None:
    source = random.Random(11)
    seed = image_bytes(Image.frombytes("RGB", (24, 16), source.randbytes(24 * 16 * 3)), kind)
    limits = DecodeLimits(max_pixels=1_000_000)
    errors: list[MediaError] = []
    for _ in range(1_500):
        mutant = bytearray(seed)
        for _ in range(source.randint(1, 8)):
            mutant[source.randrange(len(mutant))] = source.randrange(256)
        try:
            header = read_header(bytes(mutant), limits)
            assert decode_rgb(bytes(mutant), header).mode == "RGB"
        except MediaError as caught:
            errors.append(caught)
    assert {error.code for error in errors} <= {"media_undecodable", "media_too_large"}
    assert not any("0x" in error.message for error in errors)
    assert errors
    assert capfd.readouterr().err == ""


def test_an_image_whose_pixels_are_not_of_the_headers_size_is_refused() -> None:
    encoded = image_bytes(Image.new("RGB", (10, 10)))
    other = read_header(image_bytes(Image.new("RGB", (10, 11))), LIMITS)
    with pytest.raises(MediaError) as caught:
        decode_rgb(encoded, other)
    assert caught.value.code == "media_undecodable"
