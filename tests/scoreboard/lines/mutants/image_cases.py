"""Images made by hand, each with what must come of it: exact pixels, or a refusal.

What is expected is computed without the product: by Pillow in the reference's way, by numpy, or stated.
"""

import contextlib
import io
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from PIL import Image

from service.media.item import AS_REFERENCE, ImageReadOptions
from tests.builders import image_bytes
from tests.huge_images import BOMBS
from tests.scoreboard.lines.mutants.image_seeds import noise

ACCEPTED = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
SIZE = (96, 64)


@dataclass(frozen=True, slots=True)
class Case:
    """A file and what must come of it.

    Attributes:
        name: in words.
        file: the image.
        expected: pixels; a code, for a refusal; None when any pixels will do.
        reading: how it is read.
        is_bomb: refused from the header, and at once.
    """

    name: str
    file: bytes
    expected: "np.ndarray | str | None"
    reading: ImageReadOptions = AS_REFERENCE
    is_bomb: bool = False


def cases() -> Iterator[Case]:
    """All of them."""
    yield from formats()
    yield from _bombs()
    yield from _sizes()
    yield from _modes()
    yield from _orientations()
    yield from _cuts()
    yield from _frames()
    yield from _metadata()


def formats() -> Iterator[Case]:
    """One file of each format that this Pillow knows and can write; five are accepted."""
    Image.init()
    for kind in sorted(set(Image.OPEN) & set(Image.SAVE)):
        for mode in ("RGB", "L", "1", "CMYK"):
            with (
                contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError),
                warnings.catch_warnings(),
            ):
                warnings.simplefilter("ignore")
                file = image_bytes(noise(mode, size=(64, 64)), kind)
                yield Case(f"{kind} of {mode}", file, None if kind in ACCEPTED else "media_undecodable")
                break
    others = {
        "svg": b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>",
        "pdf": b"%PDF-1.7\n",
        "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        "zip": b"PK\x03\x04" + bytes(40),
        "avif": b"\0\0\0 ftypavif" + bytes(40),
        "heic": b"\0\0\0 ftypheic" + bytes(40),
        "jpeg 2000": b"\0\0\0\x0cjP  \r\n\x87\n" + bytes(40),
        "html": b"<html><body>x</body></html>",
        "fits": b"SIMPLE  =                    T" + bytes(2880),
        "psd": b"8BPS\0\1" + bytes(40),
        "nothing": b"",
        "one byte": b"\x89",
    }
    yield from (Case(name, file, "media_undecodable") for name, file in others.items())


def _bombs() -> Iterator[Case]:
    for name, bomb in BOMBS.items():
        for width, height in ((60_000, 60_000), (9_400, 9_400), (16_000, 4_000), (16_384, 16_384), (65_000, 1_000)):
            yield Case(f"{name} bomb of {width} x {height}", bomb(width, height), "media_too_large", is_bomb=True)
        for width, height in ((1, 201), (201, 1), (60, 16_384), (16_384, 60)) if name != "gif frame" else ():
            yield Case(f"{name} of {width} x {height}", bomb(width, height), "media_too_large", is_bomb=True)
    for width, height in ((0, 0), (0, 9), (9, 0)):
        yield Case(f"png of {width} x {height}", BOMBS["png"](width, height), "media_undecodable")
        yield Case(f"bmp of {width} x {height}", BOMBS["bmp"](width, height), "media_undecodable")
    large = noise("RGB", size=(1_200, 20))
    for kind in ACCEPTED:
        yield Case(
            f"{kind} followed by 20 MiB", image_bytes(large, kind) + bytes(20 << 20), "media_too_large", is_bomb=True
        )


def _sizes() -> Iterator[Case]:
    for kind in ("PNG", "BMP"):
        for size in ((32, 32), (64, 32), (32, 6_400), (6_400, 32), (96, 160)):
            image = noise("RGB", size=size)
            yield Case(f"{kind} of {size[0]} x {size[1]}", image_bytes(image, kind), np.asarray(image))
    for size in ((1, 1), (1, 200), (200, 1), (33, 65), (2, 3), (31, 31)):
        for kind in ACCEPTED:
            yield Case(f"{kind} of {size[0]} x {size[1]}", image_bytes(noise("RGB", size=size), kind), None)


def _modes() -> Iterator[Case]:
    """Every mode with the reference's rule, and transparency over a background."""
    color = (10, 200, 30)
    for mode in ("RGB", "RGBA", "LA", "L", "1", "P"):
        image = noise(mode, size=SIZE)
        for reading in (AS_REFERENCE, ImageReadOptions(color)):
            yield Case(f"png of {mode} {reading}", image_bytes(image, "PNG"), _over(image, reading), reading)
    for mode in ("RGB", "RGBA"):
        image = noise(mode, size=SIZE)
        file = image_bytes(image, "WEBP", lossless=True, exact=True)
        for reading in (AS_REFERENCE, ImageReadOptions(color)):
            yield Case(f"webp of {mode} {reading}", file, _over(image, reading), reading)
    for mode in ("RGB", "L", "1", "P"):
        image = noise(mode, size=SIZE)
        yield Case(f"bmp of {mode}", image_bytes(image, "BMP"), np.asarray(image.convert("RGB")))
    for options, kinds in (({"transparency": 7}, ("PNG", "GIF")), ({"transparency": bytes(range(256))}, ("PNG",))):
        for kind in kinds:
            file = image_bytes(noise("P", size=SIZE), kind, **options)
            for reading in (AS_REFERENCE, ImageReadOptions(color)):
                yield Case(
                    f"{kind} with {options} {reading}", file, _over(Image.open(io.BytesIO(file)), reading), reading
                )
    gray = Image.new("I;16", SIZE, 40_000)
    yield Case(
        "16-bit gray is clipped as in the reference", image_bytes(gray, "PNG"), np.full((64, 96, 3), 255, np.uint8)
    )
    for image in (noise("CMYK", size=SIZE), noise("L", size=SIZE), noise("RGB", size=SIZE)):
        file = image_bytes(image, "JPEG", icc_profile=bytes(range(128)))
        yield Case(f"jpeg of {image.mode}, ICC ignored", file, np.asarray(Image.open(io.BytesIO(file)).convert("RGB")))


