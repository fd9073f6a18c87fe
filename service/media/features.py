"""Vision features that a client sends in place of a picture, checked to the last number before they are carried on.

In: base64 text and grids. Out: one `FeaturesItem` for each grid, all views of one buffer.
A safetensors file that says whose features it holds is held to that; npy files and other people's cannot say, and then
features of another model with the same width are this model's features to us.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from service.media.blame import Blame
from service.media.grid import read_grids
from service.media.key import features_digest, features_key, features_source_digest
from service.media.picture import QWEN3_VL, GridThw, Patches, SentAs
from service.media.tensor import Tensor, first_beyond, is_finite, shown
from service.media.tensor_dtype import ITEM_BYTES, TensorDtype
from service.media.tensor_file import read_tensor_file

MAX_FILE_HEADER_BYTES = (1 << 16) + 8
_MAX_ITEM_BYTES = 8
"""Files of float64 are still read, to be told that float64 is not accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRule:
    """What features must look like for one model.

    Attributes:
        hidden: width of the language model.
        width: hidden · (1 + deepstack layers).
        origin: what `features_origin` gives for the model.
        is_accepted: whether features are taken at all.
        patches: how the model cuts pictures.
        max_abs: largest number accepted, without its sign. RMS normalization sums squares of a row in float32, and
            where that sum overflows it gives zeros, silently; float16 weights overflow at 65,504 and products before.

    Source: reference/security-reliability.md, "Tensors": finite and at most 1e4.
    """

    hidden: int
    width: int
    origin: str = ""
    is_accepted: bool = True
    patches: Patches = QWEN3_VL
    max_abs: float = 1e4


@dataclass(frozen=True, slots=True)
class FeaturesItem:
    """One picture that came as features.

    Two items are equal when they hold the same numbers for the same grid; where in a request they stand does not count.

    Attributes:
        data: its rows, little-endian, a view of the file.
        dtype: their number format.
        identity: numbers, format and grid, 32 bytes.
        grid_thw: (1, height, width) in patches.
        salt: part of its keys: whose features they are.
        param: path of the field it came from.
        index: input of the batch it belongs to.
        patches: how the model cuts pictures.
    """

    data: memoryview = field(repr=False, compare=False)
    dtype: TensorDtype
    identity: bytes
    grid_thw: GridThw
    salt: bytes = b""
    param: str | None = field(default=None, compare=False)
    index: int | None = field(default=None, compare=False)
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
    def num_frames(self) -> int:
        """1: a still picture."""
        return 1

    @property
    def num_slot_bytes(self) -> int:
        """Bytes of its rows."""
        return len(self.data)

    @property
    def sent_as(self) -> SentAs:
        """Features, of a picture as large as the grid says."""
        _, height, width = self.grid_thw
        return SentAs("image_embeds", width * self.patches.patch_size, height * self.patches.patch_size)

    @property
    def num_stored_bytes(self) -> int:
        """Bytes that keeping it takes: its rows."""
        return len(self.data)

    def at(self, param: str | None, index: int | None) -> "FeaturesItem":
        """The same features in another place of a request; see `Picture.at`."""
        return replace(self, param=param, index=index)

    def key(self, slot: memoryview, fingerprint: bytes) -> bytes:
        """The level-1 key; see `Picture.key`."""
        return features_key(self.identity, fingerprint, tenant_salt=self.salt)


