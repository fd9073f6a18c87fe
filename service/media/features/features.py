"""Vision features that a client sends instead of an image, validated down to every number.

A safetensors file that names the model that made it, and the grids, must name this one and those sent beside it. npy
files cannot, and other tools' files do not: features of another model with the same width are accepted as this model's.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from service.media.error_location import ErrorLocation
from service.media.features.tensor import Tensor, first_beyond, is_finite, refuse, shown, written_grids
from service.media.features.tensor_file import read_tensor_file
from service.media.item import ITEM_BYTES, QWEN3_VL, GridThw, MediaKind, Patches, PlacedItem, SentAs, TensorDtype
from service.media.key import features_digest, features_key, features_source_digest

EMBEDS = ErrorLocation("image_embeds")
_FORM = "three numbers for each image: temporal (1), height and width in patches"


def read_grids(
    written: Sequence[int | list[int]], location: ErrorLocation, patches: Patches = QWEN3_VL
) -> list[GridThw]:
    """Check grids and bring them to one form.

    Args:
        written: `[t, h, w, t, h, w, ...]`, or `[[t, h, w], ...]`.

    Returns:
        One (1, height, width) for each image; whole visual tokens.

    Source: docs/notes/api-contract.md.
    """
    nested = [one for one in written if isinstance(one, list)]
    numbers = [one for one in written if isinstance(one, int)]
    if nested and numbers:
        _refuse_grid(f"got numbers and lists mixed, expected {_FORM}, all flat or all in lists", location)
    if len(numbers) % 3 or not all(len(one) == 3 for one in nested):
        _refuse_grid(f"got {len(numbers)} numbers, expected {_FORM}", location)
    triples = nested or [numbers[i : i + 3] for i in range(0, len(numbers), 3)]
    return [_checked((frames, height, width), patches.merge_size or 1, location) for frames, height, width in triples]


def _checked(grid_thw: GridThw, merge: int, location: ErrorLocation) -> GridThw:
    frames, height, width = grid_thw
    if frames != 1:
        _refuse_grid(f"got a temporal size of {frames}, expected 1: an image is one frame", location)
    if min(height, width) < 1:
        _refuse_grid(f"got an image of {height} x {width} patches, expected numbers above 0", location)
    if height % merge or width % merge:
        numbers = "even numbers" if merge == 2 else f"multiples of {merge}"
        _refuse_grid(
            f"got an image of {height} x {width} patches, expected {numbers}: {merge} x {merge} patches become one "
            "visual token",
            location,
        )
    return grid_thw


def _refuse_grid(what: str, location: ErrorLocation) -> NoReturn:
    location.refuse("invalid_image_embeds", f"`image_grid_thw`: {what}.")


_GRIDS = re.compile(r"[0-9,;]{1,60}")
"""Metadata of a file that an error may repeat."""
MAX_FILE_HEADER_BYTES = (1 << 16) + 8
_MAX_ITEM_BYTES = 8
"""Files of float64 are still read, to be told that float64 is not accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRule:
    """The form and range of features that one model accepts.

    Attributes:
        hidden: width of the language model.
        width: hidden · (1 + deepstack layers).
        origin: what `features_origin` gives for the model.
        patches: how the model cuts images.
        max_abs: largest number accepted, without its sign. RMS normalization sums squares of a row in float32, and
            where that sum overflows it gives zeros, silently; float16 weights overflow at 65,504 and products before.

    Source: docs/notes/security.md: finite and at most 1e4.
    """

    hidden: int
    width: int
    origin: str = ""
    is_accepted: bool = True
    patches: Patches = QWEN3_VL
    max_abs: float = 1e4


@dataclass(frozen=True, slots=True)
class FeaturesItem(PlacedItem):
    """One image that came as features.

    Two items are equal when they hold the same numbers for the same grid; where in a request they stand does not count.

    Attributes:
        data: its rows, little-endian, a view of the file.
        dtype: their number format.
        identity: numbers, format and grid, 32 bytes.
        grid_thw: (1, height, width) in patches.
        salt: part of its keys: whose features they are.
        patches: how the model cuts images.
    """

    kind: MediaKind = field(default="image", init=False)

    data: memoryview = field(repr=False, compare=False)
    dtype: TensorDtype
    identity: bytes
    grid_thw: GridThw
    salt: bytes = b""
    patches: Patches = QWEN3_VL

    @property
    def digest(self) -> bytes:
        """The level-2 key."""
        return features_source_digest(self.identity, tenant_salt=self.salt)

    @property
    def num_tokens(self) -> int:
        """Visual tokens: rows."""
        return self.patches.num_tokens(self.grid_thw)

    @property
    def num_slot_bytes(self) -> int:
        """Bytes of its rows."""
        return len(self.data)

    @property
    def sent_as(self) -> SentAs:
        """Features, of an image as large as the grid says."""
        _, height, width = self.grid_thw
        return SentAs("image_embeds", width * self.patches.patch_size, height * self.patches.patch_size)

    @property
    def num_stored_bytes(self) -> int:
        """Bytes that keeping it takes: its rows."""
        return len(self.data)

    def key(self, slot: memoryview, fingerprint: bytes) -> bytes:
        """The level-1 key."""
        return features_key(self.identity, fingerprint, tenant_salt=self.salt)


