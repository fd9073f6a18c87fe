"""The audio of one request: from content parts to items, once their files are open."""

from service.errors import InputError, MediaError
from service.front.inputs.media_reader import MediaReader
from service.front.inputs.modality import refuse_modality
from service.front.inputs.placed_media import PlacedMedia
from service.media.audio.audio_file import OpenAudio
from service.media.audio.samples import Audio

NO_CODECS = "got audio, which this server cannot read without its extra `audio` (`pip install -e '.[audio]'`)"


def read_audio(media: MediaReader, place: PlacedMedia) -> Audio:
    """Return the audio of a part, which `media` holds opened.

    Raises:
        MediaError: the file is at fault.
        InputError: the model takes no audio, or the server cannot read any.
    """
    param, rule = place.content_param, media.audio_rule
    if rule is None:
        refuse_modality("audio", media.modalities, param, place.index)
    opened = media.opened.get(place.param)
    if isinstance(opened, MediaError):
        raise MediaError(opened.code, opened.message, param=opened.param, index=place.index)
    if not isinstance(opened, OpenAudio):
        raise InputError("invalid_request", f"`{param}`: {NO_CODECS}", param=param, index=place.index)
    return Audio.of(opened, rule, param, place.index, salt=media.salt)
