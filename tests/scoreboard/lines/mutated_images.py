"""Line 1: broken images of five formats through everything that an image goes through on its way to pixels."""

import random
from pathlib import Path

from service.errors import MediaError
from service.media.image.decode import load_pixels
from service.media.image.header import DecodeLimits
from service.media.image.image_file import open_image
from service.media.item import ImageReadOptions
from service.media.resize.image_rule import PixelRule
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.mutants.image_seeds import seeds
from tests.scoreboard.lines.mutants.mutation import mutate
from tests.scoreboard.lines.mutants.side_by_side import CHUNK, Found, side_by_side

LIMITS = DecodeLimits(max_pixels=300_000)
"""Smaller than the default: an enlarged header then costs a refusal, not the filling of a canvas."""
RULE = PixelRule(max_pixels=8_192)
READINGS = (
    ImageReadOptions(),
    ImageReadOptions((10, 20, 30)),
    ImageReadOptions(upright=True),
    ImageReadOptions((0, 0, 0), upright=True),
)
CODES = ("media_undecodable", "media_too_large", "invalid_request")


def chunk(start: int, stop: int) -> Found:
    """Some cases, each the same in every run."""
    found, draw = Found(), random.Random(start // CHUNK)
    for number in range(start, stop):
        mutant = mutate(draw, draw.choice(seeds()), draw.choice(seeds()))
        with found.timed(f"case {number}"):
            failure = _failure(mutant, READINGS[number % len(READINGS)], found)
        if failure:
            found.failures.append(f"case {number}: {failure}")
    return found


def _failure(mutant: bytes, options: ImageReadOptions, found: Found) -> str:
    try:
        item = open_image(mutant, LIMITS, RULE, options=options)
        pixels = load_pixels(item)
    except MediaError as error:
        is_clean = error.code in CODES and error.__cause__ is None and "0x" not in error.message
        return "" if is_clean else f"{error.code}: {error.message}"
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is not ours
        return type(error).__name__
    found.num_accepted += 1
    is_whole = pixels.shape == (*item.size, 3) and pixels.nbytes == item.num_slot_bytes
    return "" if is_whole else f"pixels of shape {pixels.shape}"


@line(
    1,
    "broken images through the decoder (5 formats, 26 seeds)",
    "0 crashes, 0 over 2 s, 0 bytes on stderr, RSS < +256 MiB",
    sizes=(200_000, 5_000_000),
)
def run(size: int, folder: Path) -> Result:
    """Try `size` broken images."""
    return side_by_side(size, chunk)
