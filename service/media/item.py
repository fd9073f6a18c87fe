"""A picture that came as a file: known by content and size, its pixels not decoded yet.

In: encoded bytes. Out: a `MediaItem`, and later, on demand, its pixels in a buffer that somebody else owns.
Does not know threads, shared memory or the engine: `load_pixels` runs wherever it is called.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from service.media.decode import decode_rgb
from service.media.header import DecodeLimits, Header, read_header
from service.media.key import content_key as content_key
from service.media.key import source_digest
from service.media.picture import MERGE_SIZE, GridThw, SentAs, num_visual_tokens
from service.media.resize import PixelRule, Size, fit, resize


@dataclass(frozen=True, slots=True)
class MediaItem:
    """One still picture of a request.

    Two items are equal when they will give the same pixels; where in a request they stand does not count.

    Attributes:
        encoded: the bytes of the file.
        header: format and stored size.
        digest: the level-2 key, 32 bytes: the file and how it is resized.
        size: height and width at which the model sees it, pixels.
        grid_thw: patches of the resized picture: (1, height / 16, width / 16) at factor 32.
        param: path of the field it came from, for errors found while decoding.
        index: input of the batch it belongs to, for errors found while decoding.
    """

    encoded: bytes = field(repr=False, compare=False)
    header: Header
    digest: bytes
    size: Size
    grid_thw: GridThw
    param: str | None = field(default=None, compare=False)
    index: int | None = field(default=None, compare=False)

    @property
    def num_tokens(self) -> int:
        """Visual tokens: height x width / 1024 at factor 32."""
        return num_visual_tokens(self.grid_thw)

    @property
    def num_stored_bytes(self) -> int:
        """Bytes that keeping it takes: the file."""
        return len(self.encoded)

    @property
    def dtype(self) -> None:
        """None: its slot holds pixels."""
        return

    @property
    def num_slot_bytes(self) -> int:
        """Bytes of the resized RGB pixels: height x width x 3."""
        height, width = self.size
        return height * width * 3

    @property
    def sent_as(self) -> SentAs:
        """Format and size of the file."""
        return SentAs(self.header.format.lower(), self.header.width, self.header.height)

    def at(self, param: str | None, index: int | None) -> "MediaItem":
        """The same picture in another place of a request; see `Picture.at`."""
        return replace(self, param=param, index=index)

    def fill(self, out: memoryview, fingerprint: bytes, tenant_salt: bytes = b"") -> bytes:
        """Decode and resize into a slot; see `Picture.fill`."""
        load_pixels(self, out)
        return content_key(out, self.size, fingerprint, tenant_salt=tenant_salt)


def open_image(
    encoded: bytes, limits: DecodeLimits, rule: PixelRule, param: str | None = None, index: int | None = None
) -> MediaItem:
    """Check a picture's header, choose its size and hash it; decode nothing.

    Args:
        encoded: the bytes of a picture file.
        limits: what is refused.
        rule: the resize rule of the model, or the request's own.
        param: path of the field, for errors.
        index: input of the batch, for errors.

    Returns:
        The item.

    Raises:
        MediaError: `media_too_large`, `media_undecodable`, or `invalid_request` from `fit`.

    Source: DESIGN.md section 1, step 2: hash first, pixels only when the engine lacks the features.
    """
    header = read_header(encoded, limits, param=param, index=index)
    height, width = fit(header.height, header.width, rule, param=param, index=index)
    patch = rule.factor // MERGE_SIZE
    grid_thw = (1, height // patch, width // patch)
    return MediaItem(encoded, header, source_digest(encoded, rule), (height, width), grid_thw, param, index)


def load_pixels(item: MediaItem, out: memoryview | None = None) -> NDArray[np.uint8]:
    """Decode and resize a picture, into the given buffer if there is one.

    Args:
        item: the picture.
        out: writable and contiguous, of exactly `item.num_slot_bytes` bytes; None allocates.

    Returns:
        Pixels, uint8 [height, width, 3]; a view of `out` when that was given.

    Raises:
        MediaError: `media_undecodable`.

    Source: reference/qwen3-vl-embedding.md sections 3.1 and 3.2.
    """
    if out is not None and out.nbytes != item.num_slot_bytes:
        raise ValueError(f"the buffer has {out.nbytes} bytes; the picture needs {item.num_slot_bytes}")
    picture = decode_rgb(item.encoded, item.header, param=item.param, index=item.index)
    pixels = resize(picture, item.size)
    if out is None:
        return pixels
    target = np.frombuffer(out, dtype=np.uint8).reshape(pixels.shape)
    np.copyto(target, pixels)
    return target