def open_features(
    text: str,
    grid_thw: Sequence[int | list[int]],
    rule: FeatureRule,
    *,
    param: str | None = None,
    index: int | None = None,
    salt: bytes = b"",
) -> list[FeaturesItem]:
    """Read features and check everything that can be wrong with them.

    Args:
        text: base64 of a safetensors or npy file.
        grid_thw: one grid for each picture whose rows the tensor holds.
        rule: what the model takes.
        param: path of the object with `image_embeds` and `image_grid_thw`, for errors.
        index: input of the batch, for errors.
        salt: keeps tenants apart; empty where all share.

    Returns:
        One item for each grid, in order.

    Raises:
        MediaError: `invalid_image_embeds`, or `media_source_refused` where none are taken.

    Source: reference/api-contract.md sections 1.9 and 7.3.
    """
    path = param or "image_embeds"
    if not rule.is_accepted:
        Blame(path, index).refuse("media_source_refused", "This server takes no features in place of pictures.")
    grids = read_grids(grid_thw, Blame(f"{path}.image_grid_thw", index), rule.patches)
    num_rows = sum(map(rule.patches.num_tokens, grids))
    blame = Blame(f"{path}.image_embeds", index)
    max_bytes = num_rows * rule.width * _MAX_ITEM_BYTES + MAX_FILE_HEADER_BYTES
    tensor = read_tensor_file(text, max_bytes=max_bytes, blame=blame)
    if tensor.origin not in (None, rule.origin):
        _refuse("the file says that it was made by another model or preprocessing; `/v1/image_embeds` makes it", blame)
    _check_shape(tensor.shape, num_rows, len(grids), rule, blame)
    _check_numbers(tensor, rule, blame)
    return [
        FeaturesItem(
            data,
            tensor.dtype,
            features_digest(data, tensor.dtype, grid, rule.width),
            grid,
            salt,
            path,
            index,
            rule.patches,
        )
        for grid, data in _rows_of(tensor, grids, rule)
    ]


def _check_shape(shape: tuple[int, ...], num_rows: int, num_grids: int, rule: FeatureRule, blame: Blame) -> None:
    """Two axes, or three of which the first has size 1: vLLM's deprecated batch axis, which says nothing else."""
    rows_and_width = shape[1:] if len(shape) == 3 and shape[0] == 1 else shape
    if rows_and_width == (num_rows, rule.width):
        return
    got, wanted = shown(shape), shown((num_rows, rule.width))
    if len(rows_and_width) != 2:
        _refuse(f"got a tensor of {len(shape)} axes, expected two: visual tokens and width, {wanted}", blame)
    if rows_and_width[1] != rule.width == rule.hidden:
        _refuse(f"got {got}, expected {wanted}: each picture is one vector of {rule.width} numbers", blame)
    if rows_and_width[1] == rule.hidden != rule.width:
        missing = rule.width // rule.hidden - 1
        _refuse(f"got {got}, expected {wanted}: the features of the {missing} deepstack layers are missing", blame)
    if rows_and_width[1] != rule.width:
        _refuse(f"got {got}, expected {wanted}: hidden size {rule.hidden} x (1 + deepstack layers) wide", blame)
    sizes = "1" if (merge := rule.patches.merge_size) is None else f"T x H x W / {merge**2}"
    _refuse(f"got {got}, expected {wanted}: sum of {sizes} over {num_grids} grids is {num_rows}", blame)


def _check_numbers(tensor: Tensor, rule: FeatureRule, blame: Blame) -> None:
    index = first_beyond(tensor, rule.max_abs)
    if index is None:
        return
    place = f"in row {index // rule.width}, column {index % rule.width}"
    if not is_finite(tensor, index):
        _refuse(f"got a number that is not finite {place}, expected finite numbers", blame)
    _refuse(f"got a number beyond {rule.max_abs:g} {place}; this model computes with at most that", blame)


def _rows_of(tensor: Tensor, grids: Sequence[GridThw], rule: FeatureRule) -> Iterator[tuple[GridThw, memoryview]]:
    start = 0
    for grid in grids:
        stop = start + rule.patches.num_tokens(grid) * rule.width * ITEM_BYTES[tensor.dtype]
        yield grid, tensor.data[start:stop]
        start = stop


def _refuse(what: str, blame: Blame) -> NoReturn:
    blame.refuse("invalid_image_embeds", f"`image_embeds`: {what}.")
