"""Frames of a video that are one item: the base of pairs, the pair of two image files, and a frame by itself."""

from dataclasses import dataclass, field

from service.media.image.image_file import ImageFile
from service.media.item import GridThw, MediaKind, PlacedItem, SentAs
from service.media.key import pair_digest, pair_key


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameFile(ImageFile):
    """A `MediaItem` of one frame that came as an image file, of a model that sees frames one by one."""

    kind: MediaKind = field(default="video", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairItem(PlacedItem):
    """Base of the `MediaItem`s of two frames."""

    kind: MediaKind = field(default="video", init=False)
    dtype: None = field(default=None, init=False)  # its slot holds pixels

    digest: bytes
    """The level-2 key, 32 bytes: both frames, how they are read and how they are resized."""

    @property
    def identity(self) -> bytes:
        """The digest: no client has a name for a pair."""
        return self.digest


@dataclass(frozen=True, slots=True)
class FramePair(PairItem):
    """A `MediaItem` of two frames of one size, each an image file."""

    first: ImageFile
    """The earlier frame."""
    second: ImageFile
    """The later one; the first again where a video of an odd length ends."""

    @classmethod
    def of(cls, first: ImageFile, second: ImageFile) -> "FramePair":
        """Two frames that follow each other; errors name the first one's place."""
        digest = pair_digest(first.digest, second.digest)
        return cls(first, second, digest=digest, location=first.location)

    @property
    def grid_thw(self) -> GridThw:
        """Patches of one frame: both lie on the same."""
        return self.first.grid_thw

    @property
    def num_tokens(self) -> int:
        """Visual tokens of both together: those of one image of that size."""
        return self.first.num_tokens

    @property
    def num_slot_bytes(self) -> int:
        """Bytes of both frames' RGB pixels, one after the other."""
        return self.first.num_slot_bytes + self.second.num_slot_bytes

    @property
    def num_stored_bytes(self) -> int:
        """Bytes of both files."""
        return self.first.num_stored_bytes + self.second.num_stored_bytes

    @property
    def sent_as(self) -> SentAs:
        """Format and size of the first frame."""
        return self.first.sent_as

    def key(self, slot: memoryview, fingerprint: bytes) -> bytes:
        """The level-1 key of both frames' pixels in a slot."""
        return pair_key(slot, self.first.size, fingerprint, tenant_salt=self.first.salt)
