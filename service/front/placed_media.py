"""Where images, videos, audio files and pages of PDFs stand in a request."""

from dataclasses import dataclass

from schemas.content.audio import AudioUrlPart, InputAudioPart
from schemas.content.file import FilePart
from schemas.content.parts import ImageEmbedsPart, ImageUrlPart
from schemas.content.video import VideoFramesPart, VideoUrlPart

ImagePart = ImageUrlPart | ImageEmbedsPart
VideoPart = VideoFramesPart | VideoUrlPart
AudioPart = InputAudioPart | AudioUrlPart
MediaPart = ImagePart | VideoPart | AudioPart | FilePart


@dataclass(frozen=True, slots=True)
class PlacedMedia:
    """Where a part that is not text stands in the request.

    Attributes:
        param: path of its part.
        content_param: path of its content; the same where the request has only a URL, `images` of Cohere's routes.
        index: its input, counted from 0.
        part: the part.
    """

    param: str
    content_param: str
    index: int
    part: MediaPart

    @property
    def url(self) -> str:
        """URL or inline data of a part that has one source, and is no image."""
        if isinstance(self.part, FilePart):
            return self.part.file.file_data
        assert isinstance(self.part, VideoUrlPart | AudioUrlPart)  # the others have several, or none
        source = self.part.video_url if isinstance(self.part, VideoUrlPart) else self.part.audio_url
        return source if isinstance(source, str) else source.url
