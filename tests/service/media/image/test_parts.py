"""Bombs of parts are refused before a decoder sees them; of honest files a decoder gets what pixels need, no more."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence

from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.image.decode import decode_rgb
from service.media.image.header import DecodeLimits, needed_bytes, read_header, walk
from service.media.image.parts import MAX_SCANS
from tests.builders import image_bytes
from tests.media_bombs import (
    BOMBS,
    EOI,
    between_scans,
    chunk,
    deflated,
    empty_scans,
    gif_with,
    image,
    jpeg_with,
    png_with,
    progressive,
    rle_bmp,
    scans,
    segment,
)

NUM_BYTES = 5_000_000
LIMITS = DecodeLimits()


def num_scans(encoded: bytes) -> int:
    parts = walk(encoded, "JPEG")
    assert parts is not None
    return parts.num_scans


CHEAP = {
    "jpeg exif parts", "jpeg fill bytes between scans", "png profiles", "png texts", "png exif",
    "gif long sub-blocks",
}  # fmt: skip
"""Accepted: no decoder sees them, or it passes over them at once."""


@pytest.mark.parametrize("name", sorted(BOMBS.keys() - CHEAP))
def test_a_bomb_of_parts_is_refused_by_the_walk(name: str) -> None:
    with pytest.raises(MediaError) as caught:
        read_header(BOMBS[name](NUM_BYTES if name != "bmp lines" else 12_000), LIMITS, ErrorLocation("images[1]", 1))
    assert (caught.value.param, caught.value.index) == ("images[1]", 1)
    if name == "jpeg components":
        assert caught.value.code == "media_undecodable"  # it has two frames, too
    else:
        assert caught.value.code == "media_too_large"
        assert "are accepted" in caught.value.message


@pytest.mark.parametrize("name", sorted(CHEAP - {"jpeg fill bytes between scans"}))
def test_metadata_without_end_is_no_concern_of_a_decoder(name: str) -> None:
    encoded = BOMBS[name](NUM_BYTES)
    header = read_header(encoded, LIMITS)
    assert read_header(encoded, LIMITS, upright=True).orientation == 1
    needed = needed_bytes(encoded, header.format)
    assert len(needed) < 10_000
    assert decode_rgb(encoded, header) == decode_rgb(needed, header)


def test_fill_bytes_between_scans_are_read_once() -> None:
    """libjpeg goes over all bytes that it has been given and could not take, each time it is given more."""
    reads: list[int] = []

    class Counting(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            reads.append(size or 0)
            return super().read(size)

    encoded = between_scans(b"\xff", NUM_BYTES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("service.media.image.decode.io.BytesIO", Counting)
        decode_rgb(encoded, read_header(encoded, LIMITS))
    assert sum(size > 1000 for size in reads) == 1


@pytest.mark.parametrize("make", [scans, lambda num: scans(num, 64), empty_scans])
def test_scans_are_accepted_up_to_the_bound(make) -> None:
    assert num_scans(make(MAX_SCANS)) == MAX_SCANS
    with pytest.raises(MediaError, match="more than 64 scans"):
        read_header(make(MAX_SCANS + 1), LIMITS)


@pytest.mark.parametrize(
    "stuff",
    [
        segment(0xFE, b"\xff\xd9"),
        segment(0xEC, b"\xff\xd9 \xff\xda"),
        b"\xff\xff\xff",
        b"\xff\x02",
        b"\xff\x01",
        b"\xff\xd3\xff\x00",
    ],
    ids=["end in a comment", "scan in a segment", "fill bytes", "reserved marker", "bare marker", "restart marker"],
)
def test_no_trick_hides_scans_or_makes_any(stuff: bytes) -> None:
    file = scans(MAX_SCANS, 64)
    place = file.index(b"\xff\xc4", file.index(b"\xff\xda"))
    assert num_scans(file[:place] + stuff + file[place:]) == MAX_SCANS


def test_a_second_image_behind_the_end_does_not_count() -> None:
    """As phones append them: another JPEG, or a film."""
    file = progressive(64)
    assert num_scans(file + scans(MAX_SCANS, 64) + b"\xff\xda" * 100) == file.count(b"\xff\xda")


def test_what_a_thumbnail_holds_does_not_count() -> None:
    thumbnail = segment(0xE1, b"Exif\0\0" + scans(MAX_SCANS, 64)[:60_000])
    assert num_scans(jpeg_with(thumbnail * 3, len(thumbnail) * 3)) == 1


def test_an_image_may_have_a_chunk_for_each_of_its_rows_and_run_lengths_of_a_screen() -> None:
    for encoded, size in (
        (png_with(chunk(b"IDAT"), 16_384 * 12, b"IEND"), (32, 32)),
        (rle_bmp((b"\xc8\x01" * 16 + b"\0\0") * 1080 + b"\0\1", 3200, 1080), (3200, 1080)),
    ):
        assert decode_rgb(encoded, read_header(encoded, LIMITS)).size == size


HONEST = {
    "rgb": image("JPEG", 96),
    "rgb, no thinned colors": image("JPEG", 96, subsampling=0),
    "progressive": image("JPEG", 96, progressive=True),
    "restart markers": image("JPEG", 96, restart_marker_blocks=2),
    "progressive with restart markers": image("JPEG", 96, restart_marker_blocks=2, progressive=True),
    "profile": image("JPEG", 96, icc_profile=bytes(200_000), comment="a" * 1000),
    "stored rgb": image("JPEG", 96, keep_rgb=True),
    "fill bytes": jpeg_with(b"\xff", 1000),
    "other bytes": jpeg_with(b"\0", 1000),
    "bare markers": jpeg_with(b"\xff\xd0", 1000),
    "comments between scans": between_scans(segment(0xFE, b"x" * 100), 5000),
    "png": image("PNG", 96),
    "png with metadata": png_with(
        chunk(b"tEXt", b"a\0b")
        + deflated(b"iCCP", b"a\0\0")
        + chunk(b"gAMA", b"\0\0\xb1\x8f")
        + chunk(b"vpAg", b"123"),
        4000,
    ),
    "gif": image("GIF", 96),
    "gif with comments": gif_with(b"\x03abc", 4000),
    "webp": image("WEBP", 96),
    "bmp": image("BMP", 96),
}


def _as_pillow(encoded: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(encoded)) as image:
        return np.asarray(image.convert("RGB"))


@pytest.mark.parametrize("name", HONEST)
def test_honest_files_give_the_pixels_that_pillow_gives(name: str) -> None:
    encoded = HONEST[name]
    decoded = decode_rgb(encoded, read_header(encoded, LIMITS))
    assert np.array_equal(np.asarray(decoded), _as_pillow(encoded))


@pytest.mark.parametrize("mode", ["L", "CMYK", "RGB"])
@pytest.mark.parametrize("is_progressive", [False, True])
def test_every_mode_of_jpeg_gives_the_pixels_that_pillow_gives(mode: str, is_progressive: bool) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (40, 56, 3), dtype=np.uint8)
    image = Image.fromarray(noise).convert(mode)
    encoded = image_bytes(image, "JPEG", progressive=is_progressive, exif=b"Exif\0\0II*\0")
    assert np.array_equal(np.asarray(decode_rgb(encoded, read_header(encoded, LIMITS))), _as_pillow(encoded))


@pytest.mark.parametrize("options", [{}, {"default_image": True}, {"disposal": 1}, {"disposal": 2}])
@pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP"])
def test_of_an_animation_it_is_the_first_frame(kind: str, options: dict[str, object]) -> None:
    frames = [Image.new("RGBA", (32, 32), (n, 200 - n, 30, 255 - n)) for n in (0, 100, 200)]
    encoded = image_bytes(frames[0], kind, save_all=True, append_images=frames[1:], **options)
    with Image.open(io.BytesIO(encoded)) as image:
        first = next(iter(ImageSequence.Iterator(image))).convert("RGB")
    assert decode_rgb(encoded, read_header(encoded, LIMITS), background="stored") == first


def test_the_oracles_images_keep_their_pixels(media: Path) -> None:
    for path in sorted(media.glob("*.[jpgw]*")):
        encoded = path.read_bytes()
        decoded = decode_rgb(encoded, read_header(encoded, LIMITS), background="stored")
        assert np.array_equal(np.asarray(decoded), _as_pillow(encoded)), path.name


def test_a_file_that_ends_inside_metadata_is_still_cut() -> None:
    file = png_with(chunk(b"tEXt", b"a\0" + b"b" * 1000), 1014, b"IEND")
    encoded = file[: file.index(b"tEXt") + 500]
    with pytest.raises(MediaError):
        decode_rgb(encoded, read_header(encoded, LIMITS))


def test_a_name_that_is_none_ends_a_png_here_as_in_pillow() -> None:
    encoded = png_with(chunk(b"a+cd") + chunk(b"tEXt"), 600_000)
    with pytest.raises(MediaError):
        decode_rgb(encoded, read_header(encoded, LIMITS))
    digits = png_with(chunk(b"ab_1") + chunk(b"tEXt"), 600_000)
    with pytest.raises(MediaError, match="more than 32768"):
        read_header(digits, LIMITS)


def test_of_two_frames_in_one_jpeg_neither_is_taken() -> None:
    file = image("JPEG", 32)
    frame = file[file.index(b"\xff\xc0") : file.index(b"\xff\xc4")]
    with pytest.raises(MediaError):
        read_header(file.replace(frame, frame + frame), LIMITS)
    assert file.endswith(EOI)


@pytest.mark.parametrize("mode", ["RGB", "CMYK"])
def test_a_segment_of_adobes_number_with_something_else_in_it_is_metadata(mode: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (40, 60, len(mode)), dtype=np.uint8)
    encoded = image_bytes(Image.frombytes(mode, (60, 40), noise.tobytes()), "JPEG")
    other = b"\xff\xee\xff\xffMaker\0" + bytes(0xFFFF - 8)
    padded = encoded[:2] + other * 100 + encoded[2:]
    assert np.array_equal(_as_pillow(padded), _as_pillow(encoded))
    pixels = decode_rgb(padded, read_header(padded, DecodeLimits()))
    assert np.array_equal(np.asarray(pixels), _as_pillow(encoded))
    assert len(needed_bytes(padded, "JPEG")) < len(encoded) + 1
