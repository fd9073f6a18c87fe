"""Where pictures, videos and sounds stand in a request."""

from dataclasses import dataclass

from schemas.audio import AudioUrlPart, InputAudioPart
from schemas.content import ImageEmbedsPart, ImageUrlPart
from schemas.video import VideoFramesPart, VideoUrlPart

PicturePart = ImageUrlPart | ImageEmbedsPart
VideoPart = VideoFramesPart | VideoUrlPart
SoundPart = InputAudioPart | AudioUrlPart
MediaPart = PicturePart | VideoPart | SoundPart


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part that is not text stands in the request.

    Attributes:
        param: path of its part.
        index: its input, counted from 0.
        part: the part.
        is_bare: the request has no part there, only the URL: `images` of Cohere's routes.
    """

    param: str
    index: int
    part: MediaPart
    is_bare: bool = False

    @property
    def content_param(self) -> str:
        """Path of its content."""
        return self.param if self.is_bare else f"{self.param}.{self.part.__struct_config__.tag}"
