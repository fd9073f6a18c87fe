"""Streams of image requests as services see them, drawn from a seed: each item is the number of an image.

Also the number of visual tokens that each image has: three in four are thumbnails, one in four is a page.
"""

import random
from collections.abc import Iterator
from functools import cache

THUMBNAIL_TOKENS = (16, 64, 144, 256)
PAGE_TOKENS = (900, 1280, 2048)


@cache
def num_tokens(image: int) -> int:
    """Visual tokens of an image, always the same for the same number."""
    draw = random.Random(image)
    return draw.choice(PAGE_TOKENS if draw.random() < 0.25 else THUMBNAIL_TOKENS)


def zipf(length: int, num_images: int, *, exponent: float = 0.9, seed: int = 0) -> Iterator[int]:
    """A few images are wanted often, most hardly ever."""
    draw = random.Random(seed)
    weights = [1 / (rank + 1) ** exponent for rank in range(num_images)]
    numbers = list(range(num_images))
    draw.shuffle(numbers)
    yield from draw.choices(numbers, weights, k=length)


def scan_beside_hot(length: int, num_hot: int, *, hot_share: float = 0.3, seed: int = 0) -> Iterator[int]:
    """An ingestion job that sees each image once, beside people who ask for the same few."""
    draw = random.Random(seed)
    for turn in range(length):
        yield draw.randrange(num_hot) if draw.random() < hot_share else num_hot + turn


def loop(length: int, num_images: int) -> Iterator[int]:
    """A collection gone through from end to end, again and again: what least recently used is worst at."""
    yield from (turn % num_images for turn in range(length))


def shift(length: int, num_images: int, *, seed: int = 0) -> Iterator[int]:
    """Another set of images from the middle on: what was popular has to go."""
    half = length // 2
    yield from zipf(half, num_images, seed=seed)
    yield from (num_images + number for number in zipf(length - half, num_images, seed=seed + 1))
