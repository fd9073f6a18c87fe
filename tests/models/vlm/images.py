"""Images of several shapes: small, wide, and larger than any limit of the families."""

import numpy as np
from PIL import Image


def image(seed: int, width: int, height: int) -> Image.Image:
    """Colored blocks with soft edges, which every resize shows in."""
    blocks = np.random.default_rng(seed).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    return Image.fromarray(blocks).resize((width, height), Image.Resampling.BICUBIC)


SMALL = image(1, 70, 50)
WIDE = image(2, 260, 61)
TALL = image(3, 90, 200)
EXACT = image(4, 112, 84)
CLEAR = image(6, 120, 90)
"""Half of it transparent, over colors that are stored there."""
CLEAR.putalpha(Image.fromarray(np.linspace(0, 255, 120, dtype=np.uint8)[None].repeat(90, 0)))
LARGE = image(5, 1300, 1000)
SLIVER = image(7, 300, 14)
"""Its short side rounds to no patch at all: transformers and qwen-vl-utils see it at different sizes."""
