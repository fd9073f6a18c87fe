"""Where images, videos and audio files stand in a request."""

from dataclasses import dataclass

from schemas.content.audio import AudioUrlPart, InputAudioPart
from schemas.content.parts import ImageEmbedsPart, ImageUrlPart
from schemas.content.video import VideoFramesPart, VideoUrlPart

ImagePart = ImageUrlPart | ImageEmbedsPart
VideoPart = VideoFramesPart | VideoUrlPart
AudioPart = InputAudioPart | AudioUrlPart
MediaPart = ImagePart | VideoPart | AudioPart


@dataclass(frozen=True, slots=True)
class PlacedMedia:
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

    @property
    def url(self) -> str:
        """URL or inline data of a video or audio part that has one source."""
        assert isinstance(self.part, VideoUrlPart | AudioUrlPart)  # the others have several, or none
        source = self.part.video_url if isinstance(self.part, VideoUrlPart) else self.part.audio_url
        return source if isinstance(source, str) else source.url
