"""Video files of one request, opened before its prompts are made: what their containers say decides how long those are.

Runs on the event loop, after what is given by URL has come in. What reads a container is for `decode/clips`.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from service.decode.clips import ClipDecoder
from service.front.fetching import FetchStep
from service.front.opening import KnownFiles, check_file_bytes, open_all
from service.front.pictures import PictureReader
from service.front.place import Place
from service.front.videos import is_file, url_of
from service.media.blame import Blame
from service.media.clip import ClipInfo, ClipLimits, OpenClip, check_clip, container_of
from service.media.fetch.exchange import Take
from service.media.key import file_digest


@dataclass(slots=True)
class ClipOpener:
    """Opens video files for requests.

    Attributes:
        decoder: reads containers.
        limits: what is refused.
    """

    decoder: ClipDecoder
    limits: ClipLimits
    _known: KnownFiles[ClipInfo] = field(default_factory=KnownFiles)

    def step(self, pictures: PictureReader, places: Iterable[Place], *, per_item: bool) -> FetchStep | None:
        """What has to be opened before a request's videos are read.

        Args:
            pictures: gets what was opened.
            places: of all pictures and videos.
            per_item: a file that fails leaves the others alone.

        Returns:
            The step, which raises MediaError for the first file that fails; with `per_item` the error is left with the
            pictures instead. None when there is no file.
        """
        files = [place for place in places if is_file(place)] if pictures.video_rule is not None else []
        return partial(self._open_all, pictures, files, per_item) if files else None

    async def _open_all(self, pictures: PictureReader, places: Sequence[Place], per_item: bool, _: Take) -> None:
        await open_all(places, partial(self._open, pictures), pictures.clips, per_item=per_item)

    async def _open(self, pictures: PictureReader, place: Place) -> OpenClip:
        blame = Blame(place.content_param, place.index)
        encoded, identity = await asyncio.to_thread(self._bytes, pictures, place)
        container = container_of(encoded, blame)
        read = partial(self.decoder.info, encoded, container, blame)
        info = await self._known.find((pictures.salt, identity), read)
        check_clip(info, self.limits, blame)
        return OpenClip(encoded, container, info, identity)

    def _bytes(self, pictures: PictureReader, place: Place) -> tuple[bytes, bytes]:
        max_bytes = self.limits.max_encoded_bytes
        encoded = pictures.encoded(url_of(place), place.content_param, place.index, max_bytes=max_bytes, what="video")
        check_file_bytes(encoded, max_bytes, place, "video")
        return encoded, file_digest(encoded)
