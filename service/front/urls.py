"""Which sources a request names: its pictures, the frames of its videos, its files and sounds. Fetches nothing."""

from collections.abc import Iterable, Iterator

from schemas.audio import AudioUrlPart
from schemas.content import ImageUrlPart
from schemas.video import VideoFramesPart
from service.front.pictures import PictureReader
from service.front.place import PicturePart, Place, VideoPart
from service.front.videos import frame_list, is_file, url_of


def source_places(reader: PictureReader, places: Iterable[Place]) -> Iterator[Place]:
    """Each source as the place of a picture that is given by its URL alone: whatever may have to be fetched.

    What the model does not take is left out: it will be refused, and no host is asked for it.

    Args:
        reader: knows what the model takes, and which frames are seen.
        places: of all parts of a request that are not text.
    """
    for place in places:
        part = place.part
        if isinstance(part, PicturePart):
            if reader.sees:
                yield place
        elif isinstance(part, VideoPart):
            if reader.video_rule is None:
                continue
            if is_file(place):
                yield _bare(place, url_of(place))
            elif isinstance(part, VideoFramesPart):  # the other lists hold data only
                yield from frame_list(place, reader.video_rule).places
        elif isinstance(part, AudioUrlPart) and reader.sound_rule is not None:
            source = part.audio_url
            yield _bare(place, source if isinstance(source, str) else source.url)


def _bare(place: Place, url: str) -> Place:
    return Place(place.content_param, place.index, ImageUrlPart(image_url=url), is_bare=True)
