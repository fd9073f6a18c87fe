"""The sample images of the README and the tests, written by `python -m cenote_builtin.samples`."""

from typing import Final

from cenote_builtin.scenes.scenes import Scene, SceneObject, draw
from service.checkpoint.hub import CHECKPOINT

FOLDER: Final = CHECKPOINT.parent / "samples"
SIZE_PIXELS: Final = 256
SAMPLES: Final = {
    "red-circle-blue-square": Scene(
        (SceneObject(0, "circle", "red", large=True), SceneObject(8, "square", "blue", large=False)), look=1
    ),
    "three-green-stars": Scene(
        (
            SceneObject(1, "star", "green", large=True),
            SceneObject(3, "star", "green", large=True),
            SceneObject(5, "star", "green", large=False),
        ),
        look=2,
    ),
    "yellow-ring-purple-cross-black-triangle": Scene(
        (
            SceneObject(2, "ring", "yellow", large=True),
            SceneObject(4, "cross", "purple", large=True),
            SceneObject(6, "triangle", "black", large=False),
        ),
        look=3,
    ),
}
"""File name without its ending, and the scene in it."""


def main() -> None:
    """Draw every sample as a PNG of 256 x 256 pixels."""
    FOLDER.mkdir(exist_ok=True)
    for name, scene in SAMPLES.items():
        draw(scene, SIZE_PIXELS).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
