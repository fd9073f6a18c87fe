"""Media of a request as prompts, shared memory and the engine's client carry them, whatever they came as."""

from dataclasses import dataclass

from service.media.audio.samples import Audio
from service.media.features.features import FeaturesItem
from service.media.image.image_file import ImageFile
from service.media.page.page_file import PageItem
from service.media.video.frame_pair import FramePair
from service.media.video.video_file import VideoFramePair

MediaItem = ImageFile | PageItem | FramePair | VideoFramePair | Audio | FeaturesItem
"""Facts known before anything is decoded, and its keys.

Attributes:
    identity: digest that a client's name is bound to, 32 bytes: of the content sent, however it is read.
    digest: level-2 key, 32 bytes: what was sent and how it is read. Images of one digest fill the same bytes.
    grid_thw: its size in patches.
    num_tokens: visual tokens: as many as its grid gives.
    kind: of media, which decides its placeholder token and its encoder.
    dtype: number format of the features in its slot; None when the slot holds RGB pixels or samples.
    num_slot_bytes: bytes that it takes in shared memory.
    num_stored_bytes: bytes that keeping it takes.
    location: the field and the input of the batch that it came from, for errors; `at` gives the same item elsewhere.
    sent_as: its form and size, for answers.
    key: the level-1 content key, 32 bytes, of its bytes in shared memory.
"""


@dataclass(frozen=True, slots=True)
class Video:
    """One video of a request, sampled."""

    pairs: tuple[MediaItem, ...]
    """Two frames each, or one where the model sees one by one, in order."""
    times_s: tuple[float, ...]
    """When each is seen, seconds from the start: the mean of its frames."""
