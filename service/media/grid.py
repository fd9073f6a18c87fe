"""Sizes of pictures in patches as a client writes them beside features: flat, or one list each.

Knows no tensor: whether the rows fit is for `features`.
"""

from collections.abc import Sequence
from typing import NoReturn

from service.media.blame import Blame
from service.media.picture import QWEN3_VL, GridThw, Patches

_FORM = "three numbers for each picture: temporal (1), height and width in patches"


def read_grids(written: Sequence[int | list[int]], blame: Blame, patches: Patches = QWEN3_VL) -> list[GridThw]:
    """Check grids and bring them to one form.

    Args:
        written: `[t, h, w, t, h, w, ...]`, or `[[t, h, w], ...]`.
        blame: what errors name.
        patches: how the model cuts pictures.

    Returns:
        One (1, height, width) for each picture; whole visual tokens.

    Raises:
        MediaError: `invalid_image_embeds`.

    Source: reference/api-contract.md section 1.9.
    """
    nested = [one for one in written if isinstance(one, list)]
    numbers = [one for one in written if isinstance(one, int)]
    if nested and numbers:
        _refuse(f"got numbers and lists mixed, expected {_FORM}, all flat or all in lists", blame)
    if len(numbers) % 3 or not all(len(one) == 3 for one in nested):
        _refuse(f"got {len(numbers)} numbers, expected {_FORM}", blame)
    triples = nested or [numbers[i : i + 3] for i in range(0, len(numbers), 3)]
    return [_checked((frames, height, width), patches.merge_size or 1, blame) for frames, height, width in triples]


def _checked(grid_thw: GridThw, merge: int, blame: Blame) -> GridThw:
    frames, height, width = grid_thw
    if frames != 1:
        _refuse(f"got a temporal size of {frames}, expected 1: a picture is one frame", blame)
    if min(height, width) < 1:
        _refuse(f"got a picture of {height} x {width} patches, expected numbers above 0", blame)
    if height % merge or width % merge:
        numbers = "even numbers" if merge == 2 else f"multiples of {merge}"
        _refuse(
            f"got a picture of {height} x {width} patches, expected {numbers}: {merge} x {merge} patches become one "
            "visual token",
            blame,
        )
    return grid_thw


def _refuse(what: str, blame: Blame) -> NoReturn:
    blame.refuse("invalid_image_embeds", f"`image_grid_thw`: {what}.")
