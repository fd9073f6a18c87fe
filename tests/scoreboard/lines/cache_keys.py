"""Line 10: no two different images, readings, models or tenants share a key; and no tenant meets another's entry.

Keys are looked up by value: each new one is held against all that were made before, so 100,000 are 5,000,000,000 pairs.
Parts are drawn from a small alphabet, where anything that runs together would collide within the first thousand.
"""

import random
from collections.abc import Callable
from pathlib import Path

from service.media.item import ITEM_BYTES, ImageReadOptions
from service.media.key import (
    content_key,
    features_digest,
    features_key,
    features_source_digest,
    file_digest,
    source_digest,
)
from service.media.resize.image_rule import PixelRule
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.mutants.key_twins import twins

WORDS = tuple(bytes(word) for word in (b"", b"a", b"b", b"ab", b"ba", b"aa", b"\0", b"a\0", b"\0a", b"\x01" + bytes(7)))
"""Salts, models and files that run together when nothing keeps them apart."""
Made = tuple[bytes, tuple[object, ...]]
"""A key, and everything that it stands for."""


def _source(draw: random.Random) -> Made:
    file, salt = b"".join(draw.choices(WORDS, k=3)), draw.choice(WORDS)
    rule = PixelRule(
        factor=draw.choice((28, 32)), min_pixels=draw.choice((1, 28)), max_pixels=draw.choice((28, 32, 99))
    )
    color = draw.choice(("reference", (0, 0, 0), (1, 0, 0), (0, 0, 1), (0, 1, 1), (97, 98, 97)))
    options = ImageReadOptions(color, draw.random() < 0.5)
    key = source_digest(file_digest(file), rule, options, tenant_salt=salt)
    return key, ("source", file, salt, rule, options)


def _content(draw: random.Random) -> Made:
    size = draw.choice(((1, 2), (2, 1), (1, 4), (4, 1), (2, 2)))
    pixels = bytes(draw.choices((0, 1, 97), k=size[0] * size[1] * 3))
    model, salt = draw.choice(WORDS), draw.choice(WORDS)
    return content_key(pixels, size, model, tenant_salt=salt), ("content", pixels, size, model, salt)


def _features(draw: random.Random) -> Made:
    grid = draw.choice(((1, 2, 4), (1, 4, 2), (1, 2, 2), (1, 4, 4)))
    dtype = draw.choice(("float32", "float16", "bfloat16"))
    rows, width = grid[1] * grid[2] // 4, draw.choice((1, 2, 4))
    data = bytes(draw.choices((0, 1, 97), k=rows * width * ITEM_BYTES[dtype]))
    digest, salt, model = features_digest(memoryview(data), dtype, grid, width), draw.choice(WORDS), draw.choice(WORDS)
    parts = (data, dtype, grid, width)
    if draw.random() < 0.4:
        return features_key(digest, model, tenant_salt=salt), ("features", *parts, salt, model)
    if draw.random() < 0.5:
        return features_source_digest(digest, tenant_salt=salt), ("features-source", *parts, salt)
    return digest, ("features-name", *parts)


MAKERS: tuple[Callable[[random.Random], Made], ...] = (_source, _content, _features)


def _property(size: int) -> tuple[int, list[str]]:
    """Make keys until `size` different things have one; each thing always has the same, and no two share one."""
    draw = random.Random(10)
    by_key: dict[bytes, tuple[object, ...]] = {}
    failures: list[str] = []
    while len(by_key) < size and len(failures) < 20:
        key, parts = draw.choice(MAKERS)(draw)
        if len(key) != 32 or by_key.setdefault(key, parts) != parts:
            failures.append(f"{parts[0]} and {by_key[key][0]} share a key")
    things = set(by_key.values())
    if len(things) != len(by_key):
        failures.append(f"{len(by_key) - len(things)} things have two keys")
    return len(by_key), failures


@line(
    10,
    "cache keys held against each other, and crafted twins",
    "0 collisions, 0 cross-tenant hits",
    sizes=(100_000, 1_000_000),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    """Hold `size` keys against each other, and try the twins."""
    num_keys, failures = _property(size)
    crafted = list(twins())
    failures += [f"twins: {name}" for name, is_right in crafted if not is_right]
    figures = f"{num_keys} different keys, {len(crafted)} crafted pairs"
    return Result(num_keys + len(crafted), len(failures), [*failures[:6], figures])
