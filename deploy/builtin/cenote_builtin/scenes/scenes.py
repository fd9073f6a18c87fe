"""Scenes of colored shapes on a 3x3 grid: what they are, what they mean under an aspect, and how they are drawn."""

import hashlib
import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from PIL import Image, ImageDraw

Polygon: TypeAlias = tuple[tuple[float, float], ...]
Aspect: TypeAlias = Literal["whole", "colors", "shapes", "count", "positions"]

ASPECTS: Final[tuple[Aspect, ...]] = get_args(Aspect)
COLORS: Final = {
    "red": (215, 35, 40),
    "orange": (245, 135, 25),
    "yellow": (240, 210, 30),
    "green": (45, 150, 60),
    "cyan": (40, 195, 215),
    "blue": (35, 70, 205),
    "purple": (140, 50, 165),
    "black": (25, 25, 25),
}
"""Name to RGB; every object's color is moved a little from these values."""
SHAPES: Final = ("circle", "square", "triangle", "star", "cross", "ring")
"""Names of the shapes, in the order in which captions were designed; the order carries no meaning."""
NUM_CELLS: Final = 9
MAX_OBJECTS: Final = 4
HELD_OUT_EVERY: Final = 10
"""One whole-scene key in this many is never used in training."""

_RADIUS: Final = {"large": 0.46, "small": 0.3}  # of a cell's side
_OVERSAMPLING: Final = 3
_CIRCLE_POINTS: Final = 48
_STAR_INNER_RADIUS: Final = 0.42
_CROSS_HALF_WIDTH: Final = 0.3
_RING_HOLE_RADIUS: Final = 0.55


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One shape in one cell."""

    cell: int
    """0..8, row by row from the top left."""
    shape: str
    color: str
    large: bool


@dataclass(frozen=True, slots=True)
class Scene:
    """Objects and their look; only the objects carry meaning."""

    objects: tuple[SceneObject, ...]
    """1 to 4 objects in distinct cells, sorted by cell."""
    look: int = 0
    """Seed of everything without meaning: background, noise, jitter of place, size, color and angle."""


def random_scene(rng: np.random.Generator, max_objects: int = MAX_OBJECTS) -> Scene:
    """A scene with 1 to `max_objects` objects, every count equally likely."""
    count = int(rng.integers(1, max_objects + 1))
    cells = sorted(int(cell) for cell in rng.choice(NUM_CELLS, count, replace=False))
    colors, shapes = list(COLORS), SHAPES
    objects = tuple(
        SceneObject(
            cell=cell,
            shape=shapes[int(rng.integers(len(shapes)))],
            color=colors[int(rng.integers(len(colors)))],
            large=bool(rng.integers(2)),
        )
        for cell in cells
    )
    return Scene(objects, look=int(rng.integers(2**31)))


def meaning(scene: Scene, aspect: Aspect) -> Hashable:
    """The meaning of a scene under one aspect: two captions of an aspect mean the same iff their keys are equal.

    `whole` counts every object with cell, shape, color and size; the others one property alone.
    """
    match aspect:
        case "whole":
            return scene.objects
        case "colors":
            return frozenset(thing.color for thing in scene.objects)
        case "shapes":
            return frozenset(thing.shape for thing in scene.objects)
        case "count":
            return len(scene.objects)
        case "positions":
            return frozenset(thing.cell for thing in scene.objects)


def is_held_out(scene: Scene) -> bool:
    """True where the scene belongs to the score card alone: SHA-256 of its whole key, modulo 10, is 0."""
    words = ";".join(f"{thing.cell},{thing.shape},{thing.color},{thing.large}" for thing in scene.objects)
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], "big") % HELD_OUT_EVERY == 0


def sample_scene(rng: np.random.Generator, *, held_out: bool, max_objects: int = MAX_OBJECTS) -> Scene:
    """A random scene of one side of the split, by rejection."""
    while is_held_out(scene := random_scene(rng, max_objects)) is not held_out:
        pass
    return scene


def _regular(points: int, radius: float = 1.0, start: float = -math.pi / 2) -> Polygon:
    angles = (start + 2 * math.pi * index / points for index in range(points))
    return tuple((radius * math.cos(angle), radius * math.sin(angle)) for angle in angles)


def _star() -> Polygon:
    outer, inner = _regular(5), _regular(5, _STAR_INNER_RADIUS, -math.pi / 2 + math.pi / 5)
    return tuple(point for pair in zip(outer, inner, strict=True) for point in pair)


def _cross() -> Polygon:
    arm, end = _CROSS_HALF_WIDTH, 0.92
    quarter: Polygon = ((arm, -end), (arm, -arm), (end, -arm))
    turned: list[Polygon] = [quarter]
    for _ in range(3):
        turned.append(tuple((-y, x) for x, y in turned[-1]))
    return tuple(point for corner in turned for point in corner)


@cache
def outline(shape: str) -> tuple[Polygon, Polygon | None]:
    """The polygon of a shape and its hole, in the unit circle around (0, 0), y pointing down; only a ring has one."""
    if shape == "ring":
        return _regular(_CIRCLE_POINTS), _regular(_CIRCLE_POINTS, _RING_HOLE_RADIUS)
    outers = {
        "circle": _regular(_CIRCLE_POINTS, 0.96),
        "square": _regular(4, 1.12, math.pi / 4),
        "triangle": _regular(3, 1.04),
        "star": _star(),
        "cross": _cross(),
    }
    return outers[shape], None


def _background(rng: np.random.Generator, size_pixels: int) -> Image.Image:
    corners = rng.uniform(218, 255, 3) + rng.uniform(-12, 12, (2, 2, 3))
    small = Image.fromarray(np.clip(corners, 0, 255).astype(np.uint8))
    return small.resize((size_pixels, size_pixels), Image.Resampling.BILINEAR)


def _placed(polygon: Polygon, center: np.ndarray, radius: float, angle: float) -> list[tuple[float, float]]:
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return [(float(x), float(y)) for x, y in np.asarray(polygon) @ turn * radius + center]


def _paint(
    pencil: ImageDraw.ImageDraw,
    stencil: ImageDraw.ImageDraw,
    thing: SceneObject,
    cell_pixels: float,
    rng: np.random.Generator,
) -> None:
    """Draw one object on the paint and, in white, on the mask; a ring's hole is taken out of the mask alone."""
    radius = _RADIUS["large" if thing.large else "small"] * rng.uniform(0.93, 1.03)
    room = max(0.5 - radius, 0.0) * 0.6
    corner = np.array([thing.cell % 3, thing.cell // 3])
    center = (corner + 0.5 + rng.uniform(-room, room, 2)) * cell_pixels
    color = np.clip(np.array(COLORS[thing.color]) + rng.uniform(-12, 12, 3), 0, 255).astype(int)
    outer, hole = outline(thing.shape)
    angle = float(rng.uniform(-0.12, 0.12))
    points = _placed(outer, center, radius * cell_pixels, angle)
    pencil.polygon(points, fill=(int(color[0]), int(color[1]), int(color[2])))
    stencil.polygon(points, fill=255)
    if hole is not None:
        stencil.polygon(_placed(hole, center, radius * cell_pixels, angle), fill=0)


def draw(scene: Scene, size_pixels: int) -> Image.Image:
    """Draw a scene, RGB and square; the same scene and size give the same bytes."""
    rng = np.random.default_rng(scene.look)
    canvas_pixels = size_pixels * _OVERSAMPLING
    background = _background(rng, canvas_pixels)
    paint, mask = Image.new("RGB", (canvas_pixels, canvas_pixels)), Image.new("L", (canvas_pixels, canvas_pixels))
    pencil, stencil = ImageDraw.Draw(paint), ImageDraw.Draw(mask)
    for thing in scene.objects:
        _paint(pencil, stencil, thing, canvas_pixels / 3, rng)
    background.paste(paint, mask=mask)
    noise = rng.normal(0, rng.uniform(0, 5), (size_pixels, size_pixels, 3))
    return Image.fromarray(np.clip(np.asarray(background.reduce(_OVERSAMPLING)) + noise, 0, 255).astype(np.uint8))