def open_features(
    text: str,
    grid_thw: Sequence[int | list[int]],
    rule: FeatureRule,
    place: ErrorLocation = EMBEDS,
    *,
    salt: bytes = b"",
) -> list[FeaturesItem]:
    """Read features and check everything that can be wrong with them.

    Args:
        text: base64 of a safetensors or npy file.
        grid_thw: one grid for each image whose rows the tensor holds.

    Returns:
        One item for each grid, in order.

    Source: docs/notes/api-contract.md.
    """
    if not rule.is_accepted:
        place.refuse("media_source_refused", "This server takes no features in place of images.")
    grids = read_grids(grid_thw, ErrorLocation(f"{place.param}.image_grid_thw", place.index), rule.patches)
    num_rows = sum(map(rule.patches.num_tokens, grids))
    location = ErrorLocation(f"{place.param}.image_embeds", place.index)
    max_bytes = num_rows * rule.width * _MAX_ITEM_BYTES + MAX_FILE_HEADER_BYTES
    tensor = read_tensor_file(text, max_bytes=max_bytes, location=location)
    if tensor.origin not in (None, rule.origin):
        refuse(
            "the file says that it was made by another model or preprocessing; `/v1/image_embeds` makes it", location
        )
    if tensor.grids not in (None, written_grids(grids)):
        said = tensor.grids if _GRIDS.fullmatch(tensor.grids or "") else "others"
        refuse(f"the file says that its grids are {said}, got {written_grids(grids)[:60]} beside it", location)
    _check_shape(tensor.shape, num_rows, len(grids), rule, location)
    _check_numbers(tensor, rule, location)
    return [
        FeaturesItem(
            data,
            tensor.dtype,
            features_digest(data, tensor.dtype, grid, rule.width),
            grid,
            salt,
            rule.patches,
            location=place,
        )
        for grid, data in _rows_of(tensor, grids, rule)
    ]


def _check_shape(
    shape: tuple[int, ...], num_rows: int, num_grids: int, rule: FeatureRule, location: ErrorLocation
) -> None:
    """Two axes, or three of which the first has size 1: vLLM's deprecated batch axis, which says nothing else."""
    rows_and_width = shape[1:] if len(shape) == 3 and shape[0] == 1 else shape
    if rows_and_width == (num_rows, rule.width):
        return
    got, wanted = shown(shape), shown((num_rows, rule.width))
    if len(rows_and_width) != 2:
        refuse(f"got a tensor of {len(shape)} axes, expected two: visual tokens and width, {wanted}", location)
    if rows_and_width[1] != rule.width == rule.hidden:
        refuse(f"got {got}, expected {wanted}: each image is one vector of {rule.width} numbers", location)
    if rows_and_width[1] == rule.hidden != rule.width:
        missing = rule.width // rule.hidden - 1
        refuse(f"got {got}, expected {wanted}: the features of the {missing} deepstack layers are missing", location)
    if rows_and_width[1] != rule.width:
        refuse(f"got {got}, expected {wanted}: hidden size {rule.hidden} x (1 + deepstack layers) wide", location)
    refuse(
        f"got {got}, expected {wanted}: sum of {rule.patches.formula} over {num_grids} grids is {num_rows}", location
    )


def _check_numbers(tensor: Tensor, rule: FeatureRule, location: ErrorLocation) -> None:
    index = first_beyond(tensor, rule.max_abs)
    if index is None:
        return
    place = f"in row {index // rule.width}, column {index % rule.width}"
    if not is_finite(tensor, index):
        refuse(f"got a number that is not finite {place}, expected finite numbers", location)
    refuse(f"got a number beyond {rule.max_abs:g} {place}; this model computes with at most that", location)


def _rows_of(tensor: Tensor, grids: Sequence[GridThw], rule: FeatureRule) -> Iterator[tuple[GridThw, memoryview]]:
    start = 0
    for grid in grids:
        stop = start + rule.patches.num_tokens(grid) * rule.width * ITEM_BYTES[tensor.dtype]
        yield grid, tensor.data[start:stop]
        start = stop
