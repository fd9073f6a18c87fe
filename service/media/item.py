"""A picture that came as a file: known by content and size, its pixels not decoded yet.

In: encoded bytes. Out: a `MediaItem`. Does not decode: that is for `pixels`, wherever it runs.
"""

from dataclasses import dataclass, field, replace

from service.media.blame import Blame
from service.media.framing import Framing
from service.media.header import DecodeLimits, Header, read_header
from service.media.key import content_key, file_digest, source_digest
from service.media.orientation import read_orientation
from service.media.picture import QWEN3_VL, GridThw, Patches, SentAs, Size
from service.media.picture_rule import PictureRule
from service.media.reading import AS_REFERENCE, Reading


@dataclass(frozen=True, slots=True)
class MediaItem:
    """One still picture of a request.

    Two items are equal when they will give the same pixels; where in a request they stand does not count.

    Attributes:
        encoded: the bytes of the file.
        header: format and stored size.
        identity: the file alone, 32 bytes.
        digest: the level-2 key, 32 bytes: the file, how it is read and how it is resized.
        size: height and width at which the model sees it, pixels.
        grid_thw: patches of the resized picture: (1, height / 16, width / 16) for Qwen3-VL.
        reading: background and orientation.
        salt: part of its keys: whose picture it is.
        param: path of the field it came from, for errors found while decoding.
        index: input of the batch it belongs to, for errors found while decoding.
        patches: how the model cuts it.
        framing: how its pixels are made; None for a plain resize.
    """

    encoded: bytes = field(repr=False, compare=False)
    header: Header
    identity: bytes
    digest: bytes
    size: Size
    grid_thw: GridThw
    reading: Reading = AS_REFERENCE
    salt: bytes = b""
    param: str | None = field(default=None, compare=False)
    index: int | None = field(default=None, compare=False)
    patches: Patches = QWEN3_VL
    framing: Framing | None = None

    @property
    def num_tokens(self) -> int:
        """Visual tokens: height x width / 1024 for Qwen3-VL."""
        return self.patches.num_tokens(self.grid_thw)

    @property
    def num_decode_bytes(self) -> int:
        """Memory that making its pixels takes at its peak."""
        return self.header.num_decode_bytes + (self.framing.num_bytes if self.framing else 0)

    @property
    def decode_cost(self) -> int:
        """Work of making its pixels, to weigh it against that of others: memory at the peak, more for many scans."""
        return self.num_decode_bytes - self.header.num_decode_bytes + self.header.decode_cost

    @property
    def num_frames(self) -> int:
        """1: a still picture."""
        return 1

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

    def key(self, slot: memoryview, fingerprint: bytes) -> bytes:
        """The level-1 key of the pixels in a slot; see `Picture.key`."""
        return content_key(slot, self.size, fingerprint, tenant_salt=self.salt)

    def read_as(self, reading: Reading, rule: PictureRule) -> "MediaItem":
        """The same file over another background.

        Args:
            reading: as this item's, but for the background.
            rule: the resize rule that the item was opened with.
        """
        if reading == self.reading:
            return self
        return replace(self, reading=reading, digest=source_digest(self.identity, rule, reading, tenant_salt=self.salt))


def open_image(
    encoded: bytes,
    limits: DecodeLimits,
    rule: PictureRule,
    param: str | None = None,
    index: int | None = None,
    *,
    reading: Reading = AS_REFERENCE,
    salt: bytes = b"",
) -> MediaItem:
    """Check a picture's header, choose its size and hash it; decode nothing.

    Args:
        encoded: the bytes of a picture file.
        limits: what is refused.
        rule: the resize rule of the model, or the request's own.
        param: path of the field, for errors.
        index: input of the batch, for errors.
        reading: background and orientation.
        salt: keeps tenants apart; empty where all share.

    Returns:
        The item.

    Raises:
        MediaError: `media_too_large`, `media_undecodable`, or `invalid_request` from the rule.

    Source: DESIGN.md section 1, step 2: hash first, pixels only when the engine lacks the features.
    """
    header = open_header(encoded, limits, reading, param=param, index=index)
    seen = rule.see(*header.upright_size, Blame(param, index))
    grid_thw = rule.patches.grid_thw(*seen.size)
    identity = file_digest(encoded)
    digest = source_digest(identity, rule, reading, tenant_salt=salt)
    placed = MediaItem(encoded, header, identity, digest, seen.size, grid_thw, reading, salt, param, index)
    return replace(placed, patches=rule.patches, framing=seen.framing)


def open_header(
    encoded: bytes, limits: DecodeLimits, reading: Reading, *, param: str | None = None, index: int | None = None
) -> Header:
    """A picture's header, with its orientation where that counts.

    Args:
        encoded: the bytes of a picture file.
        limits: what is refused.
        reading: whether the orientation is applied.
        param: path of the field, for errors.
        index: input of the batch, for errors.

    Raises:
        MediaError: `media_too_large`, `media_undecodable`.
    """
    header = read_header(encoded, limits, param=param, index=index)
    if reading.upright:
        return replace(header, orientation=read_orientation(encoded, header.format))
    return header
