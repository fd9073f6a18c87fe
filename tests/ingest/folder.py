"""A folder of generated images, no two alike, with broken files among them."""

from pathlib import Path

import numpy as np
from PIL import Image

BROKEN = {"a/empty.png": "media_undecodable", "b/text.jpg": "media_undecodable", "cut.png": "media_undecodable",
          "c/gone.png": "unreadable_file"}  # fmt: skip
"""Planted files with the code of each."""
INSTRUCTIONS = ("Represent the colors of the image.", "Represent the shapes of the image.", "Represent the image.")


def asked(*instructions: str) -> list[str]:
    return [part for instruction in instructions or INSTRUCTIONS for part in ("--instruction", instruction)]


def fill(folder: Path, num_images: int, seed: int = 0) -> list[str]:
    """Write images and `BROKEN`; the ids of the good ones."""
    names = [f"{'abc'[i % 3]}/{i:05}.png" for i in range(num_images)]
    for i, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        blocks = np.random.default_rng((seed, i)).integers(0, 256, (4, 6, 3), dtype=np.uint8)
        Image.fromarray(blocks).resize((96, 64), Image.Resampling.NEAREST).save(path)
    (folder / "a/empty.png").write_bytes(b"")
    (folder / "b/text.jpg").write_text("this is no image")
    (folder / "cut.png").write_bytes((folder / names[0]).read_bytes()[:-40])
    (folder / "c/gone.png").symlink_to("nowhere.png")
    return names
