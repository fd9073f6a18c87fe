"""Two frames of a video as one picture: the vision tower's temporal patch, and the unit of the encoder cache.

In: two frames that are known by content and size. Out: a `FramePair`. Does not decode; knows no sampling and no time.
"""

from dataclasses import dataclass, field, replace

from service.media.item import MediaItem
from service.media.key import pair_digest, pair_key
from service.media.picture import FRAMES_OF_PAIR, GridThw, SentAs


@dataclass(frozen=True, slots=True)
class FramePair:
    """A `Picture` of two frames of one size.

    Attributes:
        first: the earlier frame.
        second: the later one; the first again where a video of an odd length ends.
        digest: the level-2 key, 32 bytes: both frames, how they are read and how they are resized.
        param: path of the field it came from, for errors.
        index: input of the batch it belongs to, for errors.
    """

    first: MediaItem
    second: MediaItem
    digest: bytes
    param: str | None = field(default=None, compare=False)
    index: int | None = field(default=None, compare=False)

    @classmethod
    def of(cls, first: MediaItem, second: MediaItem) -> "FramePair":
        """Two frames that follow each other; errors name the first one's place."""
        return cls(first, second, pair_digest(first.digest, second.digest), first.param, first.index)

    @property
    def identity(self) -> bytes:
        """The digest: no client has a name for a pair."""
        return self.digest

    @property
    def grid_thw(self) -> GridThw:
        """Patches of one frame: both lie on the same."""
        return self.first.grid_thw

    @property
    def num_tokens(self) -> int:
        """Visual tokens of both together: those of one picture of that size."""
        return self.first.num_tokens

    @property
    def num_frames(self) -> int:
        """2."""
        return FRAMES_OF_PAIR

    @property
    def dtype(self) -> None:
        """None: its slot holds pixels."""
        return

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

    def at(self, param: str | None, index: int | None) -> "FramePair":
        """The same pair in another place of a request; see `Picture.at`."""
        return replace(self, param=param, index=index)

    def key(self, slot: memoryview, fingerprint: bytes) -> bytes:
        """The level-1 key of both frames' pixels in a slot; see `Picture.key`."""
        return pair_key(slot, self.first.size, fingerprint, tenant_salt=self.first.salt)
