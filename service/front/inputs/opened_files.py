"""Audio files and pages of PDFs, which `opening` has opened before prompts are made. Runs in a worker thread."""

from typing import TypeVar

from schemas.content.file import FilePart
from service.errors import InputError, MediaError
from service.front.inputs.checking import refuse_modality
from service.front.inputs.media_reader import MediaReader
from service.front.job import PlacedMedia
from service.media.audio.audio_file import OpenAudio
from service.media.audio.samples import Audio
from service.media.error_location import ErrorLocation
from service.media.page.page_file import OpenPage, PageItem
from service.media.video.video_file import OpenVideo

F = TypeVar("F", OpenVideo, OpenAudio, OpenPage)

NO_AUDIO_CODECS = "got audio, which this server cannot read without its extra `audio` (`pip install -e '.[audio]'`)"
NO_PDFIUM = (
    "got a PDF, which this server cannot read without its extra `pdf` (`pip install -e '.[pdf]'`); send the page as an "
    "image"
)


def opened_file(reader: MediaReader, place: PlacedMedia, kind: type[F], missing: str) -> F:
    """Return the file of a part, which `reader` holds opened.

    Args:
        missing: the error where this server opens no such files.

    Raises:
        InputError: `missing`.
    """
    param, opened = place.content_param, reader.opened.get(place.param)
    if isinstance(opened, MediaError):
        raise MediaError(opened.code, opened.message, param=opened.param, index=place.index)
    if not isinstance(opened, kind):
        raise InputError("invalid_request", f"`{param}`: {missing}", param=param, index=place.index)
    return opened


def read_audio(reader: MediaReader, place: PlacedMedia) -> Audio:
    """Return the audio of a part.

    Raises:
        InputError: the model takes no audio, or the server cannot read any.
    """
    param, audios = place.content_param, reader.profile.audios
    if audios is None:
        refuse_modality("audio", reader.profile.modalities, param, place.index)
    opened = opened_file(reader, place, OpenAudio, NO_AUDIO_CODECS)
    audio = Audio.of(opened, audios.rule, ErrorLocation(param, place.index), salt=reader.salt)
    if not audio.num_tokens:
        needed = f"more than {audios.rule.frames.reach} are needed at {audios.rule.rate_hz} Hz"
        audio.location.refuse("media_undecodable", f"The audio has {opened.info.num_samples} samples; {needed}.")
    return audio


def read_page(reader: MediaReader, place: PlacedMedia) -> PageItem:
    """Return the page of a part, as an image.

    Raises:
        InputError: the model takes no images, or the server cannot read PDFs.
    """
    assert isinstance(place.part, FilePart)  # the caller has checked
    param, images = place.content_param, reader.profile.images
    if images is None:
        refuse_modality("a page of a PDF", reader.profile.modalities, param, place.index)
    opened = opened_file(reader, place, OpenPage, NO_PDFIUM)
    return PageItem.of(opened, images.pixel_rule, ErrorLocation(param, place.index), salt=reader.salt)
