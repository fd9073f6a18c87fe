"""Line 3: images made by hand, each with what must come of it, and how fast a bomb must be refused."""

import time
from pathlib import Path

import numpy as np

from service.errors import MediaError
from service.media.image.decode import load_pixels
from service.media.image.header import DecodeLimits
from service.media.image.image_file import open_image
from service.media.resize.image_rule import PixelRule
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.mutants.image_cases import ACCEPTED, Case, cases, formats

SAME_SIZE = PixelRule(min_pixels=1, max_pixels=1 << 30)
REFUSED_S = 0.05


@line(
    3,
    "hand-made images: formats, modes, orientations, sizes, bombs, cuts, frames, metadata",
    "all as listed; bombs refused from the header within 50 ms",
    sizes=(300, 300),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    """Try every case; `size` is met by trying them again."""
    failures: list[str] = []
    slowest_s, num_tried = 0.0, 0
    known = list(cases())
    while num_tried < max(size, len(known)):
        for case in known:
            failure, seconds = _tried(case)
            num_tried += 1
            if case.is_bomb:
                slowest_s = max(slowest_s, seconds)
            if failure:
                failures.append(f"{case.name}: {failure}")
    num_formats = sum(" of " in case.name for case in formats())
    figures = f"{len(known)} cases, {num_formats} formats written, {len(ACCEPTED)} accepted"
    figures += f"; slowest bomb refused in {slowest_s * 1e3:.2f} ms"
    return Result(num_tried, len(failures), [*failures[:6], figures])


def _tried(case: Case) -> tuple[str, float]:
    """The fault, and the time: the shorter of two, since others use this machine too."""
    ends = [_end(case), _end(case)] if case.is_bomb else [_end(case)]
    (got, _), seconds = ends[0], min(seconds for _, seconds in ends)
    if case.is_bomb and seconds > REFUSED_S:
        return f"refused after {seconds * 1e3:.0f} ms", seconds
    if isinstance(case.expected, str) or isinstance(got, str):
        return ("" if isinstance(case.expected, str) and got == case.expected else f"got {got}"), seconds
    is_equal = case.expected is None or np.array_equal(got, case.expected)
    return "" if is_equal else "other pixels", seconds


def _end(case: Case) -> tuple["np.ndarray | str", float]:
    began_s = time.perf_counter()
    try:
        item = open_image(case.file, DecodeLimits(), SAME_SIZE, options=case.reading)
        got: np.ndarray | str = "media_accepted" if case.is_bomb else load_pixels(item)
    except MediaError as error:
        got = error.code
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is not ours
        got = type(error).__name__
    return got, time.perf_counter() - began_s
