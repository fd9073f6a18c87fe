"""Sounds of one request: opened before its prompts are made, then one `Sound` each.

Opening runs on the event loop, after what is given by URL has come in; what reads a container is for `decode/sounds`.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from schemas.audio import AudioUrlPart, InputAudioPart
from service.decode.sounds import SoundDecoder
from service.errors import InputError, MediaError
from service.front.fetching import FetchStep
from service.front.modality import refuse_modality
from service.front.opening import KnownFiles, check_file_bytes, open_all
from service.front.pictures import PictureReader
from service.front.place import Place, SoundPart
from service.media.blame import Blame
from service.media.fetch.exchange import Take
from service.media.key import file_digest
from service.media.sound import Sound
from service.media.sound_file import OpenSound, SoundInfo, SoundLimits, check_named, check_sound, sound_format
from service.media.source import read_source

NO_CODECS = "got audio, which this server cannot read without its extra `audio` (`pip install -e '.[audio]'`)"


@dataclass(slots=True)
class SoundOpener:
    """Opens sound files for requests.

    Attributes:
        decoder: reads containers.
        limits: what is refused.
    """

    decoder: SoundDecoder
    limits: SoundLimits
    _known: KnownFiles[SoundInfo] = field(default_factory=KnownFiles)

    def step(self, pictures: PictureReader, places: Iterable[Place], *, per_item: bool) -> FetchStep | None:
        """What has to be opened before a request's sounds are read.

        Args:
            pictures: gets what was opened.
            places: of all parts that are not text.
            per_item: a file that fails leaves the others alone.

        Returns:
            The step, which raises MediaError for the first file that fails; with `per_item` the error is left with the
            pictures instead. None when there is no sound, or the model takes none.
        """
        sounds = [place for place in places if isinstance(place.part, SoundPart)]
        return partial(self._open_all, pictures, sounds, per_item) if sounds and pictures.sound_rule else None

    async def _open_all(self, pictures: PictureReader, places: Sequence[Place], per_item: bool, _: Take) -> None:
        await open_all(places, partial(self._open, pictures), pictures.sounds, per_item=per_item)

    async def _open(self, pictures: PictureReader, place: Place) -> OpenSound:
        blame = Blame(place.content_param, place.index)
        encoded, identity = await asyncio.to_thread(self._bytes, pictures, place)
        kind = sound_format(encoded, blame)
        if isinstance(place.part, InputAudioPart):
            check_named(place.part.input_audio.format, kind, Blame(f"{place.content_param}.format", place.index))
        read = partial(self.decoder.info, encoded, kind, blame)
        info = await self._known.find((pictures.salt, identity), read)
        check_sound(info, self.limits, blame)
        return OpenSound(encoded, kind, info, identity)

    def _bytes(self, pictures: PictureReader, place: Place) -> tuple[bytes, bytes]:
        max_bytes, part = self.limits.max_encoded_bytes, place.part
        if isinstance(part, InputAudioPart):
            param = f"{place.content_param}.data"
            data = part.input_audio.data
            encoded = read_source(data, max_bytes=max_bytes, param=param, index=place.index, what="audio")
        else:
            url = url_of_sound(place)
            encoded = pictures.encoded(url, place.content_param, place.index, max_bytes=max_bytes, what="audio")
        check_file_bytes(encoded, max_bytes, place, "audio")
        return encoded, file_digest(encoded)


def read_sound(pictures: PictureReader, place: Place) -> Sound:
    """The sound of a part.

    Args:
        pictures: has what was opened.
        place: of the part.

    Raises:
        MediaError: the file is at fault.
        InputError: the model takes no sound, or the server cannot read any.
    """
    param, rule = place.content_param, pictures.sound_rule
    if rule is None:
        refuse_modality("audio", pictures.modalities, param, place.index)
    opened = pictures.sounds.get(place.param)
    if opened is None:
        raise InputError("invalid_request", f"`{param}`: {NO_CODECS}", param=param, index=place.index)
    if isinstance(opened, MediaError):
        raise MediaError(opened.code, opened.message, param=opened.param, index=place.index)
    return Sound.of(opened, rule, param, place.index, salt=pictures.salt)


def url_of_sound(place: Place) -> str:
    """The source of a sound that is given by its URL, whichever of its two forms it has."""
    assert isinstance(place.part, AudioUrlPart)  # whoever asks has looked
    source = place.part.audio_url
    return source if isinstance(source, str) else source.url
