"""Pixels of each format and mode, files that cannot be decoded, and the memory that a decode takes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.image.decode import decode_rgb
from service.media.image.header import DecodeLimits, read_header
from tests.builders import image_bytes

LIMITS = DecodeLimits()
STILLS = [
    "cmyk.jpg", "exif.jpg", "gray.png", "la.png", "palette.gif", "photo.webp", "real0.jpg", "real1.jpg", "real2.jpg",
    "rgba.png", "ribbon.png", "square.png", "tiny.png", "wide.png",
]  # fmt: skip


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


def test_an_image_whose_pixels_are_not_of_the_headers_size_is_refused() -> None:
    encoded = image_bytes(Image.new("RGB", (10, 10)))
    other = read_header(image_bytes(Image.new("RGB", (10, 11))), LIMITS)
    with pytest.raises(MediaError) as caught:
        decode_rgb(encoded, other)
    assert caught.value.code == "media_undecodable"


SIDE = 2_200
PEAK = """
import sys
from pathlib import Path
from service.media.image.decode import decode_rgb
from service.media.image.header import DecodeLimits, read_header

def peak():
    return next(int(line.split()[1]) << 10 for line in Path("/proc/self/status").open() if line.startswith("VmHWM"))

encoded = Path(sys.argv[1]).read_bytes()
header = read_header(encoded, DecodeLimits())
before = peak()
decode_rgb(encoded, header, background=(1, 2, 3)).resize((64, 64))
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of a process")
@pytest.mark.parametrize(
    ("kind", "mode", "options"),
    [
        ("PNG", "LA", {}),
        ("JPEG", "CMYK", {"progressive": True, "subsampling": 0}),
        ("WEBP", "RGBA", {"method": 0}),
        ("GIF", "P", {"transparency": 1}),
        ("BMP", "RGBA", {}),
    ],
)
def test_no_format_takes_more_than_it_is_charged_with(
    tmp_path: Path, kind: str, mode: str, options: dict[str, object]
) -> None:
    file = tmp_path / "image"
    Image.new(mode, (SIDE, SIDE)).save(file, kind, **options)
    charged = read_header(file.read_bytes(), DecodeLimits()).num_decode_bytes
    ended = subprocess.run([sys.executable, "-c", PEAK, str(file)], capture_output=True, text=True, check=True)
    assert 0.5 * charged < int(ended.stdout) < 1.03 * charged
