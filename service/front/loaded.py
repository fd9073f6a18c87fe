"""What became of a request's pictures: each distinct one has a content key and perhaps pixels, or an error.

A slot of pixels goes to one request: the first that takes the picture. What nobody took is given back by `release`, so
an input that fails for one picture leaves the pixels of its others to the next input, or to the arena.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from service.errors import FrameError, MediaError
from service.ipc.arena import PixelArena
from service.ipc.messages import PixelSlot
from service.media.frame_pair import FramePair
from service.media.picture import Picture


@dataclass(frozen=True, slots=True)
class LoadedMedia:
    """A picture's content key, and its pixels unless the engine is expected to have its features."""

    key: bytes
    slot: PixelSlot | None


class LoadedPictures:
    """The pictures of one load, by their level-2 keys. Owns their slots until they are taken."""

    def __init__(self, arena: PixelArena, pictures: Mapping[bytes, LoadedMedia | MediaError]) -> None:
        self._arena = arena
        self._pictures = dict(pictures)

    def error_of(self, items: Iterable[Picture]) -> MediaError | None:
        """The first error among these pictures, with the place of the one that is asked about; None when all are well.

        Args:
            items: pictures of one input.
        """
        for item in items:
            found = self._pictures[item.digest]
            if isinstance(found, MediaError):  # its place is that of whichever copy was decoded
                is_second = isinstance(found, FrameError) and found.is_second
                place = item.second if isinstance(item, FramePair) and is_second else item
                return MediaError(found.code, found.message, param=place.param, index=item.index)
        return None

    def take(self, item: Picture) -> LoadedMedia:
        """A picture for a request; only the first who takes it gets its pixels, and owns them from here on.

        Args:
            item: a picture without an error.
        """
        found = self._pictures[item.digest]
        assert isinstance(found, LoadedMedia)  # whoever takes has asked `error_of` before
        self._pictures[item.digest] = LoadedMedia(found.key, None)
        return found

    def release(self) -> None:
        """Give back the pixels that nobody took."""
        for digest, found in self._pictures.items():
            if isinstance(found, LoadedMedia) and found.slot is not None:
                self._arena.release(found.slot.start)
                self._pictures[digest] = LoadedMedia(found.key, None)