def _over(image: Image.Image, reading: ImageReadOptions) -> np.ndarray:
    """The reference's rule, or the plain formula of laying an image over a color."""
    color = (255, 255, 255) if reading.background == "reference" else reading.background
    if reading.background == "reference" and image.mode != "RGBA":
        return np.asarray(image.convert("RGB"))
    pixels = np.asarray(image.convert("RGBA")).astype(int)
    alpha = pixels[..., 3:]
    mixed = pixels[..., :3] * alpha + np.array(color) * (255 - alpha) + 128
    return ((mixed + (mixed >> 8)) >> 8).astype(np.uint8)  # division by 255, rounded


def _orientations() -> Iterator[Case]:
    image = noise("RGB", size=SIZE)
    stored = np.asarray(image)
    shown = {
        1: stored,
        2: stored[:, ::-1],
        3: stored[::-1, ::-1],
        4: stored[::-1],
        5: stored.transpose(1, 0, 2),
        6: np.rot90(stored, -1),
        7: stored[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90(stored),
    }
    for value in (*shown, 0, 9, 99, 65_535):
        for order in ("II", "MM"):
            for kind, options in (("PNG", {}), ("WEBP", {"lossless": True})):
                file = image_bytes(image, kind, exif=_exif(value, order), **options)
                name = f"{kind} of orientation {value} {order}"
                yield Case(name, file, shown.get(value, stored), ImageReadOptions(upright=True))
                yield Case(f"{name}, as stored", file, stored)
    jpeg = image_bytes(image, "JPEG")
    pixels = np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))
    for name, data in {"XXXX": b"Exif\0\0XXXX" + bytes(60), "a loop": _exif(6, "II")[:-4] + b"\x08\0\0\0"}.items():
        file = image_bytes(image, "JPEG", exif=data)
        expected = np.rot90(pixels, -1) if name == "a loop" else pixels
        yield Case(f"EXIF with {name}", file, expected, ImageReadOptions(upright=True))
    yield Case(
        "64 kB of EXIF",
        image_bytes(image, "JPEG", exif=b"Exif\0\0II*\0" + b"\xff" * 65_000),
        pixels,
        ImageReadOptions(upright=True),
    )


def _exif(value: int, order: str) -> bytes:
    byteorder = "little" if order == "II" else "big"
    parts = ((42, 2), (8, 4), (1, 2), (0x0112, 2), (3, 2), (1, 4), (value, 2), (0, 2), (0, 4))
    return b"Exif\0\0" + order.encode() + b"".join(number.to_bytes(size, byteorder) for number, size in parts)


def _cuts() -> Iterator[Case]:
    for kind in ACCEPTED:
        file = image_bytes(noise("RGB", size=SIZE), kind)
        for percent in (1, 5, 20, 40, 60, 80, 90, 95, 99):
            yield Case(f"{kind} cut at {percent} %", file[: len(file) * percent // 100], "media_undecodable")


def _frames() -> Iterator[Case]:
    """The first frame, whatever follows it."""
    first, rest = noise("P", size=SIZE), [noise("P", seed, size=SIZE) for seed in range(2, 40)]
    expected = np.asarray(first.convert("RGB"))
    yield Case("GIF of 39 frames", image_bytes(first, "GIF", save_all=True, append_images=rest), expected)
    frames = [frame.convert("RGB") for frame in rest]
    options = {"save_all": True, "append_images": frames}
    yield Case("APNG of 39 frames", image_bytes(first.convert("RGB"), "PNG", **options), expected)
    yield Case("WebP of 39 frames", image_bytes(first.convert("RGB"), "WEBP", lossless=True, **options), expected)


def _metadata() -> Iterator[Case]:
    """It is never read, so its damage and its size cost nothing."""
    image = noise("RGB", size=SIZE)
    file, pixels = image_bytes(image, "PNG"), np.asarray(image)
    for name in (b"zTXt", b"iTXt", b"tEXt", b"iCCP", b"gAMA", b"cHRM", b"sRGB", b"vpAg"):
        body = name + (b"\0\0\xb1\x8f" if name == b"gAMA" else b"x" * 40)
        yield Case(f"PNG with a damaged {name.decode()}", _with_chunk(file, body), pixels)
    text = b"zTXtComment\0\0" + zlib.compress(bytes(50 << 20))
    yield Case("PNG with 50 MB in a zTXt", _with_chunk(file, text), pixels)
    profile = b"iCCPx\0\0" + zlib.compress(bytes(50 << 20))
    yield Case("PNG with 50 MB in an iCCP", _with_chunk(file, profile), pixels)
    yield Case("PNG with text behind", file + b"<script>", pixels)


def _with_chunk(file: bytes, body: bytes) -> bytes:
    chunk = (len(body) - 4).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    return file[:33] + chunk + file[33:]
