"""Files of images of odd shapes and modes."""

import numpy as np
from PIL import Image

from tests.builders import image_bytes


def noise(width: int, height: int, num_channels: int = 3, seed: int = 7) -> np.ndarray:
    """Blocks and noise: edges to blur, and values that end in halves."""
    draw = np.random.default_rng(seed)
    blocks = draw.integers(0, 256, (-(-height // 5), -(-width // 5), num_channels), dtype=np.uint8)
    fine = draw.integers(0, 64, (height, width, num_channels), dtype=np.uint8)
    return np.minimum(blocks.repeat(5, 0).repeat(5, 1)[:height, :width], 191) + fine


def _palette() -> Image.Image:
    image = Image.fromarray(noise(50, 40)).quantize(16)
    image.info["transparency"] = 3
    return image


IMAGES: dict[str, bytes] = {
    "square": image_bytes(Image.fromarray(noise(64, 64))),
    "as it is seen": image_bytes(Image.fromarray(noise(32, 32))),
    "wide": image_bytes(Image.fromarray(noise(211, 40))),
    "tall": image_bytes(Image.fromarray(noise(37, 150))),
    "extreme": image_bytes(Image.fromarray(noise(400, 3))),
    "tiny": image_bytes(Image.fromarray(noise(2, 3))),
    "one pixel": image_bytes(Image.fromarray(noise(1, 1))),
    "large": image_bytes(Image.fromarray(noise(700, 513))),
    "rgba": image_bytes(Image.fromarray(noise(90, 61, 4), "RGBA")),
    "gray": image_bytes(Image.fromarray(noise(61, 90, 1)[..., 0], "L")),
    "gray with alpha": image_bytes(Image.fromarray(noise(45, 33, 2), "LA")),
    "palette": image_bytes(_palette()),
    "jpeg": image_bytes(Image.fromarray(noise(99, 77)), "JPEG"),
    "cmyk": image_bytes(Image.fromarray(noise(60, 60, 4), "CMYK"), "JPEG"),
}
