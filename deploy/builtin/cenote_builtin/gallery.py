"""Drawn scenes with captions, to try things on: `python -m cenote_builtin.gallery FOLDER --num 60 --seed 1`.

Writes `000.png`, `001.png`, ... and `scenes.jsonl` with a line for each. The model was not trained on these scenes.
Needs Pillow and numpy, but neither a server nor torch.
"""

import argparse
import json
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from cenote_builtin.scenes.captions import caption
from cenote_builtin.scenes.scenes import Scene, draw, meaning, sample_scene

SIZE_PIXELS: Final = 128
"""Side of an image: what the model was trained on."""


def write_gallery(folder: Path, num: int, seed: int) -> None:
    """Draw scenes and describe them; the same number and seed give the same files."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng([seed, 3])
    lines = []
    for number, scene in enumerate(_different_scenes(num, rng)):
        file = f"{number:03}.png"
        draw(scene, SIZE_PIXELS).save(folder / file)
        lines.append(json.dumps({"file": file, "caption": caption(scene, "whole", rng)} | _facts(scene)) + "\n")
    (folder / "scenes.jsonl").write_text("".join(lines))


def _different_scenes(num: int, rng: np.random.Generator) -> list[Scene]:
    """Scenes with different objects, so that each caption fits one image."""
    scenes: dict[Hashable, Scene] = {}
    while len(scenes) < num:
        scene = sample_scene(rng, held_out=True)
        scenes.setdefault(meaning(scene, "whole"), scene)
    return list(scenes.values())


def _facts(scene: Scene) -> dict[str, Any]:
    """The contents of the image, by which results are checked."""
    return {
        "colors": sorted({thing.color for thing in scene.objects}),
        "shapes": sorted({thing.shape for thing in scene.objects}),
        "count": len(scene.objects),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the gallery that the command line asks for."""
    parser = argparse.ArgumentParser(description="Drawn scenes with captions, to try things on.")
    parser.add_argument("folder", type=Path, help="where to write the images and scenes.jsonl")
    parser.add_argument("--num", type=int, default=60, help="how many images (60)")
    parser.add_argument("--seed", type=int, default=1, help="which scenes (1)")
    chosen = parser.parse_args(arguments)
    write_gallery(chosen.folder, chosen.num, chosen.seed)


if __name__ == "__main__":
    main()
