"""Small valid images of the five formats, in every mode and with every ornament that Pillow writes."""

import random
from functools import cache
from typing import Any

from PIL import Image, PngImagePlugin

from tests.builders import image_bytes

SIZE = (24, 16)
ORIENTED = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"


def noise(mode: str, seed: int = 1, size: tuple[int, int] = SIZE) -> Image.Image:
    """An image of random pixels."""
    channels = {"RGB": 3, "RGBA": 4, "LA": 2, "L": 1, "P": 1, "CMYK": 4}
    if mode == "I;16":
        return Image.frombytes("I;16", size, random.Random(seed).randbytes(size[0] * size[1] * 2))
    if mode == "1":
        return noise("L", seed, size).convert("1")
    image = Image.frombytes(mode, size, random.Random(seed).randbytes(size[0] * size[1] * channels[mode]))
    if mode == "P":
        image.putpalette(random.Random(seed).randbytes(768))
    return image


@cache
def seeds() -> tuple[bytes, ...]:
    """All of them."""
    frames = [noise("RGB", seed) for seed in (2, 3)]
    palette_frames = [noise("P", seed) for seed in (2, 3)]
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", "x" * 60, zip=True)
    text.add_itxt("Title", "y" * 30, zip=True)
    moving: dict[str, Any] = {"save_all": True, "append_images": frames}
    return (
        *(image_bytes(noise(mode), "PNG") for mode in ("RGB", "RGBA", "LA", "L", "1", "I;16", "P")),
        image_bytes(noise("P"), "PNG", transparency=bytes(range(0, 256, 8))),
        image_bytes(noise("RGB"), "PNG", transparency=(1, 2, 3)),
        image_bytes(noise("RGB"), "PNG", pnginfo=text, exif=ORIENTED, icc_profile=bytes(128)),
        image_bytes(noise("RGB"), "PNG", **moving),
        image_bytes(noise("RGB"), "JPEG", quality=90),
        image_bytes(noise("RGB"), "JPEG", progressive=True, exif=ORIENTED),
        image_bytes(noise("L"), "JPEG"),
        image_bytes(noise("CMYK"), "JPEG", icc_profile=bytes(128)),
        image_bytes(noise("RGB"), "WEBP"),
        image_bytes(noise("RGBA"), "WEBP", lossless=True),
        image_bytes(noise("RGB"), "WEBP", exif=ORIENTED, **moving),
        image_bytes(noise("P"), "GIF"),
        image_bytes(noise("P"), "GIF", transparency=3, comment=b"c" * 40),
        image_bytes(noise("P"), "GIF", save_all=True, append_images=palette_frames, disposal=2),
        *(image_bytes(noise(mode), "BMP") for mode in ("RGB", "RGBA", "L", "1", "P")),
    )
