"""A medium as prompts, shared memory and the engine's client carry it, whatever it came as.

An `ImageFile` (a file, to be decoded), a `FramePair` (two frames of a video), an `Audio` or a `FeaturesItem` (features
that were computed before). This module knows none of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

MERGE_SIZE = 2
"""Patches along one side of a visual token: at factor 32 a patch is 16 x 16 pixels."""

PATCH_SIZE = 16
"""Pixels along one side of a patch."""

FRAMES_OF_PAIR = 2
"""Frames of a video that become one item: the vision tower's temporal patch."""

TensorDtype = Literal["float32", "float16", "bfloat16"]
"""By torch's names."""

ITEM_BYTES: Mapping[TensorDtype, int] = {"float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of one number."""


Size = tuple[int, int]
"""Height and width in pixels, in this order."""

MediaKind = Literal["image", "video", "audio"]
"""Kinds of media that models take; a video comes as pairs of frames, each an item of its own."""

GridThw = tuple[int, int, int]
"""Size in patches before merging: temporal, height, width."""


@dataclass(frozen=True, slots=True)
class Patches:
    """Patch and token sizes of a model; the defaults are Qwen3-VL's.

    Attributes:
        patch_size: pixels along one side of a patch.
        merge_size: patches along one side of a visual token; None where a whole image becomes one token.
    """

    patch_size: int = PATCH_SIZE
    merge_size: int | None = MERGE_SIZE

    def grid_thw(self, height: int, width: int) -> GridThw:
        """The grid of an image whose sides are whole patches, pixels."""
        return (1, height // self.patch_size, width // self.patch_size)

    @property
    def formula(self) -> str:
        """Of `num_tokens`, for errors."""
        return "1" if self.merge_size is None else f"T x H x W / {self.merge_size**2}"

    def num_tokens(self, grid_thw: GridThw) -> int:
        """Visual tokens of a grid: ``T · H · W / merge_size²``, or 1."""
        if self.merge_size is None:
            return 1
        frames, rows, columns = grid_thw
        return frames * rows * columns // self.merge_size**2


QWEN3_VL = Patches()


@dataclass(frozen=True, slots=True)
class SentAs:
    """Format and size of an image, for answers.

    Attributes:
        format: of the file, in lower case; `image_embeds` when it came as features.
        width: pixels, as sent; of features the grid's.
        height: pixels.
    """

    format: str
    width: int
    height: int


class MediaItem(Protocol):
    """Media of a request: facts known before anything is decoded, and its keys."""

    @property
    def identity(self) -> bytes:
        """Digest that a client's name is bound to, 32 bytes: of the content sent, however it is read."""
        ...

    @property
    def digest(self) -> bytes:
        """Level-2 key, 32 bytes: what was sent and how it is read. Images of one digest fill the same bytes."""
        ...

    @property
    def grid_thw(self) -> GridThw:
        """Its size in patches."""
        ...

    @property
    def num_tokens(self) -> int:
        """Visual tokens: as many as its grid gives."""
        ...

    @property
    def kind(self) -> MediaKind:
        """The kind of media, which decides its placeholder token and its encoder."""
        ...

    @property
    def dtype(self) -> TensorDtype | None:
        """Number format of the features in its slot; None when the slot holds RGB pixels."""
        ...

    @property
    def num_slot_bytes(self) -> int:
        """Bytes that it takes in shared memory."""
        ...

    @property
    def num_stored_bytes(self) -> int:
        """Bytes that keeping it takes."""
        ...

    @property
    def param(self) -> str | None:
        """Path of the field it came from, for errors."""
        ...

    @property
    def index(self) -> int | None:
        """Input of the batch that it belongs to, for errors."""
        ...

    @property
    def sent_as(self) -> SentAs:
        """Its form and size, for answers."""
        ...

    def at(self, param: str | None, index: int | None) -> "MediaItem":
        """Return the same item in another place of a request."""
        ...

    def key(self, slot: memoryview, fingerprint: bytes) -> bytes:
        """The level-1 content key, 32 bytes.

        Args:
            slot: its bytes in shared memory, filled.
        """
        ...
