"""Video files of one request, opened before its prompts are made: what their containers say decides how long those are.

Runs on the event loop, after what is given by URL has come in. What reads a container is for `decode/clips`.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from service.decode.clips import ClipDecoder
from service.errors import MediaError
from service.front.fetching import FetchStep
from service.front.pictures import PictureReader
from service.front.place import Place
from service.front.videos import is_file, url_of
from service.media.blame import Blame
from service.media.clip import ClipInfo, ClipLimits, OpenClip, check_clip, container_of
from service.media.fetch.exchange import Take
from service.media.key import file_digest

MAX_KNOWN = 1024
"""Files whose containers need not be read again."""


@dataclass(slots=True)
class ClipOpener:
    """Opens video files for requests.

    Attributes:
        decoder: reads containers.
        limits: what is refused.
    """

    decoder: ClipDecoder
    limits: ClipLimits
    _known: OrderedDict[tuple[bytes, bytes], ClipInfo] = field(default_factory=OrderedDict)

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

    async def _open_all(self, pictures: PictureReader, files: Sequence[Place], per_item: bool, _: Take) -> None:
        opening = [asyncio.create_task(self._open(pictures, place)) for place in files]
        try:
            for place, task in zip(files, opening, strict=True):
                try:
                    pictures.clips[place.param] = await task
                except MediaError as error:
                    if not per_item:
                        raise
                    pictures.clips[place.param] = error
        finally:
            for task in opening:
                task.cancel()
            await asyncio.gather(*opening, return_exceptions=True)

    async def _open(self, pictures: PictureReader, place: Place) -> OpenClip:
        blame = Blame(place.content_param, place.index)
        encoded, identity = await asyncio.to_thread(self._bytes, pictures, place)
        container = container_of(encoded, blame)
        info = self._known.get((pictures.salt, identity)) or await self.decoder.info(encoded, container, blame)
        self._remember((pictures.salt, identity), info)
        check_clip(info, self.limits, blame)
        return OpenClip(encoded, container, info, identity)

    def _bytes(self, pictures: PictureReader, place: Place) -> tuple[bytes, bytes]:
        max_bytes = self.limits.max_encoded_bytes
        encoded = pictures.encoded(url_of(place), place.content_param, place.index, max_bytes=max_bytes, what="video")
        if len(encoded) > max_bytes:  # one by URL had another limit
            message = f"The video file has {len(encoded)} bytes; at most {max_bytes} are accepted."
            Blame(place.content_param, place.index).refuse("media_too_large", message)
        return encoded, file_digest(encoded)

    def _remember(self, key: tuple[bytes, bytes], info: ClipInfo) -> None:
        self._known[key] = info
        self._known.move_to_end(key)
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
