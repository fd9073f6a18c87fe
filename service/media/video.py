"""A video as prompts carry it: its pairs of frames in order, each a picture of its own with its own time.

Knows no file, no sampling and no template.
"""

from dataclasses import dataclass

from service.media.picture import Picture


@dataclass(frozen=True, slots=True)
class Video:
    """One video of a request, sampled.

    Attributes:
        pairs: two frames each, in order.
        times_s: when each pair is seen, seconds from the start: the mean of its two frames.
    """

    pairs: tuple[Picture, ...]
    times_s: tuple[float, ...]
