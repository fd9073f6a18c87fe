"""An image that came as a file: known by content and size, its pixels not decoded yet.

`decode.py` decodes it, in whichever thread or process it runs.
"""

from dataclasses import dataclass, field, replace

from service.media.error_location import NO_LOCATION, ErrorLocation
from service.media.image.header import USUAL_SCANS, DecodeLimits, Header, read_header
from service.media.item import AS_REFERENCE, GridThw, ImageReadOptions, MediaKind, PlacedItem, SentAs, Size
from service.media.key import content_key, file_digest, source_digest
from service.media.resize.image_rule import ImageRule
from service.media.resize.resize import BYTES_PER_PIXEL, Framing


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelItem(PlacedItem):
    """Base of an image file and of a page of a PDF; its slot holds RGB pixels.

    Attributes:
        digest: the level-2 key, 32 bytes: the file, how it is read and how it is resized.
        size: height and width at which the model sees it, pixels.
        grid_thw: patches of the resized image: (1, height / 16, width / 16) for Qwen3-VL.
        num_tokens: visual tokens: height x width / 1024 for Qwen3-VL.
        framing: how its pixels are made.
        salt: part of its keys: whose picture it is.
    """

    kind: MediaKind = field(default="image", init=False)
    dtype: None = field(default=None, init=False)

    digest: bytes
    size: Size
    grid_thw: GridThw
    num_tokens: int
    framing: Framing
    salt: bytes = b""

    @property
    def num_slot_bytes(self) -> int:
        """Bytes of the resized RGB pixels: height x width x 3."""
        height, width = self.size
        return height * width * 3

    def key(self, slot: memoryview, fingerprint: bytes) -> bytes:
        """The level-1 key of the pixels in a slot, the same whatever they were made of."""
        return content_key(slot, self.size, fingerprint, tenant_salt=self.salt)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFile(PixelItem):
    """One still image of a request.

    Two items are equal when they will give the same pixels; where in a request they stand does not count.
    """

    encoded: bytes = field(repr=False, compare=False)
    header: Header
    identity: bytes
    """The file alone, 32 bytes."""
    options: ImageReadOptions = AS_REFERENCE

    @property
    def decode_cost(self) -> tuple[int, int]:
        """Cost of making its pixels: bytes of memory at the peak; and work, for turns among many.

        The work is as much as the memory, and as much as decoding takes again for each 15 scans more.
        """
        num_bytes = self.header.num_decode_bytes
        beside = [height * width for height, width in self.framing.sizes if (height, width) != self.size]
        peak_bytes = num_bytes + sum(beside) * BYTES_PER_PIXEL
        return peak_bytes, peak_bytes + num_bytes * ((self.header.num_scans - 1) // USUAL_SCANS)

    @property
    def num_stored_bytes(self) -> int:
        """Bytes that keeping it takes: the file."""
        return len(self.encoded)

    @property
    def sent_as(self) -> SentAs:
        """Format and size of the file."""
        return SentAs(self.header.format.lower(), self.header.width, self.header.height)

    def read_as(self, options: ImageReadOptions, rule: ImageRule) -> "ImageFile":
        """Return the same file over another background."""
        if options == self.options:
            return self
        return replace(self, options=options, digest=source_digest(self.identity, rule, options, tenant_salt=self.salt))


def open_image(
    encoded: bytes,
    limits: DecodeLimits,
    rule: ImageRule,
    location: ErrorLocation = NO_LOCATION,
    *,
    options: ImageReadOptions = AS_REFERENCE,
    salt: bytes = b"",
) -> ImageFile:
    """Check an image's header, choose its size and hash it; decode nothing."""
    header = read_header(encoded, limits, location, upright=options.upright)
    plan, patches = rule.plan(*header.upright_size, location), rule.patches
    identity, grid_thw = file_digest(encoded), patches.grid_thw(*plan.size)
    return ImageFile(
        encoded=encoded,
        header=header,
        identity=identity,
        digest=source_digest(identity, rule, options, tenant_salt=salt),
        size=plan.size,
        grid_thw=grid_thw,
        num_tokens=patches.num_tokens(grid_thw),
        framing=plan.framing,
        options=options,
        salt=salt,
        location=location,
    )
